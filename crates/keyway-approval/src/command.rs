//! The program of an entry: its command line, which file that is, and which code it loads.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use keyway_config::declared::{DeclaredServer, Endpoint, Field, HelperCommand, Local};
use keyway_config::environment::{Origin, Scope};
use keyway_config::template::{Foreign, Part, Template};
use keyway_secret::{Secret, escaped_word};

use crate::places::{Places, normal};
use crate::program_start::{file_name, runs_package, start_folder, with_host_variables};
use crate::regular_file;

/// What an entry runs: a local server, or a headers helper.
#[derive(Debug)]
pub(crate) struct CommandLine {
    /// As written, quoted word by word.
    pub(crate) shown: String,
    /// The first word as written.
    pub(crate) command: String,
    /// The words with their variables filled in, as far as they can be.
    pub(crate) words: Vec<Secret<String>>,
    /// Where it starts.
    pub(crate) folder: PathBuf,
    /// The words are a line for a shell.
    is_shell: bool,
    is_package: bool,
}

impl CommandLine {
    /// Returns what an entry runs, if it runs anything.
    pub(crate) fn of(
        server: &DeclaredServer,
        places: Places<'_>,
        scope: &Scope<'_>,
    ) -> Option<Self> {
        let filled = |field: &Field| {
            let value = field.template.expand(scope, Foreign::Keep);
            value.unwrap_or_else(|_| Secret::new(field.template.as_str().to_owned()))
        };
        // Of a helper only host variables are filled in.
        let plain = |field: &Field| Secret::new(with_host_variables(&field.template, places.host));
        let root = &places.host.plugin_root;
        match &server.endpoint {
            Endpoint::Local(Local { command, args, cwd }) => {
                let fields = || std::iter::once(command).chain(args);
                let words: Vec<_> = fields().map(filled).collect();
                let exposed: Vec<&str> = words.iter().map(|word| word.expose().as_str()).collect();
                let cwd = cwd.as_ref().map(filled);
                let cwd = cwd.as_ref().map(|cwd| cwd.expose().as_str());
                Some(Self {
                    shown: quoted(fields().map(|field| &field.template)),
                    command: command.template.as_str().to_owned(),
                    folder: start_folder(&exposed, cwd, places.host, &places.host.program_folders),
                    is_package: cwd.is_none() && runs_package(&exposed),
                    is_shell: false,
                    words,
                })
            }
            Endpoint::Remote(remote) => {
                let helper = |shown, command: &str, words, is_shell| Self {
                    shown,
                    command: command.to_owned(),
                    words,
                    folder: root.clone(),
                    is_shell,
                    is_package: false,
                };
                Some(match &remote.helper.as_ref()?.command {
                    // The whole text may be a path with blanks, or a path with words behind it.
                    HelperCommand::Program(field) => {
                        let line = plain(field);
                        let mut words = split(line.expose());
                        words.push(line);
                        let text = field.template.as_str();
                        helper(escaped_word(text), text, words, false)
                    }
                    HelperCommand::Shell(field) => {
                        let text = field.template.as_str();
                        let shown = format!("sh -c {}", escaped_word(text));
                        helper(shown, "sh", split(text), true)
                    }
                    HelperCommand::Words(words) => {
                        let shown = quoted(words.iter().map(|field| &field.template));
                        let first = words.first().map_or("", |it| it.template.as_str());
                        helper(shown, first, words.iter().map(plain).collect(), false)
                    }
                })
            }
        }
    }

    /// Returns the folders that a word may be a path from.
    pub(crate) fn bases(&self, root: &Path) -> Vec<PathBuf> {
        let mut bases = vec![self.folder.clone()];
        // A program with a `/` in it is found from the root, wherever it then starts. What a package
        // is given is found from where it starts.
        if !self.is_package && self.folder != root {
            bases.push(root.to_owned());
        }
        bases
    }

    /// Returns every word that may be a path: also the values of flags that are written in one word.
    pub(crate) fn paths(&self) -> Vec<Secret<String>> {
        let values = self.words.iter().filter_map(|word| {
            let (_, value) = word.expose().split_once('=')?;
            Some(Secret::new(value.to_owned()))
        });
        self.words.iter().cloned().chain(values).collect()
    }

    /// Finds the file that runs; `path` is the variable by which it is looked for.
    pub(crate) fn program(&self, root: &Path, path: Option<&Secret<String>>) -> Option<PathBuf> {
        let command = self.words.first()?.expose();
        if command.contains('/') {
            return Some(normal(&root.join(command)));
        }
        let folders = path?.expose().split(':');
        // An empty part of `PATH` is the folder in which the program starts.
        let mut files = folders.map(|folder| self.folder.join(folder).join(command));
        files.find(|file| is_executable(file))
    }

