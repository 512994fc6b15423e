-- What keeps events and records where they are looks at the log's own tables, whatever the caller's path says: it took the
-- word of a temporary table by the same name. refuse_archived stays as it is, for whoever writes rows by hand need not call it.
DO $$
DECLARE
    place regnamespace := (SELECT relnamespace FROM pg_class WHERE oid = 'archived'::regclass);
BEGIN
    EXECUTE format('ALTER FUNCTION events_keep() SET search_path = %s, pg_temp', place);
    EXECUTE format('ALTER FUNCTION archived_keep() SET search_path = %s, pg_temp', place);
END $$;
