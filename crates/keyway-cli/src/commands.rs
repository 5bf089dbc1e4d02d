//! One file per command: its flags, and a `run` that gets them together with the [`CommandContext`].

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod client_metadata;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod env;
pub(crate) mod explain;
pub(crate) mod help;
pub(crate) mod install;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod mtls;
pub(crate) mod open;
pub(crate) mod probe;
pub(crate) mod readme;
pub(crate) mod rotate;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod uninstall;
pub(crate) mod vault;

use std::sync::OnceLock;
use std::time::Duration;

use keyway::in_flight::InFlight;
use keyway_code::Exit;

use crate::arguments::Command;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::signals::terminated;

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
        Command::Env(env) => env::run(env, context),
        Command::Tools(list) => tools::run(list, tools::TOOLS, context),
        Command::Resources(list) => tools::run(list, tools::RESOURCES, context),
        Command::Prompts(list) => tools::run(list, tools::PROMPTS, context),
        Command::Call(call) => call::call(call, context),
        Command::Read(read) => call::read(read, context),
        Command::Login(login) => login::run(login, context),
        Command::Logout(logout) => logout::run(logout, context),
        Command::ClientMetadata(arguments) => client_metadata::run(arguments, context),
        Command::Mtls(mtls) => mtls::run(mtls, context),
        Command::Install(install) => install::run(install, context),
        Command::Uninstall(uninstall) => uninstall::run(uninstall, context),
        Command::Probe(probe) => probe::run(probe, context),
        Command::Trust(trust) => trust::run(trust, context),
        Command::Vault(vault) => vault::run(vault, context),
        Command::Migrate(migrate) => migrate::run(migrate, context),
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

/// What this process must not end in the middle of, whichever command runs.
pub(crate) fn in_flight() -> InFlight {
    static IN_FLIGHT: OnceLock<InFlight> = OnceLock::new();
    IN_FLIGHT.get_or_init(InFlight::default).clone()
}

/// Runs a command that talks to servers; one thread is enough. However it ends, a token that is
/// being renewed is kept first.
fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    block_on_to_its_end(async {
        tokio::select! {
            // Listened for before anything is done.
            biased;
            () = terminated() => Err(keyway::Error::Cancelled.into()),
            outcome = work => outcome,
        }
    })
}

/// The same for a command that ends in its own way when it is told to.
fn block_on_to_its_end<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|source| CliError::Client { source })?;
    let outcome = runtime.block_on(async {
        let outcome = work.await;
        in_flight().settled(LONGEST_RENEWAL).await;
        outcome
    });
    // A thread that reads from a terminal ends with the next line; nobody waits for that.
    runtime.shutdown_timeout(LONGEST_GOODBYE);
    outcome
}

/// Longer than the token endpoint is waited for.
const LONGEST_RENEWAL: Duration = Duration::from_secs(12);
const LONGEST_GOODBYE: Duration = Duration::from_millis(500);
