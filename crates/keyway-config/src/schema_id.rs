//! The ids under which a file can name the version of the contract it follows.

/// What a file's `$schema` says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaKind {
    /// Version 1 of the contract.
    V1,
    /// One of our ids, but none that this program knows.
    Unsupported,
    /// Another tool's; it changes nothing.
    Foreign,
}

impl SchemaKind {
    /// Reads a `$schema`; it is compared, never fetched.
    #[must_use]
    pub fn of(id: &str) -> Self {
        match id {
            SCHEMA_ID => Self::V1,
            id if id.starts_with(OUR_PREFIX) => Self::Unsupported,
            _ => Self::Foreign,
        }
    }
}

/// The id of version 1.
pub const SCHEMA_ID: &str = "urn:keyway:mcp:1";

/// What all our ids begin with.
const OUR_PREFIX: &str = "urn:keyway:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_ours_by_its_beginning_and_known_only_as_a_whole() {
        assert_eq!(SchemaKind::of(SCHEMA_ID), SchemaKind::V1);
        for id in ["urn:keyway:mcp:2", &format!("{SCHEMA_ID}#")] {
            assert_eq!(SchemaKind::of(id), SchemaKind::Unsupported, "{id}");
        }
        for id in ["", "urn:other:keyway:mcp:1"] {
            assert_eq!(SchemaKind::of(id), SchemaKind::Foreign, "{id}");
        }
    }
}
