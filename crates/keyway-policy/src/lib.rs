//! Who may use a gateway, and what for: the tokens of clients and hosts, and the policies that say
//! which tools of a server a client may see and call.
//!
//! This is the one place that decides. A rule comes from `config.toml` or from the dashboard; where
//! both have one, the stricter counts. Once a server has a rule for a client, the tools that it has
//! are remembered at first sight, by name and digest, and one that is new or has changed since is
//! denied until a person has looked at it. Where there is no rule, connections are not touched.

mod access;
mod denial;
mod digest;
mod gateway_token;
mod guard;
mod questions;
mod rules;
mod timeouts;
mod token_store;
mod token_use;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use keyway::config::names::{of_server_id, server_id};
use keyway::settings::{Settings, ToolRule};
use keyway::vault::Vault;
use keyway_vault::{Generation, Namespace, VaultError};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub use self::access::Access;
pub use self::digest::ToolDigest;
pub use self::gateway_token::{
    GatewayToken, NotAHash, TokenHash, TokenScope, is_token_name, token_usage,
};
pub use self::guard::{GuardedConnector, guarded};
use self::questions::Questions;
pub use self::questions::ToolQuestion;
use self::rules::{Rule, Rules};
pub use self::token_store::{IssueError, TokenReader, TokenStore};
pub use self::token_use::TokenUses;

/// The policies of one gateway.
pub struct Policies {
    config: HashMap<String, Rules>,
    vault: Option<Arc<Vault>>,
    /// By server. Held for one look or one change, never across an await or a write to the vault.
    kept: RwLock<HashMap<String, StoredPolicy>>,
    /// Held while rows are written or read again, so that the last change is the one that stays.
    /// Taken before `kept`. It holds the state of the vault that was read last.
    writing: Mutex<Option<Generation>>,
    questions: Questions,
    changes: watch::Sender<u64>,
    rule_changes: watch::Sender<u64>,
}

/// What is stored of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoredPolicy {
    rules: Rules,
    /// The tools as a person last looked at them, or as they were first seen; `None` before that.
    #[serde(default, with = "digest::stored")]
    looked_at: Option<BTreeMap<String, ToolDigest>>,
}

/// What there is to say of a tool beside its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolState {
    /// No rule concerns its server, or it is as it was looked at.
    Known,
    /// It was not there when the tools were looked at.
    New,
    /// It is not what it was.
    Changed,
}

/// A rule, for those that show rules.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleView {
    /// The client, by the name of its gateway token; `None` for all.
    pub client: Option<String>,
    /// The tool, or `*`.
    pub tool: String,
    /// The rule.
    pub rule: ToolRule,
    /// Whether it stands in `config.toml`, where only an editor changes it.
    pub is_in_config: bool,
}

impl RuleView {
    /// Says where it can be changed.
    #[must_use]
    pub const fn place(&self) -> &'static str {
        match self.is_in_config {
            true => "config.toml",
            false => "keyway policy",
        }
    }
}

impl Policies {
    /// Reads the rules of `config.toml` and those that were set on the dashboard.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read, or was tampered with.
    pub fn new(settings: &Settings, vault: Arc<Vault>) -> Result<Self, VaultError> {
        // Before the rows: a change in between is found by the next look.
        let revision = vault.sealed(Namespace::new(NAMESPACE)?).revision()?;
        Ok(Self {
            kept: RwLock::new(stored(&vault)?),
            writing: Mutex::new(revision),
            vault: Some(vault),
            ..Self::in_memory(settings)
        })
    }

