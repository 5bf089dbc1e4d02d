-- Schema 3. The audit: a row for each thing that happened, in the transaction in which it happened,
-- chained by hash. Programs that know schema 1 or 2 work beside it, and add no rows.

-- The last row of each chain. A tenant has 32 chains, and a transaction appends to the first one that
-- no other transaction appends to at that moment: a lock on the end of one chain would make all
-- refreshes of the tenant wait for each other's commits. It is taken by the last step of a
-- transaction, so that one that holds it waits for nothing but its own commit.
CREATE TABLE keyway.audit_chains (
    tenant text NOT NULL CHECK (tenant <> ''),
    chain integer NOT NULL CHECK (chain BETWEEN 0 AND 31),
    number bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (tenant, chain)
) WITH (fillfactor = 20);

CREATE TABLE keyway.audit (
    tenant text NOT NULL CHECK (tenant <> ''),
    chain integer NOT NULL CHECK (chain BETWEEN 0 AND 31),
    -- From 1 without a gap.
    number bigint NOT NULL,
    at bigint NOT NULL,
    -- Empty for the tenant itself.
    person text NOT NULL,
    -- What a call came by: the name of a gateway token, or of something else that needs none.
    client bytea,
    replica bigint NOT NULL,
    event text NOT NULL,
    outcome text NOT NULL,
    cause text NOT NULL,
    -- Those of `grants`; a call has no profile, and a name of plugin and server alone.
    profile bytea,
    name bytea,
    generation bigint,
    tool bytea,
    -- How many entries a row stands for, if it stands for several.
    entries bigint,
    hash bytea NOT NULL,
    PRIMARY KEY (tenant, chain, number)
);
CREATE INDEX audit_times ON keyway.audit (tenant, at, chain, number);

