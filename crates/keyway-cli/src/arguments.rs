//! What command lines are made of: arguments that several commands share, and how help is laid out.
//!
//! The flags of a command are in its own file under `commands/`; the list of commands is in
//! `command_line.rs`.

pub(crate) mod connect;
pub(crate) mod help;
pub(crate) mod own_plugin;
pub(crate) mod selection;
pub(crate) mod server;

use std::ops::Deref;

use clap::{ArgMatches, Args, FromArgMatches};

/// Keeps a flag that means nothing to a command, for scripts that give it, out of the help.
pub(crate) fn hidden(flag: clap::Arg) -> clap::Arg {
    flag.hide(true)
}

/// The flags of a command, which are only looked at when it is the one that was given.
#[derive(Debug)]
pub(crate) struct Later<T>(T);

impl<T> Deref for Later<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Later<T> {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.defer(|command| described_as_before(T::augment_args, command))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command.defer(|command| described_as_before(T::augment_args_for_update, command))
    }
}

/// Adds flags to a command; what it was said to be for, it stays.
fn described_as_before(
    flags: fn(clap::Command) -> clap::Command,
    command: clap::Command,
) -> clap::Command {
    let about = command.get_about().cloned();
    let command = flags(command);
    match about {
        Some(about) => command.about(about),
        None => command,
    }
}

/// Returns every command that is shown, those with commands of their own before these.
///
/// `program` must be built.
pub(crate) fn visible(program: &clap::Command) -> Vec<&clap::Command> {
    let mut found = Vec::new();
    for command in program.get_subcommands().filter(|c| !c.is_hide_set()) {
        found.push(command);
        found.extend(visible(command));
    }
    found
}