    /// Reads the rules again if another process has changed them; says of which servers, as plugin and
    /// name. May block.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read; the rules stay as they were.
    pub fn refresh(&self) -> Result<Vec<(String, String)>, VaultError> {
        let Some(vault) = &self.vault else {
            return Ok(Vec::new());
        };
        let mut last = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = vault.sealed(Namespace::new(NAMESPACE)?).revision()?;
        if *last == revision {
            return Ok(Vec::new());
        }
        let new = stored(vault)?;
        *last = revision;
        let before = {
            let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *kept, new.clone())
        };
        let all: BTreeSet<&String> = before.keys().chain(new.keys()).collect();
        let changed = all
            .into_iter()
            .filter(|key| before.get(*key) != new.get(*key));
        let changed = changed.filter_map(|key| of_server_id(key));
        let changed: Vec<(String, String)> = changed
            .map(|(plugin, server)| (plugin.into_owned(), server.to_owned()))
            .collect();
        if !changed.is_empty() {
            self.rule_changes.send_modify(count);
            self.tell();
        }
        Ok(changed)
    }

    /// Takes the rules of `config.toml`, and keeps the rest for as long as it lives.
    #[must_use]
    pub fn in_memory(settings: &Settings) -> Self {
        let config = settings.policies.iter();
        let config = config.map(|(server, policy)| (server.clone(), Rules::from(policy)));
        Self {
            config: config.collect(),
            vault: None,
            kept: RwLock::default(),
            writing: Mutex::default(),
            questions: Questions::default(),
            changes: watch::Sender::new(0),
            rule_changes: watch::Sender::new(0),
        }
    }

    /// Returns what decides about the calls of a client; `None` where no rule concerns them.
    pub fn access(
        self: &Arc<Self>,
        client: Option<&str>,
        (plugin, server): (&str, &str),
    ) -> Option<Access> {
        if self.config.is_empty() && self.kept().is_empty() {
            return None;
        }
        let earlier = earlier_id(plugin, server);
        let server = server_id(plugin, server);
        let ids = [Some(&*server), earlier.as_deref()];
        let is_concerned = ids
            .into_iter()
            .flatten()
            .any(|id| self.concerns(client, id));
        let client = client.map(str::to_owned);
        is_concerned.then(|| Access::new(Arc::clone(self), (server, earlier), client))
    }

    fn concerns(&self, client: Option<&str>, server: &str) -> bool {
        let config = self.config.get(server);
        config.is_some_and(|rules| rules.concerns(client))
            || self
                .kept()
                .get(server)
                .is_some_and(|it| it.rules.concerns(client))
    }

    /// Returns the rules for a server.
    #[must_use]
    pub fn rules(&self, plugin: &str, server: &str) -> Vec<RuleView> {
        let of = |id: &str| -> Vec<RuleView> {
            let kept = self.kept();
            let config = self.config.get(id).map(|rules| (rules, true));
            let kept = kept.get(id).map(|kept| (&kept.rules, false));
            let view = |(rules, is_in_config): (&Rules, bool)| -> Vec<RuleView> {
                let view = |(client, tool, rule): (Option<&str>, &str, Rule)| RuleView {
                    client: client.map(str::to_owned),
                    tool: tool.to_owned(),
                    rule: rule.into(),
                    is_in_config,
                };
                rules.iter().map(view).collect()
            };
            config.into_iter().chain(kept).flat_map(view).collect()
        };
        let mut all = of(&server_id(plugin, server));
        if let Some(earlier) = earlier_id(plugin, server) {
            let earlier = of(&earlier).into_iter();
            all.extend(earlier.filter(|it| it.rule != ToolRule::Allow));
        }
        all
    }

    /// Returns the servers that have rules, by their full ids, sorted.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        let of_config = self.config.iter().filter(|(_, rules)| !rules.is_empty());
        let kept = self.kept();
        let of_kept = kept.iter().filter(|(_, it)| !it.rules.is_empty());
        let all = of_config.map(|(name, _)| name);
        let all = all.chain(of_kept.map(|(name, _)| name));
        let all: BTreeSet<String> = all.cloned().collect();
        all.into_iter().collect()
    }

    /// Says whether a tool is what it was when it was looked at.
    #[must_use]
    pub fn tool_state(&self, server: (&str, &str), tool: &str, digest: ToolDigest) -> ToolState {
        let server = server_id(server.0, server.1);
        let is_in_config = self.config.get(&server).is_some_and(|it| !it.is_empty());
        match self.kept().get(&server) {
            Some(kept) if is_in_config || !kept.rules.is_empty() => kept.state(tool, digest),
            _ => ToolState::Known,
        }
    }

    /// Sets or removes a rule of the dashboard. `shown` are the tools of the server as the person
    /// saw them, which are remembered if none were before.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if it was not stored; then it counts until the gateway ends.
    pub fn set_rule(
        &self,
        (plugin, server): (&str, &str),
        (client, tool): (Option<&str>, &str),
        rule: Option<ToolRule>,
        shown: impl IntoIterator<Item = (String, ToolDigest)>,
    ) -> Result<(), VaultError> {
        let changed = self.change(&server_id(plugin, server), |kept| {
            kept.rules.set(client, tool, rule.map(Rule::from));
            let shown: BTreeMap<_, _> = shown.into_iter().collect();
            if kept.looked_at.is_none() && !shown.is_empty() {
                kept.looked_at = Some(shown);
            }
        });
        self.rule_changes.send_modify(count);
        changed
    }

    /// Notes that a person has looked at a tool as it is now.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if it was not stored; then it counts until the gateway ends.
    pub fn look_at(
        &self,
        (plugin, server): (&str, &str),
        tool: &str,
        digest: ToolDigest,
    ) -> Result<(), VaultError> {
        let changed = self.change(&server_id(plugin, server), |kept| {
            // Before the first sight there is nothing that it could differ from.
            if let Some(looked_at) = &mut kept.looked_at {
                looked_at.insert(tool.to_owned(), digest);
            }
        });
        self.rule_changes.send_modify(count);
        changed
    }

    /// Returns the calls that wait for a person.
    #[must_use]
    pub fn questions(&self) -> Vec<ToolQuestion> {
        self.questions.all()
    }

    /// Answers a question; says whether it still waited.
    pub fn answer(&self, question: u64, is_allowed: bool) -> bool {
        let answered = self.questions.answer(question, is_allowed);
        self.tell();
        answered
    }

    /// Tells of every change of rules and questions.
    #[must_use]
    pub fn changes(&self) -> PolicyChanges {
        PolicyChanges(self.changes.subscribe())
    }

    /// Tells of every change of what clients may call.
    fn rule_changes(&self) -> watch::Receiver<u64> {
        self.rule_changes.subscribe()
    }

    fn tell(&self) {
        self.changes.send_modify(count);
    }

    fn change(&self, server: &str, how: impl FnOnce(&mut StoredPolicy)) -> Result<(), VaultError> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = {
            let mut all = self.kept.write().unwrap_or_else(PoisonError::into_inner);
            let kept = all.entry(server.to_owned()).or_default();
            how(kept);
            kept.clone()
        };
        self.tell();
        let Some(vault) = &self.vault else {
            return Ok(());
        };
        // It has nothing that JSON cannot say.
        let row = serde_json::to_vec(&kept).unwrap_or_default();
        vault.sealed(Namespace::new(NAMESPACE)?).put(server, &row)?;
        Ok(())
    }

    fn kept(&self) -> std::sync::RwLockReadGuard<'_, HashMap<String, StoredPolicy>> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for changes of rules and questions.
