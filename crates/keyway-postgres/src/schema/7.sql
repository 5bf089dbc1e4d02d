-- Schema 7. A change of the wrapping key is in the audit of each tenant. Programs that know schema 1
-- work beside it; one that knows schema 4, 5 or 6 changes the key without a row in the audit.

-- Ends a change of the wrapping key, with a row for each tenant that has keys; returns whether there
-- was one to end.
CREATE FUNCTION keyway.settle_wrapper(new_wrapper bytea, old_wrapper bytea, replica bigint)
    RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
        each_tenant text;
    BEGIN
        UPDATE keyway.store
            SET previous_wrapper = NULL, usable_by = usable_later, usable_later = NULL
            WHERE wrapper = new_wrapper AND previous_wrapper = old_wrapper;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        PERFORM set_config('keyway.wraps', 'of any tenant', true);
        FOR each_tenant IN SELECT DISTINCT k.tenant FROM keyway.person_keys k ORDER BY k.tenant LOOP
            PERFORM set_config('keyway.tenant', each_tenant, true),
                set_config('keyway.person', '', true), set_config('keyway.audit_chain', '', true);
            PERFORM keyway.note(each_tenant, '', 'wrapping-key', 'changed', '', replica, NULL, NULL,
                NULL);
        END LOOP;
        PERFORM set_config('keyway.wraps', '', true), set_config('keyway.tenant', '', true),
            set_config('keyway.audit_chain', '', true);
        RETURN true;
    END $$;

UPDATE keyway.store SET version = 7;