    /// Says whether the folder of the plugin is one that code is loaded from.
    pub(crate) fn loads_from(&self, root: &Path) -> bool {
        let words: Vec<&str> = self
            .words
            .iter()
            .map(|word| word.expose().as_str())
            .collect();
        let in_root = self.folder.starts_with(root) || is_within(&self.folder, root);
        if in_root && !self.is_package && (self.is_shell_on_plugin() || is_loader(&words)) {
            return true;
        }
        let bases = self.bases(root);
        let paths = self.paths();
        let mut paths = paths.iter().flat_map(|word| {
            let word = word.expose();
            bases.iter().map(move |base| normal(&base.join(word)))
        });
        paths.any(|path| (path.starts_with(root) || is_within(&path, root)) && is_code(&path, root))
    }

    /// A shell may find the plugin by a variable that it fills in itself.
    fn is_shell_on_plugin(&self) -> bool {
        let mut words = self.words.iter();
        self.is_shell
            && words.any(|word| {
                let word = word.expose();
                word.contains("PLUGIN_ROOT") || is_loader_name(word)
            })
    }

    /// Finds a flag that hands code to an interpreter: `sh -c`, `node -e`, `npx -c`, `cmd /c` (threat
    /// D15). Nothing follows from its absence; it is shown because such lines are easily skimmed.
    pub(crate) fn inline_code(&self) -> Option<String> {
        if self.is_shell {
            return Some("sh -c".to_owned());
        }
        let words: Vec<&str> = self
            .words
            .iter()
            .map(|word| word.expose().as_str())
            .collect();
        let mut flags = words.iter().enumerate().skip(1);
        flags.find_map(|(at, flag)| {
            let before = words.get(..at)?.iter().rev();
            let mut programs = before.map(|word| word.rsplit(['/', '\\']).next().unwrap_or(word));
            let program = programs.find(|name| is_interpreter(name))?;
            let flag = code_flag(flag)?;
            Some(format!("{program} {flag}"))
        })
    }
}

/// Returns a flag after which, or in which, a program follows.
fn code_flag(word: &str) -> Option<&str> {
    let flag = word.split('=').next().unwrap_or(word);
    let is_named = CODE_FLAGS
        .iter()
        .any(|code| flag.eq_ignore_ascii_case(code));
    // Flags of one letter can be joined: `sh -ec`, `perl -ne`.
    let letters = flag.strip_prefix('-').unwrap_or_default();
    let is_joined = (2..=4).contains(&letters.len())
        && letters.bytes().all(|byte| byte.is_ascii_lowercase())
        && letters.ends_with(['c', 'e']);
    let is_data = word.contains("data:");
    (is_named || is_joined || (is_data && flag.starts_with("--"))).then_some(flag)
}

fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&plain_name(name).as_str())
}

/// Says whether a command line loads code from the folder in which it starts, whatever its words.
fn is_loader(words: &[&str]) -> bool {
    let Some((command, rest)) = words.split_first() else {
        return false;
    };
    let is_wrapper = WRAPPERS.contains(&file_name(command));
    is_loader_name(command) || (is_wrapper && rest.iter().any(|word| is_loader_name(word)))
}

fn is_loader_name(word: &str) -> bool {
    let name = plain_name(file_name(word));
    INTERPRETERS.contains(&name.as_str()) || LOADERS.contains(&name.as_str())
}

/// Returns a program's name without `.exe` and a version behind it.
fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    plain.to_owned()
}

/// Says whether something in the plugin is run, and not only read.
fn is_code(path: &Path, root: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else {
        return false;
    };
    if metadata.is_dir() {
        let is_project = || PROJECTS.iter().any(|name| path.join(name).exists());
        return path == root || is_project();
    }
    let extension = path.extension().and_then(|it| it.to_str());
    let is_script = extension.is_some_and(|it| SCRIPTS.contains(&it.to_ascii_lowercase().as_str()));
    metadata.is_file() && (is_script || is_executable(path) || has_shebang(path))
}

fn is_executable(path: &Path) -> bool {
    let metadata = fs::metadata(path);
    metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn has_shebang(path: &Path) -> bool {
    let mut start = [0; 2];
    let read = regular_file::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && &start == b"#!"
}

/// Says whether a path leads into a folder, links followed.
fn is_within(path: &Path, folder: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| path.starts_with(folder))
}

