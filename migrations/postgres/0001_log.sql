-- The append-only log. PostgreSQL 13 or newer: positions are made of 64-bit transaction ids.

-- The first position of a transaction. The ids of a server only grow, and one transaction adds fewer than 2^20 events, so
-- positions are unique, and those of a transaction stand together. 2^43 transactions have room: 28 years at 10,000 a
-- second. The number added is 0 until the log is moved to a server that is younger, see rebase_positions().
CREATE FUNCTION position_of(transaction xid8) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT ($1::text::bigint + 0) << 20';

-- One row per event. `position` is its place among all events, see the module `postgres::feed`. What else must hold of a
-- row is checked by the trigger events_insert: PostgreSQL prepares every CHECK anew for each statement, which cost a third
-- of an append.
CREATE TABLE events (
    position     bigint   NOT NULL,
    stream_kind  text     NOT NULL,
    stream_id    uuid     NOT NULL,
    seq          bigint   NOT NULL,
    kind         text     NOT NULL,
    version      integer  NOT NULL,
    at           bigint   NOT NULL,
    tenant       text     NOT NULL,
    actor        text     NOT NULL,
    trace        text,
    hash         bytea    NOT NULL,
    prose_digest bytea,
    salt         bytea,
    body         text     NOT NULL,
    prose        text,
    PRIMARY KEY (stream_kind, stream_id, seq)
);

CREATE UNIQUE INDEX events_position ON events (position);
-- The newest streams, of all tenants and of one.
CREATE INDEX events_first ON events (stream_kind, position) WHERE seq = 1;
CREATE INDEX events_first_of_tenant ON events (stream_kind, tenant, position) WHERE seq = 1;

-- Which request opened which stream, so that a repeated start opens nothing new.
CREATE TABLE requests (
    tenant      text  NOT NULL,
    request_id  text  NOT NULL,
    body_hash   bytea NOT NULL CHECK (length(body_hash) = 32),
    stream_kind text  NOT NULL,
    stream_id   uuid  NOT NULL,
    PRIMARY KEY (tenant, request_id)
);

-- An event stands right behind the one before it, which nobody can remove: so a stream has no holes, and no lock is
-- needed. The key refuses a place that is taken. A trigger of rows, for a transition table cost an append of one event
-- more than all else that it does; it sees the rows that its own statement has already added.
CREATE FUNCTION events_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq > 1 THEN
        PERFORM FROM events e
        WHERE e.stream_kind = NEW.stream_kind AND e.stream_id = NEW.stream_id AND e.seq = NEW.seq - 1;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'events: not the next of its stream' USING ERRCODE = 'DB001';
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

CREATE TRIGGER events_insert BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION events_refuse();

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: the log is append only', TG_TABLE_NAME USING ERRCODE = 'DB002';
END $$;

-- Redaction deletes prose and salt together; nothing else ever changes.
CREATE TRIGGER events_update BEFORE UPDATE ON events
FOR EACH ROW WHEN (
    NEW.prose IS NOT NULL OR NEW.salt IS NOT NULL
    OR ROW(NEW.position, NEW.stream_kind, NEW.stream_id, NEW.seq, NEW.kind, NEW.version, NEW.at, NEW.tenant, NEW.actor,
           NEW.trace, NEW.hash, NEW.prose_digest, NEW.body)
       IS DISTINCT FROM
       ROW(OLD.position, OLD.stream_kind, OLD.stream_id, OLD.seq, OLD.kind, OLD.version, OLD.at, OLD.tenant, OLD.actor,
           OLD.trace, OLD.hash, OLD.prose_digest, OLD.body)
)
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_delete BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_truncate BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER requests_update BEFORE UPDATE ON requests FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER requests_delete BEFORE DELETE ON requests FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER requests_truncate BEFORE TRUNCATE ON requests FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Plain triggers are skipped in a session that plays the replica.
ALTER TABLE events ENABLE ALWAYS TRIGGER events_insert;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_update;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_delete;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_truncate;
ALTER TABLE requests ENABLE ALWAYS TRIGGER requests_update;
ALTER TABLE requests ENABLE ALWAYS TRIGGER requests_delete;
ALTER TABLE requests ENABLE ALWAYS TRIGGER requests_truncate;

-- The format that a first event names, if its body is JSON and does.
CREATE FUNCTION format_of(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    format jsonb;
BEGIN
    format := body::jsonb -> 'format';
    RETURN CASE jsonb_typeof(format) WHEN 'string' THEN format #>> '{}' END;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

-- For the owner, once, after the log was restored into a server whose transaction ids are behind those in the log: new
-- events get positions behind the old ones again.
CREATE FUNCTION rebase_positions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    behind bigint;
BEGIN
    LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE;
    SELECT max(position) / (1 << 20) + 1 - pg_current_xact_id()::text::bigint INTO behind FROM events;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION position_of(transaction xid8) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE '
        'AS ''SELECT ($1::text::bigint + %s) << 20''', coalesce(behind, 0));
END $$;
REVOKE ALL ON FUNCTION rebase_positions() FROM PUBLIC;

-- Who writes the log need not own it: a login that is granted debate_writer can add events, read them and delete prose,
-- and nothing else, whatever happens to the triggers. Made here where that is permitted.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'debate_writer') THEN
        CREATE ROLE debate_writer NOLOGIN;
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    NULL;
END $$;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'debate_writer') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO debate_writer', current_schema());
        GRANT SELECT, INSERT ON events, requests TO debate_writer;
        GRANT UPDATE (prose, salt) ON events TO debate_writer;
        GRANT SELECT ON _sqlx_migrations TO debate_writer;
    END IF;
END $$;
