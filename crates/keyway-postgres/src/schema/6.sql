-- Schema 6. What an operator sees of a tenant: its people with the states of their sign-ins, and the
-- ages of keys. Programs that know schema 1 work beside it.

-- Keys that were there before count from now on.
ALTER TABLE keyway.person_keys ADD COLUMN made_at bigint NOT NULL DEFAULT keyway.now();
ALTER TABLE keyway.store ADD COLUMN wrapper_since bigint NOT NULL DEFAULT keyway.now();
CREATE FUNCTION keyway.note_wrapper() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.wrapper_since := keyway.now();
        RETURN NEW;
    END $$;
CREATE TRIGGER note_wrapper BEFORE UPDATE OF wrapper ON keyway.store FOR EACH ROW
    WHEN (OLD.wrapper IS DISTINCT FROM NEW.wrapper) EXECUTE FUNCTION keyway.note_wrapper();

-- The functions below count rows of all people of a tenant and show nothing that is sealed.
CREATE POLICY survey ON keyway.grants FOR SELECT USING (
    current_setting('keyway.survey', true) = 'of this tenant'
    AND tenant = current_setting('keyway.tenant', true));
CREATE POLICY survey ON keyway.person_keys FOR SELECT USING (
    current_setting('keyway.survey', true) = 'of this tenant'
    AND tenant = current_setting('keyway.tenant', true));

-- The setting that shows the rows counts only inside of them; one that fails ends its transaction.
-- People whose name holds `part`, by name, at most so many; and all of them together, without one.
CREATE FUNCTION keyway.people(part text, most integer)
    RETURNS TABLE (person text, sign_ins bigint, renewing bigint, needs_reauth bigint,
        not_renewable bigint)
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('keyway.survey', 'of this tenant', true);
        RETURN QUERY SELECT g.person, count(*),
                count(*) FILTER (WHERE g.claim IS NOT NULL),
                count(*) FILTER (WHERE g.needs_reauth),
                count(*) FILTER (WHERE NOT g.needs_reauth AND g.refresh IS NULL)
            FROM keyway.grants g
            WHERE g.tenant = current_setting('keyway.tenant', true)
              AND strpos(lower(g.person), lower(part)) > 0
            GROUP BY g.person ORDER BY g.person LIMIT most;
        PERFORM set_config('keyway.survey', '', true);
    END $$;

CREATE FUNCTION keyway.sign_in_states()
    RETURNS TABLE (people bigint, sign_ins bigint, renewing bigint, needs_reauth bigint,
        not_renewable bigint)
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('keyway.survey', 'of this tenant', true);
        RETURN QUERY SELECT count(DISTINCT g.person) FILTER (WHERE g.person <> ''), count(*),
                count(*) FILTER (WHERE g.claim IS NOT NULL),
                count(*) FILTER (WHERE g.needs_reauth),
                count(*) FILTER (WHERE NOT g.needs_reauth AND g.refresh IS NULL)
            FROM keyway.grants g
            WHERE g.tenant = current_setting('keyway.tenant', true);
        PERFORM set_config('keyway.survey', '', true);
    END $$;

-- In milliseconds: of the wrapping key, and of the oldest data key; NULL where there is none.
CREATE FUNCTION keyway.key_ages()
    RETURNS TABLE (wrapping bigint, oldest_data bigint, data_keys bigint)
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('keyway.survey', 'of this tenant', true);
        RETURN QUERY SELECT keyway.now() - s.wrapper_since, keyway.now() - k.oldest, k.number
            FROM keyway.store s,
                (SELECT min(p.made_at) AS oldest, count(*) AS number FROM keyway.person_keys p
                 WHERE p.tenant = current_setting('keyway.tenant', true)) k;
        PERFORM set_config('keyway.survey', '', true);
    END $$;

UPDATE keyway.store SET version = 6;
