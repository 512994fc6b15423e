-- Finished streams whose events were moved into a bundle outside of the file. To add a row here is the one way in which
-- events go: the row says where the stream ended and where it is now, and takes its events away in the same transaction.
CREATE TABLE archived (
    stream_kind TEXT    NOT NULL,
    stream_id   BLOB    NOT NULL CHECK (length(stream_id) = 16),
    -- The stream's last event.
    seq         INTEGER NOT NULL CHECK (seq > 0),
    hash        BLOB    NOT NULL CHECK (length(hash) = 32),
    -- The bundle's name in the archive, and when the stream was put there.
    bundle      TEXT    NOT NULL CHECK (bundle <> ''),
    at          INTEGER NOT NULL,
    -- Of its first event: the place among all events, and what it says.
    position    INTEGER NOT NULL UNIQUE,
    tenant      TEXT    NOT NULL,
    format      TEXT,
    opened_at   INTEGER NOT NULL,
    -- Whether its events are being put back, in this transaction.
    restoring   INTEGER NOT NULL DEFAULT 0 CHECK (restoring IN (0, 1)),
    PRIMARY KEY (stream_kind, stream_id)
) STRICT, WITHOUT ROWID;

-- The requests of a stream, for bundles.
CREATE INDEX requests_of_stream ON requests (stream_kind, stream_id);

-- An archived stream does not begin anew; it is put back.
CREATE TRIGGER events_first BEFORE INSERT ON events WHEN NEW.seq = 1
BEGIN
    SELECT RAISE(ROLLBACK, 'events: the stream is archived')
    WHERE EXISTS (
        SELECT 1 FROM archived
        WHERE stream_kind = NEW.stream_kind AND stream_id = NEW.stream_id AND restoring = 0
    );
END;

DROP TRIGGER events_delete;

CREATE TRIGGER events_delete BEFORE DELETE ON events
WHEN NOT EXISTS (
    SELECT 1 FROM archived
    WHERE stream_kind = OLD.stream_kind AND stream_id = OLD.stream_id AND restoring = 0
)
BEGIN
    SELECT RAISE(ABORT, 'events: the log is append only');
END;

-- A stream is archived whole and once, when it is finished.
CREATE TRIGGER archived_insert BEFORE INSERT ON archived
BEGIN
    SELECT RAISE(ABORT, 'archived: the stream is')
    WHERE NEW.restoring <> 0 OR EXISTS (
        SELECT 1 FROM archived
        WHERE (stream_kind = NEW.stream_kind AND stream_id = NEW.stream_id) OR position = NEW.position
    );
    SELECT RAISE(ABORT, 'archived: the stream does not end there, or is not finished')
    WHERE NOT EXISTS (
        SELECT 1 FROM events
        WHERE stream_kind = NEW.stream_kind AND stream_id = NEW.stream_id AND seq = NEW.seq AND hash = NEW.hash
            AND kind IN ('concluded', 'resolved', 'redacted')
    ) OR EXISTS (
        SELECT 1 FROM events
        WHERE stream_kind = NEW.stream_kind AND stream_id = NEW.stream_id AND seq > NEW.seq
    );
    SELECT RAISE(ABORT, 'archived: the stream does not begin there')
    WHERE NEW.position IS NOT (
        SELECT position FROM events
        WHERE stream_kind = NEW.stream_kind AND stream_id = NEW.stream_id AND seq = 1
    );
END;

CREATE TRIGGER archived_taken AFTER INSERT ON archived
BEGIN
    DELETE FROM events WHERE stream_kind = NEW.stream_kind AND stream_id = NEW.stream_id;
END;

CREATE TRIGGER archived_update BEFORE UPDATE ON archived
WHEN NOT (
    NEW.restoring = 1
    AND NEW.stream_kind IS OLD.stream_kind
    AND NEW.stream_id IS OLD.stream_id
    AND NEW.seq IS OLD.seq
    AND NEW.hash IS OLD.hash
    AND NEW.bundle IS OLD.bundle
    AND NEW.at IS OLD.at
    AND NEW.position IS OLD.position
    AND NEW.tenant IS OLD.tenant
    AND NEW.format IS OLD.format
    AND NEW.opened_at IS OLD.opened_at
)
BEGIN
    SELECT RAISE(ABORT, 'archived: append only');
END;

-- A row goes when the stream's events, up to the very last one, are back.
CREATE TRIGGER archived_delete BEFORE DELETE ON archived
WHEN OLD.restoring = 0 OR NOT EXISTS (
    SELECT 1 FROM events
    WHERE stream_kind = OLD.stream_kind AND stream_id = OLD.stream_id AND seq = OLD.seq AND hash = OLD.hash
)
BEGIN
    SELECT RAISE(ABORT, 'archived: the events are not back');
END;
