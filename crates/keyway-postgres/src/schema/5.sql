-- Schema 5. Variables and approvals: values by name, of a person or of a tenant. Programs that know
-- an earlier schema work beside it, and look for them in the vault of their machine.

-- The second half of the place of a value: one number per change, never given out twice.
CREATE SEQUENCE keyway.value_changes AS bigint;

CREATE TABLE keyway.named_values (
    tenant text NOT NULL CHECK (tenant <> ''),
    -- Empty for the tenant itself.
    person text NOT NULL,
    kind text NOT NULL,
    -- A hash of the name, which may be too long for an index.
    value_id bytea NOT NULL,
    name text NOT NULL,
    generation bigint NOT NULL,
    key_id bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (tenant, person, kind, value_id)
);

-- The second wall, as for sign-ins.
ALTER TABLE keyway.named_values ENABLE ROW LEVEL SECURITY;
ALTER TABLE keyway.named_values FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON keyway.named_values USING (
    tenant = current_setting('keyway.tenant', true) AND person = current_setting('keyway.person', true));

UPDATE keyway.store SET version = 5;
