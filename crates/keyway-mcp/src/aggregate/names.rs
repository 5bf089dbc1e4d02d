//! Names of tools and prompts as the client sees them: `<server>__<tool>`.
//!
//! A name depends on the configured servers and on the server's own list alone, never on which
//! other servers answer at the moment, so that it stays the same from one day to the next.

use std::collections::{HashMap, HashSet};

use keyway_config::names::normalised;

use super::Naming;

/// The part in front of the names of each server; no two are the same.
#[derive(Debug)]
pub(super) struct Prefixes(Vec<String>, Naming);

impl Prefixes {
    /// Normalises the names of all servers; of two that become one, the later gets a hash.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>, naming: Naming) -> Self {
        let mut taken = HashSet::new();
        let prefixes = names.map(|name| {
            let plain = normalised(name);
            let mut prefix = plain.clone();
            let mut tries = 0;
            while !taken.insert(prefix.clone()) {
                prefix = format!("{plain}_{}", hash(name, &tries.to_string()));
                tries += 1;
            }
            prefix
        });
        Self(prefixes.collect(), naming)
    }

    /// Returns the prefix of one server.
    pub(super) fn of(&self, server: usize) -> &str {
        self.0.get(server).map_or("", String::as_str)
    }

    /// Returns the name under which the client sees something of a server.
    pub(super) fn exposed(&self, server: usize, name: &str) -> String {
        if self.1 == Naming::Bare {
            return name.to_owned();
        }
        let full = self.full(server, name);
        // Nothing of this server may look like something of another.
        let is_foreign = self.0.iter().any(|other| {
            let longer = other.len() > self.of(server).len();
            longer && belongs(&full, other)
        });
        if is_foreign || full.len() > MAX_CHARS {
            return self.hashed(server, name);
        }
        full
    }

    /// Returns the names for a server's whole list, one for each.
    ///
    /// Of those that normalising makes the same, only one that needed none keeps its plain form.
    pub(super) fn exposed_all(&self, server: usize, names: &[String]) -> Vec<String> {
        if self.1 == Naming::Bare {
            return names.to_vec();
        }
        let mut count: HashMap<String, usize> = HashMap::new();
        for name in names.iter().collect::<HashSet<_>>() {
            *count.entry(normalised(name)).or_default() += 1;
        }
        let exposed = names.iter().map(|name| {
            let plain = normalised(name);
            let is_shared = count.get(&plain).is_some_and(|count| *count > 1);
            if is_shared && plain != *name {
                return self.hashed(server, name);
            }
            self.exposed(server, name)
        });
        exposed.collect()
    }

    /// Returns the servers that something of this name may belong to.
    pub(super) fn candidates<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let fits = |prefix: &String| {
            let marked = format!("{prefix}{SEPARATOR}");
            let shown = marked.get(..marked.len().min(KEPT_CHARS));
            shown.is_some_and(|shown| name.starts_with(shown))
        };
        let servers = self.0.iter().enumerate();
        let is_bare = self.1 == Naming::Bare;
        servers.filter_map(move |(server, prefix)| (is_bare || fits(prefix)).then_some(server))
    }

    fn full(&self, server: usize, name: &str) -> String {
        format!("{}{SEPARATOR}{}", self.of(server), normalised(name))
    }

    fn hashed(&self, server: usize, name: &str) -> String {
        let full = self.full(server, name);
        let kept = full.get(..full.len().min(KEPT_CHARS)).unwrap_or_default();
        format!("{kept}_{}", hash(self.of(server), name))
    }
}

fn belongs(full: &str, prefix: &str) -> bool {
    let rest = full.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.starts_with(SEPARATOR))
}

/// Returns 8 hexadecimal digits of FNV-1a: stable across versions and machines.
///
/// It keeps names apart and protects nothing: it need not be hard to invert.
fn hash(server: &str, name: &str) -> String {
    let bytes = server.bytes().chain([0]).chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}

/// What stands between the name of a server and that of its tool.
const SEPARATOR: &str = "__";

/// The longest name that clients accept.
const MAX_CHARS: usize = 64;

/// How much of a longer name stays in front of `_` and the hash.
const KEPT_CHARS: usize = MAX_CHARS - 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(names: &[&str]) -> Prefixes {
        Prefixes::new(names.iter().copied(), Naming::Prefixed)
    }

    fn all(names: &[&str]) -> Vec<String> {
        let names: Vec<String> = names.iter().copied().map(str::to_owned).collect();
        prefixes(&["s"]).exposed_all(0, &names)
    }

    #[test]
    fn names_are_normalised_and_long_ones_end_in_a_stable_hash() {
        let prefixes = prefixes(&["Dev Box", &"x".repeat(70)]);
        assert_eq!(prefixes.exposed(0, "get.file"), "Dev_Box__get_file");
        let fits = "t".repeat(64 - "Dev_Box__".len());
        assert_eq!(prefixes.exposed(0, &fits).len(), 64);
        assert!(prefixes.exposed(0, &fits).ends_with("tt"));
        let long = prefixes.exposed(0, &format!("{fits}1"));
        assert_eq!(long.len(), 64);
        assert_ne!(long, prefixes.exposed(0, &format!("{fits}2")));
        assert_eq!(
            long,
            "Dev_Box__tttttttttttttttttttttttttttttttttttttttttttttt_b954c987"
        );
        assert_eq!(prefixes.exposed(1, "a").len(), 64);
    }

    #[test]
    fn names_that_normalising_makes_the_same_stay_apart_whatever_their_order() {
        let one = all(&["a_b", "a.b", "a b", "c"]);
        assert_eq!((one[0].as_str(), one[3].as_str()), ("s__a_b", "s__c"));
        assert_eq!(one.iter().collect::<HashSet<_>>().len(), 4);
        let other = all(&["c", "a b", "a.b", "a_b"]);
        assert_eq!(one.iter().rev().cloned().collect::<Vec<_>>(), other);
    }

    #[test]
    fn servers_whose_names_become_the_same_have_different_prefixes() {
        let prefixes = prefixes(&["a b", "a_b", "a_b"]);
        let all: HashSet<_> = (0..3).map(|server| prefixes.of(server)).collect();
        assert_eq!(all.len(), 3);
        assert_eq!(prefixes.of(0), "a_b");
    }

    #[test]
    fn tool_that_pretends_to_be_of_another_server_gets_a_hash() {
        let prefixes = prefixes(&["a", "a__b"]);
        assert_eq!(prefixes.exposed(1, "c"), "a__b__c");
        assert!(prefixes.exposed(0, "b__c").starts_with("a__b__c_"));
    }

    #[test]
    fn servers_are_found_by_the_beginning_of_a_name() {
        let long = "x".repeat(70);
        let prefixes = prefixes(&["a", "a__b", &long]);
        let found = |name: &str| prefixes.candidates(name).collect::<Vec<_>>();
        assert_eq!(found("a__b__c"), [0, 1]);
        assert_eq!(found("b__c"), Vec::<usize>::new());
        assert_eq!(found(&prefixes.exposed(2, "t")), [2]);
    }
}
