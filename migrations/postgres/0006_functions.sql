-- What is done with the owner's rights is for the log's own triggers: any login could set it on a temporary table of its own,
-- and have events deleted that it may not delete. Who makes a trigger is asked for the right, not whom it runs for.
REVOKE ALL ON FUNCTION archived_check(), archived_take() FROM PUBLIC;
