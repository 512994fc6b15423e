-- That an event stands right behind the one before it, and that a new stream is not an archived one, is looked at by the
-- statement that inserts, which PostgreSQL prepares once. Triggers of rows that did so took a tenth of an append: the
-- condition of one was parsed for every statement. The key still refuses a place that is taken, and nothing but redaction
-- and archives changes what is there; whoever writes rows by hand may add what does not chain, which verify names.
DROP TRIGGER events_insert ON events;
DROP TRIGGER events_first ON events;
DROP FUNCTION events_refuse();
DROP FUNCTION events_refuse_archived();

-- For the statement that inserts, in place of a position.
CREATE FUNCTION refuse_hole() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'events: not the next of its stream' USING ERRCODE = 'DB001';
END $$;

-- For the statement that inserts, of a first event that is in its place: it sees what was waited for meanwhile, which the
-- statement does not.
CREATE FUNCTION refuse_archived(kind text, id uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM archived a WHERE a.stream_kind = kind AND a.stream_id = id AND NOT a.restoring;
    IF FOUND THEN
        RAISE EXCEPTION 'events: the stream is archived' USING ERRCODE = 'DB004';
    END IF;
END $$;
