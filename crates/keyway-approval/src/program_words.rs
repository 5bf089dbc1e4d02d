//! The words of a command line that are, or may be, a program: they count by value and are shown
//! whatever they look like.

use std::collections::HashSet;
use std::path::Path;

use keyway_secret::escaped_word;

use crate::command::CommandLine;
use crate::hidden::{looks_secret, names_program, parts};
use crate::inline_code::is_interpreter;
use crate::link::normal;
use crate::places::Places;
use crate::program_start::runs_package;

impl CommandLine {
    /// Returns the places of the words that an interpreter or a runner of packages takes for its
    /// program: the first that is not a flag, and of a runner with subcommands the one behind that.
    /// Where code is handed over in a word, all words are shown and count anyway.
    pub(crate) fn program_words(&self) -> HashSet<usize> {
        let words: Vec<&str> = self.words.iter().map(|it| it.expose().as_str()).collect();
        let command = words.first().copied().unwrap_or_default();
        let name = command.rsplit('/').next().unwrap_or(command);
        let count = match () {
            () if SUBCOMMANDS.contains(&name) => 2,
            () if is_interpreter(name) || LAUNCHERS.contains(&name) || runs_package(&words) => 1,
            () => 0,
        };
        let is_plain = |word: &str| !word.starts_with('-') && !word.contains('=');
        let words = words.iter().enumerate().skip(1);
        let plain = words.filter(|(_, word)| is_plain(word));
        plain.map(|(at, _)| at).take(count).collect()
    }

    /// Returns the parts of the command line that are shown although they look like a token.
    pub(crate) fn readable(
        &self,
        programs: &HashSet<usize>,
        places: Places<'_>,
    ) -> HashSet<String> {
        // A value that was filled in is not part of what is shown, and may be secret.
        let shown: HashSet<&str> = parts(&self.shown).flat_map(with_value).collect();
        let mut readable = HashSet::new();
        for (at, word) in self.words.iter().enumerate() {
            let is_program = programs.contains(&at);
            for text in with_value(word.expose()) {
                if looks_secret(text) && (is_program || self.is_file(text, places)) {
                    let quoted = escaped_word(text);
                    let parts = parts(&quoted).filter(|part| shown.contains(part));
                    readable.extend(parts.map(str::to_owned));
                }
            }
        }
        readable
    }

    /// Says whether a text names a file from where the program starts or from the plugin's folder,
    /// also without the ending that interpreters add.
    pub(crate) fn is_file(&self, text: &str, places: Places<'_>) -> bool {
        let is_there = |path: &Path| {
            let mut endings = ENDINGS.iter();
            path.is_file() || endings.any(|ending| path.with_added_extension(ending).is_file())
        };
        let bases = self.bases(&places.host.plugin_root);
        let mut paths = bases
            .iter()
            .map(|base| normal(&base.join(text), &places.host.plugin_root));
        !text.is_empty() && paths.any(|path| path.file_name().is_some() && is_there(&path))
    }
}

/// Returns a word, and what follows `=` in it.
fn with_value(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once('=').map(|(_, value)| value);
    std::iter::once(word).chain(value)
}

/// Says whether an argument is the value of a flag that is named like a program or a file.
pub(crate) fn is_program_argument(argument: &str, before: Option<&str>) -> bool {
    let is_flag = |text: &str| text.starts_with('-') && names_program(text);
    match argument.split_once('=') {
        Some((flag, _)) => is_flag(flag),
        None => before.is_some_and(|before| !before.contains('=') && is_flag(before)),
    }
}

/// Programs whose first word is what they do, and whose second may be what they run.
const SUBCOMMANDS: &[&str] = &[
    "bun", "cargo", "deno", "docker", "dotnet", "go", "npm", "pipx", "pnpm", "podman", "poetry",
    "uv", "yarn",
];

/// Programs that run their first word, besides interpreters.
const LAUNCHERS: &[&str] = &[
    "bunx", "doas", "env", "java", "nice", "nohup", "pnpx", "setsid", "stdbuf", "sudo", "time",
    "timeout", "tsx", "xargs",
];

/// What interpreters add to the name of a module.
const ENDINGS: &[&str] = &[
    "cjs", "js", "json", "lua", "mjs", "node", "php", "pl", "py", "rb", "sh", "so", "ts",
];
