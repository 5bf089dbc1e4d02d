//! What moving a vault into a database did, for people and for scripts.

use serde_json::{Value, json};

/// What became of one sign-in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Migrated {
    /// The profile that it was used with.
    pub profile: String,
    /// The plugin.
    pub plugin: String,
    /// The server.
    pub server: String,
    /// The account, if the person named one.
    pub account: String,
    /// What became of it.
    pub outcome: MigrationOutcome,
    /// Why it stays, in words.
    pub reason: Option<String>,
}

/// What became of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MigrationOutcome {
    /// The database has it, and it was compared.
    Moved,
    /// An earlier run has moved it.
    MovedBefore,
    /// The database has another sign-in under its name; both stay where they are.
    Conflict,
    /// It stays in the vault: see the reason.
    Stays,
}

/// What moving a vault did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MigrationReport {
    /// The version of this format.
    pub schema_version: u32,
    /// The database.
    pub to: String,
    /// Each sign-in.
    pub sign_ins: Vec<Migrated>,
    /// How many client registrations were copied.
    pub registrations: usize,
}

impl Migrated {
    /// Without an account or a reason, where there is none.
    fn json(&self) -> Value {
        let Self {
            profile,
            plugin,
            server,
            account,
            outcome,
            reason,
        } = self;
        let all = [
            ("profile", Some(profile.as_str())),
            ("plugin", Some(plugin)),
            ("server", Some(server)),
            (
                "account",
                Some(account.as_str()).filter(|it| !it.is_empty()),
            ),
            ("outcome", Some(outcome.as_str())),
            ("reason", reason.as_deref()),
        ];
        let known = all.into_iter();
        known
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

impl MigrationOutcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::MovedBefore => "moved-before",
            Self::Conflict => "conflict",
            Self::Stays => "stays",
        }
    }
}

impl MigrationReport {
    /// Tells whether no sign-in is left in the vault.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let is_moved = |it: &Migrated| {
            matches!(
                it.outcome,
                MigrationOutcome::Moved | MigrationOutcome::MovedBefore
            )
        };
        self.sign_ins.iter().all(is_moved)
    }

    /// Returns it as one JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let Self {
            schema_version,
            to,
            sign_ins,
            registrations,
        } = self;
        let sign_ins: Vec<Value> = sign_ins.iter().map(Migrated::json).collect();
        json!({
            "schema_version": schema_version,
            "to": to,
            "sign_ins": sign_ins,
            "registrations": registrations,
        })
    }
}
