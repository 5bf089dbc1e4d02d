//! `keyway __complete`, hidden: what may stand at the end of a command line, for completion scripts.
//!
//! It reads files of the plugin and of Keyway. It sends nothing, runs nothing and asks nothing: the
//! vault stays closed, and tools come from what an earlier command listed.

use std::path::{Path, PathBuf};

use clap::{Arg, Args};
use keyway::load::Loader;
use keyway_code::{Code, Exit};

use crate::arguments::visible;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::tool_names;

/// Print what may complete a command line
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Complete {
    /// The words after `keyway`, up to the one that is being typed, which may be empty
    #[arg(last = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Prints one candidate on each line, with a tab before its description. `:files` asks the shell for
/// the names of files.
pub(crate) fn run(arguments: &Complete, context: &CommandContext) -> Result<Exit, CliError> {
    let mut program = (context.program)();
    program.build();
    let found = Line::read(&program, &arguments.words).candidates();
    let lines = found.into_iter().map(|candidate| match candidate {
        Candidate::Word(word, about) => format!("{word}\t{about}\n"),
        Candidate::Files => ":files\n".to_owned(),
    });
    context.print(&lines.collect::<String>(), Exit::Done)?;
    Ok(Exit::Done)
}

enum Candidate {
    Word(String, String),
    Files,
}

/// A command line, as far as it is typed.
struct Line<'a> {
    program: &'a clap::Command,
    command: &'a clap::Command,
    /// The flag whose value is being typed.
    flag: Option<&'a Arg>,
    positionals: Vec<&'a str>,
    config: Option<PathBuf>,
    current: &'a str,
}

impl<'a> Line<'a> {
    fn read(program: &'a clap::Command, words: &'a [String]) -> Self {
        let (current, before) = match words.split_last() {
            // A shell may take `=` for a word of its own.
            Some((current, before)) if current == "=" => ("", before),
            Some((current, before)) => (current.as_str(), before),
            None => ("", words),
        };
        let mut line = Self {
            program,
            command: program,
            flag: None,
            positionals: Vec::new(),
            config: None,
            current,
        };
        for word in before {
            line.take(word);
        }
        line
    }

    fn take(&mut self, word: &'a str) {
        if word == "=" {
            return;
        }
        if let Some(flag) = self.flag.take() {
            if flag.get_id() == "config" {
                self.config = Some(PathBuf::from(word));
            }
            return;
        }
        if word.starts_with('-') && word.len() > 1 {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let flag = self.flag_named(name);
            match (flag, value) {
                (Some(flag), Some(value)) if flag.get_id() == "config" => {
                    self.config = Some(PathBuf::from(value));
                }
                (Some(flag), None) if takes_value(flag) => self.flag = Some(flag),
                _ => {}
            }
            return;
        }
        match self.command.find_subcommand(word) {
            Some(command) if self.positionals.is_empty() => self.command = command,
            _ => self.positionals.push(word),
        }
    }

