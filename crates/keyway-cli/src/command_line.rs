//! The command line as data: global flags and one variant per command, and which function runs it.

use clap::{CommandFactory as _, Parser, Subcommand};
use keyway_code::Exit;

use crate::arguments::Later;
use crate::arguments::help::WIDEST;
use crate::commands::{
    add, adopt, audit, call, check, client_metadata, clients, complete, completions, convert, demo,
    docs, doctor, embed, env, explain, headers, help, install, login, logout, logs, man, migrate,
    mtls, open, people, policy, probe, purge, readme, remove, rotate, run, schema, serve, service,
    status, token, tools, trust, uninstall, vault,
};
use crate::context::{CommandContext, Global};
use crate::error::CliError;

/// Sign in to MCP servers once and share the connections with every client
#[derive(Debug, Parser)]
#[command(name = "keyway", version, max_term_width = WIDEST)]
#[command(propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Returns the program as clap knows it.
pub(crate) fn program() -> clap::Command {
    Arguments::command()
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Later<demo::Demo>),
    Check(Later<check::Check>),
    Run(Later<run::Run>),
    Serve(Later<serve::Serve>),
    Service(Later<service::Service>),
    Open(Later<open::Open>),
    Token(Later<token::Token>),
    Embed(Later<embed::Embed>),
    Env(Later<env::Env>),
    /// List the tools of servers
    #[command(after_help = "\
Examples:
  keyway tools docs
  keyway tools
  keyway tools docs --format json")]
    Tools(Later<tools::List>),
    /// List the resources of servers
    #[command(after_help = "\
Examples:
  keyway resources docs")]
    Resources(Later<tools::List>),
    /// List the prompts of servers
    #[command(after_help = "\
Examples:
  keyway prompts docs")]
    Prompts(Later<tools::List>),
    Call(Later<call::Call>),
    Read(Later<call::Read>),
    Login(Later<login::Login>),
    Logout(Later<logout::Logout>),
    Add(Later<add::Add>),
    Remove(Later<remove::Remove>),
    Adopt(Later<adopt::Adopt>),
    Clients(Later<clients::Clients>),
    Purge(Later<purge::Purge>),
    Headers(Later<headers::Headers>),
    Logs(Later<logs::Logs>),
    Install(Later<install::Install>),
    Uninstall(Later<uninstall::Uninstall>),
    Policy(Later<policy::Policy>),
    Probe(Later<probe::Probe>),
    Doctor(Later<doctor::Doctor>),
    Explain(Later<explain::Explain>),
    Mtls(Later<mtls::Mtls>),
    Trust(Later<trust::Trust>),
    Vault(Later<vault::Vault>),
    Audit(Later<audit::Audit>),
    People(Later<people::People>),
    Migrate(Later<migrate::Migrate>),
    Import(Later<convert::Import>),
    Export(Later<convert::Export>),
    Convert(Later<convert::Convert>),
    Rotate(Later<rotate::Rotate>),
    Readme(Later<readme::Readme>),
    Status(Later<status::Status>),
    Schema(Later<schema::Schema>),
    ClientMetadata(Later<client_metadata::ClientMetadata>),
    Completions(Later<completions::Completions>),
    Man(Later<man::Man>),
    Help(Later<help::Help>),
    #[command(name = "__complete", hide = true)]
    Complete(Later<complete::Complete>),
    Docs(Later<docs::Docs>),
}

impl Command {
    /// Says whether a command that gives up owes a script one JSON object.
    ///
    /// Those that are not named print theirs in any case, or have no such format.
    pub(crate) fn wants_json(&self) -> bool {
        let format = match self {
            Self::Tools(list) | Self::Resources(list) | Self::Prompts(list) => list.format,
            Self::Call(call) => call.format,
            Self::Read(read) => read.format,
            Self::Probe(probe) => probe.format,
            Self::Demo(demo) => demo.format,
            Self::Embed(embed) => embed.format(),
            Self::Env(env) => env.format(),
            Self::Token(token) => token.format(),
            Self::Policy(policy) => policy.format(),
            Self::Trust(trust) => trust.format(),
            Self::Doctor(doctor) => doctor.format,
            Self::Clients(clients) => clients.format,
            _ => return false,
        };
        format == tools::Format::Json
    }
}

