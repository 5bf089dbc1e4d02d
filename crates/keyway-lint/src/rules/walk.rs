//! The ways in which rules walk over entries: their raw objects, and the strings of a server.

use keyway_config::declared::{DeclaredServer, Endpoint, EntryFault, Field, OAuth};
use keyway_config::document::{Document, Entry};
use keyway_config::json::Object;
use keyway_config::plugin::Plugin;
use keyway_secret::printable;

/// Returns every entry that is an object, loadable or not, with that object; of a repeated name
/// only the last.
pub(super) fn objects(plugin: &Plugin) -> impl Iterator<Item = (&Document, &Entry, &Object)> {
    let read = plugin.entries().filter(|(_, entry)| !is_left_out(entry));
    read.filter_map(|(document, entry)| {
        let is_repeated = document.entries.iter().any(|other| {
            other.name_span.start > entry.name_span.start && other.pointer == entry.pointer
        });
        let object = document.object_of(entry).filter(|_| !is_repeated)?;
        Some((document, entry, object))
    })
}

/// Says whether an entry stands behind the last one that is read.
pub(super) fn is_left_out(entry: &Entry) -> bool {
    matches!(&entry.server, Err(faults) if faults.contains(&EntryFault::TooMany))
}

/// What a string of a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// The address.
    Url,
    /// A header of this name.
    Header(&'a str),
    /// A variable of this name.
    Env(&'a str),
    /// `envFile` or `cwd`.
    Path(&'static str),
    /// A member of `oauth`.
    OAuth(&'a str),
    /// The program.
    Command,
    /// An argument, counted from 1.
    Arg(usize),
}

impl Place<'_> {
    /// Names the place in a message.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Url => "`url`".to_owned(),
            Self::Header(name) => format!("header `{}`", shown(name)),
            Self::Env(name) => format!("variable `{}`", shown(name)),
            Self::Path(key) => format!("`{key}`"),
            Self::OAuth(key) => format!("`oauth.{key}`"),
            Self::Command => "`command`".to_owned(),
            Self::Arg(number) => format!("argument {number}"),
        }
    }
}

/// Returns every string of a server in which variables are expanded, the helper's excepted.
pub(super) fn strings(server: &DeclaredServer) -> Vec<(Place<'_>, &Field)> {
    let mut found = Vec::new();
    match &server.endpoint {
        Endpoint::Remote(remote) => {
            found.push((Place::Url, &remote.url));
            let headers = remote.headers.iter();
            found.extend(headers.map(|header| (Place::Header(&header.name), &header.value)));
            if let OAuth::Configured(oauth) = &remote.oauth {
                let members = oauth.strings.iter();
                found.extend(members.map(|member| (Place::OAuth(&member.name), &member.value)));
                found.extend(
                    oauth
                        .scopes
                        .iter()
                        .map(|scope| (Place::OAuth("scopes"), scope)),
                );
            }
        }
        Endpoint::Local(local) => {
            found.push((Place::Command, &local.command));
            let args = local.args.iter().enumerate();
            found.extend(args.map(|(index, arg)| (Place::Arg(index + 1), arg)));
            found.extend(local.cwd.iter().map(|cwd| (Place::Path("cwd"), cwd)));
        }
    }
    let env = server.env.iter();
    found.extend(env.map(|variable| (Place::Env(&variable.name), &variable.value)));
    found.extend(
        server
            .env_file
            .iter()
            .map(|file| (Place::Path("envFile"), file)),
    );
    found
}

/// Returns a name that a stranger wrote in a form that a message may carry: printable and short.
pub(super) fn shown(text: &str) -> String {
    let clean = printable(text);
    if clean.chars().count() <= LONGEST_SHOWN {
        return clean;
    }
    let start: String = clean.chars().take(LONGEST_SHOWN).collect();
    format!("{start}…")
}

const LONGEST_SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::plugin;

    #[test]
    fn of_a_repeated_name_the_object_that_counts_is_walked_once() {
        let plugin = plugin(r#"{"s": {"a": 1}, "s": {"b": 2}}"#);
        let keys: Vec<_> = objects(&plugin)
            .flat_map(|(_, _, object)| &object.members)
            .map(|member| member.key.as_str())
            .collect();
        assert_eq!(keys, ["b"]);
    }

    #[test]
    fn long_and_invisible_text_is_shortened() {
        assert_eq!(shown("a\u{202e}b\n"), "ab ");
        assert_eq!(shown(&"x".repeat(100)).chars().count(), 61);
    }
}
