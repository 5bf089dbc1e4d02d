//! `--format json`: the object of the contract, `null` where this version cannot know.

use keyway_config::environment::Origin;
use serde::Serialize;

use super::Listed;
use super::vault::Kept;
use crate::report::Report;
use crate::report::json::{Finding, Place, findings, to_text};
use keyway::events::rfc3339;

use crate::report::mask::in_name;

/// Renders the servers.
pub(super) fn render(servers: &[Listed<'_>], report: &Report<'_>, vault: Option<&Kept>) -> String {
    to_text(&Object {
        schema_version: 1,
        diagnostics: findings(report),
        servers: servers.iter().map(Server::of).collect(),
        vault,
    })
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    diagnostics: Vec<Finding<'a>>,
    servers: Vec<Server<'a>>,
    vault: Option<&'a Kept>,
}

#[derive(Serialize)]
struct Server<'a> {
    id: String,
    name: &'a str,
    source: Place<'a>,
    transport: Option<&'static str>,
    method: Option<&'static str>,
    state: &'static str,
    reason: Option<&'static str>,
    variables: Vec<Variable<'a>>,
    account: Option<&'a str>,
    scopes: Option<&'a [String]>,
    expires_at: Option<String>,
    protection: Option<&'a str>,
}

#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    set: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
}

impl<'a> Server<'a> {
    fn of(listed: &'a Listed<'_>) -> Self {
        let status = &listed.status;
        let entry = status.entry;
        let source = &status.document.source;
        let start = source.position(entry.name_span.start);
        let variables = status.variables.iter().map(|variable| Variable {
            name: variable.name,
            set: variable.is_set,
            from: variable.origin.map(Origin::as_str),
        });
        let kept = listed.sign_in.as_ref();
        Self {
            id: listed.id(),
            name: &entry.name,
            source: Place {
                file: source.path(),
                line: start.line,
                column: start.column,
                pointer: in_name(entry.pointer.as_str()),
            },
            transport: status.transport.map(|transport| transport.as_str()),
            method: status.method.map(|method| method.as_str()),
            state: status.state.as_str(),
            reason: status.reason.map(|reason| reason.as_str()),
            variables: variables.collect(),
            account: kept.and_then(|kept| kept.account.as_deref()),
            scopes: kept.map(|kept| kept.scopes.as_slice()),
            expires_at: kept.and_then(|kept| kept.expires_at).map(rfc3339),
            protection: listed.protection.as_deref(),
        }
    }
}
