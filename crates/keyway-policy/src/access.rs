//! What one client may do with the tools of one server: the decision itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::denial::Denial;
use super::digest::{ListedTool, ToolDigest};
use super::rules::{Rule, Rules};
use super::{Policies, ToolState};

/// What one client may do with the tools of one server, by the rules as they are at each call.
#[derive(Debug)]
pub struct Access {
    pub(crate) policies: Arc<Policies>,
    pub(crate) server: String,
    /// See `earlier_id`.
    earlier: Option<String>,
    pub(crate) client: Option<String>,
}

/// What becomes of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    Ask,
    Deny(Denial),
}

impl Access {
    pub(super) fn new(
        policies: Arc<Policies>,
        (server, earlier): (String, Option<String>),
        client: Option<String>,
    ) -> Self {
        Self {
            policies,
            server,
            earlier,
            client,
        }
    }

    /// Words a refusal for the client, and says who can change it.
    pub(crate) fn refusal(&self, tool: &str, denial: Denial) -> String {
        denial.words(tool, &self.server, self.client.as_deref())
    }

    pub(crate) fn decide(&self, tool: &str, digest: ToolDigest) -> Verdict {
        let client = self.client.as_deref();
        let all = self.policies.kept();
        let config = |id: &str| self.policies.config.get(id);
        let kept = |id: &str| all.get(id).map(|kept| &kept.rules);
        let find = |rules: &Rules| rules.find(client, tool);
        let find_denial = |rules: &Rules| rules.without_allowed().find(client, tool);
        let (own, earlier) = (&*self.server, self.earlier.as_deref());
        let rule = config(own).and_then(find).max(kept(own).and_then(find));
        let of_config = earlier.and_then(config).and_then(find_denial);
        let of_kept = earlier.and_then(kept).and_then(find_denial);
        let rule = rule.max(of_config).max(of_kept);
        if rule == Some(Rule::Deny) {
            return Verdict::Deny(Denial::Rule);
        }
        let concerns = |rules: &Rules| rules.concerns(client);
        let is_concerned = |id| config(id).is_some_and(concerns) || kept(id).is_some_and(concerns);
        let is_concerned = is_concerned(own) || earlier.is_some_and(is_concerned);
        let kept = all.get(own);
        let state = kept.map_or(ToolState::Known, |kept| kept.state(tool, digest));
        match (is_concerned, state, rule) {
            (true, ToolState::New, _) => Verdict::Deny(Denial::New),
            (true, ToolState::Changed, _) => Verdict::Deny(Denial::Changed),
            (_, _, Some(Rule::Ask)) => Verdict::Ask,
            _ => Verdict::Allow,
        }
    }

    /// Says whether the client may see a tool; one that cannot be read is hidden.
    pub(crate) fn shows(&self, tool: &RawValue) -> bool {
        let tool = ListedTool::read(tool);
        tool.is_some_and(|it| !matches!(self.decide(&it.name, it.digest), Verdict::Deny(_)))
    }

    /// Says whether the tools of the server are not known yet.
    pub(crate) fn is_first_sight(&self) -> bool {
        let all = self.policies.kept();
        all.get(&self.server)
            .is_none_or(|kept| kept.looked_at.is_none())
    }

    /// Remembers the tools, if none were before. May block.
    pub(crate) fn note_first_sight(&self, tools: BTreeMap<String, ToolDigest>) {
        // What is not stored counts until the gateway ends.
        let _unstored = self.policies.change(&self.server, |kept| {
            kept.looked_at.get_or_insert(tools);
        });
    }
}
