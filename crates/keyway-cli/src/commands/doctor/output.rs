//! The end of the examination: one table, and for each fault what happened, why, and what to do.

use keyway::diagnosis::{Diagnosis, Finding};
use keyway::examination::NO_SERVER;
use keyway_code::{Code, State};
use keyway_lint::mask::in_name;
use keyway_secret::printable;
use serde::Serialize;

use super::layout::Layout;
use crate::context::CommandContext;
use crate::report::failure::Failure;
use crate::report::to_text;
use keyway_terminal::Table;

/// Renders it for people.
pub(super) fn human(examined: &[Diagnosis], context: &CommandContext) -> String {
    if examined.is_empty() {
        return "no servers\n".to_owned();
    }
    let mut table = Table::new(["SERVER", "RESULT", "STAGE", "WHAT"]);
    for one in examined {
        let what = match one.fault() {
            Some(code) => code.to_string(),
            None => what(one).to_owned(),
        };
        table.push([
            shown(one),
            result(one).to_owned(),
            one.stage.as_str().to_owned(),
            what,
        ]);
    }
    let mut text = context.render(&table);
    let layout = Layout {
        width: context.width(),
        name: context.head_style(),
    };
    let mut codes: Vec<Code> = Vec::new();
    for one in examined {
        let code = match (one.fault(), &one.advice) {
            (Some(code), _) => {
                text.push_str(&block(one, code, layout));
                code
            }
            (None, Some(advice)) => {
                text.push_str(&layout.heading(&shown(one), &advice.message, advice.code));
                text.push_str(&layout.steps(&advice.hint));
                advice.code
            }
            (None, None) => continue,
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

fn block(one: &Diagnosis, code: Code, layout: Layout) -> String {
    let mut text = layout.heading(&headed(one), &one.message, code);
    if let Some(place) = &one.fault_at {
        let file = printable(&place.file);
        let (line, column) = (place.start.line, place.start.column);
        text.push_str(&format!("  at    {file}:{line}:{column}\n"));
    }
    for line in &one.last_lines {
        text.push_str(&format!("  | {}\n", printable(line)));
    }
    text.push_str(&layout.labelled("why", code.why()));
    text.push_str(&layout.steps(one.hint.as_deref().unwrap_or_default()));
    text
}

/// What is wrong with a whole file is told under its name.
fn headed(one: &Diagnosis) -> String {
    match &one.fault_at {
        Some(place) if one.server == NO_SERVER => printable(&place.file),
        _ => shown(one),
    }
}

/// A server is named so that no literal that stands in the place of a name is shown.
fn shown(one: &Diagnosis) -> String {
    printable(&in_name(&one.server))
}

fn result(one: &Diagnosis) -> &'static str {
    match (one.state.state, one.code) {
        (State::Disabled, _) => "off",
        (_, None) => "ok",
        (_, Some(_)) => "fault",
    }
}

fn what(one: &Diagnosis) -> &str {
    match (one.state.state, one.code, &one.offer) {
        (State::Disabled, ..) => "disabled in its file",
        (_, None, Some(offer)) => &offer.summary,
        _ => &one.message,
    }
}

/// Renders it for scripts.
pub(super) fn json(examined: &[Diagnosis]) -> String {
    let faults = examined
        .iter()
        .filter_map(|one| match (one.fault(), &one.advice) {
            (Some(_), _) => Some(Failure::of_diagnosis(one).examined(one)),
            (None, Some(advice)) => Some(note(one, advice)),
            (None, None) => None,
        });
    let servers = examined.iter().map(|one| Server {
        name: in_name(&one.server),
        result: result(one),
        stage: one.stage.as_str(),
        code: one.code.map(Code::as_str),
        what: what(one),
        protocol: one.offer.as_ref().map(|offer| Protocol {
            version: offer.era.version(),
            era: offer.era.word(),
        }),
    });
    to_text(&Object {
        schema_version: 1,
        diagnostics: faults.collect(),
        servers: servers.collect(),
    })
}

/// Words something better than what works.
fn note(one: &Diagnosis, advice: &Finding) -> Failure {
    let found = one.clone().with(advice.clone());
    Failure::of_diagnosis(&found).examined(&found).into_note()
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    diagnostics: Vec<Failure>,
    servers: Vec<Server<'a>>,
}

#[derive(Serialize)]
struct Server<'a> {
    name: String,
    result: &'static str,
    stage: &'static str,
    code: Option<&'static str>,
    what: &'a str,
    protocol: Option<Protocol<'a>>,
}

#[derive(Serialize)]
struct Protocol<'a> {
    version: &'a str,
    era: &'static str,
}
