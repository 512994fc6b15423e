-- Finished streams whose events were moved into a bundle outside of the database. To add a row here is the one way in which
-- events go: the row says where the stream ended and where it is now, and takes its events away in the same transaction.
CREATE TABLE archived (
    stream_kind   text    NOT NULL,
    stream_id     uuid    NOT NULL,
    -- The stream's last event.
    seq           bigint  NOT NULL,
    hash          bytea   NOT NULL,
    -- The bundle's name in the archive, and when the stream was put there.
    bundle        text    NOT NULL CHECK (bundle <> ''),
    at            bigint  NOT NULL,
    -- Of its events: the places of the first and the last among all events, and what the first says.
    position      bigint  NOT NULL UNIQUE,
    last_position bigint  NOT NULL,
    tenant        text    NOT NULL,
    format        text,
    opened_at     bigint  NOT NULL,
    -- Whether its events are being put back, in this transaction.
    restoring     boolean NOT NULL DEFAULT false,
    PRIMARY KEY (stream_kind, stream_id)
);

-- The requests of a stream, for bundles.
CREATE INDEX requests_of_stream ON requests (stream_kind, stream_id);

-- The kinds of events that a finished stream ends with. Whoever adds an event behind one of them holds on to it meanwhile,
-- and whoever archives waits for that: so no event is added to a stream while it is taken away.
CREATE FUNCTION may_be_last(kind text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT $1 IN (''concluded'', ''resolved'', ''redacted'')';

CREATE OR REPLACE FUNCTION events_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq > 1 THEN
        PERFORM FROM events e
        WHERE e.stream_kind = NEW.stream_kind AND e.stream_id = NEW.stream_id AND e.seq = NEW.seq - 1
            AND NOT may_be_last(e.kind);
        IF NOT FOUND THEN
            PERFORM FROM events e
            WHERE e.stream_kind = NEW.stream_kind AND e.stream_id = NEW.stream_id AND e.seq = NEW.seq - 1
            FOR KEY SHARE;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'events: not the next of its stream' USING ERRCODE = 'DB001';
            END IF;
        END IF;
    END IF;
    IF (NEW.position >> 20) <> (position_of(pg_current_xact_id()) >> 20)
        OR NEW.seq < 1 OR NEW.version < 0 OR NEW.version > 65535
        OR length(NEW.hash) <> 32 OR length(NEW.prose_digest) <> 32 OR length(NEW.salt) <> 16
        OR (NEW.prose IS NULL) <> (NEW.salt IS NULL) OR (NEW.prose IS NOT NULL AND NEW.prose_digest IS NULL)
    THEN
        RAISE EXCEPTION 'events: no event, or not at a position of its transaction' USING ERRCODE = 'DB003';
    END IF;
    RETURN NEW;
END $$;

-- An archived stream does not begin anew; it is put back. Looked at after the insert, which may have waited for the archive.
CREATE FUNCTION events_refuse_archived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM archived a
    WHERE a.stream_kind = NEW.stream_kind AND a.stream_id = NEW.stream_id AND NOT a.restoring;
    IF FOUND THEN
        RAISE EXCEPTION 'events: the stream is archived' USING ERRCODE = 'DB004';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER events_first AFTER INSERT ON events FOR EACH ROW WHEN (NEW.seq = 1)
EXECUTE FUNCTION events_refuse_archived();

CREATE FUNCTION events_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM archived a
    WHERE a.stream_kind = OLD.stream_kind AND a.stream_id = OLD.stream_id AND NOT a.restoring;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'events: the log is append only' USING ERRCODE = 'DB002';
    END IF;
    RETURN OLD;
END $$;
DROP TRIGGER events_delete ON events;
CREATE TRIGGER events_delete BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION events_keep();

CREATE FUNCTION archived_check() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    ends_with text;
BEGIN
    SELECT e.kind INTO ends_with FROM events e
    WHERE e.stream_kind = NEW.stream_kind AND e.stream_id = NEW.stream_id AND e.seq = NEW.seq AND e.hash = NEW.hash
    FOR UPDATE;
    -- A statement of its own, which sees what was waited for.
    IF ends_with IS NULL OR EXISTS (
        SELECT FROM events e
        WHERE e.stream_kind = NEW.stream_kind AND e.stream_id = NEW.stream_id AND e.seq > NEW.seq)
    THEN
        RAISE EXCEPTION 'archived: the stream does not end there' USING ERRCODE = 'DB005';
    END IF;
    IF NOT may_be_last(ends_with) THEN
        RAISE EXCEPTION 'archived: the stream is not finished' USING ERRCODE = 'DB006';
    END IF;
    SELECT e.position, e.tenant, format_of(e.body), e.at INTO NEW.position, NEW.tenant, NEW.format, NEW.opened_at
    FROM events e WHERE e.stream_kind = NEW.stream_kind AND e.stream_id = NEW.stream_id AND e.seq = 1;
    SELECT max(e.position) INTO NEW.last_position
    FROM events e WHERE e.stream_kind = NEW.stream_kind AND e.stream_id = NEW.stream_id;
    NEW.restoring := false;
    RETURN NEW;
END $$;

CREATE FUNCTION archived_take() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM events e WHERE e.stream_kind = NEW.stream_kind AND e.stream_id = NEW.stream_id;
    RETURN NULL;
END $$;

-- A row goes when the stream's events, up to the very last one, are back.
CREATE FUNCTION archived_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM events e
    WHERE e.stream_kind = OLD.stream_kind AND e.stream_id = OLD.stream_id AND e.seq = OLD.seq AND e.hash = OLD.hash;
    IF NOT OLD.restoring OR NOT FOUND THEN
        RAISE EXCEPTION 'archived: the events are not back' USING ERRCODE = 'DB002';
    END IF;
    RETURN OLD;
END $$;

CREATE TRIGGER archived_insert BEFORE INSERT ON archived FOR EACH ROW EXECUTE FUNCTION archived_check();
CREATE TRIGGER archived_taken AFTER INSERT ON archived FOR EACH ROW EXECUTE FUNCTION archived_take();
CREATE TRIGGER archived_update BEFORE UPDATE ON archived
FOR EACH ROW WHEN (
    NOT NEW.restoring
    OR ROW(NEW.stream_kind, NEW.stream_id, NEW.seq, NEW.hash, NEW.bundle, NEW.at, NEW.position, NEW.last_position,
           NEW.tenant, NEW.format, NEW.opened_at)
       IS DISTINCT FROM
       ROW(OLD.stream_kind, OLD.stream_id, OLD.seq, OLD.hash, OLD.bundle, OLD.at, OLD.position, OLD.last_position,
           OLD.tenant, OLD.format, OLD.opened_at)
)
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER archived_delete BEFORE DELETE ON archived FOR EACH ROW EXECUTE FUNCTION archived_keep();
CREATE TRIGGER archived_truncate BEFORE TRUNCATE ON archived FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

ALTER TABLE events ENABLE ALWAYS TRIGGER events_first;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_delete;
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_insert;
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_taken;
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_update;
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_delete;
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_truncate;

-- What is done with the owner's rights looks at the owner's tables, whatever the caller's path says.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION archived_check() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION archived_take() SET search_path = %I, pg_temp', current_schema());
END $$;

-- As before, and behind what is archived.
CREATE OR REPLACE FUNCTION rebase_positions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    behind bigint;
BEGIN
    LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE;
    SELECT greatest((SELECT max(position) FROM events), (SELECT max(last_position) FROM archived)) / (1 << 20) + 1
        - pg_current_xact_id()::text::bigint INTO behind;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION position_of(transaction xid8) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE '
        'AS ''SELECT ($1::text::bigint + %s) << 20''', coalesce(behind, 0));
END $$;

-- Who writes the log may not take from it: archiving needs debate_archiver besides debate_writer.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'debate_archiver') THEN
        CREATE ROLE debate_archiver NOLOGIN;
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    NULL;
END $$;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'debate_writer') THEN
        GRANT SELECT ON archived TO debate_writer;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'debate_archiver') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO debate_archiver', current_schema());
        GRANT SELECT, INSERT, DELETE ON archived TO debate_archiver;
        GRANT UPDATE (restoring) ON archived TO debate_archiver;
    END IF;
END $$;
