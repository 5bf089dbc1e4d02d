//! `literal → ${VAR}`: the plan that moves every literal credential of a plugin into a variable.
//!
//! A literal is replaced only if its value is kept: the variable is set to that very value, or
//! `.env` gets it. The parts of the plan are to be written in the order of the fields.

mod around;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;

use keyway_code::Code;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::document::Document;
use keyway_config::edit::{self, Edit, TextChange};
use keyway_config::env_file::parse;
use keyway_config::environment::Environment;
use keyway_config::json::{Node, Value};
use keyway_config::plugin::Plugin;
use keyway_config::source::{Pointer, Source};
use keyway_config::template::Template;
use keyway_secret::Secret;

use self::around::{add_advice, plan_readme, plan_surroundings};
use self::store::Store;
use super::judge::{Candidate, Obstacle, Target, fields, judge};
use super::names::{Namer, VariableNaming};
use super::{PluginFiles, Selection, note};
use crate::literals::{self, Literal, LiteralPlace};

/// What would change, in the order in which it is to be written.
#[derive(Debug, Clone, Default)]
pub struct EnvPlan {
    /// `.gitignore`, which must list `.env` before there is one.
    pub ignore: Option<TextChange>,
    /// `.env`, which must be on the disk before any literal goes.
    pub env: Option<EnvChange>,
    /// `.env.example`.
    pub example: Option<TextChange>,
    /// The README.
    pub readme: Option<TextChange>,
    /// The configuration files.
    pub documents: Vec<TextChange>,
    /// The literals that move.
    pub moves: Vec<Move>,
    /// What stays as it is, and what the person should know.
    pub diagnostics: Vec<Diagnostic>,
}

/// A literal that moves to a variable.
#[derive(Debug, Clone)]
pub struct Move {
    /// The variable.
    pub variable: String,
    /// The entry.
    pub server: String,
    /// The file.
    pub file: Arc<str>,
    /// The string in which it stands.
    pub pointer: Pointer,
    /// What holds it.
    pub place: LiteralPlace,
    /// What the variable has to hold.
    pub value: Secret<String>,
    /// Whether the value is kept in `.env`, and not in the environment alone.
    pub is_in_env_file: bool,
}

/// `.env` before and after; the text may be the same where only the permissions matter.
#[derive(Debug, Clone)]
pub struct EnvChange {
    /// The file as a person would write it.
    pub file: Arc<str>,
    /// What was read; `None` if there is no such file yet.
    pub before: Option<Secret<String>>,
    /// What is to be written, for the owner's eyes only.
    pub after: Secret<String>,
    /// The variables that are added.
    pub added: Vec<String>,
}

impl EnvPlan {
    /// Says whether nothing would change.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// Returns the variables, each once, in the order of the files.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for moved in &self.moves {
            if !names.contains(&moved.variable.as_str()) {
                names.push(&moved.variable);
            }
        }
        names
    }
}

/// Plans the migration.
#[must_use]
pub fn plan(scope: &Selection<'_>, environment: &dyn Environment, around: &PluginFiles) -> EnvPlan {
    plan_named(scope, environment, around, VariableNaming::Usual)
}

/// Plans the migration to variables of certain names.
#[must_use]
pub fn plan_named(
    scope: &Selection<'_>,
    environment: &dyn Environment,
    around: &PluginFiles,
    naming: VariableNaming,
) -> EnvPlan {
    let mut plan = EnvPlan::default();
    let candidates = candidates(scope, &mut plan.diagnostics);
    let env_file = around.env.as_ref().map(|text| parse(text.expose()));
    let namer = Namer::new(
        environment,
        env_file.unwrap_or_default(),
        used_names(scope.plugin),
    );
    let named = named(candidates, namer.naming(naming), around, &mut plan);
    let changed = changed_documents(&named, &mut plan);
    plan.moves = named.iter().map(moved).collect();
    // Two findings in one default are one move.
    plan.moves
        .dedup_by(|a, b| (&a.file, &a.pointer, &a.variable) == (&b.file, &b.pointer, &b.variable));
    if !plan.is_empty() {
        plan_surroundings(scope.plugin, around, &mut plan);
        plan_readme(scope.plugin, changed, &mut plan);
        add_advice(scope, around, &mut plan);
    }
    plan
}

