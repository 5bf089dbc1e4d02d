//! The program of an entry: its command line, which file that is, and which code it loads.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use keyway_config::declared::{DeclaredServer, Endpoint, Field, HelperCommand, Local};
use keyway_config::environment::{HostVariables, Origin, Scope};
use keyway_config::paths::lexical;
use keyway_config::template::{Foreign, Part, Template};
use keyway_secret::{Secret, escaped_word};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::inline_code::inline_code;
use crate::link::{self, Resolver, Target, normal};
use crate::outside_paths;
use crate::places::Places;
use crate::program_start::{runs_package, start_folder, with_host_variables};

/// What an entry runs: a local server, or a headers helper.
#[derive(Debug)]
pub(crate) struct CommandLine {
    /// As written, quoted word by word.
    pub(crate) shown: String,
    /// The first word as written.
    pub(crate) command: String,
    /// The words with their variables filled in, as far as they can be.
    pub(crate) words: Vec<Secret<String>>,
    /// Those of the words that no variable of the person's is part of.
    decided: Vec<Secret<String>>,
    /// Where it starts.
    pub(crate) folder: PathBuf,
    /// The interpreter and the flag by which it is handed code.
    code: Option<String>,
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
                    code: inline_code(exposed.iter().copied()),
                    decided: fields()
                        .zip(&words)
                        .filter(|(field, _)| !has_persons(&field.template, scope))
                        .map(|(_, word)| word.clone())
                        .collect(),
                    words,
                })
            }
            Endpoint::Remote(remote) => {
                let helper = |shown, command: &str, words: Vec<Secret<String>>, code| Self {
                    shown,
                    command: command.to_owned(),
                    decided: words.clone(),
                    words,
                    folder: root.clone(),
                    code,
                    is_package: false,
                };
                Some(match &remote.helper.as_ref()?.command {
                    // The whole text may be a path with blanks, or a path with words behind it.
                    HelperCommand::Program(field) => {
                        let line = plain(field);
                        let mut words = split(line.expose());
                        words.push(line);
                        let text = field.template.as_str();
                        let code = code_in(&words);
                        helper(escaped_word(text), text, words, code)
                    }
                    HelperCommand::Shell(field) => {
                        let text = field.template.as_str();
                        let shown = format!("sh -c {}", escaped_word(text));
                        helper(shown, "sh", split(text), Some("sh -c".to_owned()))
                    }
                    HelperCommand::Words(words) => {
                        let shown = quoted(words.iter().map(|field| &field.template));
                        let first = words.first().map_or("", |it| it.template.as_str());
                        let words: Vec<_> = words.iter().map(plain).collect();
                        let code = code_in(&words);
                        helper(shown, first, words, code)
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
        let words = self.words.iter();
        words.flat_map(with_value).collect()
    }

    /// Finds the file that runs; `path` is the variable by which it is looked for.
    pub(crate) fn program(&self, root: &Path, path: Option<&Secret<String>>) -> Option<PathBuf> {
        let command = self.words.first()?.expose();
        if command.contains('/') {
            return Some(normal(&root.join(command), root));
        }
        let folders = path?.expose().split(':');
        // An empty part of `PATH` is the folder in which the program starts.
        let mut files = folders.map(|folder| self.folder.join(folder).join(command));
        let file = files.find(|file| is_executable(file))?;
        let real = normal(&file, root);
        // It is named as `PATH` says it, unless that reads as another file.
        Some(if real == lexical(&file) { file } else { real })
    }

    /// Says whether the plugin's files decide what runs. Of every program it is taken that they do:
    /// which one reads the folder in which it starts, or the root that its environment names, cannot
    /// be told. A package that is known by its name starts in the data folder, and does not, unless
    /// its words lead into the plugin.
    pub(crate) fn loads_from(&self, root: &Path) -> bool {
        if !self.is_package || self.folder == root || self.inline_code().is_some() {
            return true;
        }
        let names_root = |word: &Secret<String>| names_root(word.expose(), root);
        let leads_inside = |path: PathBuf| {
            let is_inside = path.starts_with(root) || is_within(&path, root);
            is_inside && !path.starts_with(&self.folder) && path.exists()
        };
        let paths = self.paths();
        self.words.iter().any(names_root)
            || paths
                .iter()
                .any(|word| leads_inside(normal(&self.folder.join(word.expose()), root)))
    }

    /// Returns what the command line names outside of the plugin, without any part of the person's,
    /// that others than the superuser can change, or put there.
    pub(crate) fn outside(&self, places: Places<'_>) -> Vec<PathBuf> {
        let HostVariables {
            plugin_root: root,
            plugin_data: data,
            ..
        } = places.host;
        let bases = self.bases(root);
        let (mut named, mut whole) = (BTreeSet::new(), BTreeSet::new());
        for word in &self.decided {
            let values: Vec<_> = with_value(word).collect();
            for path in outside_paths::of(word.expose()) {
                let is_whole = values.iter().any(|it| Path::new(it.expose()) == path);
                for base in &bases {
                    let path = normal(&base.join(&path), root);
                    whole.extend(is_whole.then(|| path.clone()));
                    named.insert(path);
                }
            }
        }
        // A whole word that links lead to a file in the plugin is approved with where that lies.
        let leads_into = |path: &Path, to: &Path| !to.as_os_str().is_empty() && is_within(path, to);
        let counts = |path: &Path| {
            whole.contains(path)
                && path.is_file()
                && [root, data].iter().any(|to| leads_into(path, to))
        };
        let is_outside = |path: &PathBuf| !places.contain(path) && !counts(path);
        let named = named.iter().filter(|path| is_outside(path));
        named
            .filter(|path| Self::is_changeable(path))
            .cloned()
            .collect()
    }

    /// Says whether others than the superuser can change what is at a path, or lead it elsewhere. A
    /// folder that a package is given may be what it works on, or what it runs.
    fn is_changeable(path: &Path) -> bool {
        let resolver = Resolver {
            counts: &|_| false,
            stays: link::is_superusers,
        };
        match resolver.resolve(Path::new("/"), path) {
            Target::Path(target) if target.is_fixed => false,
            Target::Path(_) | Target::OfProcess(_) => true,
        }
    }

    /// Returns what code is handed to in a word: `sh -c`, `node -e`, `find -exec`, `awk` (threat D15).
    /// Nothing follows from its absence; it is shown because such lines are easily skimmed.
    pub(crate) fn inline_code(&self) -> Option<&str> {
        self.code.as_deref()
    }
}

fn code_in(words: &[Secret<String>]) -> Option<String> {
    inline_code(words.iter().map(|word| word.expose().as_str()))
}

/// Says whether a text leads into the plugin by its path or by the variable that holds it.
pub(crate) fn names_root(text: &str, root: &Path) -> bool {
    text.contains("PLUGIN_ROOT") || root.to_str().is_some_and(|root| text.contains(root))
}

/// Returns a word, and what follows `=` in it.
fn with_value(word: &Secret<String>) -> impl Iterator<Item = Secret<String>> + use<> {
    let value = word.expose().split_once('=');
    let value = value.map(|(_, value)| Secret::new(value.to_owned()));
    std::iter::once(word.clone()).chain(value)
}

fn has_persons(template: &Template, scope: &Scope<'_>) -> bool {
    let mut variables = template.variables();
    variables.any(|variable| {
        let origin = scope.origin(&variable.name);
        origin.is_some_and(|origin| origin != Origin::Plugin)
    })
}

/// Says whether `exec` would take a file: others that the search by `PATH` meets are passed over.
fn is_executable(path: &Path) -> bool {
    let may_run = || accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
    fs::metadata(path).is_ok_and(|it| it.is_file()) && may_run()
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

/// Says whether a variable has its value from the plugin: from a file that it chose, or as what its
/// files say where the person gave none.
pub(crate) fn is_plugins(name: &str, scope: &Scope<'_>) -> bool {
    match scope.origin(name) {
        Some(origin) => origin == Origin::Plugin,
        None => scope.is_set(name),
    }
}

#[cfg(test)]
mod tests;
