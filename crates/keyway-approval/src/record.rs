//! What was approved of one entry, as a type and as the bytes that a store keeps.

use std::collections::BTreeMap;

use keyway_secret::random;
use serde::{Deserialize, Serialize};

use crate::confinement::{Confinement, SandboxProfile};
use crate::digest::VERSION;
use crate::fact::{Fact, FactKind};
use crate::hash::{from_hex, to_hex};
use crate::tree::KnownTree;
use crate::{Digest, Question};

/// What a person approved of one entry. A store keeps it as [bytes](Self::to_bytes).
///
/// Several states can be approved at once if they differ in the person's own variables alone: an
/// entry for two tenants has two.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approval {
    /// The name of the plugin.
    pub plugin: String,
    /// The name of the entry.
    pub server: String,
    /// Where the plugin was.
    pub source: String,
    /// More variables that its helper or process may have.
    pub grants: Vec<String>,
    /// The person answered that its programs are confined, whatever `config.toml` says.
    pub confined: bool,
    /// Tells this approval from one that was given after it was taken back. Of what a person agreed to
    /// beside admins, the one of theirs that it stands beside.
    id: Option<String>,
    /// What was approved, the latest last; none if an earlier version of Keyway wrote this.
    states: Vec<ApprovedState>,
}

/// One state of an entry that was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ApprovedState {
    digest: String,
    /// The part that the plugin decides.
    of_plugin: String,
    /// Its programs may run for the people of a gateway.
    for_people: bool,
    facts: Vec<Fact>,
    /// The stamp and the digest of the plugin's files.
    tree: Option<(String, String)>,
    /// The files that count beside those, so that one that changed can be named; an earlier version
    /// kept none.
    named: Option<BTreeMap<String, String>>,
}

impl Approval {
    /// Approves what is asked, with the variables that it names.
    #[must_use]
    pub fn of(question: &Question) -> Self {
        Self {
            plugin: question.plugin.clone(),
            server: question.server.clone(),
            source: question.source.to_string_lossy().into_owned(),
            grants: question.grants().map(str::to_owned).collect(),
            confined: question.is_confined_by_answer,
            id: question.beside_admins.clone().or_else(|| {
                let id = random::token().ok()?;
                Some(id.expose().clone())
            }),
            states: vec![ApprovedState::of(question)],
        }
    }

    /// Approves what is asked beside what was approved `before`: states that differ in the person's
    /// own variables alone stay. Variables that were granted before stay if the question shows them, or
    /// if what is asked was approved by an earlier version, which did not show them.
    #[must_use]
    pub fn beside(question: &Question, before: Option<Self>) -> Self {
        let mut approval = Self::of(question);
        let stands = |before: &Self| match &question.beside_admins {
            // What a person agreed to beside an approval that was taken back is over.
            Some(id) => before.id.as_ref() == Some(id),
            None => true,
        };
        let Some(before) = before.filter(stands) else {
            return approval;
        };
        let of_plugin = question.of_plugin.to_string();
        let digest = question.digest.to_string();
        let was_covered = before.covers(&question.digest);
        let was_for_people = before.is_for_people(question);
        let keeps = |state: &ApprovedState| state.of_plugin == of_plugin && state.digest != digest;
        let mut states: Vec<ApprovedState> = before.states.into_iter().filter(keeps).collect();
        let surplus = states.len().saturating_sub(MOST_STATES - 1);
        states.drain(..surplus);
        // Asked again, programs stay allowed: only taking the approval back ends that.
        for state in &mut approval.states {
            state.for_people |= was_for_people;
        }
        states.append(&mut approval.states);
        // Asked again, it stays confined: only taking the approval back ends that.
        let is_confined = |it: &Confinement| it.profile == SandboxProfile::Confine;
        let stays = before.confined && question.confinement().is_some_and(is_confined);
        Self {
            confined: approval.confined || stays,
            grants: match was_covered {
                true => before.grants,
                false => approval.grants,
            },
            id: before.id,
            states,
            ..approval
        }
    }

    /// Says whether the approval covers what is asked now.
    #[must_use]
    pub fn covers(&self, digest: &Digest) -> bool {
        let digest = digest.to_string();
        self.states.iter().any(|state| state.digest == digest)
    }

    /// Says whether the programs of the entry, as it is now, may run for the people of a gateway.
    #[must_use]
    pub fn is_for_people(&self, question: &Question) -> bool {
        let digest = question.digest.to_string();
        let mut states = self.states.iter();
        states.any(|state| state.for_people && state.digest == digest)
    }

    /// Tells this approval from one that is given after it was taken back.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The same with what one person approved beside it, unless this was taken back meanwhile. Nothing
    /// of that is for programs.
    #[must_use]
    pub(crate) fn with_own(mut self, own: Self) -> Self {
        if own.id != self.id {
            return self;
        }
        let mut states = own.states;
        for state in &mut states {
            state.for_people = false;
        }
        // First, so that what was approved here stays what is known of the plugin's files.
        states.append(&mut self.states);
        self.states = states;
        self
    }