    fn flag_named(&self, name: &str) -> Option<&'a Arg> {
        self.command.get_arguments().find(|flag| {
            let long = name.strip_prefix("--");
            let short = name.strip_prefix('-').and_then(|it| it.chars().last());
            match long {
                Some(long) => flag.get_long() == Some(long),
                None => short.is_some() && flag.get_short() == short,
            }
        })
    }

    fn candidates(&self) -> Vec<Candidate> {
        if let Some(flag) = self.flag {
            return self.values(flag, self.current, "");
        }
        if self.current.starts_with('-') {
            if let Some((name, value)) = self.current.split_once('=') {
                let flag = self.flag_named(name);
                let before = format!("{name}=");
                return flag.map_or_else(Vec::new, |flag| self.values(flag, value, &before));
            }
            return self.flags();
        }
        if self.command.has_subcommands() {
            return self.subcommands();
        }
        let positionals: Vec<&Arg> = self.command.get_positionals().collect();
        let several = |arg: &&Arg| arg.get_num_args().is_some_and(|many| many.max_values() > 1);
        let last = || positionals.last().copied().filter(several);
        let own = positionals.get(self.positionals.len()).copied();
        let argument = own.or_else(last);
        argument.map_or_else(Vec::new, |argument| self.values(argument, self.current, ""))
    }

    fn flags(&self) -> Vec<Candidate> {
        let shown = self
            .command
            .get_arguments()
            .filter(|flag| !flag.is_hide_set());
        let flags = shown.filter_map(|flag| {
            let name = format!("--{}", flag.get_long()?);
            let about = flag.get_help().map(ToString::to_string);
            Some((name, about.unwrap_or_default()))
        });
        self.matching(flags, self.current, "")
    }

    fn subcommands(&self) -> Vec<Candidate> {
        let shown = self
            .command
            .get_subcommands()
            .filter(|it| !it.is_hide_set());
        let names = shown.map(|command| {
            let about = command.get_about().map(ToString::to_string);
            (command.get_name().to_owned(), about.unwrap_or_default())
        });
        self.matching(names, self.current, "")
    }

    /// Returns what may be the value of a flag or a positional argument.
    fn values(&self, argument: &Arg, typed: &str, before: &str) -> Vec<Candidate> {
        let possible = argument.get_possible_values();
        if !possible.is_empty() {
            let possible = possible.iter().filter(|value| !value.is_hide_set());
            let words = possible.map(|value| {
                let about = value.get_help().map(ToString::to_string);
                (value.get_name().to_owned(), about.unwrap_or_default())
            });
            return self.matching(words, typed, before);
        }
        let plain = |words: Vec<String>| words.into_iter().map(|word| (word, String::new()));
        match argument.get_id().as_str() {
            "words" | "word" | "named" | "server" | "servers" => {
                let looks_like_path = typed.contains('/') || typed.starts_with(['.', '~']);
                let servers = if looks_like_path {
                    Vec::new()
                } else {
                    self.servers()
                };
                let mut found = self.matching(servers, typed, before);
                if found.is_empty() && argument.get_id() != "named" {
                    found.push(Candidate::Files);
                }
                found
            }
            "tool" => self.matching(plain(self.tools()), typed, before),
            "code" => {
                let codes = Code::ALL.iter().map(|code| code.as_str().to_owned());
                self.matching(plain(codes.collect()), typed, before)
            }
            "command" => {
                let within = self
                    .positionals
                    .iter()
                    .try_fold(self.program, |at, word| at.find_subcommand(word));
                let all = within.map(visible).unwrap_or_default();
                let own = all.into_iter().filter(|it| {
                    within.is_some_and(|within| within.find_subcommand(it.get_name()).is_some())
                });
                let names = own.map(|it| it.get_name().to_owned()).collect();
                self.matching(plain(names), typed, before)
            }
            _ => {
                let names = argument.get_value_names().unwrap_or_default();
                let is_file = names.iter().any(|name| FILES.contains(&name.as_str()));
                is_file.then_some(Candidate::Files).into_iter().collect()
            }
        }
    }

    /// Returns the servers of the plugin, with how they are reached.
    fn servers(&self) -> Vec<(String, String)> {
        let loader = Loader::default().home(ProcessEnvironment::home());
        let named = self.positionals.iter().find(|word| word.contains('/'));
        let path = self.config.as_deref().or_else(|| named.map(Path::new));
        let loaded = match path {
            Some(path) => loader.load(path),
            None => loader.discover(Path::new(".")),
        };
        let Ok(loaded) = loaded else {
            return Vec::new();
        };
        let servers = loaded.plugin.servers();
        let usable = servers.filter(|(document, server)| document.is_usable() && !server.disabled);
        let mut names: Vec<(String, String)> = usable
            .map(|(_, server)| (server.name.clone(), "server".to_owned()))
            .collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|(name, _)| !self.positionals.contains(&name.as_str()));
        names
    }

    /// Returns the tools that a command listed before.
    fn tools(&self) -> Vec<String> {
        let Some(server) = self.positionals.first() else {
            return Vec::new();
        };
        let loader = Loader::default().home(ProcessEnvironment::home());
        let loaded = match &self.config {
            Some(path) => loader.load(path),
            None => loader.discover(Path::new(".")),
        };
        let names = loaded.map(|loaded| {
            let prefix = format!("{}:", loaded.plugin.name());
            let own = server.strip_prefix(&prefix).unwrap_or(server);
            tool_names::recall(&loaded.plugin.root, own)
        });
        names.unwrap_or_default()
    }

    fn matching(
        &self,
        words: impl IntoIterator<Item = (String, String)>,
        typed: &str,
        before: &str,
    ) -> Vec<Candidate> {
        let fitting = words
            .into_iter()
            .filter(|(word, _)| word.starts_with(typed));
        // A name with a blank or a control character cannot be completed without quoting.
        let plain = fitting
            .filter(|(word, _)| !word.contains(|c: char| c.is_whitespace() || c.is_control()));
        plain
            .map(|(word, about)| {
                let about = about.lines().next().unwrap_or_default().to_owned();
                Candidate::Word(format!("{before}{word}"), about)
            })
            .collect()
    }
}

fn takes_value(flag: &Arg) -> bool {
    flag.get_action().takes_values() && !flag.is_require_equals_set()
}

/// What arguments that take files call them.
const FILES: &[&str] = &["PATH", "FILE", "PEM", "DIR", "SERVER|PATH"];
