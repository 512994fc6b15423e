-- Which replica drives which stream, by the clock of this server. Rows come and go: a lease protects nothing, the key of
-- the events does.
CREATE TABLE leases (
    stream_kind text        NOT NULL,
    stream_id   uuid        NOT NULL,
    holder      text        NOT NULL,
    fence       bigint      NOT NULL CHECK (fence > 0),
    until       timestamptz NOT NULL,
    PRIMARY KEY (stream_kind, stream_id)
) WITH (fillfactor = 50);

-- What ran out, the longest ago first.
CREATE INDEX leases_until ON leases (until);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'debate_writer') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON leases TO debate_writer;
    END IF;
END $$;
