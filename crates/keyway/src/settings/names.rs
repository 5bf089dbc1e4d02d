//! Which keys a file has, without what they are set to.

use toml::de::{DeTable, DeValue};

/// Returns the names of all keys, from the root down, in the order of the alphabet; none for text
/// that is not TOML.
#[must_use]
pub fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        collect(table.get_ref(), "", &mut found);
    }
    found.sort_unstable();
    found
}

fn collect(table: &DeTable<'_>, above: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        let key = key.get_ref();
        let name = if above.is_empty() {
            key.to_string()
        } else {
            format!("{above}.{key}")
        };
        match value.get_ref() {
            DeValue::Table(below) => collect(below, &name, found),
            _ => found.push(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_and_values_are_not() {
        let text = "[network]\nproxy = \"http://u:CANARY@h\"\n[oauth.issuers.\"https://as\"]\nsecret = { env = \"CANARY\" }\n";
        let expected = ["network.proxy", "oauth.issuers.https://as.secret.env"];
        assert_eq!(names(text), expected);
        assert_eq!(names("not [ toml"), [""; 0]);
    }
}
