//! `keyway vault`: how what Keyway keeps is sealed, whether all of it opens, and changing its key.

mod database;
mod report;
mod transfer;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use keyway::vault::{
    ExplicitKey, Inspection, KeySources, PassphraseFile, SourceKind, Vault as Store, VaultError,
};
use keyway_code::Exit;
use keyway_secret::printable;

use self::database::MigrateArgs;
use self::report::{Changed, Found, Looked, VaultState};
use self::transfer::{ImportArgs, MoveArgs};
pub(super) use self::transfer::{confirm, parse_key, print_moved};
use super::confirmation::ask;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::vault::{AskedPassphrase, folders, open_vault, sources};

/// Inspect, copy, restore and repair the encrypted store, move sign-ins, and change its key
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway vault status
  keyway vault backup keyway.backup
  keyway vault rekey --to keyring")]
pub(crate) struct Vault {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show where the vault is, what it contains and how its key is protected
    #[command(after_help = "\
Examples:
  keyway vault status")]
    Status {
        #[command(flatten)]
        output: Output,
    },
    /// Decrypt every record and report damage; changes nothing
    #[command(after_help = "\
Examples:
  keyway vault verify")]
    Verify {
        #[command(flatten)]
        output: Output,
    },
    /// Write an encrypted copy of the vault to a new file; running processes continue
    ///
    /// The copy opens with the key of its day, which is not in it: keep the key as well, and make a
    /// new copy after `keyway vault rekey`.
    #[command(after_help = "\
Examples:
  keyway vault backup keyway.backup")]
    Backup {
        /// File to create
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Restore the vault from a backup; the current one is kept under another name
    ///
    /// Sign-ins that were renewed or ended since have to be repeated: their refresh tokens are spent.
    #[command(after_help = "\
Examples:
  keyway vault restore keyway.backup")]
    Restore {
        /// File that `keyway vault backup` wrote
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Rebuild a damaged vault from what still decrypts; the damaged one is kept under another name
    ///
    /// What is gone is named. The damaged file is not written to.
    #[command(after_help = "\
Examples:
  keyway vault repair")]
    Repair,
    /// Print the public key for sign-ins that other vaults hand to this one
    #[command(after_help = "\
Examples:
  keyway vault key")]
    Key,
    /// Hand a sign-in to another vault: it leaves this one and is printed, sealed for the other
    ///
    /// Asks on a terminal. What is printed opens in the other vault alone, once, within an hour.
    #[command(after_help = "\
Examples:
  keyway vault move docs --to \"$(ssh build keyway vault key)\" > docs.sign-in")]
    Move(MoveArgs),
    /// Store a sign-in that `keyway vault move` or `keyway login --for` sealed for this vault
    #[command(after_help = "\
Examples:
  keyway vault import docs --from docs.sign-in")]
    Import(ImportArgs),
    /// Move all sign-ins of this machine's vault into a database; an interrupted move is continued
    ///
    /// Each is compared after it was stored. The vault keeps a sealed copy and no longer renews it. What
    /// cannot be moved stays in use here and is named; then the exit code is 1.
    #[command(after_help = "\
Examples:
  keyway vault migrate --from file --to postgres://keyway@db.example/keyway")]
    Migrate(MigrateArgs),
    /// Change the vault's key or where it is stored; running processes continue
    ///
    /// A key that Keyway generated, in the keyring or a file, is deleted: backups from before can no
    /// longer be opened, so make a new one afterwards. Asks for confirmation on a terminal.
    #[command(after_help = "\
Examples:
  keyway vault rekey
  keyway vault rekey --to keyring
  keyway vault rekey --database")]
    Rekey {
        /// Change the wrapping key of the database instead; gateways continue
        ///
        /// Give every gateway the new key in `[vault.key]` and the old one in `[vault.previous_key]` of
        /// config.toml, and restart them one after the other. Then run this. Only the wraps of people's
        /// keys are rewritten.
        #[arg(long, conflicts_with = "Target")]
        database: bool,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Debug, Clone, Copy, Args)]
struct Output {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// How to print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Lines
    Human,
    /// One JSON object
    Json,
}

/// Where the new key comes from; without any of these, from where the old one does.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Target {
    /// Where to store the new key
    #[arg(long, value_enum, value_name = "WHERE")]
    to: Option<KeyPlace>,
    /// Use the key in this private file, which you keep
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Derive the new key from the first line of this private file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Where a key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeyPlace {
    /// The desktop's keyring
    Keyring,
    /// A generated file, readable by every program that runs as you
    File,
    /// Not stored: derived from a passphrase that you type
    Passphrase,
}

/// Runs the command.
pub(crate) fn run(arguments: &Vault, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::Status { output } => status(context, output.format),
        Action::Verify { output } => verify(context, output.format),
        Action::Backup { file } => backup(context, file),
        Action::Restore { file } => restore(context, file),
        Action::Repair => repair(context),
        Action::Key => transfer::key(context),
        Action::Move(arguments) => transfer::move_out(arguments, context),
        Action::Import(arguments) => transfer::import(arguments, context),
        Action::Migrate(arguments) => database::migrate(arguments, context),
        Action::Rekey {
            database: true,
            output,
            ..
        } => database::rekey(context, output.format),
        Action::Rekey { target, output, .. } => rekey(context, target, output.format),
    }
}

fn status(context: &CommandContext, format: Format) -> Result<Exit, CliError> {
    let looked = look()?;
    let exit = looked.exit();
    let text = match format {
        Format::Human => looked.in_words(),
        Format::Json => looked.as_json(),
    };
    context.print(&text, exit)?;
    if let (Format::Human, Some(error)) = (format, looked.error()) {
        context.print_error(error, error.hint().as_deref());
    }
    Ok(exit)
}

