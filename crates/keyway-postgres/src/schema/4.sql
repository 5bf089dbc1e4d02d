-- Schema 4. Changing the key that wraps the keys of people while replicas run, and noticing that the
-- database was restored from a dump. Programs that know schema 1, 2 or 3 work beside it, except
-- while the wrapping key is being changed: they know one key alone, and are refused for that time.

-- `wrapper` is what new keys are wrapped with. While it is being changed, `next_wrapper` is the key
-- that every replica has to have before it counts, and `previous_wrapper` the one that keys may
-- still be wrapped with. `usable_later` is what `usable_by` returns to.
-- `copy` names the tables themselves: those of a restored dump are others.
ALTER TABLE keyway.store
    ADD COLUMN next_wrapper bytea,
    ADD COLUMN previous_wrapper bytea,
    ADD COLUMN usable_later integer,
    ADD COLUMN copy text;

-- The wrapping keys that a replica has; nothing for one that knows schema 3 or less.
ALTER TABLE keyway.replicas ADD COLUMN wrappers bytea[];

-- Whether the row came from a dump, so that its refresh token may have been used since.
ALTER TABLE keyway.grants ADD COLUMN restored boolean NOT NULL DEFAULT false;

-- Shows wrapped keys, which open with the wrapping key alone, and nothing else.
CREATE POLICY wraps ON keyway.person_keys FOR SELECT USING (
    current_setting('keyway.wraps', true) = 'of any tenant');

-- The keys after this person that another key wraps, in the order of tenant and person. The setting
-- that shows the rows counts only inside; a call that fails ends its transaction.
CREATE FUNCTION keyway.wraps_besides(current_wrapper bytea, last_tenant text, last_person text,
        most integer)
    RETURNS TABLE (tenant text, person text, key_id bytea, wrapper bytea, wrapped bytea)
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('keyway.wraps', 'of any tenant', true);
        RETURN QUERY SELECT k.tenant, k.person, k.key_id, k.wrapper, k.wrapped
            FROM keyway.person_keys k
            WHERE k.wrapper <> current_wrapper
              AND (k.tenant, k.person) > (last_tenant, last_person)
            ORDER BY k.tenant, k.person LIMIT most;
        PERFORM set_config('keyway.wraps', '', true);
    END $$;

-- A dump that is restored gets tables with other numbers; an upgrade of the server keeps them.
CREATE FUNCTION keyway.this_copy() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT concat_ws(' ', (SELECT oid FROM pg_database WHERE datname = current_database()),
        'keyway.store'::regclass::oid, 'keyway.grants'::regclass::oid) $$;

CREATE POLICY restored ON keyway.grants USING (
    current_setting('keyway.restored', true) = 'in any tenant');

-- Marks the sign-ins of a restored dump whose refresh tokens may have been used since, with a row of
-- the audit for each; returns how many.
CREATE FUNCTION keyway.mark_restored(replica bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
        marked bigint := 0;
        each_tenant text;
        each_grant record;
    BEGIN
        PERFORM set_config('keyway.restored', 'in any tenant', true);
        FOR each_tenant IN SELECT DISTINCT g.tenant FROM keyway.grants g ORDER BY g.tenant LOOP
            PERFORM set_config('keyway.tenant', each_tenant, true),
                set_config('keyway.person', '', true), set_config('keyway.audit_chain', '', true);
            FOR each_grant IN UPDATE keyway.grants g
                SET needs_reauth = true, restored = true, claim = NULL, claim_owner = NULL,
                    claimed_at = NULL, claimed_until = NULL, claim_server = NULL
                WHERE g.tenant = each_tenant AND g.refresh IS NOT NULL AND NOT g.needs_reauth
                RETURNING g.person, g.profile, g.name, g.generation
            LOOP
                PERFORM keyway.note(each_tenant, each_grant.person, 'refresh', 'rejected', 'restored',
                    replica, each_grant.profile, each_grant.name, each_grant.generation);
                marked := marked + 1;
            END LOOP;
        END LOOP;
        PERFORM set_config('keyway.restored', '', true), set_config('keyway.tenant', '', true),
            set_config('keyway.audit_chain', '', true);
        RETURN marked;
    END $$;

UPDATE keyway.store SET version = 4, copy = keyway.this_copy();
