//! Rule 8: an entry reduced to what OAuth needs, `type` and `url`.
//!
//! What carries no credential stays: other headers, `oauth`, switches, notes. A literal credential
//! is never removed, since it may be the only copy.

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Endpoint, Transport, TypeOrigin};
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::document::Document;
use keyway_config::edit::{self, Edit, TextChange};
use keyway_config::headers::is_credential_header;
use keyway_config::json::{Member, Node, Object, Value, quote};
use keyway_config::plugin::Plugin;
use keyway_config::source::{Pointer, Source, Span};
use keyway_config::template::Template;
use keyway_config::usage;

use super::{Selection, is_changeable, note};
use crate::secrets::is_credential_name;
use crate::{literals, readme};

/// What would change.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OAuthPlan {
    /// The configuration files.
    pub documents: Vec<TextChange>,
    /// The fields that go, as a person would name them.
    pub removed: Vec<String>,
    /// The variables that no entry needs any more.
    pub unneeded: Vec<String>,
    /// Why it is not done, and what the person should know.
    pub diagnostics: Vec<Diagnostic>,
}

/// Plans the migration of the entry that `scope` names.
#[must_use]
pub fn plan(scope: &Selection<'_>) -> OAuthPlan {
    let mut plan = OAuthPlan::default();
    let wanted = scope.server.unwrap_or_default();
    let mut after = scope.plugin.clone();
    for document in scope.documents() {
        for entry in document.entries.iter().filter(|e| e.name == wanted) {
            let Some(server) = entry
                .server
                .as_ref()
                .ok()
                .filter(|_| is_changeable(document))
            else {
                let why = "it is not loaded as it is";
                let hint = "`keyway check` says what is wrong; fix that first";
                refuse(&mut plan, (document, wanted, entry.name_span), why, hint);
                continue;
            };
            if let Err((why, hint)) = require_possible(document, server) {
                refuse(&mut plan, (document, wanted, entry.name_span), why, hint);
                continue;
            }
            let text = reduced(document, server, &mut plan.removed);
            let changed = Document::parse(
                Source::new(document.source.path(), text.as_bytes()),
                document.kind,
            );
            let mut others = after.documents.iter_mut();
            if let Some(place) = others.find(|d| d.source.path() == document.source.path()) {
                *place = changed;
            }
            if text != document.source.text() {
                let before = Some(document.source.text().to_owned());
                let file = document.source.shared_path();
                plan.documents.push(TextChange::new(file, before, text));
            }
        }
    }
    let kept: Vec<&str> = after.servers().flat_map(|(_, s)| usage::names(s)).collect();
    for (_, server) in scope.plugin.servers().filter(|(_, s)| s.name == wanted) {
        let names = usage::names(server).into_iter();
        let gone = names.filter(|name| !kept.contains(name)).map(str::to_owned);
        plan.unneeded.extend(gone);
    }
    if !plan.documents.is_empty() {
        add_advice(scope, &after, &mut plan);
    }
    plan
}

/// Says why an entry cannot sign in, or must not be changed yet.
fn require_possible(
    document: &Document,
    server: &DeclaredServer,
) -> Result<(), (&'static str, &'static str)> {
    match server.transport {
        Transport::Http | Transport::Sse => {}
        Transport::Ws => {
            return Err((
                "OAuth is for `http` and `sse`; a WebSocket takes its credential in a header",
                "keep the header, filled from a variable",
            ));
        }
        Transport::Stdio => {
            return Err((
                "OAuth is for `http` and `sse`; a process takes its credential from `env`",
                "keep the variable",
            ));
        }
    }
    let literals = literals::in_document(document);
    let is_lost = |pointer: &Pointer| {
        let below = pointer.as_str().strip_prefix(server.pointer.as_str());
        below.is_some_and(|below| {
            below.starts_with("/headers/") || REMOVED.iter().any(|key| is_at(below, key))
        })
    };
    if literals.iter().any(|literal| is_lost(&literal.pointer)) {
        return Err((
            "it holds a literal credential, which may be the only copy",
            "keep it first: `keyway migrate env --write` moves it to a variable",
        ));
    }
    Ok(())
}

