//! Opening the vault: the one place that decides where its key comes from.
//!
//! In order: a key that the person names (a command, a file, a credential of the service manager),
//! the source that they chose, the desktop's keyring, a generated key file. The vault records the
//! choice when it is made, and uses no other source later.

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};

use keyway::host::{known_vaults, record_vault};
use keyway::vault::{
    ExplicitKey, Folders, KeyCommand, KeySources, Passphrase, PassphraseFile, PassphraseUse,
    SecretService, SourceKind, Vault, VaultError,
};
use keyway_code::Exit;
use keyway_secret::{Secret, printable};

use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::timeouts::KEYRING_PROMPT_TIMEOUT;

/// Opens the vault; it is made at first use.
pub(crate) fn open_vault() -> Result<Vault, CliError> {
    let folders = folders()?;
    let vault = Vault::open(&folders, sources()?)?;
    // Processes of ours with other variables hide it from what they start.
    record_vault(&folders);
    Ok(vault)
}

/// Warns of a vault that is gone with its key, before a new one is made as if at a first use (threat E1).
pub(crate) fn warn_of_loss(context: &CommandContext) {
    let (Some(known), Ok(folders)) = (known_vaults(), folders()) else {
        return;
    };
    if known.has_lost(&folders) {
        let [data, config] = [&folders.data, &folders.config].map(|it| it.display().to_string());
        let [data, config] = [data, config].map(|it| printable(&it));
        context.print_aside(&format!(
            "warning: the vault in `{data}` is gone, and its key in `{config}` with it: approvals and \
             sign-ins are lost, and a new vault knows none of them\n\
             hint: unless you removed it, find out which program did before you approve anything; \
             then put both folders back from a backup\n"
        ));
    }
}

/// Opens the vault if there is one; commands that only read do not create it.
pub(crate) fn existing_vault() -> Result<Option<Vault>, CliError> {
    match Vault::inspect(&folders()?)? {
        Some(_) => Ok(Some(open_vault()?)),
        None => Ok(None),
    }
}

/// Removes something from the vault; says what was done, or that it is not there.
///
/// `what` it is and the command that lists such things are for the error.
pub(crate) fn remove_from_vault(
    context: &CommandContext,
    (what, list, done): (&'static str, &'static str, &str),
    remove: impl FnOnce(&Vault) -> Result<bool, CliError>,
) -> Result<Exit, CliError> {
    let existed = match existing_vault()? {
        Some(vault) => remove(&vault)?,
        None => false,
    };
    if !existed {
        return Err(CliError::Absent { what, list });
    }
    context.print_aside(done);
    Ok(Exit::Done)
}

/// Returns where everything is kept.
pub(crate) fn folders() -> Result<Folders, CliError> {
    Ok(ProcessEnvironment::folders().ok_or(keyway::Error::NoHome)?)
}

/// Returns every source that can be asked from here. None is asked before it is needed.
pub(crate) fn sources() -> Result<KeySources, CliError> {
    let asked = KeySources::default()
        .with_keyring(Arc::new(keyring()))
        .with_passphrase(passphrase());
    with_the_persons_choice(asked)
}

/// Returns the sources that need no person: no window opens and nothing has to be typed.
pub(crate) fn unasked_sources() -> Result<KeySources, CliError> {
    let keyring = SecretService::new(ProcessEnvironment::session_bus());
    let mut unasked = KeySources::default().with_keyring(Arc::new(keyring));
    if let Some(path) = ProcessEnvironment::passphrase_file() {
        unasked = unasked.with_passphrase(Arc::new(PassphraseFile::new(path)));
    }
    with_the_persons_choice(unasked)
}

fn with_the_persons_choice(mut sources: KeySources) -> Result<KeySources, CliError> {
    if let Some(named) = named()? {
        sources = sources.with_explicit(named);
    }
    if let Some(chosen) = choice()? {
        sources = sources.choosing(chosen);
    }
    Ok(sources)
}

/// Returns the key that the person names.
fn named() -> Result<Option<ExplicitKey>, CliError> {
    match (
        ProcessEnvironment::key_command(),
        ProcessEnvironment::key_file(),
    ) {
        (Some(_), Some(_)) => Err(CliError::Usage {
            what: "`KEYWAY_KEY_COMMAND` and `KEYWAY_KEY_FILE` are both set; the vault has one key",
        }),
        (Some(line), None) => {
            let command = KeyCommand::new(line, ProcessEnvironment::all());
            Ok(Some(ExplicitKey::Supplied(Arc::new(command))))
        }
        (None, Some(path)) => Ok(Some(ExplicitKey::File(path))),
        (None, None) => Ok(ProcessEnvironment::key_credential().map(ExplicitKey::Credential)),
    }
}

/// Returns what a new vault shall take its key from, where the person said so.
fn choice() -> Result<Option<SourceKind>, CliError> {
    match ProcessEnvironment::key_source().as_deref() {
        Some("keyring") => Ok(Some(SourceKind::Keyring)),
        Some("passphrase") => Ok(Some(SourceKind::Passphrase)),
        Some("file") => Ok(Some(SourceKind::KeyFile)),
        Some(_) => Err(CliError::Usage {
            what: "`KEYWAY_KEY_SOURCE` must be `keyring`, `passphrase` or `file`",
        }),
        None => Ok(ProcessEnvironment::passphrase_file().map(|_| SourceKind::Passphrase)),
    }
}

/// Returns the keyring of the desktop session, whether there is one or not.
fn keyring() -> SecretService {
    let keyring = SecretService::new(ProcessEnvironment::session_bus());
    if io::stdin().is_terminal() && ProcessEnvironment::has_screen() {
        keyring.asking(KEYRING_PROMPT_TIMEOUT)
    } else {
        keyring
    }
}

fn passphrase() -> Arc<dyn Passphrase> {
    match ProcessEnvironment::passphrase_file() {
        Some(path) => Arc::new(PassphraseFile::new(path)),
        None => Arc::new(AskedPassphrase),
    }
}

/// What the person typed to unlock the vault.
static TYPED: Mutex<Option<Secret<String>>> = Mutex::new(None);

/// A passphrase that the person types, if there is a person.
#[derive(Debug)]
pub(crate) struct AskedPassphrase;

impl Passphrase for AskedPassphrase {
    fn ask(&self, purpose: PassphraseUse) -> Result<Option<Secret<String>>, VaultError> {
        // A process started by another program must not use that program's terminal.
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let ask = |question: &str| {
            let typed = keyway_terminal::ask(question);
            typed
                .inspect_err(|error| keyway_terminal::tell(&error.to_string()))
                .unwrap_or_default()
        };
        if purpose == PassphraseUse::Unlock {
            // One command may open the vault in several places; the person is asked once.
            let mut typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
            if typed.is_none() {
                *typed = ask("Passphrase of the vault: ");
            }
            return Ok(typed.clone());
        }
        for _ in 0..TRIES {
            let Some(first) = ask("New passphrase of the vault: ") else {
                return Ok(None);
            };
            if first.expose().chars().count() < SHORTEST {
                keyway_terminal::tell(&format!("use at least {SHORTEST} characters"));
                continue;
            }
            let Some(second) = ask("Repeat it: ") else {
                return Ok(None);
            };
            if first.is_same_as(&second) {
                // The vault is made by one part of a command and opened again by another.
                *TYPED.lock().unwrap_or_else(PoisonError::into_inner) = Some(first.clone());
                return Ok(Some(first));
            }
            keyway_terminal::tell("the passphrases differ");
        }
        Ok(None)
    }
}

const TRIES: usize = 3;
/// No new passphrase is shorter.
const SHORTEST: usize = 8;
