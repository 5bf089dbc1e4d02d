-- The list of contents of a namespace is kept in parts, so that an operation reads and writes one of
-- them; see manifest.rs. The table of manifests keeps the root and one directory per namespace.
CREATE TABLE buckets (
    namespace TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (namespace, bucket)
) STRICT, WITHOUT ROWID;
-- What has expired, and what is claimed, is found without going through all rows.
CREATE INDEX records_by_expiry ON records (namespace, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX grants_by_claim ON grants (claim_epoch) WHERE claim_epoch IS NOT NULL;
