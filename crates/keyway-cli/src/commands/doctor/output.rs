//! The end of the examination: one table, and for each fault what happened, why, and what to do.

use keyway_code::Code;
use keyway_secret::printable;
use serde::Serialize;

use super::fault::{Advice, Examined, Fault, Verdict};
use super::layout::Layout;
use super::offline::NO_SERVER;
use crate::context::CommandContext;
use crate::report::json::to_text;
use crate::report::mask::in_name;
use crate::table::Table;

/// Renders it for people.
pub(super) fn human(examined: &[Examined], context: &CommandContext) -> String {
    if examined.is_empty() {
        return "no servers\n".to_owned();
    }
    let mut table = Table::new(["SERVER", "RESULT", "STAGE", "WHAT"]);
    for one in examined {
        let (result, stage, what) = match &one.verdict {
            Verdict::Works { what, .. } => ("ok", "list", what.clone()),
            Verdict::Off => ("off", "file", "disabled in its file".to_owned()),
            Verdict::Faulty(fault) => ("fault", fault.stage.as_str(), fault.code.to_string()),
        };
        table.push([shown(one), result.to_owned(), stage.to_owned(), what]);
    }
    let mut text = table.render(context.width(), context.head_style());
    let layout = Layout {
        width: context.width(),
        name: context.head_style(),
    };
    let mut codes: Vec<Code> = Vec::new();
    for one in examined {
        let code = match &one.verdict {
            Verdict::Faulty(fault) => {
                text.push_str(&block(&headed(one, fault), fault, layout));
                fault.code
            }
            Verdict::Works {
                advice: Some(advice),
                ..
            } => {
                text.push_str(&layout.heading(&shown(one), advice.message, advice.code));
                text.push_str(&layout.steps(&advice.hint));
                advice.code
            }
            _ => continue,
        };
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    match codes.as_slice() {
        [] => {}
        [code] => text.push_str(&format!("\nmore: keyway explain {code}\n")),
        _ => text.push_str("\nmore about a code in brackets: keyway explain CODE\n"),
    }
    text
}

fn block(name: &str, fault: &Fault, layout: Layout) -> String {
    let mut text = layout.heading(name, &fault.message, fault.code);
    if let Some(place) = &fault.place {
        let file = printable(&place.file);
        text.push_str(&format!("  at    {file}:{}:{}\n", place.line, place.column));
    }
    for line in &fault.lines {
        text.push_str(&format!("  | {}\n", printable(line)));
    }
    text.push_str(&layout.labelled("why", fault.why()));
    text.push_str(&layout.steps(&fault.hint));
    text
}

/// What is wrong with a whole file is told under its name.
fn headed(one: &Examined, fault: &Fault) -> String {
    match &fault.place {
        Some(place) if one.name == NO_SERVER => printable(&place.file),
        _ => shown(one),
    }
}

/// A server is named so that no literal that stands in the place of a name is shown.
fn shown(one: &Examined) -> String {
    printable(&in_name(&one.name))
}

/// Renders it for scripts.
pub(super) fn json(examined: &[Examined]) -> String {
    let faults = examined.iter().filter_map(|one| match &one.verdict {
        Verdict::Faulty(fault) => Some(Finding::of(in_name(&one.name), fault)),
        Verdict::Works { advice, .. } => {
            let advice = advice.as_ref()?;
            Some(Finding::advice(in_name(&one.name), advice))
        }
        Verdict::Off => None,
    });
    let servers = examined.iter().map(|one| Server {
        name: in_name(&one.name),
        result: match &one.verdict {
            Verdict::Works { .. } => "ok",
            Verdict::Off => "off",
            Verdict::Faulty(_) => "fault",
        },
        stage: match &one.verdict {
            Verdict::Works { .. } => "list",
            Verdict::Off => "file",
            Verdict::Faulty(fault) => fault.stage.as_str(),
        },
        code: match &one.verdict {
            Verdict::Works { .. } => None,
            Verdict::Off => Some(Code::Disabled),
            Verdict::Faulty(fault) => Some(fault.code),
        },
        what: match &one.verdict {
            Verdict::Works { what, .. } => what,
            Verdict::Off => "disabled in its file",
            Verdict::Faulty(fault) => &fault.message,
        },
        protocol: match &one.verdict {
            Verdict::Works { era, .. } => Some(Protocol {
                version: era.version(),
                era: era.word(),
            }),
            _ => None,
        },
    });
    to_text(&Object {
        schema_version: 1,
        diagnostics: faults.collect(),
        servers: servers.collect(),
    })
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    diagnostics: Vec<Finding<'a>>,
    servers: Vec<Server<'a>>,
}

#[derive(Serialize)]
struct Server<'a> {
    name: String,
    result: &'static str,
    stage: &'static str,
    code: Option<Code>,
    what: &'a str,
    protocol: Option<Protocol<'a>>,
}

#[derive(Serialize)]
struct Protocol<'a> {
    version: &'a str,
    era: &'static str,
}

/// One diagnostic object of the contract, with the stage and the reason.
#[derive(Serialize)]
struct Finding<'a> {
    code: Code,
    severity: &'static str,
    server: String,
    source: Option<Place<'a>>,
    message: &'a str,
    hint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<Http<'a>>,
    stage: &'static str,
    why: &'static str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    last_lines: &'a [String],
}

#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    pointer: String,
}

#[derive(Serialize)]
struct Http<'a> {
    status: Option<u16>,
    error: Option<&'a str>,
    error_description: Option<&'a str>,
    scope: Option<&'a str>,
}

impl<'a> Finding<'a> {
    fn advice(server: String, advice: &'a Advice) -> Self {
        Self {
            code: advice.code,
            severity: "note",
            server,
            source: None,
            message: advice.message,
            hint: &advice.hint,
            http: None,
            stage: "list",
            why: advice.code.why(),
            last_lines: &[],
        }
    }

    fn of(server: String, fault: &'a Fault) -> Self {
        Self {
            code: fault.code,
            severity: "error",
            server,
            source: fault.place.as_ref().map(|place| Place {
                file: &place.file,
                line: place.line,
                column: place.column,
                pointer: in_name(&place.pointer),
            }),
            message: &fault.message,
            hint: &fault.hint,
            http: fault.http.as_ref().map(|http| Http {
                status: http.status,
                error: http.error.as_deref(),
                error_description: http.error_description.as_deref(),
                scope: http.scope.as_deref(),
            }),
            stage: fault.stage.as_str(),
            why: fault.why(),
            last_lines: &fault.lines,
        }
    }
}
