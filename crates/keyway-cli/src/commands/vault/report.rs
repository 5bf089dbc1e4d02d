//! What `keyway vault` prints, for people and for programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use keyway::vault::{Inspection, Rekeyed, Repaired, SourceKind, VaultError, Verification};
use keyway_code::Exit;
use keyway_secret::printable;
use serde::Serialize;

use crate::report::counted;
use crate::report::to_text;

/// What `keyway vault status` found.
pub(super) struct Looked {
    folder: PathBuf,
    inspection: Option<Inspection>,
    state: VaultState,
}

/// Whether the vault can be used.
pub(super) enum VaultState {
    /// There is none yet.
    Absent,
    /// Its key opens it.
    Open,
    /// Its key is derived from a passphrase, and this command does not ask for it.
    Unasked,
    /// It does not open.
    Closed(VaultError),
}

impl VaultState {
    const fn code(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Open => "open",
            Self::Unasked => "passphrase-needed",
            Self::Closed(error) => error.code().as_str(),
        }
    }
}

impl Looked {
    pub(super) fn at(inspection: Inspection, state: VaultState) -> Self {
        Self {
            folder: inspection.folder.clone(),
            inspection: Some(inspection),
            state,
        }
    }

    pub(super) const fn nothing(folder: PathBuf) -> Self {
        Self {
            folder,
            inspection: None,
            state: VaultState::Absent,
        }
    }

    pub(super) const fn unreadable(folder: PathBuf, error: VaultError) -> Self {
        Self {
            folder,
            inspection: None,
            state: VaultState::Closed(error),
        }
    }

    pub(super) const fn exit(&self) -> Exit {
        match self.state {
            VaultState::Closed(_) => Exit::Failed,
            _ => Exit::Done,
        }
    }

    pub(super) const fn error(&self) -> Option<&VaultError> {
        match &self.state {
            VaultState::Closed(error) => Some(error),
            _ => None,
        }
    }

    pub(super) fn in_words(&self) -> String {
        let mut lines = Lines::default();
        lines.push("folder", &self.folder.to_string_lossy());
        lines.push(
            "state",
            match &self.state {
                VaultState::Absent => "there is no vault yet; it is created at first use",
                VaultState::Open => "open",
                VaultState::Unasked => "locked; `keyway vault verify` asks for the passphrase",
                VaultState::Closed(_) => "cannot be opened",
            },
        );
        let Some(found) = &self.inspection else {
            return lines.0;
        };
        if let Some(obstacle) = found.obstacle {
            lines.push("", &format!("read only: {obstacle}"));
        }
        let kib = found.bytes.div_ceil(1024);
        lines.push("size", &format!("{kib} KiB, schema {}", found.schema));
        lines.push("key", &format!("from {}", found.protection.source));
        lines.push("", &found.protection.to_string());
        let kinds = found.entries.iter();
        let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{kind} {n}")).collect();
        let kinds = if kinds.is_empty() {
            "none".to_owned()
        } else {
            kinds.join(", ")
        };
        lines.push("entries", &kinds);
        lines.push("sign-ins", &found.sign_ins.to_string());
        lines.0
    }

    pub(super) fn as_json(&self) -> String {
        let found = self.inspection.as_ref();
        let protection = found.map(|found| &found.protection);
        let key_file = protection.and_then(|protection| protection.key_file.as_ref());
        to_text(&StatusObject {
            schema_version: 1,
            state: self.state.code(),
            folder: self.folder.to_string_lossy().into_owned(),
            bytes: found.map(|found| found.bytes),
            schema: found.map(|found| found.schema),
            key_source: protection.map(|protection| protection.source.as_str()),
            key_file: key_file.map(|path| path.to_string_lossy().into_owned()),
            protection: protection.map(ToString::to_string),
            entries: found.map(|found| &found.entries),
            sign_ins: found.map(|found| found.sign_ins),
            diagnostics: self.error().into_iter().map(Problem::of).collect(),
        })
    }
}

/// What `keyway vault verify` found.
pub(super) struct Found(Option<Verification>, Vec<VaultError>);

impl Found {
    pub(super) fn new(mut found: Verification) -> Self {
        let problems = std::mem::take(&mut found.problems);
        Self(Some(found), problems)
    }

    pub(super) fn nothing_but(error: VaultError) -> Self {
        Self(None, vec![error])
    }

    pub(super) const fn exit(&self) -> Exit {
        if self.1.is_empty() {
            Exit::Done
        } else {
            Exit::Failed
        }
    }

    pub(super) fn problems(&self) -> &[VaultError] {
        &self.1
    }

    pub(super) fn in_words(&self) -> String {
        let Some(found) = &self.0 else {
            return String::new();
        };
        let all = amounts(found);
        match self.1.len() {
            0 => format!("no damage: {all}\n"),
            damaged => format!("{} among {all}\n", counted(damaged, "damaged value")),
        }
    }

