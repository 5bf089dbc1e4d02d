//! Whose a tool, a prompt, a resource or a template is.

use std::collections::{HashMap, HashSet};

use super::list_kind::ListKind;

/// The owner table, filled from the servers' lists.
#[derive(Debug, Default)]
pub(super) struct Owners {
    entries: HashMap<ListKind, HashMap<String, Owner>>,
    listed: HashSet<(ListKind, usize)>,
}

/// Whose something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// The place of the server in the configuration.
    pub(super) server: usize,
    /// The name by which the server itself knows it.
    pub(super) name: String,
}

impl Owners {
    /// Replaces a server's list by a new one, and returns what belongs to the server now.
    ///
    /// What two servers claim belongs to the one that is configured first.
    pub(super) fn replace(
        &mut self,
        kind: ListKind,
        server: usize,
        items: impl Iterator<Item = (String, String)>,
    ) -> HashSet<String> {
        self.listed.insert((kind, server));
        let entries = self.entries.entry(kind).or_default();
        entries.retain(|_, owner| owner.server != server);
        let mut kept = HashSet::new();
        for (exposed, name) in items {
            let taken = entries.get(&exposed).map(|owner| owner.server);
            if taken.is_none_or(|other| server < other) {
                kept.insert(exposed.clone());
                entries.insert(exposed, Owner { server, name });
            }
        }
        kept
    }

    /// Remembers that a server has something that it does not list.
    pub(super) fn add(&mut self, kind: ListKind, server: usize, name: &str) {
        let owner = Owner {
            server,
            name: name.to_owned(),
        };
        let entries = self.entries.entry(kind).or_default();
        entries.entry(name.to_owned()).or_insert(owner);
    }

    /// Returns the owner of what the client knows by this name.
    pub(super) fn get(&self, kind: ListKind, exposed: &str) -> Option<Owner> {
        self.entries.get(&kind)?.get(exposed).cloned()
    }

    /// Says whether a server's list has been seen.
    pub(super) fn has_listed(&self, kind: ListKind, server: usize) -> bool {
        self.listed.contains(&(kind, server))
    }

    /// Returns the server of an address: its own, or that of the template that fits it best.
    pub(super) fn of_uri(&self, uri: &str) -> Option<usize> {
        if let Some(owner) = self.get(ListKind::Resources, uri) {
            return Some(owner.server);
        }
        let templates = self.entries.get(&ListKind::Templates)?.iter();
        let fitting = templates.filter_map(|(template, owner)| {
            let literal = fit(template, uri)?;
            Some((literal, std::cmp::Reverse(owner.server)))
        });
        fitting.max().map(|(_, server)| server.0)
    }
}

/// Returns how many characters a template fixes of an address that it may have made.
///
/// Each `{…}` of RFC 6570 stands for anything; the server decides in the end.
fn fit(template: &str, uri: &str) -> Option<usize> {
    let mut literals = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        literals.push(literal);
        rest = after.split_once('}')?.1;
    }
    let Some((first, middle)) = literals.split_first() else {
        return (template == uri).then_some(template.len());
    };
    let mut left = uri.strip_prefix(first)?.strip_suffix(rest)?;
    for literal in middle {
        left = left.split_once(literal)?.1;
    }
    let literal: usize = literals.iter().map(|literal| literal.len()).sum();
    Some(literal + rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(names: &[&str]) -> Vec<(String, String)> {
        let names = names.iter().map(|name| (*name).to_owned());
        names.map(|name| (name.clone(), name)).collect()
    }

    #[test]
    fn what_two_servers_claim_belongs_to_the_first_whichever_answers_first() {
        let mut owners = Owners::default();
        owners.replace(ListKind::Resources, 1, pairs(&["a", "b"]).into_iter());
        owners.replace(ListKind::Resources, 0, pairs(&["a"]).into_iter());
        assert_eq!(owners.of_uri("a"), Some(0));
        let kept = owners.replace(ListKind::Resources, 1, pairs(&["a", "c"]).into_iter());
        assert_eq!(kept, HashSet::from(["c".to_owned()]));
        assert_eq!(owners.of_uri("a"), Some(0));
        assert_eq!(owners.of_uri("b"), None);
    }

    #[test]
    fn the_template_that_fixes_most_of_an_address_wins() {
        let mut owners = Owners::default();
        owners.replace(
            ListKind::Templates,
            0,
            pairs(&["db://{table}/{id}"]).into_iter(),
        );
        owners.replace(
            ListKind::Templates,
            1,
            pairs(&["db://users/{id}"]).into_iter(),
        );
        assert_eq!(owners.of_uri("db://users/7"), Some(1));
        assert_eq!(owners.of_uri("db://posts/7"), Some(0));
        assert_eq!(owners.of_uri("file:///x"), None);
    }

    #[test]
    fn template_fits_only_what_has_its_fixed_parts_in_order() {
        for (template, uri, fits) in [
            ("a://b", "a://b", true),
            ("a://b", "a://b/c", false),
            ("a://{x}/c/{y}.md", "a://1/c/2.md", true),
            ("a://{x}/c/{y}.md", "a://1/d/2.md", false),
            ("ab{x}bc", "abc", false),
            ("a{x", "a", false),
        ] {
            assert_eq!(fit(template, uri).is_some(), fits, "{template} {uri}");
        }
    }
}