    /// Says whether both approve the same, whatever they know of when files were written.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let without_stamps = |approval: &Self| {
            let mut approval = approval.clone();
            for state in &mut approval.states {
                state.tree = None;
                state.named = None;
            }
            // What a store keeps: cautions, for one, are made for every question.
            approval.to_bytes()
        };
        without_stamps(self) == without_stamps(other)
    }

    /// Says whether the plugin's files are what was approved, and have been rewritten since.
    pub fn is_outdated_for(&self, question: &Question) -> bool {
        let now = question.files.known_tree();
        now.is_some_and(|now| {
            self.known_tree()
                .is_none_or(|known| known.stamp != now.stamp)
        })
    }

    /// Returns what was approved last; `None` if an earlier version of Keyway wrote it.
    #[must_use]
    pub fn last_facts(&self) -> Option<&[Fact]> {
        Some(&self.states.last()?.facts)
    }

    /// Returns the files that counted beside the plugin's, by path.
    pub(crate) fn last_named_files(&self) -> Option<&BTreeMap<String, String>> {
        self.states.last()?.named.as_ref()
    }

    /// Returns what is known of the plugin's files.
    pub(crate) fn known_tree(&self) -> Option<KnownTree> {
        let (stamp, content) = self.states.last()?.tree.as_ref()?;
        Some(KnownTree {
            stamp: from_hex(stamp)?,
            content: from_hex(content)?,
        })
    }

    /// Returns the bytes that a store keeps. A process that can change them can approve anything:
    /// they belong where no plugin can write.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self {
            plugin,
            server,
            source,
            grants,
            confined,
            id,
            states,
        } = self;
        let stored = Stored {
            plugin: plugin.clone(),
            server: server.clone(),
            source: source.clone(),
            grants: grants.clone(),
            confined: *confined,
            id: id.clone(),
            version: VERSION,
            states: states.iter().map(StoredState::of).collect(),
        };
        serde_json::to_vec(&stored).unwrap_or_default()
    }

    /// Reads what [`Self::to_bytes`] wrote, in this version of Keyway or an earlier one; `None` for
    /// anything else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let stored: Stored = serde_json::from_slice(bytes).ok()?;
        let Stored {
            plugin,
            server,
            source,
            grants,
            confined,
            id,
            version,
            states,
        } = stored;
        // What an earlier version approved is asked again, with that reason.
        let states = if version == VERSION {
            states
        } else {
            Vec::new()
        };
        Some(Self {
            plugin,
            server,
            source,
            grants,
            confined,
            id,
            states: states
                .into_iter()
                .map(StoredState::read)
                .collect::<Option<_>>()?,
        })
    }
}

impl ApprovedState {
    fn of(question: &Question) -> Self {
        let tree = question.files.known_tree();
        Self {
            digest: question.digest.to_string(),
            of_plugin: question.of_plugin.to_string(),
            for_people: question.is_for_people,
            facts: question.facts.clone(),
            tree: tree.map(|it| (to_hex(&it.stamp), to_hex(&it.content))),
            named: Some(question.files.beside_tree()),
        }
    }
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Stored {
    plugin: String,
    server: String,
    source: String,
    #[serde(default)]
    grants: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    confined: bool,
    /// Absent in what an earlier version wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Absent in what the first version wrote.
    #[serde(default)]
    version: u32,
    #[serde(default)]
    states: Vec<StoredState>,
}

#[derive(Serialize, Deserialize)]
struct StoredState {
    digest: String,
    of_plugin: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    for_people: bool,
    facts: Vec<StoredFact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    named: Option<BTreeMap<String, String>>,
}

#[derive(Serialize, Deserialize)]
struct StoredFact {
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    masked: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_persons: bool,
}

impl StoredState {
    fn of(state: &ApprovedState) -> Self {
        let ApprovedState {
            digest,
            of_plugin,
            for_people,
            facts,
            tree,
            named,
        } = state;
        Self {
            digest: digest.clone(),
            of_plugin: of_plugin.clone(),
            for_people: *for_people,
            facts: facts.iter().map(StoredFact::of).collect(),
            tree: tree.clone(),
            named: named.clone(),
        }
    }

    fn read(self) -> Option<ApprovedState> {
        let Self {
            digest,
            of_plugin,
            for_people,
            facts,
            tree,
            named,
        } = self;
        Some(ApprovedState {
            digest,
            of_plugin,
            for_people,
            facts: facts
                .into_iter()
                .map(StoredFact::read)
                .collect::<Option<_>>()?,
            tree,
            named,
        })
    }
}

impl StoredFact {
    fn of(fact: &Fact) -> Self {
        let Fact {
            kind,
            name,
            value,
            // Made for every question.
            caution: _,
            masked,
            is_persons,
            ..
        } = fact;
        Self {
            kind: kind.label().to_owned(),
            name: name.clone(),
            value: value.clone(),
            masked: masked.as_ref().map(to_hex),
            is_persons: *is_persons,
        }
    }

    fn read(self) -> Option<Fact> {
        let Self {
            kind,
            name,
            value,
            masked,
            is_persons,
        } = self;
        let mut fact = Fact::new(FactKind::from_label(&kind)?, &name, value);
        if let Some(masked) = masked {
            fact.masked = Some(from_hex(&masked)?);
        }
        Some(fact.of_person(is_persons))
    }
}

/// How many states of one entry stand side by side; the oldest goes first.
const MOST_STATES: usize = 32;