fn is_at(below: &str, key: &str) -> bool {
    let rest = below.strip_prefix('/').and_then(|b| b.strip_prefix(key));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the text with the entry reduced, one member after the other.
fn reduced(document: &Document, server: &DeclaredServer, removed: &mut Vec<String>) -> String {
    let mut text = document.source.text().to_owned();
    loop {
        let source = Source::new(document.source.path(), text.as_bytes());
        let now = Document::parse(source, document.kind);
        let next = now.tree.at(&server.pointer).and_then(Node::as_object);
        let Some((edit, what)) = next.and_then(|entry| removal(&now.source, entry)) else {
            break;
        };
        text = edit::apply(&text, &[&edit]);
        if !removed.contains(&what) {
            removed.push(what);
        }
    }
    if server.type_origin != TypeOrigin::FromUrl {
        return text;
    }
    let source = Source::new(document.source.path(), text.as_bytes());
    let now = Document::parse(source, document.kind);
    match now.tree.at(&server.pointer) {
        Some(entry) => edit::apply(&text, &[&with_type(&now.source, entry.span, server)]),
        None => text,
    }
}

/// Finds the next member of an entry that goes.
fn removal(source: &Source, entry: &Object) -> Option<(Edit, String)> {
    for (index, member) in entry.members.iter().enumerate() {
        let is_off = member.key == "oauth" && matches!(member.value.value, Value::Bool(_));
        if REMOVED.contains(&member.key.as_str()) || is_off {
            let edit = Edit::remove_member(source, entry, index)?;
            return Some((edit, format!("`{}`", member.key)));
        }
        let headers = member.value.as_object().filter(|_| member.key == "headers");
        let Some(headers) = headers else {
            continue;
        };
        let Some(position) = headers.members.iter().position(is_credential) else {
            continue;
        };
        let name = &headers.members.get(position)?.key;
        let edit = if headers.members.len() == 1 {
            Edit::remove_member(source, entry, index)?
        } else {
            Edit::remove_member(source, headers, position)?
        };
        return Some((edit, format!("header `{name}`")));
    }
    None
}

/// A header carries a credential if its name says so, or that of a variable in its value.
fn is_credential(header: &Member) -> bool {
    let template = Template::parse(header.value.as_str().unwrap_or_default());
    let mut variables = template.variables();
    is_credential_header(&header.key) || variables.any(|v| is_credential_name(&v.name))
}

fn with_type(source: &Source, entry: Span, server: &DeclaredServer) -> Edit {
    let start = entry.start + 1;
    let inside = source.slice(Span::between(start, entry.end));
    let layout: String = inside.chars().take_while(|c| c.is_whitespace()).collect();
    let text = format!("{layout}\"type\": {},", quote(server.transport.as_str()));
    Edit::replace(source, Span::between(start, start), text)
}

fn refuse(
    plan: &mut OAuthPlan,
    (document, server, span): (&Document, &str, Span),
    why: &str,
    hint: &str,
) {
    let message = format!("`{server}` is left as it is: {why}");
    let location = document.source.locate(span, &Pointer::default());
    plan.diagnostics.push(
        note(Code::NotMigrated, Severity::Error, message, hint)
            .with_server(Some(server.to_owned()))
            .with_location(location),
    );
}

fn add_advice(scope: &Selection<'_>, after: &Plugin, plan: &mut OAuthPlan) {
    plan.diagnostics.push(note(
        Code::OauthNotChecked,
        Severity::Warning,
        "whether the server offers OAuth was not checked: nothing is sent".to_owned(),
        "try to sign in before you revoke the old credential",
    ));
    for (_, server) in scope.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let mut variables = remote.url.template.variables();
        let is_wanted = Some(server.name.as_str()) == scope.server;
        let credential = variables.find(|v| is_credential_name(&v.name));
        if let (true, Some(variable)) = (is_wanted, credential) {
            plan.diagnostics.push(note(
                Code::CredentialInUrl,
                Severity::Warning,
                format!("the address still carries `{}`", variable.name),
                "remove it by hand if the server does not need it with OAuth",
            ));
        }
    }
    let had_section = scope.plugin.snapshot.readme.as_ref();
    let had_section = had_section.is_some_and(|readme| readme.text().contains(readme::BEGIN));
    if had_section && matches!(readme::update(after), Ok(Some(_))) {
        plan.diagnostics.push(note(
            Code::ReadmeOutdated,
            Severity::Warning,
            "the README still describes the old way to authenticate".to_owned(),
            "`keyway readme --write` brings it up to date",
        ));
    }
}

/// The fields that only matter to a fixed or a made credential.
const REMOVED: &[&str] = &["headersHelper", "env", "envFile"];

#[cfg(test)]
mod tests;