#[derive(Debug)]
pub struct PolicyChanges(watch::Receiver<u64>);

impl PolicyChanges {
    /// Waits until something has changed since the last call; `false` if nothing can any more.
    ///
    /// Cancel safety: a change that comes meanwhile is told by the next call.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Policies")
    }
}

impl StoredPolicy {
    /// Denies everything.
    fn closed() -> Self {
        let mut kept = Self::default();
        kept.rules.set(None, "*", Some(Rule::Deny));
        kept
    }

    fn state(&self, tool: &str, digest: ToolDigest) -> ToolState {
        match &self.looked_at {
            None => ToolState::Known,
            Some(tools) => match tools.get(tool) {
                Some(known) if *known == digest => ToolState::Known,
                Some(_) => ToolState::Changed,
                None => ToolState::New,
            },
        }
    }
}

/// Reads what is stored of every server.
fn stored(vault: &Vault) -> Result<HashMap<String, StoredPolicy>, VaultError> {
    let rows = vault.sealed(Namespace::new(NAMESPACE)?).read_all()?;
    let read = |value: &[u8]| {
        // What another version wrote may take away more than this one understands.
        serde_json::from_slice(value).unwrap_or_else(|_| StoredPolicy::closed())
    };
    let rows = rows.into_iter();
    let kept = rows.map(|(server, row)| (server, read(row.value.expose())));
    Ok(kept.collect())
}

fn count(changes: &mut u64) {
    *changes = changes.wrapping_add(1);
}

/// Returns the id under which an earlier version kept the rules of a server, if it is another server's.
///
/// It was made for either of both. What it takes away counts for both, so that no tool is open that
/// was denied before, and what it allows for the one that has the id now.
fn earlier_id(plugin: &str, server: &str) -> Option<String> {
    let earlier = format!("{plugin}:{server}");
    (earlier != server_id(plugin, server)).then_some(earlier)
}

const NAMESPACE: &str = "tool-policy";

#[cfg(test)]
mod tests;