/// Runs the command that the person chose.
pub(crate) fn run(command: &Command, context: &mut CommandContext) -> Result<Exit, CliError> {
    match command {
        Command::Rotate(rotate) => rotate::run(rotate, context),
        Command::Demo(demo) => demo::run(demo, context),
        Command::Check(check) => check::run(check, context),
        Command::Run(run) => run::run(run, context),
        Command::Serve(serve) => serve::run(serve, context),
        Command::Service(service) => service::run(service, context),
        Command::Open(open) => open::run(open, context),
        Command::Token(token) => token::run(token, context),
        Command::Embed(embed) => embed::run(embed, context),
        Command::Env(env) => env::run(env, context),
        Command::Tools(list) => tools::run(list, tools::TOOLS, context),
        Command::Resources(list) => tools::run(list, tools::RESOURCES, context),
        Command::Prompts(list) => tools::run(list, tools::PROMPTS, context),
        Command::Call(call) => call::call(call, context),
        Command::Read(read) => call::read(read, context),
        Command::Login(login) => login::run(login, context),
        Command::Logout(logout) => logout::run(logout, context),
        Command::Logs(logs) => logs::run(logs, context),
        Command::ClientMetadata(arguments) => client_metadata::run(arguments, context),
        Command::Mtls(mtls) => mtls::run(mtls, context),
        Command::Add(add) => add::run(add, context),
        Command::Remove(remove) => remove::run(remove, context),
        Command::Adopt(adopt) => adopt::run(adopt, context),
        Command::Clients(clients) => clients::run(clients, context),
        Command::Purge(purge) => purge::run(purge, context),
        Command::Headers(headers) => headers::run(headers, context),
        Command::Install(install) => install::run(install, context),
        Command::Uninstall(uninstall) => uninstall::run(uninstall, context),
        Command::Policy(policy) => policy::run(policy, context),
        Command::Probe(probe) => probe::run(probe, context),
        Command::Trust(trust) => trust::run(trust, context),
        Command::Vault(vault) => vault::run(vault, context),
        Command::Audit(audit) => audit::run(audit, context),
        Command::People(people) => people::run(people, context),
        Command::Migrate(migrate) => migrate::run(migrate, context),
        Command::Import(import) => convert::import(import, context),
        Command::Export(export) => convert::export(export, context),
        Command::Convert(convert) => convert::run(convert, context),
        Command::Readme(readme) => readme::run(readme, context),
        Command::Status(status) => status::run(status, context),
        Command::Schema(schema) => schema::run(schema, context),
        Command::Completions(completions) => completions::run(completions, context),
        Command::Man(man) => man::run(man, context),
        Command::Doctor(doctor) => doctor::run(doctor, context),
        Command::Explain(explain) => explain::run(explain, context),
        Command::Complete(complete) => complete::run(complete, context),
        Command::Help(help) => help::run(help, context),
        Command::Docs(docs) => docs::run(docs, context),
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    /// Splits a line as a shell does, as far as examples need it; what is piped or redirected is left
    /// out.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for letter in line.chars() {
            match (quote, letter) {
                (None, '|' | '<' | '>' | '#' | '&') => break,
                (None, '\'' | '"') => quote = Some(letter),
                (Some(open), _) if open == letter => quote = None,
                (None, ' ') => words.push(String::new()),
                _ => words.last_mut().expect("one at least").push(letter),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_example_of_help_is_a_command_line_that_is_accepted() {
        let mut commands = vec![program()];
        let mut examples = 0;
        while let Some(mut command) = commands.pop() {
            command.build();
            commands.extend(command.get_subcommands().cloned());
            let help = command.get_after_help().map(ToString::to_string);
            for line in help.unwrap_or_default().lines() {
                let line = line.trim_start();
                if !line.starts_with("keyway ") {
                    continue;
                }
                examples += 1;
                if let Err(error) = program().try_get_matches_from(words(line)) {
                    let is_help = error.kind() == ErrorKind::DisplayHelp;
                    assert!(is_help, "{line}: {error}");
                }
            }
        }
        assert!(examples > 60, "{examples} examples");
    }
}
