//! What was found out about one server.

use keyway::connect::HttpRefusal;
use keyway::diagnosis::{Evidence, refine, refine_session};
use keyway_code::Exit;
use keyway_code::{Code, Stage};
use keyway_config::diagnostic::Diagnostic;
use keyway_config::source::Location;
use keyway_mcp::session::Era;
use keyway_mcp::states::{Reason, Standing, State};
use serde_json::value::RawValue;

use crate::error::CliError;
use crate::report::failure::chain;

/// One server, and what was found out about it.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) name: String,
    pub(super) verdict: Verdict,
}

/// What was found out about a server.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It listed something.
    Works {
        /// What.
        what: String,
        /// The protocol that was spoken.
        era: Era,
        /// What would be better.
        advice: Option<Box<Advice>>,
        /// The tools among it.
        tools: Vec<Box<RawValue>>,
    },
    /// It is switched off.
    Off,
    /// It does not work.
    Faulty(Box<Fault>),
}

/// Something better than what works.
#[derive(Debug)]
pub(crate) struct Advice {
    pub(super) code: Code,
    pub(super) message: &'static str,
    pub(super) hint: String,
}

impl Advice {
    /// The server could be signed in to (rule 6 of the contract's security rules).
    pub(super) fn prefer_oauth(server: &str) -> Self {
        Self {
            code: Code::PreferOauth,
            message: "it is reached with a fixed credential, and offers a sign-in by OAuth",
            hint: format!("keyway migrate oauth --server {server}"),
        }
    }
}

/// The first thing that is wrong with a server.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) stage: Stage,
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: String,
    pub(super) exit: Exit,
    /// The state that this leaves the server in.
    pub(crate) standing: Standing,
    pub(crate) place: Option<Place>,
    pub(super) http: Option<HttpRefusal>,
    /// What a program said before it ended, redacted.
    pub(crate) lines: Vec<String>,
}

/// Where in a file it is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(super) pointer: String,
}

impl Place {
    fn of(location: &Location) -> Self {
        Self {
            file: location.file.to_string(),
            line: location.start.line,
            column: location.start.column,
            pointer: location.pointer.as_str().to_owned(),
        }
    }
}

impl Fault {
    /// Words a finding of the rules.
    pub(super) fn of_finding(stage: Stage, finding: &Diagnostic) -> Self {
        let place = finding.location.as_ref().map(Place::of);
        Self {
            stage,
            code: finding.code,
            message: finding.message.clone(),
            hint: match (&finding.hint, &finding.fix) {
                (Some(hint), _) => hint.clone(),
                (None, Some(_)) => "keyway check --fix".to_owned(),
                (None, None) => "correct that place; then keyway doctor".to_owned(),
            },
            exit: Exit::Failed,
            standing: UNUSABLE,
            place,
            http: None,
            lines: Vec::new(),
        }
    }

    /// Words an error; `evidence` makes it more precise.
    pub(super) fn of_error(
        error: &CliError,
        otherwise: Stage,
        evidence: Option<Evidence<'_>>,
    ) -> Self {
        let refined = evidence.and_then(|evidence| match error.conversation() {
            Some(error) => refine_session(error, evidence),
            None => refine(error.transport()?, evidence),
        });
        let (code, message, hint) = match refined {
            Some(found) => (found.code, found.message, Some(found.hint)),
            None => (error.code(), chain(error), error.hint()),
        };
        Self {
            stage: code.stage().unwrap_or(otherwise),
            code,
            message,
            hint: hint.unwrap_or_else(|| REPORT.to_owned()),
            exit: error.exit(),
            standing: error.trouble().standing,
            place: error.location().map(Place::of),
            http: error.http_refusal(),
            lines: error.last_lines().to_vec(),
        }
    }

    /// Returns why, as the page of the code says it.
    pub(crate) fn why(&self) -> &'static str {
        self.code.why()
    }
}

/// What is left where nothing better is known.
const REPORT: &str = "mend what the message names; if it names nothing of yours, report it with what this writes: keyway doctor --bundle report.tar";

/// The state of a server whose entry cannot be used.
const UNUSABLE: Standing = Standing::new(State::Failed, Reason::ConfigError);