fn split(line: &str) -> Vec<Secret<String>> {
    let words = line.split_whitespace();
    // Quotes of a shell are not part of a path.
    let plain = words.map(|word| word.trim_matches(['"', '\'', ';', '(', ')']));
    plain.map(|word| Secret::new(word.to_owned())).collect()
}

fn quoted<'a>(words: impl Iterator<Item = &'a Template>) -> String {
    let words: Vec<String> = words.map(|word| escaped_word(word.as_str())).collect();
    words.join(" ")
}

/// Says whether the plugin has a part in what a variable of the process is: it is not just handed
/// through from the person's own.
pub(crate) fn is_plugins_value(template: &Template, scope: &Scope<'_>) -> bool {
    match template.parts() {
        [Part::Variable(variable)] if variable.default.is_none() => {
            is_plugins(&variable.name, scope)
        }
        _ => true,
    }
}

/// Says whether a variable has its value from the plugin: from a file of its own, or as what its
/// files say where the person gave none.
pub(crate) fn is_plugins(name: &str, scope: &Scope<'_>) -> bool {
    match scope.origin(name) {
        Some(origin) => origin == Origin::Plugin,
        None => scope.is_set(name),
    }
}

/// Says whether a variable decides which code a program loads (threat E7).
pub(crate) fn is_code_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    CODE_VARIABLES
        .iter()
        .any(|known| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *known,
        })
}

const CODE_VARIABLES: &[&str] = &[
    "PATH",
    "LD_*",
    "DYLD_*",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PYTHON*",
    "BASH_ENV",
    "BASH_FUNC_*",
    "ENV",
    "SHELLOPTS",
    "PROMPT_COMMAND",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "RUBYLIB",
    "GIT_*",
    "SSH_ASKPASS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "LUA_PATH*",
    "LUA_CPATH*",
    "PHP_INI_SCAN_DIR",
    "PHPRC",
    "DENO_*",
    "BUN_*",
    "NPM_CONFIG_*",
    "YARN_*",
    "PIP_*",
    "PIPX_*",
    "UV_*",
    "CARGO_*",
    "RUSTC_WRAPPER",
    "GOFLAGS",
    "MAKEFLAGS",
    "HOME",
    "XDG_CONFIG_HOME",
];

/// Programs that run what they are given, and how it is given.
const INTERPRETERS: &[&str] = &[
    "ash",
    "bash",
    "bun",
    "cmd",
    "csh",
    "dash",
    "deno",
    "fish",
    "ksh",
    "lua",
    "node",
    "nodejs",
    "npm",
    "npx",
    "osascript",
    "perl",
    "php",
    "pnpm",
    "powershell",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "sh",
    "tclsh",
    "uvx",
    "zsh",
];

/// Other programs that look for code in the folder in which they start.
const LOADERS: &[&str] = &[
    "bundle",
    "cargo",
    "composer",
    "docker-compose",
    "dotnet",
    "go",
    "gradle",
    "gradlew",
    "hatch",
    "java",
    "just",
    "make",
    "mise",
    "mvn",
    "pdm",
    "pipenv",
    "pipx",
    "poetry",
    "rake",
    "task",
    "ts-node",
    "tsx",
    "uv",
    "yarn",
];

/// Programs that start the one behind them.
const WRAPPERS: &[&str] = &[
    "direnv", "doas", "env", "exec", "flock", "ionice", "nice", "nix", "nohup", "setsid", "stdbuf",
    "sudo", "time", "timeout", "xvfb-run",
];

const CODE_FLAGS: &[&str] = &[
    "-c",
    "--call",
    "-e",
    "--eval",
    "-p",
    "--print",
    "-r",
    "-command",
    "-encodedcommand",
    "/c",
    "/k",
];

/// Files by which a folder is a program.
const PROJECTS: &[&str] = &[
    "package.json",
    "index.js",
    "index.mjs",
    "index.ts",
    "deno.json",
    "pyproject.toml",
    "setup.py",
    "__main__.py",
    "main.py",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "justfile",
];

/// Endings of files that interpreters run.
const SCRIPTS: &[&str] = &[
    "bash", "cjs", "class", "cts", "fish", "jar", "js", "jsx", "lua", "mjs", "mts", "php", "pl",
    "ps1", "py", "pyc", "pyz", "rb", "sh", "so", "tcl", "ts", "tsx", "wasm", "zsh",
];