/// Looks at the vault, and tries whether its key opens it.
fn look() -> Result<Looked, CliError> {
    let folders = folders()?;
    let inspection = match Store::inspect(&folders) {
        Ok(Some(inspection)) => inspection,
        Ok(None) => return Ok(Looked::nothing(folders.data)),
        Err(error) => return Ok(Looked::unreadable(folders.data, error)),
    };
    let must_ask = inspection.protection.source == SourceKind::Passphrase
        && ProcessEnvironment::passphrase_file().is_none();
    let state = if must_ask {
        VaultState::Unasked
    } else {
        match Store::open(&folders, sources()?) {
            Ok(_) => VaultState::Open,
            Err(error) => VaultState::Closed(error),
        }
    };
    Ok(Looked::at(inspection, state))
}

fn verify(context: &CommandContext, format: Format) -> Result<Exit, CliError> {
    let verified = existing().and_then(|_| Ok(open_vault()?.verify()?));
    let found = match (verified, format) {
        (Ok(found), _) => Found::new(found),
        // A program gets its object whatever happened.
        (Err(CliError::Host(keyway::Error::Store(error))), Format::Json) => {
            Found::nothing_but(error.into())
        }
        (Err(error), _) => return Err(error),
    };
    let exit = found.exit();
    let text = match format {
        Format::Human => found.in_words(),
        Format::Json => found.as_json(),
    };
    context.print(&text, exit)?;
    if format == Format::Human {
        for problem in found.problems() {
            context.print_error(problem, None);
        }
        if let Some(hint) = found.problems().iter().find_map(VaultError::hint) {
            context.print_aside(&format!("\nhint: {hint}\n"));
        }
    }
    Ok(exit)
}

fn backup(context: &CommandContext, file: &Path) -> Result<Exit, CliError> {
    existing()?;
    let vault = open_vault()?;
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    vault.backup(&file)?;
    let source = vault.protection().source;
    context.print_aside(&format!(
        "copied the vault to `{}`\nit opens only with the current key (from {source}), which is not in it\n",
        printable(&file.to_string_lossy())
    ));
    Ok(Exit::Done)
}

fn restore(context: &CommandContext, file: &Path) -> Result<Exit, CliError> {
    let restored = Store::restore(&folders()?, sources()?, file)?;
    let found = Found::new(restored.contents);
    let mut text = format!("restored; {}", found.in_words());
    for sign_in in restored.outdated {
        let sign_in = printable(&sign_in);
        text.push_str(&format!(
            "{sign_in} was renewed or ended since; sign in again: `keyway login SERVER`\n"
        ));
    }
    if let Some(path) = restored.previous {
        let path = printable(&path.to_string_lossy());
        text.push_str(&format!("the previous vault is `{path}`\n"));
    }
    context.print_aside(&text);
    Ok(Exit::Done)
}

fn repair(context: &CommandContext) -> Result<Exit, CliError> {
    existing_file()?;
    let repaired = Store::repair(&folders()?, sources()?)?;
    context.print_aside(&report::repaired(&repaired));
    Ok(Exit::Done)
}

fn rekey(context: &CommandContext, target: &Target, format: Format) -> Result<Exit, CliError> {
    let inspection = existing()?;
    let (kind, new) = target.choose(inspection.protection.source)?;
    let before = inspection.protection.source;
    if before.is_generated() {
        context.print_aside(DELETES_KEY);
        if io::stdin().is_terminal() && !ask(context, "Change the key?") {
            return Err(keyway::Error::Cancelled.into());
        }
    }
    let done = open_vault()?.rekey(kind, new)?;
    let changed = Changed {
        before,
        done,
        key_file: target.key_file.clone(),
    };
    let text = match format {
        Format::Human => changed.in_words(),
        Format::Json => changed.as_json(),
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

/// Looks at the vault that has to be there.
fn existing() -> Result<Inspection, CliError> {
    Store::inspect(&folders()?)?.ok_or(CliError::NoVault)
}

/// As [`existing`], for a vault that may be too damaged to be looked at.
fn existing_file() -> Result<(), CliError> {
    match Store::exists(&folders()?)? {
        true => Ok(()),
        false => Err(CliError::NoVault),
    }
}

impl Target {
    /// Decides where the new key comes from, and which sources can be asked for it.
    fn choose(&self, current: SourceKind) -> Result<(SourceKind, KeySources), CliError> {
        let mut sources = sources()?;
        sources.explicit = None;
        // The file in the environment holds the old passphrase, not the new one.
        if current == SourceKind::Passphrase {
            sources = sources.with_passphrase(Arc::new(AskedPassphrase));
        }
        let kind = match (&self.key_file, &self.passphrase_file, self.to) {
            (Some(path), ..) => {
                sources = sources.with_explicit(ExplicitKey::File(path.clone()));
                SourceKind::Explicit
            }
            (_, Some(path), _) => {
                sources = sources.with_passphrase(Arc::new(PassphraseFile::new(path.clone())));
                SourceKind::Passphrase
            }
            (_, _, Some(KeyPlace::Keyring)) => SourceKind::Keyring,
            (_, _, Some(KeyPlace::File)) => SourceKind::KeyFile,
            (_, _, Some(KeyPlace::Passphrase)) => SourceKind::Passphrase,
            (None, None, None) if current == SourceKind::Explicit => {
                return Err(CliError::Usage {
                    what: "you supply the key of this vault: give the new one with `--key-file`, or store it with `--to`",
                });
            }
            (None, None, None) => current,
        };
        Ok((kind, sources))
    }
}

/// Printed before a key is deleted.
const DELETES_KEY: &str =
    "warning: this deletes the current key; backups made with it can no longer be opened\n";
