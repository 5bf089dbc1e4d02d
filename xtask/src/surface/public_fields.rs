//! Structs to which a field cannot be added without breaking those who build or take them apart.
//!
//! A public struct with public fields is `#[non_exhaustive]`, so that others make it by a
//! constructor. The exceptions are [`TAKEN_APART`]: digests, approvals and messages in other crates
//! of ours name each of their fields, so that a new one cannot be forgotten there.

use std::collections::BTreeSet;

use super::Surface;

/// Returns a line for each struct that breaks the rule, and for each exception that is not needed.
pub(super) fn check(surfaces: &[Surface]) -> Vec<String> {
    let lines = surfaces.iter().flat_map(|surface| &surface.lines);
    compare(&exhaustive(lines), TAKEN_APART)
}

fn compare(found: &BTreeSet<&str>, allowed: &[&str]) -> Vec<String> {
    let open = found.iter().filter(|path| !allowed.contains(path));
    let stale = allowed.iter().filter(|path| !found.contains(*path));
    let open = open.map(|path| {
        format!("`{path}` has public fields: make it `#[non_exhaustive]`, with a constructor")
    });
    let stale = stale.map(|path| format!("`{path}` needs no exception in `TAKEN_APART` any more"));
    open.chain(stale).collect()
}

/// Returns the paths of structs with public fields that others can build by naming them all.
fn exhaustive<'a>(lines: impl Iterator<Item = &'a String>) -> BTreeSet<&'a str> {
    let (mut structs, mut owners) = (BTreeSet::new(), BTreeSet::new());
    for line in lines {
        if let Some(rest) = line.strip_prefix("pub struct ") {
            structs.insert(path(rest));
            // The fields of a tuple stand behind its name.
            if rest.contains("(pub ") {
                owners.insert(path(rest));
            }
        } else if let Some(owner) = owner_of_field(line) {
            owners.insert(owner);
        }
    }
    structs.retain(|path| owners.contains(path));
    structs
}

/// Returns the type that a line like `pub keyway::Files::key: std::path::PathBuf` is about.
///
/// Variants of enums look the same, but no struct has the path of an enum.
fn owner_of_field(line: &str) -> Option<&str> {
    let named = path(line.strip_prefix("pub ")?);
    let rest = line.get("pub ".len() + named.len()..)?;
    let (owner, _) = named.rsplit_once("::")?;
    rest.starts_with(": ").then_some(owner)
}

/// Returns the path at the beginning of a text, without what follows it.
fn path(text: &str) -> &str {
    let is_path = |character: char| character.is_ascii_alphanumeric() || "_:".contains(character);
    let end = text.find(|character| !is_path(character));
    let path = text.get(..end.unwrap_or(text.len())).unwrap_or(text);
    path.trim_end_matches(':')
}

/// What other crates of ours take apart field by field.
const TAKEN_APART: &[&str] = &[
    // The facts of an approval.
    "keyway_config::declared::DeclaredServer",
    "keyway_config::declared::Helper",
    "keyway_config::declared::Local",
    "keyway_config::declared::NamedField",
    "keyway_config::declared::OAuthFields",
    "keyway_config::declared::Remote",
    "keyway_config::environment::HostVariables",
    // The fingerprint of a connection.
    "keyway_config::resolve::LocalSpec",
    "keyway_config::resolve::RemoteSpec",
    "keyway_config::resolve::ServerSpec",
    // What the process that carries a renewal is told.
    "keyway_transport::ProxySettings",
    "keyway_transport::RootCertificates",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let found = exhaustive(lines.iter());
        found.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_struct_with_a_public_field_is_found_by_its_path() {
        for text in [
            "pub struct a::B\npub a::B::c: u8",
            "pub struct a::B<'a, T: core::fmt::Debug>\npub a::B::c: &'a T",
            "pub struct a::B<'a>(pub &'a str)",
        ] {
            assert_eq!(found(text), ["a::B"], "{text}");
        }
    }

    #[test]
    fn what_can_grow_is_not_found() {
        for text in [
            "#[non_exhaustive] pub struct a::B\npub a::B::c: u8",
            "pub struct a::B(_)\npub fn a::B::c(self) -> u8",
            "pub struct a::B\npub const a::B::C: u8",
            "pub enum a::B\npub a::B::C\npub a::B::C::d: u8",
            "pub struct a::B\npub a::BC::d: u8",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_exception_that_is_missing_or_stale_fails() {
        let found = BTreeSet::from(["a::B", "a::C"]);
        assert!(compare(&found, &["a::B", "a::C"]).is_empty());
        assert!(matches!(compare(&found, &["a::B"]).as_slice(), [one] if one.contains("`a::C`")));
        let stale = compare(&found, &["a::B", "a::C", "a::D"]);
        assert!(matches!(stale.as_slice(), [one] if one.contains("`a::D` needs no exception")));
    }
}
