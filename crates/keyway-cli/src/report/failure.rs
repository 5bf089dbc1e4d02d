//! Why a command gave up, or what is wrong with a server, as the diagnostic object of the contract.

use std::error::Error as _;

use keyway::connect::HttpRefusal;
use keyway::diagnosis::{Diagnosis, source_place};
use keyway_code::{Code, ServerState};
use keyway_lint::mask::in_name;
use keyway_secret::printable;
use serde::Serialize;
use serde_json::Value;

use super::to_text;
use crate::error::CliError;

/// One diagnostic object of the contract.
#[derive(Serialize)]
pub(crate) struct Failure {
    code: &'static str,
    severity: &'static str,
    server: Option<String>,
    source: Option<Value>,
    message: String,
    hint: Option<String>,
    fixable_by: &'static str,
    #[serde(flatten)]
    state: Option<StateFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<Http>,
    #[serde(flatten)]
    examined: Option<Examined>,
}

/// How the failure leaves the server that it is about.
#[derive(Serialize)]
struct StateFields {
    state: &'static str,
    reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Http {
    status: Option<u16>,
    error: Option<String>,
    error_description: Option<String>,
    scope: Option<String>,
}

/// What only an examination knows.
#[derive(Serialize)]
struct Examined {
    stage: &'static str,
    why: &'static str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    last_lines: Vec<String>,
}

impl From<HttpRefusal> for Http {
    fn from(refusal: HttpRefusal) -> Self {
        Self {
            status: refusal.status,
            error: refusal.error,
            error_description: refusal.error_description,
            scope: refusal.scope,
        }
    }
}

impl From<ServerState> for StateFields {
    fn from(found: ServerState) -> Self {
        Self {
            state: found.state.as_str(),
            reason: found.reason.map(|reason| reason.as_str()),
        }
    }
}

impl Failure {
    /// Words an error.
    pub(crate) fn of(error: &CliError) -> Self {
        let found = diagnosis(error);
        let is_about_server = !found.server.is_empty();
        let mut failure = Self::of_diagnosis(&found);
        failure.server = is_about_server.then_some(found.server);
        failure.state = failure.state.filter(|_| is_about_server);
        failure
    }

    /// Words what is wrong with a server.
    pub(crate) fn of_diagnosis(found: &Diagnosis) -> Self {
        let code = found.code.unwrap_or(Code::ConfigError);
        Self {
            code: code.as_str(),
            severity: "error",
            server: Some(in_name(&found.server)),
            source: found.place().map(|place| source_place(place).to_json()),
            message: found.message.clone(),
            hint: found.hint.clone(),
            fixable_by: code.fixer().as_str(),
            state: Some(found.state.into()),
            http: found.http.clone().map(Http::from),
            examined: None,
        }
    }

    /// Adds what only an examination knows.
    pub(crate) fn examined(mut self, found: &Diagnosis) -> Self {
        self.examined = Some(Examined {
            stage: found.stage.as_str(),
            why: found.code.unwrap_or(Code::ConfigError).why(),
            last_lines: found.last_lines.clone(),
        });
        self
    }

    /// The same for something that is not wrong, but could be better.
    pub(crate) const fn into_note(mut self) -> Self {
        self.severity = "note";
        self
    }

    /// Names the server where the error does not.
    pub(crate) fn about(mut self, server: &str) -> Self {
        self.server.get_or_insert_with(|| printable(server));
        self
    }
}

/// Says how an error leaves the server that it is about, if it is about one.
fn diagnosis(error: &CliError) -> Diagnosis {
    if let CliError::Host(error) = error {
        return error.diagnosis();
    }
    let code = error.code();
    let mut found = Diagnosis::new("", error.server().unwrap_or_default());
    found.code = Some(code);
    found.state = code.state();
    found.message = chain(error);
    found.hint = error.hint();
    found.exit = error.exit();
    found
}

/// Returns the one object that is printed where there is no result.
pub(crate) fn object(error: &CliError) -> String {
    #[derive(Serialize)]
    struct Object {
        schema_version: u32,
        diagnostics: [Failure; 1],
    }
    to_text(&Object {
        schema_version: 1,
        diagnostics: [Failure::of(error)],
    })
}

/// Writes an error with everything behind it in one line.
pub(crate) fn chain(error: &CliError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        text = format!("{text}: {below}");
        cause = below.source();
    }
    printable(&text)
}
