//! Where a program starts, and what is set for it so that it does not write into the plugin.

use std::path::{Path, PathBuf};

use keyway_config::environment::{HostVariables, is_host_variable};
use keyway_config::template::{Part, Template};

/// Returns the folder in which a local server starts: as its entry says, else the root of the
/// plugin.
///
/// A package runner that is given the name of a package starts in `own`, a folder that no other
/// program of the plugin writes: in the plugin's it would follow the plugin's `.npmrc`, `uv.toml` or
/// `node_modules` to another package of that name, and in the data folder those that a confined
/// program of the plugin put there (threat E5).
pub fn start_folder(
    words: &[&str],
    cwd: Option<&str>,
    host: &HostVariables,
    own: &Path,
) -> PathBuf {
    match cwd {
        Some(cwd) => host.plugin_root.join(cwd),
        None if runs_package(words) && !own.as_os_str().is_empty() => own.to_owned(),
        None => host.plugin_root.clone(),
    }
}

/// Says whether a command line is a package runner with the name of a package.
pub fn runs_package(words: &[&str]) -> bool {
    let Some((command, rest)) = words.split_first() else {
        return false;
    };
    let command = file_name(command);
    let runner = RUNNERS.iter().find(|(name, subcommand)| {
        *name == command
            && subcommand.iter().zip(rest).all(|(one, word)| one == word)
            && subcommand.len() <= rest.len()
    });
    let Some((_, subcommand)) = runner else {
        return false;
    };
    let mut words = rest.iter().skip(subcommand.len());
    let mut is_named = false;
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (*word, None),
        };
        if CODE_FLAGS.contains(&flag) {
            return false;
        }
        if PACKAGE_FLAGS.contains(&flag) || VALUE_FLAGS.contains(&flag) {
            let value = value.or_else(|| words.next().copied());
            if PACKAGE_FLAGS.contains(&flag) {
                if value.is_none_or(is_path) {
                    return false;
                }
                is_named = true;
            }
        } else if !flag.starts_with('-') {
            // The first word is the package, or a program of the packages named before.
            return is_named || !is_path(word);
        }
    }
    is_named
}

/// Fills in host variables; everything else stays as written.
pub fn with_host_variables(template: &Template, host: &HostVariables) -> String {
    let text = template.as_str();
    let pieces = template.parts().iter().map(|part| match part {
        Part::Variable(variable) if is_host_variable(&variable.name) => {
            host.get(&variable.name).unwrap_or_default()
        }
        part => text.get(part.range()).unwrap_or_default().to_owned(),
    });
    pieces.collect()
}

/// Returns the name by which a program is called.
pub fn file_name(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or(command)
}

/// Returns variables that keep a program from writing into the plugin, unless its entry sets them.
///
/// Byte code, environments and caches beside a script would change the tree that was approved, with
/// every start. They are led to `own`, the program's own folder, and not left out of the approval:
/// Python runs byte code, and Babel's cache is code, so that a plugin could bring its own.
pub fn redirections(command: &str, own: &Path) -> Vec<(&'static str, PathBuf)> {
    if own.as_os_str().is_empty() {
        return Vec::new();
    }
    let mut set = vec![("PYTHONPYCACHEPREFIX", own.join("pycache"))];
    match file_name(command) {
        "uv" => set.push(("UV_PROJECT_ENVIRONMENT", own.join("venv"))),
        // What else would be in `node_modules/.cache`, as `find-cache-dir` reads it.
        "node" | "npm" | "npx" | "pnpm" | "yarn" | "tsx" | "ts-node" | "bun" => {
            set.push(("CACHE_DIR", own.join("cache")));
        }
        _ => {}
    }
    set
}

/// A package that is a folder, a file or an archive is not known by its name.
fn is_path(package: &str) -> bool {
    let is_url = ["file:", "link:", "portal:"]
        .iter()
        .any(|scheme| package.starts_with(scheme));
    package.is_empty() || is_url || package.starts_with(['.', '/', '~'])
}

