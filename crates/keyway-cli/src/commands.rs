//! One file per command: its flags, and a `run` that gets them together with the [`Session`].

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod docs;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod readme;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod status;
pub(crate) mod tools;
pub(crate) mod trust;

use crate::arguments::Command;
use crate::error::CliError;
use crate::exit::Exit;
use crate::reach::ReachError;
use crate::session::Session;

/// Runs the command that the person chose.
pub(crate) fn run(command: &Command, session: &mut Session) -> Result<Exit, CliError> {
    match command {
        Command::Check(check) => check::run(check, session),
        Command::Run(run) => run::run(run, session),
        Command::Tools(list) => tools::run(list, tools::TOOLS, session),
        Command::Resources(list) => tools::run(list, tools::RESOURCES, session),
        Command::Prompts(list) => tools::run(list, tools::PROMPTS, session),
        Command::Call(call) => call::call(call, session),
        Command::Read(read) => call::read(read, session),
        Command::Trust(trust) => trust::run(trust, session),
        Command::Migrate(migrate) => migrate::run(migrate, session),
        Command::Readme(readme) => readme::run(readme, session),
        Command::Status(status) => status::run(status, session),
        Command::Schema(schema) => schema::run(schema, session),
        Command::Completions(completions) => completions::run(completions, session),
        Command::Man(man) => man::run(man, session),
        Command::Docs(docs) => docs::run(docs, session),
    }
}

/// Runs a command that talks to servers; one thread is enough.
fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(|source| ReachError::Client { source })?
        .block_on(work)
}
