-- Schema 2. The open claims of a whole tenant, so that survivors find those of a replica that died.
-- Programs that know schema 1 work beside it.

-- Both functions show what says whose claim it is, and nothing that is sealed.
CREATE POLICY claims ON keyway.grants FOR SELECT USING (
    claim IS NOT NULL
    AND (current_setting('keyway.claims', true) = 'of any tenant'
         OR current_setting('keyway.claims', true) = 'of this tenant'
            AND tenant = current_setting('keyway.tenant', true)));

-- The setting that shows the rows counts only inside of them; one that fails ends its transaction.
CREATE FUNCTION keyway.open_claims(besides bigint)
    RETURNS TABLE (person text, profile bytea, name bytea, generation bigint, claim bigint,
        claim_owner bigint, claimed_at bigint, is_overdue boolean, is_of_this_run boolean)
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('keyway.claims', 'of this tenant', true);
        RETURN QUERY SELECT g.person, g.profile, g.name, g.generation, g.claim, g.claim_owner,
                g.claimed_at, g.claimed_until <= keyway.now(),
                g.claim_server = keyway.server_start()
            FROM keyway.grants g
            WHERE g.tenant = current_setting('keyway.tenant', true) AND g.claim IS NOT NULL
              AND g.claim_owner <> besides;
        PERFORM set_config('keyway.claims', '', true);
    END $$;

CREATE FUNCTION keyway.has_claims(owner bigint) RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
        found_any boolean;
    BEGIN
        PERFORM set_config('keyway.claims', 'of any tenant', true);
        SELECT EXISTS (SELECT FROM keyway.grants g
            WHERE g.claim IS NOT NULL AND g.claim_owner = owner) INTO found_any;
        PERFORM set_config('keyway.claims', '', true);
        RETURN found_any;
    END $$;

UPDATE keyway.store SET version = 2;