/// Finds the literals in question; those that cannot move are reported.
fn candidates<'a>(scope: &Selection<'a>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Candidate<'a>> {
    let mut candidates: Vec<Candidate<'a>> = Vec::new();
    for document in scope.documents() {
        let fields = fields(document);
        for literal in &literals::in_document(document) {
            let is_wanted = scope
                .server
                .is_none_or(|wanted| literal.server.as_deref() == Some(wanted));
            if !is_wanted {
                continue;
            }
            match judge(document, &fields, literal) {
                Ok(candidate) => candidates.push(candidate),
                Err(obstacle) => diagnostics.push(refusal(document, literal, &obstacle)),
            }
        }
    }
    candidates
}

/// A literal with the variable that it moves to.
struct Named<'a> {
    candidate: Candidate<'a>,
    name: String,
    is_in_env_file: bool,
}

/// Names every candidate and finds a place for its value; without either it stays.
fn named<'a>(
    mut candidates: Vec<Candidate<'a>>,
    mut namer: Namer<'_>,
    around: &PluginFiles,
    plan: &mut EnvPlan,
) -> Vec<Named<'a>> {
    // The name of a default is fixed; others take it over where the value is the same.
    candidates.sort_by_key(|candidate| matches!(candidate.target, Target::Literal { .. }));
    let mut store = Store::new(around);
    let mut named = Vec::new();
    for candidate in candidates {
        let value = &candidate.value;
        let name = match &candidate.target {
            Target::Default { name, .. } => namer.fix(name, value).map(|()| name.clone()),
            Target::Literal { base, .. } => namer.choose(base, &candidate.server.name, value),
        };
        let kept = name.map_err(Obstacle::Name).and_then(|name| {
            let is_in_env_file = store.keep(&name, value, namer.known(&name, value))?;
            Ok((name, is_in_env_file))
        });
        match kept {
            Ok((name, is_in_env_file)) => named.push(Named {
                candidate,
                name,
                is_in_env_file,
            }),
            Err(obstacle) => {
                let (document, literal) = (candidate.document, &candidate.literal);
                plan.diagnostics.push(refusal(document, literal, &obstacle));
            }
        }
    }
    plan.env = store.change();
    named.sort_by_key(|named: &Named<'_>| {
        let source = &named.candidate.document.source;
        (source.shared_path(), named.candidate.literal.span)
    });
    named
}

/// Applies the replacements and returns the documents as they would be.
fn changed_documents(named: &[Named<'_>], plan: &mut EnvPlan) -> Vec<Document> {
    let mut edits: BTreeMap<Arc<str>, (&Document, Vec<Edit>)> = BTreeMap::new();
    for Named {
        candidate, name, ..
    } in named
    {
        let file = candidate.document.source.shared_path();
        let of_file = edits.entry(file);
        let (_, edits) = of_file.or_insert((candidate.document, Vec::new()));
        edits.push(candidate.edit(name));
    }
    let mut changed = Vec::new();
    for (file, (document, edits)) in edits {
        let before = document.source.text();
        let after = edit::apply(before, &edits.iter().collect::<Vec<_>>());
        let source = Source::new(&file, after.as_bytes());
        changed.push(Document::parse(source, document.kind));
        plan.documents
            .push(TextChange::new(file, Some(before.to_owned()), after));
    }
    changed
}

fn moved(named: &Named<'_>) -> Move {
    let candidate = &named.candidate;
    Move {
        variable: named.name.clone(),
        server: candidate.server.name.clone(),
        file: candidate.document.source.shared_path(),
        pointer: candidate.literal.pointer.clone(),
        place: candidate.literal.place.clone(),
        value: candidate.value.clone(),
        is_in_env_file: named.is_in_env_file,
    }
}

fn refusal(document: &Document, literal: &Literal, obstacle: &Obstacle) -> Diagnostic {
    let Literal { place, hint, .. } = literal;
    let message = format!("{place} keeps its literal (`{hint}`): {}", obstacle.why());
    let location = document.source.locate(literal.span, &literal.pointer);
    note(Code::NotMigrated, Severity::Error, message, obstacle.hint())
        .with_server(literal.server.clone())
        .with_location(location)
}

/// Returns the names of all variables that any string of the plugin's files mentions.
fn used_names(plugin: &Plugin) -> Vec<String> {
    let mut names = Vec::new();
    let roots = plugin.documents.iter().filter_map(|d| d.tree.root.as_ref());
    let mut open: Vec<&Node> = roots.collect();
    while let Some(node) = open.pop() {
        match &node.value {
            Value::String(text) if text.contains("${") => {
                let template = Template::parse(text);
                names.extend(template.variables().map(|variable| variable.name.clone()));
            }
            Value::Array(items) => open.extend(items),
            Value::Object(object) => open.extend(object.members.iter().map(|m| &m.value)),
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests;
