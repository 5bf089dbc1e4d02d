-- Times are milliseconds of SQLite's own clock. Sealed values say in their associated data where
-- they stand; see seal.rs and manifest.rs.

CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    vault BLOB NOT NULL,
    source TEXT NOT NULL,
    key_id BLOB NOT NULL,
    salt BLOB,
    memory_kib INTEGER,
    passes INTEGER,
    lanes INTEGER,
    check_value BLOB NOT NULL,
    index_key BLOB NOT NULL,
    -- Deletions asked for, and those whose remains are known to be wiped.
    erase_wanted INTEGER NOT NULL DEFAULT 0,
    erase_done INTEGER NOT NULL DEFAULT 0,
    -- Counts sign-ins, sign-outs and re-authorisations.
    notices INTEGER NOT NULL DEFAULT 0,
    -- Counts claims.
    epochs INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE data_keys (
    id BLOB PRIMARY KEY,
    -- The vault key that wrapped it first; the header names the one that wraps it now.
    born_under BLOB NOT NULL,
    wrapped BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE manifests (
    namespace TEXT PRIMARY KEY,
    counter INTEGER NOT NULL,
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    expires_at INTEGER,
    data_key BLOB NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
    profile TEXT NOT NULL,
    name TEXT NOT NULL,
    generation INTEGER NOT NULL,
    data_key BLOB NOT NULL,
    access BLOB NOT NULL,
    access_expires_at INTEGER,
    refresh BLOB,
    details BLOB NOT NULL,
    needs_reauth INTEGER NOT NULL DEFAULT 0,
    claim_epoch INTEGER,
    claim_owner TEXT,
    claim_fingerprint BLOB,
    claimed_at INTEGER,
    claimed_until INTEGER,
    -- Earlier owners that died holding a claim on this generation.
    interrupted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (profile, name)
) STRICT, WITHOUT ROWID;
