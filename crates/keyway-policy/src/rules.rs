//! Rules for the tools of one server, and which of them counts.

use std::collections::BTreeMap;

use keyway::settings::{ToolPolicy, ToolRule};
use serde::{Deserialize, Serialize};

/// The rules for one server, from `config.toml` or from the dashboard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rules {
    #[serde(default)]
    all: BTreeMap<String, Rule>,
    #[serde(default)]
    clients: BTreeMap<String, BTreeMap<String, Rule>>,
}

/// A rule as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rule {
    // In the order of how much they take away.
    Allow,
    Ask,
    Deny,
}

impl Rules {
    /// Returns the rule for a tool: that of its client before that for all clients, one that names
    /// the tool before a pattern, and of patterns the one that says most; of two that say as much, the
    /// stricter.
    pub(crate) fn find(&self, client: Option<&str>, tool: &str) -> Option<Rule> {
        let of = |rules: &BTreeMap<String, Rule>| {
            let named = rules.get(tool).copied();
            named.or_else(|| {
                let fit = rules.iter().filter(|(pattern, _)| fits(pattern, tool));
                let best = fit.max_by_key(|(pattern, rule)| (pattern.len(), **rule));
                best.map(|(_, rule)| *rule)
            })
        };
        let own = client.and_then(|client| self.clients.get(client));
        own.and_then(of).or_else(|| of(&self.all))
    }

    /// Returns the rules that take something away.
    pub(crate) fn without_allowed(&self) -> Self {
        let mut rules = self.clone();
        let of_clients = rules.clients.values_mut();
        for tools in of_clients.chain([&mut rules.all]) {
            tools.retain(|_, rule| *rule != Rule::Allow);
        }
        rules
    }

    /// Says whether there is any rule that may concern a client.
    pub(crate) fn concerns(&self, client: Option<&str>) -> bool {
        let own = client.and_then(|client| self.clients.get(client));
        !self.all.is_empty() || own.is_some_and(|rules| !rules.is_empty())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.clients.values().all(BTreeMap::is_empty)
    }

    /// Sets or removes a rule.
    pub(crate) fn set(&mut self, client: Option<&str>, tool: &str, rule: Option<Rule>) {
        let rules = match client {
            Some(client) => self.clients.entry(client.to_owned()).or_default(),
            None => &mut self.all,
        };
        match rule {
            Some(rule) => rules.insert(tool.to_owned(), rule),
            None => rules.remove(tool),
        };
        self.clients.retain(|_, rules| !rules.is_empty());
    }

    /// Returns all of them: the client, the tool, the rule.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Option<&str>, &str, Rule)> {
        let all = self.all.iter().map(|(tool, rule)| (None, &**tool, *rule));
        let own = self.clients.iter().flat_map(|(client, rules)| {
            let client = Some(client.as_str());
            rules
                .iter()
                .map(move |(tool, rule)| (client, &**tool, *rule))
        });
        all.chain(own)
    }
}

impl From<&ToolPolicy> for Rules {
    fn from(policy: &ToolPolicy) -> Self {
        let rules = |tools: &BTreeMap<String, ToolRule>| {
            let rule = |(tool, rule): (&String, &ToolRule)| (tool.clone(), Rule::from(*rule));
            tools.iter().map(rule).collect()
        };
        let clients = policy.clients.iter();
        Self {
            all: rules(&policy.tools),
            clients: clients
                .map(|(name, tools)| (name.clone(), rules(tools)))
                .collect(),
        }
    }
}

impl From<ToolRule> for Rule {
    fn from(rule: ToolRule) -> Self {
        match rule {
            ToolRule::Allow => Self::Allow,
            ToolRule::Ask => Self::Ask,
            // Also what a later version may add.
            _ => Self::Deny,
        }
    }
}

impl From<Rule> for ToolRule {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Allow => Self::Allow,
            Rule::Ask => Self::Ask,
            Rule::Deny => Self::Deny,
        }
    }
}

/// Says whether a tool has a name that a pattern means, in which `*` is any text.
fn fits(pattern: &str, tool: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return false;
    };
    let Some(mut tool) = tool.strip_prefix(start) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return tool.ends_with(part);
        }
        // The first place is as good as any: what follows may begin with anything.
        let Some(at) = tool.find(part) else {
            return false;
        };
        tool = tool.get(at + part.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_that_says_most_about_a_call_counts() {
        let mut rules = Rules::default();
        rules.set(None, "*", Some(Rule::Deny));
        rules.set(None, "read", Some(Rule::Allow));
        rules.set(Some("ci"), "write", Some(Rule::Ask));
        for (client, tool, expected) in [
            (None, "read", Rule::Allow),
            (None, "write", Rule::Deny),
            (Some("ci"), "write", Rule::Ask),
            (Some("ci"), "read", Rule::Allow),
            (Some("ci"), "other", Rule::Deny),
            (Some("other"), "write", Rule::Deny),
            (Some("CI"), "write", Rule::Deny),
        ] {
            assert_eq!(
                rules.find(client, tool),
                Some(expected),
                "{client:?} {tool}"
            );
        }
        rules.set(Some("ci"), "*", Some(Rule::Allow));
        assert_eq!(rules.find(Some("ci"), "other"), Some(Rule::Allow));
    }

    #[test]
    fn a_pattern_that_says_more_counts_before_one_that_says_less() {
        let mut rules = Rules::default();
        rules.set(None, "*", Some(Rule::Allow));
        rules.set(None, "delete_*", Some(Rule::Deny));
        rules.set(None, "*_draft", Some(Rule::Ask));
        rules.set(None, "delete_old_draft", Some(Rule::Allow));
        rules.set(None, "a*b*c", Some(Rule::Ask));
        for (tool, expected) in [
            ("read", Rule::Allow),
            ("delete_all", Rule::Deny),
            ("delete_", Rule::Deny),
            ("undelete_all", Rule::Allow),
            ("new_draft", Rule::Ask),
            ("delete_draft", Rule::Deny),
            ("delete_old_draft", Rule::Allow),
            ("abc", Rule::Ask),
            ("a-b-b-c", Rule::Ask),
            ("acb", Rule::Allow),
            ("ab", Rule::Allow),
            ("Delete_all", Rule::Allow),
        ] {
            assert_eq!(rules.find(None, tool), Some(expected), "{tool}");
        }
    }

    #[test]
    fn rules_of_one_client_do_not_concern_another() {
        let mut rules = Rules::default();
        rules.set(Some("ci"), "x", Some(Rule::Deny));
        assert!(rules.concerns(Some("ci")));
        assert!(!rules.concerns(Some("x")) && !rules.concerns(None));
        rules.set(Some("ci"), "x", None);
        assert!(rules.is_empty() && !rules.concerns(Some("ci")));
    }
}
