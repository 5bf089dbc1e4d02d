//! `keyway docs`, hidden: writes every document that is made from the code.
//!
//! Each file has the path that it has in the repository; `cargo xtask` compares the two.

mod markdown;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::Shell;
use keyway_clients::clients_page;
use keyway_code::{Code, Exit};

use super::{completions, man};
use crate::context::CommandContext;
use crate::error::CliError;

/// Write the documents that are made from the code
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Docs {
    /// Where to write them
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the documents.
pub(crate) fn run(arguments: &Docs, context: &CommandContext) -> Result<Exit, CliError> {
    for (file, text) in documents(context) {
        write(&arguments.out.join(file), &text)?;
    }
    Ok(Exit::Done)
}

fn documents(context: &CommandContext) -> Vec<(String, String)> {
    let mut documents = vec![
        ("docs/cli.md".to_owned(), markdown::commands(context)),
        (
            "docs/clients.md".to_owned(),
            clients_page(markdown::GENERATED),
        ),
        ("docs/rules.md".to_owned(), markdown::rules()),
        ("docs/configuration.md".to_owned(), markdown::settings()),
        ("docs/environment.md".to_owned(), markdown::environment()),
        ("docs/exit-codes.md".to_owned(), markdown::exit_codes()),
        (
            "schema/mcp.schema.json".to_owned(),
            keyway_check::schema::text(),
        ),
        ("schema/control-api.json".to_owned(), control_api()),
    ];
    for code in Code::ALL {
        let file = format!("docs/{}", code.document());
        documents.push((file, code.page().to_owned()));
    }
    documents.extend(keyway_clients::host_pages::pages());
    for (file, page) in man::pages(context) {
        documents.push((format!("man/{file}"), page));
    }
    for (file, shell) in COMPLETIONS {
        let script = completions::script(*shell, context);
        documents.push((format!("completions/{file}"), script));
    }
    documents
}

/// The OpenAPI document of the gateway's control API.
fn control_api() -> String {
    format!("{:#}\n", keyway_gateway::control::openapi())
}

#[expect(
    clippy::disallowed_methods,
    reason = "files of our own making, in a folder that the caller names"
)]
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(path, text))
        .map_err(|source| CliError::Generate {
            path: path.to_path_buf(),
            source,
        })
}

const COMPLETIONS: &[(&str, Shell)] = &[
    ("keyway.bash", Shell::Bash),
    ("_keyway", Shell::Zsh),
    ("keyway.fish", Shell::Fish),
];
