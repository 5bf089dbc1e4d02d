//! Which environment variables a helper script reads, as far as its text tells.
//!
//! This is a reading aid for a person, not an interpreter: where a script is too clever, nothing
//! is claimed. Shell, Python and JavaScript are read.

mod shell;

use keyway_config::source::Source;

/// Returns the variables that `script` expects from its environment, each once, in order.
///
/// Variables that it assigns itself or has a default for are left out.
#[must_use]
pub fn variables_read(script: &Source) -> Vec<String> {
    let text = script.text();
    let found = match language(script) {
        Language::Shell => return shell_variables(text),
        Language::Python => looked_up(text, PYTHON),
        Language::JavaScript => looked_up(text, JAVASCRIPT),
        Language::Other => Vec::new(),
    };
    unique(found)
}

/// Returns the variables that a shell command line expects from its environment.
#[must_use]
pub fn shell_variables(text: &str) -> Vec<String> {
    unique(shell::read(text))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Shell,
    Python,
    JavaScript,
    Other,
}

/// Tells the language by the first line, else by the ending of the name.
fn language(script: &Source) -> Language {
    let first = script.text().lines().next().unwrap_or_default();
    let interpreter = first.strip_prefix("#!").unwrap_or_default();
    let words = interpreter
        .split(['/', ' '])
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'));
    for word in words {
        match word {
            "sh" | "bash" | "dash" | "zsh" | "ksh" => return Language::Shell,
            "python" => return Language::Python,
            "node" | "bun" | "deno" | "tsx" => return Language::JavaScript,
            _ => {}
        }
    }
    let name = script.path().rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("sh" | "bash" | "zsh") => Language::Shell,
        Some("py") => Language::Python,
        Some("js" | "mjs" | "cjs" | "ts") => Language::JavaScript,
        _ => Language::Other,
    }
}

/// The names behind `lookups` in every line that is not a comment.
fn looked_up(text: &str, lookups: &[Lookup]) -> Vec<String> {
    let lines = text.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with('#') && !line.starts_with("//")
    });
    let mut names = Vec::new();
    for line in lines {
        for lookup in lookups {
            let behind = line
                .match_indices(lookup.open)
                .filter_map(|(at, open)| line.get(at + open.len()..));
            names.extend(behind.filter_map(|rest| lookup.name_in(rest)));
        }
    }
    names
}

/// A way to write the lookup of a variable.
struct Lookup {
    /// What stands in front of the name.
    open: &'static str,
    /// What closes it behind the quoted name; `None` where the name is not quoted.
    close: Option<char>,
}

impl Lookup {
    /// Reads the name at the beginning of `rest`, unless it is assigned or has a default.
    fn name_in(&self, rest: &str) -> Option<String> {
        let rest = rest.trim_start();
        let unquoted = match self.close {
            Some(_) => rest.strip_prefix(['"', '\''])?,
            None => rest,
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = unquoted.split(|c| !is_name(c)).next().unwrap_or_default();
        let mut after = unquoted.get(name.len()..)?.trim_start();
        if let Some(close) = self.close {
            after = after.strip_prefix(['"', '\''])?.trim_start();
            after = after.strip_prefix(close)?.trim_start();
        }
        let is_assigned = after.starts_with('=') && !after.starts_with("==");
        let has_default = ["||", "??", "or "].iter().any(|or| after.starts_with(or));
        (!name.is_empty() && !is_assigned && !has_default).then(|| name.to_owned())
    }
}

fn unique(mut names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// A call with a second argument has a default, and does not close behind the name.
const PYTHON: &[Lookup] = &[
    Lookup {
        open: "environ[",
        close: Some(']'),
    },
    Lookup {
        open: "environ.get(",
        close: Some(')'),
    },
    Lookup {
        open: "getenv(",
        close: Some(')'),
    },
];

const JAVASCRIPT: &[Lookup] = &[
    Lookup {
        open: "process.env.",
        close: None,
    },
    Lookup {
        open: "process.env[",
        close: Some(']'),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> Vec<String> {
        variables_read(&Source::new(path, text.as_bytes()))
    }

    #[test]
    fn python_and_javascript_name_their_variables() {
        let python = "#!/usr/bin/env python3\nimport os\nk = os.environ[\"A\"]\nx = os.getenv('B')\n\
                      y = os.environ.get(\"C\", \"x\")\n# os.environ[\"D\"]\nos.environ[\"E\"] = \"x\"\n";
        assert_eq!(read("h", python), ["A", "B"]);
        let node = "const k = process.env.A + process.env[\"B\"] + (process.env.C || 1); // x\n";
        assert_eq!(read("h.js", node), ["A", "B"]);
    }

    #[test]
    fn the_first_line_wins_over_the_ending_and_an_unknown_language_says_nothing() {
        assert_eq!(read("h.py", "#!/bin/sh\necho $A\n"), ["A"]);
        assert!(read("h.bin", "process.env.A $B").is_empty());
    }
}
