//! What `status` and `doctor` found, as the dashboard shows it.

use keyway::approval::Question;
use keyway::load::Loaded;
use keyway_code::Stage;
use keyway_gateway::dashboard::{Fault, Kept, ServerId, ServerView, Tool, Variable};
use keyway_mcp::explain::naming;
use keyway_mcp::states::{Reason, Standing, State, Trouble};
use keyway_secret::printable;

use super::Desk;
use super::slots::{Seen, Slot};
use crate::commands::doctor::{self, Verdict};
use crate::commands::status::{self, Listed};
use crate::error::CliError;

impl Desk {
    /// Looks at files and vault, and adds what is known beyond them.
    pub(super) fn survey(&self) -> Result<Vec<ServerView>, CliError> {
        self.with_survey(|listed| Ok(listed.into_iter().map(|one| self.view(one)).collect()))
    }

    /// Returns what has to be approved of a server.
    pub(super) fn question(&self, id: &ServerId) -> Result<Option<Question>, CliError> {
        self.with_survey(|listed| {
            let mut listed = listed.into_iter();
            let found =
                listed.find(|one| one.plugin == id.plugin && one.status.entry.name == id.name);
            Ok(found.and_then(|one| one.question))
        })
    }

    fn with_survey<T>(
        &self,
        look: impl FnOnce(Vec<Listed<'_>>) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let plugins = self.plugins();
        let plugins: Vec<&Loaded> = plugins.iter().map(AsRef::as_ref).collect();
        let accounts = self.host.accounts().ok_or(keyway::Error::NoHome)?;
        look(status::survey(&plugins, &self.host, accounts)?)
    }

    fn view(&self, listed: Listed<'_>) -> ServerView {
        let Listed {
            plugin,
            mut status,
            sign_in,
            mut question,
            ..
        } = listed;
        if self.host.dangerous_approves_all() {
            question = None;
            status.reason = status.reason.filter(|it| *it != Reason::PendingTrust);
        }
        let id = ServerId {
            plugin,
            name: status.entry.name.clone(),
        };
        let slot = self.slots.of(&id);
        let declared = Standing {
            state: status.state,
            reason: status.reason,
        };
        let source = &status.document.source;
        let line = source.position(status.entry.name_span.start).line;
        let variables = status.variables.iter().map(|variable| Variable {
            name: variable.name.to_owned(),
            is_set: variable.is_set,
            has_default: variable.has_default,
        });
        let kept = sign_in.map(|sign_in| Kept {
            lifetime: sign_in
                .expires_at
                .zip(sign_in.expires_in)
                .map(|(at, left)| self.slots.lifetime(&id, at, left)),
            sign_in,
        });
        let standing = standing(declared, &slot);
        let consent = slot.consent().cloned();
        let seen = slot.seen.unwrap_or_default();
        let is_at_work = standing.state == State::Connected;
        ServerView {
            place: printable(&format!("{}:{line}", source.path())),
            transport: status.transport,
            method: status.method,
            is_open: seen.is_open && is_at_work,
            standing,
            is_busy: slot.is_busy,
            sign_in: kept,
            variables: variables.collect(),
            question,
            consent,
            fault: seen.fault.filter(|_| !is_at_work),
            offers: seen.offers.filter(|_| is_at_work),
            tools: seen.tools,
            id,
        }
    }
}

/// Puts together what the files say and how the server was when it was last looked at.
fn standing(declared: Standing, slot: &Slot) -> Standing {
    if slot.consent().is_some() {
        return Standing::new(State::NeedsAuth, Reason::Authorizing);
    }
    match (declared.state, declared.reason) {
        (State::Pending, None | Some(Reason::Connecting)) => {
            let seen = slot.seen.as_ref().and_then(|seen| seen.standing);
            seen.unwrap_or(declared)
        }
        _ => declared,
    }
}

/// Words what was found out about a server.
pub(super) fn seen(verdict: &Verdict) -> Seen {
    match verdict {
        Verdict::Works { what, tools, .. } => {
            let tools = tools.iter().filter_map(|raw| Tool::read(raw));
            Seen {
                standing: Some(Standing::CONNECTED),
                offers: Some(what.clone()),
                tools: tools.collect(),
                ..Seen::default()
            }
        }
        Verdict::Off => Seen::default(),
        Verdict::Faulty(fault) => Seen {
            standing: Some(fault.standing),
            fault: Some(worded(fault)),
            ..Seen::default()
        },
    }
}

fn worded(fault: &doctor::Fault) -> Fault {
    let place = fault.place.as_ref();
    Fault {
        stage: fault.stage.as_str().to_owned(),
        code: fault.code,
        message: fault.message.clone(),
        why: one_line(fault.why()),
        hint: fault.hint.clone(),
        place: place.map(|at| format!("{}:{}:{}", at.file, at.line, at.column)),
        lines: fault.lines.clone(),
    }
}

/// Words what kept something from being done.
pub(super) fn failed(trouble: &Trouble, id: &ServerId) -> Seen {
    let stage = trouble.code.stage().unwrap_or(Stage::Connect);
    let hint = trouble.hint.as_deref();
    let hint = hint.map(|hint| naming(hint, Some(&id.plugin), &id.name));
    Seen {
        standing: Some(trouble.standing),
        fault: Some(Fault {
            stage: stage.as_str().to_owned(),
            code: trouble.code,
            message: trouble.message.clone(),
            why: one_line(trouble.code.why()),
            hint: hint.unwrap_or_else(|| format!("keyway explain {}", trouble.code)),
            place: None,
            lines: Vec::new(),
        }),
        ..Seen::default()
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helps_names_the_server_itself() {
        let id = ServerId {
            plugin: "p".to_owned(),
            name: "docs".to_owned(),
        };
        let mut trouble = CliError::from(keyway::Error::Cancelled).trouble();
        trouble.hint = Some("sign in again and agree: keyway login SERVER".to_owned());
        let fault = failed(&trouble, &id).fault.unwrap();
        assert_eq!(fault.hint, "sign in again and agree: keyway login docs");
    }
}