/// Programs that fetch and run a package, and the words that make them do it.
const RUNNERS: &[(&str, &[&str])] = &[
    ("npx", &[]),
    ("pnpx", &[]),
    ("bunx", &[]),
    ("uvx", &[]),
    ("npm", &["exec"]),
    ("npm", &["x"]),
    ("bun", &["x"]),
    ("pnpm", &["dlx"]),
    ("yarn", &["dlx"]),
    ("uv", &["tool", "run"]),
    ("pipx", &["run"]),
];

/// Flags whose next word names a package.
const PACKAGE_FLAGS: &[&str] = &[
    "-p",
    "--package",
    "--from",
    "--spec",
    "-w",
    "--with",
    "--with-editable",
    "--with-requirements",
];

/// Other flags that take the next word.
const VALUE_FLAGS: &[&str] = &[
    "--python",
    "--index",
    "--index-url",
    "--default-index",
    "--extra-index-url",
    "-i",
    "--registry",
    "--cache",
    "--loglevel",
    "--pip-args",
];

/// Flags whose value is a shell command, which may name anything.
const CODE_FLAGS: &[&str] = &["-c", "--call"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e05_caches_and_environments_are_led_to_the_programs_own_folder() {
        let none = redirections("node", Path::new(""));
        assert!(none.is_empty(), "there is none");
        for (command, expected) in [
            (
                "/usr/bin/node",
                &["PYTHONPYCACHEPREFIX=/own/pycache", "CACHE_DIR=/own/cache"][..],
            ),
            (
                "uv",
                &[
                    "PYTHONPYCACHEPREFIX=/own/pycache",
                    "UV_PROJECT_ENVIRONMENT=/own/venv",
                ],
            ),
            ("python3", &["PYTHONPYCACHEPREFIX=/own/pycache"]),
        ] {
            let set = redirections(command, Path::new("/own")).into_iter();
            let set: Vec<_> = set
                .map(|(name, to)| format!("{name}={}", to.display()))
                .collect();
            assert_eq!(set, expected, "{command}");
        }
    }

    #[test]
    fn e05_a_package_starts_in_its_own_folder_if_there_is_one() {
        let host = HostVariables {
            plugin_root: "/plugin".into(),
            ..HostVariables::default()
        };
        let (package, script) = (&["npx", "server"][..], &["node", "server.js"][..]);
        for (words, cwd, own, expected) in [
            (package, None, "/own", "/own"),
            (package, None, "", "/plugin"),
            (package, Some("sub"), "/own", "/plugin/sub"),
            (script, None, "/own", "/plugin"),
            (script, Some("/x"), "", "/x"),
        ] {
            let found = start_folder(words, cwd, &host, Path::new(own));
            assert_eq!(found, Path::new(expected), "{words:?} in {cwd:?}");
        }
    }

    #[test]
    fn e05_a_package_runner_is_known_by_the_name_of_a_package() {
        for line in [
            "npx -y @modelcontextprotocol/server-filesystem .",
            "/usr/bin/npx server",
            "npx --yes --package=@a/b tool",
            "npx -p a tool",
            "npm exec -- server",
            "npm x server",
            "bunx server",
            "bun x server",
            "pnpm dlx server",
            "yarn dlx server",
            "uvx mcp-server-git --repository .",
            "uvx --from git+https://h.example/x tool",
            "uvx --python 3.12 server",
            "uv tool run server",
            "pipx run server",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(runs_package(&words), "{line}");
        }
        for line in [
            "npx",
            "npx .",
            "npx ./tool",
            "npx -y /opt/x",
            "npx file:x",
            "npx -c server",
            "npx --package ./x tool",
            "uvx --from . tool",
            "uvx --from=/x tool",
            "uv run server",
            "uv tool",
            "npm start",
            "bun run x",
            "node server.js",
            "",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(!runs_package(&words), "{line}");
        }
    }
}
