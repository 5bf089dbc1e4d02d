//! `--format json`: the object of the contract, `null` where this version cannot know.

use keyway::approval::Question;
use keyway::diagnosis::{Diagnosis, source_place};
use keyway::events::rfc3339;
use keyway::sign_in::SignIn;
use keyway_check::Report;
use keyway_check::report::json::diagnostics;
use keyway_code::Code;
use keyway_config::environment::Origin;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::vault::VaultReport;
use crate::report::to_text;

/// Renders the servers.
pub(super) fn render(
    servers: &[Diagnosis],
    report: &Report<'_>,
    vault: Option<&VaultReport>,
) -> String {
    to_text(&Object {
        schema_version: 1,
        diagnostics: diagnostics(report),
        servers: servers.iter().map(Server::of).collect(),
        vault,
    })
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    diagnostics: Box<RawValue>,
    servers: Vec<Server<'a>>,
    vault: Option<&'a VaultReport>,
}

#[derive(Serialize)]
struct Server<'a> {
    id: String,
    name: &'a str,
    source: Option<Value>,
    transport: Option<&'static str>,
    method: Option<&'static str>,
    state: &'static str,
    reason: Option<&'static str>,
    code: Option<&'static str>,
    hint: Option<&'a str>,
    fixable_by: Option<&'static str>,
    variables: Vec<Variable<'a>>,
    account: Option<&'a str>,
    scopes: Option<&'a [String]>,
    required_scopes: Option<&'a [String]>,
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unstored_renewal: Option<Unstored>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_because: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unstored_sign_in: Option<UnstoredSignIn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_to: Option<&'a str>,
    protection: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<Value>,
}

/// A process that may hold new tokens only in memory.
#[derive(Serialize)]
struct Unstored {
    process: Option<u32>,
    seconds: u64,
}

/// A process that has a new sign-in in memory alone.
#[derive(Serialize)]
struct UnstoredSignIn {
    process: Option<u32>,
}

#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    set: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
}

impl<'a> Server<'a> {
    fn of(found: &'a Diagnosis) -> Self {
        let variables = found.variables.iter().map(|variable| Variable {
            name: &variable.name,
            set: variable.is_set,
            from: variable.origin.map(Origin::as_str),
        });
        let kept = found.sign_in.as_ref();
        Self {
            id: found.id(),
            name: &found.server,
            source: found
                .declared_at
                .as_ref()
                .map(|place| source_place(place).to_json()),
            transport: found.transport.map(|transport| transport.as_str()),
            method: found.method.map(|method| method.as_str()),
            state: found.state.state.as_str(),
            reason: found.state.reason.map(|reason| reason.as_str()),
            code: found.code.map(Code::as_str),
            hint: found.hint.as_deref(),
            fixable_by: found.fixable_by().map(|fixer| fixer.as_str()),
            variables: variables.collect(),
            account: kept.and_then(|kept| kept.account.as_deref()),
            scopes: kept.map(|kept| kept.scopes.as_slice()),
            required_scopes: kept.map(|kept| kept.required_scopes.as_slice()),
            expires_at: kept.and_then(|kept| kept.expires_at).map(rfc3339),
            unstored_renewal: kept.and_then(|kept| kept.unstored).map(|it| Unstored {
                process: it.process,
                seconds: it.seconds,
            }),
            ended_because: kept.filter(|kept| kept.ended).and_then(SignIn::fault),
            unstored_sign_in: found.unstored_sign_in.map(|it| UnstoredSignIn {
                process: it.process,
            }),
            moved_to: found.moved_to.as_deref(),
            protection: found.protection.as_deref(),
            approval: found.question.as_ref().map(Question::to_json),
        }
    }
}
