//! Why a command gave up, as the diagnostic object of the contract.

use std::error::Error as _;

use keyway::connect::HttpRefusal;
use keyway_code::Code;
use keyway_secret::printable;
use serde::Serialize;

use super::json::to_text;
use super::mask::in_name;
use crate::error::CliError;

/// One diagnostic object of the contract.
#[derive(Serialize)]
pub(crate) struct Failure {
    code: Code,
    severity: &'static str,
    server: Option<String>,
    source: Option<Source>,
    message: String,
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<Http>,
}

#[derive(Serialize)]
struct Source {
    file: String,
    line: u32,
    column: u32,
    pointer: String,
}

#[derive(Serialize)]
struct Http {
    status: Option<u16>,
    error: Option<String>,
    error_description: Option<String>,
    scope: Option<String>,
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

impl Failure {
    /// Words an error.
    pub(crate) fn of(error: &CliError) -> Self {
        let http = error.http_refusal().map(Http::from);
        let source = error.location().map(|location| Source {
            file: location.file.to_string(),
            line: location.start.line,
            column: location.start.column,
            pointer: in_name(location.pointer.as_str()),
        });
        Self {
            code: error.code(),
            severity: "error",
            server: error.server().map(str::to_owned),
            source,
            message: chain(error),
            hint: error.hint(),
            http,
        }
    }

    /// Names the server where the error does not.
    pub(crate) fn about(mut self, server: &str) -> Self {
        self.server.get_or_insert_with(|| printable(server));
        self
    }
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
