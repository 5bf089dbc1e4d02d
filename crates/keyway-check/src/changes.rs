//! What a command changed or would change, for scripts and for people; never with a value.

use keyway_code::Exit;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::edit::TextChange;
use keyway_config::source::Pointer;
use keyway_lint::convert::Conversion;
use keyway_lint::mask;
use keyway_secret::printable;
use serde::Serialize;

use crate::report::json::{Finding, to_text};
use crate::report::{Verbosity, counted};

/// What a command changed or would change.
#[derive(Debug)]
pub struct Changes<'a> {
    diagnostics: Vec<Diagnostic>,
    files: Vec<File<'a>>,
    variables: Vec<Variable<'a>>,
}

#[derive(Debug, Serialize)]
struct File<'a> {
    file: &'a str,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Variable<'a> {
    name: &'a str,
    server: &'a str,
    pointer: &'a str,
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    diagnostics: Vec<Finding<'a>>,
    changes: &'a [File<'a>],
    variables: &'a [Variable<'a>],
}

impl<'a> Changes<'a> {
    /// Begins with what is to be said.
    #[must_use]
    pub fn new(mut diagnostics: Vec<Diagnostic>) -> Self {
        mask::in_diagnostics(&mut diagnostics);
        Self {
            diagnostics,
            files: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Says what a conversion changes: at most one file, and a variable for each slot.
    #[must_use]
    pub fn of_conversion(all: &'a Conversion, change: Option<&'a TextChange>) -> Self {
        let mut changes = Self::new(all.diagnostics.clone()).files(change);
        for slot in &all.slots {
            changes.variables.push(Variable {
                name: &slot.name,
                server: &slot.server,
                pointer: slot.literal_at.as_ref().map_or("", Pointer::as_str),
            });
        }
        changes
    }

    /// Adds files in the order in which they are written.
    #[must_use]
    pub fn files(mut self, changes: impl IntoIterator<Item = &'a TextChange>) -> Self {
        for change in changes {
            self = self.file(&change.file, change.before.is_some());
        }
        self
    }

    /// Adds one file.
    #[must_use]
    pub fn file(mut self, file: &'a str, exists: bool) -> Self {
        let kind = if exists { "change" } else { "create" };
        self.files.push(File { file, kind });
        self
    }

    /// Adds a variable and where it is used.
    #[must_use]
    pub fn variable(mut self, name: &'a str, server: &'a str, pointer: &'a Pointer) -> Self {
        let pointer = pointer.as_str();
        self.variables.push(Variable {
            name,
            server,
            pointer,
        });
        self
    }

    /// Returns how the command ends: anything that was asked for and not done is a failure.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let mut found = self.diagnostics.iter();
        if found.any(|found| found.severity == Severity::Error) {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    /// Renders the object for scripts.
    #[must_use]
    pub fn json(&self) -> String {
        to_text(&Object {
            schema_version: 1,
            diagnostics: self
                .diagnostics
                .iter()
                .map(Finding::of_diagnostic)
                .collect(),
            changes: &self.files,
            variables: &self.variables,
        })
    }

    /// Renders what is to be said to people.
    #[must_use]
    pub fn notes(&self, verbosity: Verbosity) -> String {
        let mut text = String::new();
        for found in &self.diagnostics {
            if verbosity == Verbosity::Quiet && found.severity != Severity::Error {
                continue;
            }
            let (severity, code) = (found.severity, found.code);
            let message = printable(&found.message);
            text.push_str(&format!("{severity}[{code}]: {message}\n"));
            if let Some(place) = &found.location {
                let (file, start) = (printable(&place.file), place.start);
                text.push_str(&format!("  --> {file}:{}:{}\n", start.line, start.column));
            }
            if let Some(hint) = &found.hint {
                text.push_str(&format!("  help: {}\n", printable(hint)));
            }
        }
        text
    }
}

/// Says which variables a conversion needs, and how many servers it has.
#[must_use]
pub fn conversion_summary(all: &Conversion, is_shown_only: bool) -> String {
    let mut text = String::new();
    for slot in &all.slots {
        let what = if slot.is_secret {
            "credential"
        } else {
            "variable"
        };
        let name = printable(&slot.name);
        let place = slot
            .literal_at
            .as_ref()
            .map_or_else(String::new, |pointer| {
                format!(
                    "; its value is still at `{}` of the old file",
                    printable(pointer.as_str())
                )
            });
        text.push_str(&format!("needs the {what} `{name}`{place}\n"));
    }
    let servers = counted(all.entries.len(), "server");
    text.push_str(&if is_shown_only {
        format!("would add {servers}; `--write` does it\n")
    } else {
        format!("converted {servers}\n")
    });
    text
}
