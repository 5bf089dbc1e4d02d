//! Where a server is declared, for commands in hints that are run from another folder.

use std::path::PathBuf;

use keyway_secret::shell_word;

use crate::explain::naming;

/// A server, and where its entry is found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclarationSite {
    plugin: Option<String>,
    server: String,
    config: Option<PathBuf>,
}

impl DeclarationSite {
    /// A server of which only the name is known.
    #[must_use]
    pub const fn named(server: String) -> Self {
        Self {
            plugin: None,
            server,
            config: None,
        }
    }

    /// A server of a plugin; `config` is what `--config` takes.
    #[must_use]
    pub const fn new(plugin: String, server: String, config: Option<PathBuf>) -> Self {
        Self {
            plugin: Some(plugin),
            server,
            config,
        }
    }

    /// The same without its place, for clients of other machines: paths of this one are not theirs.
    #[must_use]
    pub fn without_path(self) -> Self {
        Self {
            config: None,
            ..self
        }
    }

    /// Puts names and `--config` into a hint, so that its commands work wherever they are typed.
    #[must_use]
    pub fn word(&self, hint: &str) -> String {
        let named = naming(hint, self.plugin.as_deref(), &self.server);
        let Some(config) = &self.config else {
            return named;
        };
        let flag = format!(" --config {}", shell_word(&config.to_string_lossy()));
        let mut worded = String::new();
        let mut rest = named.as_str();
        while let Some((before, after)) = self.next_command(rest) {
            worded.push_str(before);
            if !sentence(after).contains("--config") {
                worded.push_str(&flag);
            }
            rest = after;
        }
        worded.push_str(rest);
        worded
    }

    /// Splits a hint behind the first command that wants to know where an entry is, and behind the
    /// name that follows it.
    fn next_command<'a>(&self, hint: &'a str) -> Option<(&'a str, &'a str)> {
        let places = hint.match_indices(PROGRAM);
        let places = places.filter(|(at, _)| {
            let before = hint.get(..*at).and_then(|text| text.chars().next_back());
            before.is_none_or(|c| c.is_whitespace() || "`(".contains(c))
        });
        let mut ends = places.filter_map(|(at, _)| {
            let from = at.saturating_add(PROGRAM.len());
            let rest = hint.get(from..)?;
            let mut known = COMMANDS.iter().filter_map(|command| word(rest, command));
            let rest = known.next()?;
            let names = [" ", " --server "].into_iter();
            let mut names = names.filter_map(|before| rest.strip_prefix(before));
            let named = names.find_map(|rest| word(rest, &self.server));
            Some(named.unwrap_or(rest))
        });
        let rest = ends.next()?;
        let end = hint.len().saturating_sub(rest.len());
        hint.split_at_checked(end)
    }
}

/// Returns what follows a word at the beginning.
fn word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word).filter(|_| !word.is_empty())?;
    let is_over = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_.:@/".contains(c));
    // A full stop ends a sentence, or stands inside a name.
    (is_over || rest == "." || rest.starts_with(". ")).then_some(rest)
}

/// Returns what belongs to a command at most.
fn sentence(text: &str) -> &str {
    let end = text.find([';', ',', '`', '\n']).unwrap_or(text.len());
    let end = text.find("&&").map_or(end, |other| other.min(end));
    text.get(..end).unwrap_or(text)
}

const PROGRAM: &str = "keyway ";

/// The commands that hints name and that take `--config`.
pub const COMMANDS: [&str; 9] = [
    "login",
    "logout",
    "trust grant",
    "doctor",
    "probe",
    "call",
    "tools",
    "check",
    "status",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_needs_it_says_where_the_entry_is() {
        let at =
            |path: &str| DeclarationSite::new("p".to_owned(), "docs".to_owned(), Some(path.into()));
        for (path, hint, worded) in [
            (
                "/a b",
                "approve it: keyway trust grant SERVER",
                "approve it: keyway trust grant docs --config '/a b'",
            ),
            (
                "/it's",
                "keyway login SERVER --no-browser",
                r"keyway login docs --config '/it'\''s' --no-browser",
            ),
            (
                "/p",
                "keyway logout docs && keyway login docs",
                "keyway logout docs --config /p && keyway login docs --config /p",
            ),
            (
                "/p",
                "update: keyway doctor SERVER says which",
                "update: keyway doctor docs --config /p says which",
            ),
            (
                "/p",
                "`keyway login` helps. Or keyway check.",
                "`keyway login --config /p` helps. Or keyway check --config /p.",
            ),
            ("/p", "keyway login docs2", "keyway login --config /p docs2"),
            // Those need no entry, name it already, or are not commands.
            ("/p", "keyway env set A", "keyway env set A"),
            ("/p", "keyway status --config X", "keyway status --config X"),
            (
                "/p",
                "mykeyway login, keyway logins",
                "mykeyway login, keyway logins",
            ),
        ] {
            assert_eq!(at(path).word(hint), worded);
        }
        let nowhere = DeclarationSite::named("docs".to_owned());
        assert_eq!(nowhere.word("keyway login SERVER"), "keyway login docs");
    }
}
