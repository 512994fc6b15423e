-- The append-only log. 'DBTE' in the file's header tells our files from those of other programs.
PRAGMA application_id = 1145197637;

-- One row per event. `position` is its place among all events, in the order of commits and without holes,
-- because SQLite has one writer at a time. Short columns come first, so that reading them does not read a text.
CREATE TABLE events (
    position     INTEGER PRIMARY KEY AUTOINCREMENT CHECK (position > 0),
    stream_kind  TEXT    NOT NULL,
    stream_id    BLOB    NOT NULL CHECK (length(stream_id) = 16),
    seq          INTEGER NOT NULL CHECK (seq > 0),
    kind         TEXT    NOT NULL,
    version      INTEGER NOT NULL CHECK (version BETWEEN 0 AND 65535),
    at           INTEGER NOT NULL,
    tenant       TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    trace        TEXT,
    hash         BLOB    NOT NULL CHECK (length(hash) = 32),
    prose_digest BLOB             CHECK (length(prose_digest) = 32),
    salt         BLOB             CHECK (length(salt) = 16),
    body         TEXT    NOT NULL,
    prose        TEXT,
    UNIQUE (stream_kind, stream_id, seq),
    CHECK ((prose IS NULL) = (salt IS NULL)),
    CHECK (prose IS NULL OR prose_digest IS NOT NULL)
) STRICT;

-- The latest event of some kinds in a stream.
CREATE INDEX events_of_kind ON events (stream_kind, stream_id, kind);
-- The newest streams, of all tenants and of one.
CREATE INDEX events_first ON events (stream_kind) WHERE seq = 1;
CREATE INDEX events_first_of_tenant ON events (stream_kind, tenant) WHERE seq = 1;

-- An event is added after the last one of its stream, or not at all. INSERT OR REPLACE fires no delete trigger,
-- so a taken place is refused before the insert.
CREATE TRIGGER events_insert BEFORE INSERT ON events
BEGIN
    SELECT RAISE(ABORT, 'events: not the next of its stream')
    WHERE NEW.seq IS NOT (
        SELECT coalesce(max(seq), 0) + 1 FROM events
        WHERE stream_kind = NEW.stream_kind AND stream_id = NEW.stream_id
    );
    SELECT RAISE(ABORT, 'events: the position is taken')
    WHERE EXISTS (SELECT 1 FROM events WHERE position = NEW.position);
END;

-- Redaction deletes prose and salt together; nothing else ever changes.
CREATE TRIGGER events_update BEFORE UPDATE ON events
WHEN NOT (
    NEW.prose IS NULL AND NEW.salt IS NULL
    AND NEW.position IS OLD.position
    AND NEW.stream_kind IS OLD.stream_kind
    AND NEW.stream_id IS OLD.stream_id
    AND NEW.seq IS OLD.seq
    AND NEW.kind IS OLD.kind
    AND NEW.version IS OLD.version
    AND NEW.at IS OLD.at
    AND NEW.tenant IS OLD.tenant
    AND NEW.actor IS OLD.actor
    AND NEW.trace IS OLD.trace
    AND NEW.hash IS OLD.hash
    AND NEW.prose_digest IS OLD.prose_digest
    AND NEW.body IS OLD.body
)
BEGIN
    SELECT RAISE(ABORT, 'events: the log is append only');
END;

CREATE TRIGGER events_delete BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'events: the log is append only');
END;

-- Which request opened which stream, so that a repeated start opens nothing new.
CREATE TABLE requests (
    tenant      TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    body_hash   BLOB NOT NULL CHECK (length(body_hash) = 32),
    stream_kind TEXT NOT NULL,
    stream_id   BLOB NOT NULL CHECK (length(stream_id) = 16),
    PRIMARY KEY (tenant, request_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER requests_insert BEFORE INSERT ON requests
BEGIN
    SELECT RAISE(ABORT, 'requests: the id is taken')
    WHERE EXISTS (SELECT 1 FROM requests WHERE tenant = NEW.tenant AND request_id = NEW.request_id);
END;

CREATE TRIGGER requests_update BEFORE UPDATE ON requests
BEGIN
    SELECT RAISE(ABORT, 'requests: append only');
END;

CREATE TRIGGER requests_delete BEFORE DELETE ON requests
BEGIN
    SELECT RAISE(ABORT, 'requests: append only');
END;