    pub(super) fn as_json(&self) -> String {
        to_text(&VerifyObject {
            schema_version: 1,
            ok: self.1.is_empty(),
            entries: self.0.as_ref().map(|found| found.entries),
            sign_ins: self.0.as_ref().map(|found| found.grants),
            diagnostics: self.1.iter().map(Problem::of).collect(),
        })
    }
}

fn amounts(found: &Verification) -> String {
    let entries = match found.entries {
        1 => "1 entry".to_owned(),
        many => format!("{many} entries"),
    };
    format!("{entries} and {}", counted(found.grants, "sign-in"))
}

/// What `keyway vault rekey` did.
pub(super) struct Changed {
    pub(super) before: SourceKind,
    pub(super) done: Rekeyed,
    /// The file that the person named for the new key.
    pub(super) key_file: Option<PathBuf>,
}

impl Changed {
    pub(super) fn in_words(&self) -> String {
        let mut text = format!("the vault has a new key\n{}\n", self.done.protection);
        if let Some(path) = &self.key_file {
            let path = printable(&path.to_string_lossy());
            text.push_str(&format!("set KEYWAY_KEY_FILE={path} from now on\n"));
        } else if self.before == SourceKind::Explicit {
            text.push_str("unset KEYWAY_KEY_FILE or KEYWAY_KEY_COMMAND from now on\n");
        }
        if self.done.old_key_remains {
            text.push_str(match self.before.is_generated() {
                true => "the old key could not be deleted; it no longer opens the vault\n",
                false => "the old key no longer opens the vault, but still opens older backups\n",
            });
        } else {
            text.push_str("make a new backup: keyway vault backup FILE\n");
        }
        text
    }

    pub(super) fn as_json(&self) -> String {
        let protection = &self.done.protection;
        let key_file = protection.key_file.as_ref();
        to_text(&RekeyObject {
            schema_version: 1,
            key_source: protection.source.as_str(),
            key_file: key_file.map(|path| path.to_string_lossy().into_owned()),
            protection: protection.to_string(),
            old_key_remains: self.done.old_key_remains,
        })
    }
}

/// Says what a repair kept, what is gone, and what to do about it.
pub(super) fn repaired(repaired: &Repaired) -> String {
    let Some(previous) = &repaired.previous else {
        return "no damage; nothing was changed\n".to_owned();
    };
    let mut text = format!("repaired: {} kept\n", amounts(&repaired.contents));
    for what in &repaired.lost {
        text.push_str(&format!("gone: {}\n", printable(what)));
    }
    for what in &repaired.unlisted {
        let what = printable(what);
        text.push_str(&format!(
            "{what} was damaged: older copies of what it lists would not be noticed\n"
        ));
    }
    let previous = printable(&previous.to_string_lossy());
    text.push_str(&format!("the damaged vault is `{previous}`\n"));
    if !repaired.lost.is_empty() {
        text.push_str(
            "\nhint: sign in (`keyway login SERVER`), approve (`keyway trust grant SERVER`) and set \
             variables (`keyway env set NAME`) again for what is gone\n",
        );
    }
    text
}

#[derive(Serialize)]
struct StatusObject<'a> {
    schema_version: u32,
    state: &'static str,
    folder: String,
    bytes: Option<u64>,
    schema: Option<i64>,
    key_source: Option<&'static str>,
    key_file: Option<String>,
    protection: Option<String>,
    entries: Option<&'a BTreeMap<String, u32>>,
    sign_ins: Option<u32>,
    diagnostics: Vec<Problem>,
}

#[derive(Serialize)]
struct VerifyObject {
    schema_version: u32,
    ok: bool,
    entries: Option<usize>,
    sign_ins: Option<usize>,
    diagnostics: Vec<Problem>,
}

#[derive(Serialize)]
struct RekeyObject {
    schema_version: u32,
    key_source: &'static str,
    key_file: Option<String>,
    protection: String,
    old_key_remains: bool,
}

/// The diagnostic object of the contract, for what belongs to no server and no file of a plugin.
#[derive(Serialize)]
struct Problem {
    code: &'static str,
    severity: &'static str,
    server: Option<()>,
    source: Option<()>,
    message: String,
    hint: Option<String>,
}

impl Problem {
    fn of(error: &VaultError) -> Self {
        Self {
            code: error.code().as_str(),
            severity: "error",
            server: None,
            source: None,
            message: error.to_string(),
            hint: error.hint(),
        }
    }
}

/// Lines of a word and what it stands for.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn push(&mut self, word: &str, text: &str) {
        self.0.push_str(&format!("{word:<10}{}\n", printable(text)));
    }
}
