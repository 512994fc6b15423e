-- The latest event of some kinds is looked for from a stream's end, near which it stands: an index of kinds cost every
-- insert a page and saved little.
DROP INDEX events_of_kind;

-- A refused insert ends its whole transaction, which is given up then anyway: SQLite need not keep a journal of every
-- single statement for undoing it alone.
DROP TRIGGER events_insert;

CREATE TRIGGER events_insert BEFORE INSERT ON events
BEGIN
    SELECT RAISE(ROLLBACK, 'events: not the next of its stream')
    WHERE NEW.seq IS NOT (
        SELECT coalesce(max(seq), 0) + 1 FROM events
        WHERE stream_kind = NEW.stream_kind AND stream_id = NEW.stream_id
    );
    SELECT RAISE(ROLLBACK, 'events: the position is taken')
    WHERE EXISTS (SELECT 1 FROM events WHERE position = NEW.position);
END;
