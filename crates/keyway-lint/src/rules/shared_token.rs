//! `shared-token`: development and production are entered with the same token.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Endpoint};
use keyway_config::diagnostic::Severity;
use keyway_config::headers::is_credential_header;
use keyway_config::source::Span;
use keyway_config::usage::{FieldRole, Use, uses};

use super::{Context, Report, Rule};
use crate::secrets::is_credential_name;

pub(super) const RULE: Rule = Rule {
    id: Code::SharedToken,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "One variable is used by entries for development and for production",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let stages: HashMap<(Arc<str>, Span), Stage> = context
        .plugin
        .servers()
        .filter_map(|(document, server)| {
            Some((
                (document.source.shared_path(), server.span),
                stage_of(server)?,
            ))
        })
        .collect();
    let mut first_use: HashMap<String, (Stage, Use<'_>)> = HashMap::new();
    let mut reported = HashSet::new();
    for later in uses(context.plugin) {
        let name = &later.variable.name;
        let place = (later.document.source.shared_path(), later.server.span);
        let Some(&stage) = stages.get(&place).filter(|_| is_credential(&later)) else {
            continue;
        };
        let (first_stage, first) = first_use.entry(name.clone()).or_insert((stage, later));
        if *first_stage == stage || !reported.insert(name) {
            continue;
        }
        let message = format!("variable `{name}` is used for both development and production");
        report
            .field(later.document, later.server, later.field, message)
            .related(
                &first.document.source,
                first.field.span,
                &first.field.pointer,
                format!("also used by `{}`", first.server.name),
            )
            .hint("use a variable of its own for each, so that one can be revoked alone");
    }
}

/// Says whether the variable holds a credential, by its own name or by its place.
fn is_credential(usage: &Use<'_>) -> bool {
    let by_place = match usage.role {
        FieldRole::Header(name) => is_credential_header(name),
        FieldRole::Env(name) | FieldRole::OAuth(name) => is_credential_name(name),
        _ => false,
    };
    by_place || is_credential_name(&usage.variable.name)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Development,
    Production,
}

/// What the name and the host say; `None` if they say nothing or both.
fn stage_of(server: &DeclaredServer) -> Option<Stage> {
    let mut words = words_of(&server.name);
    if let Endpoint::Remote(remote) = &server.endpoint {
        words.extend(host_words(&remote.url.template.masked()));
    }
    let says = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    match (says(DEVELOPMENT), says(PRODUCTION)) {
        (true, false) => Some(Stage::Development),
        (false, true) => Some(Stage::Production),
        _ => None,
    }
}

/// The words of a host, the top-level domain apart: `.test` and `.dev` say nothing.
fn host_words(masked: &str) -> Vec<String> {
    let rest = masked.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.split(':').next().unwrap_or_default();
    if host == "localhost" || host.starts_with("127.") {
        return vec!["local".to_owned()];
    }
    let labels = host.rsplit_once('.').map_or("", |(labels, _)| labels);
    words_of(labels)
}

/// Words in small letters, split at punctuation and at capitals.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = ' ';
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && previous.is_lowercase());
        if begins {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        previous = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

const DEVELOPMENT: &[&str] = &[
    "dev",
    "development",
    "staging",
    "stage",
    "test",
    "testing",
    "sandbox",
    "local",
];

const PRODUCTION: &[&str] = &["prod", "production", "live"];

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{findings, plugin};

    fn found(first: (&str, &str), second: (&str, &str)) -> usize {
        let entry = |(name, fields): (&str, &str)| format!(r#""{name}": {{{fields}}}"#);
        let text = format!("{{{}, {}}}", entry(first), entry(second));
        let found = findings("shared-token", &plugin(&text));
        for diagnostic in &found {
            assert!(diagnostic.related.is_some());
        }
        found.len()
    }

    const ENV: &str = r#""command": "x", "env": {"API_TOKEN": "${API_TOKEN}"}"#;
    const HEADER: &str = r#""type": "http", "url": "https://h.example", "headers": {"Authorization": "Bearer ${CRED}"}"#;

    #[test]
    fn names_tell_the_stages_apart() {
        assert_eq!(found(("api-dev", ENV), ("api-prod", ENV)), 1);
        assert_eq!(found(("apiProduction", HEADER), ("apiStaging", HEADER)), 1);
    }

    #[test]
    fn hosts_tell_the_stages_apart() {
        let at = |host: &str| HEADER.replace("h.example", host);
        assert_eq!(
            found(("a", &at("dev.h.example")), ("b", &at("live.h.example"))),
            1
        );
        assert_eq!(
            found(("a", &at("localhost:80")), ("b", &at("prod-api.h.example"))),
            1
        );
        assert_eq!(found(("a", &at("h.dev")), ("b", &at("prod.h.dev"))), 0);
    }

    #[test]
    fn separate_tokens_equal_stages_and_harmless_variables_are_left_alone() {
        let other = ENV.replace("${API_TOKEN}", "${API_TOKEN_PROD}");
        assert_eq!(found(("dev", ENV), ("prod", &other)), 0);
        assert_eq!(found(("dev", ENV), ("test", ENV)), 0);
        assert_eq!(found(("dev", ENV), ("main", ENV)), 0);
        let region = r#""command": "x", "env": {"REGION": "${REGION}"}"#;
        assert_eq!(found(("dev", region), ("prod", region)), 0);
        assert_eq!(found(("device", ENV), ("product", ENV)), 0);
    }
}
