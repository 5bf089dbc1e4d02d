-- Schema 1. Everything that the refresh protocol compares stands in one row of `grants`.
-- Moments are milliseconds since 1970 by the clock of this server, which alone counts.

CREATE FUNCTION keyway.now() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

-- Tells one run of the server from the next: a restart frees the locks of replicas that live.
CREATE FUNCTION keyway.server_start() RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint';

-- One row: which program may use this schema, and which key wraps the keys of people.
CREATE TABLE keyway.store (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version integer NOT NULL,
    -- The oldest version of the program's own schema that can work beside this one.
    usable_by integer NOT NULL,
    wrapper bytea
);
INSERT INTO keyway.store (version, usable_by) VALUES (1, 1);

-- The upper half of a generation: one number per sign-in, never given out twice.
CREATE SEQUENCE keyway.sign_ins AS bigint MAXVALUE 2147483647;

-- A replica that ended in good order is not in here; one that was killed is.
CREATE TABLE keyway.replicas (
    owner bigint PRIMARY KEY,
    since bigint NOT NULL DEFAULT keyway.now()
);

CREATE TABLE keyway.person_keys (
    tenant text NOT NULL CHECK (tenant <> ''),
    person text NOT NULL,
    key_id bytea NOT NULL,
    wrapper bytea NOT NULL,
    wrapped bytea NOT NULL,
    PRIMARY KEY (tenant, person)
);

CREATE TABLE keyway.grants (
    tenant text NOT NULL CHECK (tenant <> ''),
    person text NOT NULL,
    -- A hash of profile and name, which are too long for an index.
    grant_id bytea NOT NULL,
    profile bytea NOT NULL,
    name bytea NOT NULL,
    generation bigint NOT NULL,
    key_id bytea NOT NULL,
    access bytea NOT NULL,
    refresh bytea,
    details bytea,
    fingerprint bytea,
    expires_at bigint,
    needs_reauth boolean NOT NULL DEFAULT false,
    claim bigint,
    claim_owner bigint,
    claimed_at bigint,
    claimed_until bigint,
    claim_server bigint,
    interrupted integer NOT NULL DEFAULT 0,
    lost_answers integer NOT NULL DEFAULT 0,
    postponed_until bigint,
    PRIMARY KEY (tenant, person, grant_id)
) WITH (fillfactor = 70);
CREATE INDEX claims ON keyway.grants (claim_owner) WHERE claim IS NOT NULL;

-- Client registrations and cached documents, told apart by `kind`.
CREATE TABLE keyway.records (
    tenant text NOT NULL CHECK (tenant <> ''),
    person text NOT NULL,
    kind text NOT NULL,
    record_id bytea NOT NULL,
    key_id bytea NOT NULL,
    value bytea NOT NULL,
    expires_at bigint,
    PRIMARY KEY (tenant, person, kind, record_id)
);

-- Which replicas use which sign-in, by its hash: nothing in here tells whose it is.
CREATE TABLE keyway.in_use (
    marker bigint PRIMARY KEY,
    owner bigint NOT NULL,
    place bytea NOT NULL,
    stop boolean NOT NULL DEFAULT false
);
CREATE INDEX places ON keyway.in_use (place);

-- The second wall: a query that does not say for whom it asks sees nothing, whatever it asks.
ALTER TABLE keyway.person_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE keyway.person_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON keyway.person_keys USING (
    tenant = current_setting('keyway.tenant', true) AND person = current_setting('keyway.person', true));
ALTER TABLE keyway.grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE keyway.grants FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON keyway.grants USING (
    tenant = current_setting('keyway.tenant', true) AND person = current_setting('keyway.person', true));
ALTER TABLE keyway.records ENABLE ROW LEVEL SECURITY;
ALTER TABLE keyway.records FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON keyway.records USING (
    tenant = current_setting('keyway.tenant', true) AND person = current_setting('keyway.person', true));