-- A value with its length before it, so that no two rows are written alike; nothing has a length
-- that no value has.
CREATE FUNCTION keyway.audit_part(value bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
    AS $$ SELECT CASE WHEN value IS NULL THEN '\xffffffff'::bytea
        ELSE int4send(length(value)) || value END $$;

-- Over the hash of the row before and every column. `keyway audit verify` computes it by itself.
CREATE FUNCTION keyway.audit_hash(before bytea, noted keyway.audit) RETURNS bytea
    LANGUAGE sql STABLE AS $$
        SELECT sha256(keyway.audit_part(before)
            || keyway.audit_part(convert_to(noted.tenant, 'UTF8'))
            || keyway.audit_part(int4send(noted.chain))
            || keyway.audit_part(int8send(noted.number))
            || keyway.audit_part(int8send(noted.at))
            || keyway.audit_part(convert_to(noted.person, 'UTF8'))
            || keyway.audit_part(noted.client)
            || keyway.audit_part(int8send(noted.replica))
            || keyway.audit_part(convert_to(noted.event, 'UTF8'))
            || keyway.audit_part(convert_to(noted.outcome, 'UTF8'))
            || keyway.audit_part(convert_to(noted.cause, 'UTF8'))
            || keyway.audit_part(noted.profile)
            || keyway.audit_part(noted.name)
            || keyway.audit_part(int8send(noted.generation))
            || keyway.audit_part(noted.tool)
            || keyway.audit_part(int8send(noted.entries))) $$;

-- Locks the end of a chain until the transaction ends; the same one for all rows of a transaction,
-- because two that hold one each and wait for a second could wait for each other.
CREATE FUNCTION keyway.audit_chain(of_tenant text) RETURNS integer LANGUAGE plpgsql AS $$
    DECLARE
        found_chain integer := nullif(current_setting('keyway.audit_chain', true), '')::integer;
    BEGIN
        IF found_chain IS NOT NULL THEN
            RETURN found_chain;
        END IF;
        SELECT c.chain INTO found_chain FROM keyway.audit_chains c WHERE c.tenant = of_tenant
            ORDER BY c.chain LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF found_chain IS NULL THEN
            -- The first row of the tenant, or all are taken: then any is waited for.
            INSERT INTO keyway.audit_chains (tenant, chain, number, hash)
                SELECT of_tenant, each_chain, 0, ''::bytea FROM generate_series(0, 31) each_chain
                ON CONFLICT DO NOTHING;
            found_chain := CASE WHEN FOUND THEN 0 ELSE floor(random() * 32)::integer END;
            PERFORM FROM keyway.audit_chains c
                WHERE c.tenant = of_tenant AND c.chain = found_chain FOR UPDATE;
        END IF;
        PERFORM set_config('keyway.audit_chain', found_chain::text, true);
        RETURN found_chain;
    END $$;

-- Appends rows; their chain, number and hash are set here.
CREATE FUNCTION keyway.append_audit(of_tenant text, noted keyway.audit[]) RETURNS bigint
    LANGUAGE plpgsql AS $$
    DECLARE
        own_chain integer := keyway.audit_chain(of_tenant);
        last_number bigint;
        last_hash bytea;
        next_row keyway.audit;
    BEGIN
        SELECT c.number, c.hash INTO STRICT last_number, last_hash FROM keyway.audit_chains c
            WHERE c.tenant = of_tenant AND c.chain = own_chain;
        FOREACH next_row IN ARRAY noted LOOP
            last_number := last_number + 1;
            next_row.tenant := of_tenant;
            next_row.chain := own_chain;
            next_row.number := last_number;
            last_hash := keyway.audit_hash(last_hash, next_row);
            next_row.hash := last_hash;
            INSERT INTO keyway.audit SELECT next_row.*;
        END LOOP;
        UPDATE keyway.audit_chains c SET number = last_number, hash = last_hash
            WHERE c.tenant = of_tenant AND c.chain = own_chain;
        RETURN last_number;
    END $$;

-- Appends what happened to a sign-in, or to all of a person.
CREATE FUNCTION keyway.note(of_tenant text, of_person text, event text, outcome text, cause text,
        replica bigint, profile bytea, name bytea, generation bigint) RETURNS bigint
    LANGUAGE plpgsql AS $$
    BEGIN
        RETURN keyway.append_audit(of_tenant, ARRAY[ROW(of_tenant, 0, 0, keyway.now(), of_person,
            NULL, replica, event, outcome, cause, profile, name, generation, NULL, NULL,
            NULL)::keyway.audit]);
    END $$;

-- Appends calls, which ended so many milliseconds ago, and how many others were dropped.
CREATE FUNCTION keyway.note_calls(of_tenant text, replica bigint, people text[], clients bytea[],
        names bytea[], tools bytea[], outcomes text[], ages bigint[], dropped bigint)
    RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
        noted keyway.audit[];
    BEGIN
        SELECT array_agg(ROW(of_tenant, 0, 0, keyway.now() - c.age, c.person, c.client, replica,
                'call', c.outcome, '', NULL, c.name, NULL, c.tool, NULL, NULL)::keyway.audit
                ORDER BY c.place)
            INTO noted
            FROM unnest(people, clients, names, tools, outcomes, ages) WITH ORDINALITY
                AS c (person, client, name, tool, outcome, age, place);
        IF dropped > 0 THEN
            noted := noted || ROW(of_tenant, 0, 0, keyway.now(), '', NULL, replica, 'audit',
                'dropped', 'queue-full', NULL, NULL, NULL, NULL, dropped, NULL)::keyway.audit;
        END IF;
        IF noted IS NULL THEN
            RETURN 0;
        END IF;
        RETURN keyway.append_audit(of_tenant, noted);
    END $$;

-- The second wall: a query that names a person sees and adds rows of that person, one that names a
-- tenant alone those of all its people. None changes or deletes one.
ALTER TABLE keyway.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE keyway.audit FORCE ROW LEVEL SECURITY;
CREATE POLICY read ON keyway.audit FOR SELECT USING (
    tenant = current_setting('keyway.tenant', true)
    AND current_setting('keyway.person', true) IN ('', person));
CREATE POLICY append ON keyway.audit FOR INSERT WITH CHECK (
    tenant = current_setting('keyway.tenant', true)
    AND current_setting('keyway.person', true) IN ('', person));
ALTER TABLE keyway.audit_chains ENABLE ROW LEVEL SECURITY;
ALTER TABLE keyway.audit_chains FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON keyway.audit_chains USING (tenant = current_setting('keyway.tenant', true));

UPDATE keyway.store SET version = 3;
