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
use keyway_config::dialect::{Asks, FileScope, Layout};
use keyway_config::document::{Document, DocumentKind};
use keyway_config::edit::{self, Edit, TextChange};
use keyway_config::env_file::parse;
use keyway_config::environment::Environment;
use keyway_config::json::{Node, Value};
use keyway_config::plugin::Plugin;
use keyway_config::portable::{
    HostValue, NamedCredential, Slot, input_id, put, with_input, with_names, with_setting,
};
use keyway_config::source::{Pointer, Source};
use keyway_config::template::Template;
use keyway_secret::{Secret, printable};

use self::around::{add_advice, plan_env_files, plan_readme};
use self::store::Store;
use super::judge::{Candidate, Obstacle, Target, Way, fields, is_own, judge};
use super::names::{Known, Namer, VariableNaming};
use super::{EnvObstacle, PluginFiles, Selection, note};
use crate::literals::{self, Literal, LiteralPlace};

/// What would change, in the order in which it is to be written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
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
#[non_exhaustive]
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
    /// The variable by which the entry gets it, where the host asks a person for the value.
    pub asked_as: Option<String>,
}

/// `.env` before and after; the text may be the same where only the permissions matter.
#[derive(Debug, Clone)]
#[non_exhaustive]
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

/// Plans the migration to settings that the host of a plugin asks for, where it does.
#[must_use]
pub fn plan_asked(
    scope: &Selection<'_>,
    environment: &dyn Environment,
    around: &PluginFiles,
) -> EnvPlan {
    let has_manifest = scope.plugin.documents.iter().any(is_manifest);
    planned(
        scope,
        environment,
        around,
        (VariableNaming::Usual, has_manifest),
    )
}

/// Plans the migration to variables of certain names.
#[must_use]
pub fn plan_named(
    scope: &Selection<'_>,
    environment: &dyn Environment,
    around: &PluginFiles,
    naming: VariableNaming,
) -> EnvPlan {
    planned(scope, environment, around, (naming, false))
}

fn planned(
    scope: &Selection<'_>,
    environment: &dyn Environment,
    around: &PluginFiles,
    (naming, asks): (VariableNaming, bool),
) -> EnvPlan {
    let mut plan = EnvPlan::default();
    let Found {
        candidates,
        comments,
    } = found(scope, asks, &mut plan.diagnostics);
    let env_file = around.env.as_ref().map(|text| parse(text.expose()));
    let namer = Namer::new(
        environment,
        env_file.unwrap_or_default(),
        used_names(scope.plugin),
    );
    let named = named(candidates, namer.naming(naming), around, &mut plan);
    let changed = changed_documents(scope.plugin, &named, &comments, &mut plan);
    plan.moves = named.iter().map(moved).collect();
    // What could not be written after all stays where it was.
    let files: Vec<Arc<str>> = plan
        .documents
        .iter()
        .map(|it| Arc::clone(&it.file))
        .collect();
    plan.moves.retain(|moved| files.contains(&moved.file));
    // Two findings in one default are one move.
    plan.moves
        .dedup_by(|a, b| (&a.file, &a.pointer, &a.variable) == (&b.file, &b.pointer, &b.variable));
    if plan.documents.is_empty() {
        plan.env = None;
    }
    if !plan.is_empty() {
        plan_env_files(scope.plugin, around, &mut plan);
        let is_ours = !matches!(
            around.env_obstacle,
            Some(EnvObstacle::Home | EnvObstacle::HostFolder)
        );
        // Only a plugin's own entries are what its README is about.
        if is_ours
            && changed
                .iter()
                .any(|document| document.dialect.is_contract())
        {
            plan_readme(scope.plugin, changed, &mut plan);
        }
        add_advice(scope, around, &mut plan);
    }
    plan
}

/// The literals in question.
#[derive(Default)]
struct Found<'a> {
    /// Those that can move.
    candidates: Vec<Candidate<'a>>,
    /// Those in comments, which go together with the same value in an entry.
    comments: Vec<(&'a Document, Literal)>,
}

/// Finds the literals in question; those that cannot move are reported.
fn found<'a>(scope: &Selection<'a>, asks: bool, diagnostics: &mut Vec<Diagnostic>) -> Found<'a> {
    let mut found = Found::default();
    for document in scope.documents() {
        let fields = fields(document);
        for literal in &literals::in_document(document) {
            let is_wanted = scope
                .server
                .is_none_or(|wanted| literal.server.as_deref() == Some(wanted));
            let is_comment = literal.place == LiteralPlace::Comment;
            if is_comment {
                found.comments.push((document, literal.clone()));
            }
            if !is_wanted || is_comment {
                continue;
            }
            let candidates = &mut found.candidates;
            match judge(document, &fields, literal, asks) {
                // The name of a variable stands for the whole value, whatever else is in it.
                Ok(candidate) if candidates.iter().any(|it| it.is_same_value(&candidate)) => {}
                Ok(candidate) => candidates.push(candidate),
                Err(obstacle) => diagnostics.push(refusal(document, literal, &obstacle)),
            }
        }
    }
    found
}

/// A literal with the variable that it moves to.
struct Named<'a> {
    candidate: Candidate<'a>,
    name: String,
    is_in_env_file: bool,
}

impl Named<'_> {
    /// Says whether the file itself declares what its host asks for: a bundle is its own manifest.
    fn is_declared_beside(&self) -> bool {
        let is_bundle = self.candidate.document.dialect.layout == Layout::Single;
        self.candidate.way == Way::UserConfig && is_bundle
    }

    /// Describes the setting that a manifest asks for.
    fn setting(&self) -> HostValue {
        let place = printable(&self.candidate.literal.place.to_string());
        let server = printable(&self.candidate.server.name);
        let texts = [
            ("type", "string".to_owned()),
            ("title", self.name.clone()),
            ("description", format!("{server}: {place}")),
        ];
        let texts = texts.map(|(key, value)| (key, HostValue::Text(value)));
        // A bundle starts without a setting unless it says that it needs it.
        let flags = ["sensitive", "required"].map(|key| (key, HostValue::Flag(true)));
        let flags = flags
            .into_iter()
            .take(1 + usize::from(self.is_declared_beside()));
        let members = texts.into_iter().chain(flags);
        HostValue::Members(members.map(|(key, it)| (key.to_owned(), it)).collect())
    }
}

/// Names every candidate and finds a place for its value; without either it stays.
fn named<'a>(
    mut candidates: Vec<Candidate<'a>>,
    mut namer: Namer<'_>,
    around: &PluginFiles,
    plan: &mut EnvPlan,
) -> Vec<Named<'a>> {
    // The name of a default is fixed; others take it over where the value is the same.
    candidates.sort_by_key(|candidate| candidate.fixed_name().is_none());
    let mut store = Store::new(around);
    let mut named = Vec::new();
    for candidate in candidates {
        let value = &candidate.value;
        let name = match (candidate.fixed_name(), &candidate.target) {
            (Some(name), _) => namer.fix(name, value).map(|()| name.to_owned()),
            (None, Target::Literal { base, .. } | Target::Named { base, .. }) => {
                namer.choose(base, &candidate.server.name, value)
            }
            (None, Target::Default { name, .. }) => namer.fix(name, value).map(|()| name.clone()),
        };
        let is_own = is_own(candidate.document);
        let kept = name.map_err(Obstacle::Name).and_then(|name| {
            if is_own && namer.known(&name, value) != Known::Environment {
                return Err(Obstacle::OwnFile);
            }
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
fn changed_documents(
    plugin: &Plugin,
    named: &[Named<'_>],
    comments: &[(&Document, Literal)],
    plan: &mut EnvPlan,
) -> Vec<Document> {
    let mut of_files: BTreeMap<Arc<str>, (&Document, Vec<&Named<'_>>)> = BTreeMap::new();
    for one in named {
        let document = one.candidate.document;
        let of_file = of_files.entry(document.source.shared_path());
        of_file.or_insert((document, Vec::new())).1.push(one);
    }
    let mut changed = Vec::new();
    let mut copies: BTreeMap<Arc<str>, Vec<Edit>> = BTreeMap::new();
    for (document, literal) in comments {
        let file = document.source.shared_path();
        let value = document.source.slice(literal.span);
        let moved = of_files.get(&file).map(|(_, moved)| moved.as_slice());
        let mut moved = moved.unwrap_or_default().iter();
        match moved.find(|one| one.candidate.value.expose() == value) {
            Some(one) => {
                let reference = one.candidate.reference(&one.name);
                let edit = Edit::replace(&document.source, literal.span, reference);
                copies.entry(file).or_default().push(edit);
            }
            None => {
                let refused = refusal(document, literal, &Obstacle::InComment);
                plan.diagnostics.push(refused);
            }
        }
    }
    for (file, (document, moved)) in of_files {
        let before = document.source.text();
        let copies = copies.remove(&file).unwrap_or_default();
        let Some(after) = changed_text(document, &moved, copies) else {
            let literals = moved.iter().map(|one| &one.candidate.literal);
            let refused = literals.map(|literal| refusal(document, literal, &Obstacle::BadFile));
            plan.diagnostics.extend(refused);
            continue;
        };
        let source = Source::new(&file, after.as_bytes());
        changed.push(document.read_again(&file, source));
        plan.documents
            .push(TextChange::new(file, Some(before.to_owned()), after));
    }
    plan_manifest(plugin, named, plan);
    changed
}

/// Returns a file without its literals: references and names in their place, and what the host has
/// to ask for declared.
fn changed_text(document: &Document, moved: &[&Named<'_>], copies: Vec<Edit>) -> Option<String> {
    let edits = moved.iter().filter_map(|one| one.candidate.edit(&one.name));
    let edits: Vec<Edit> = edits.chain(copies).collect();
    let mut text = edit::apply(document.source.text(), &edits.iter().collect::<Vec<_>>());
    let by_name = moved
        .iter()
        .filter_map(|one| one.candidate.named(&one.name));
    let by_name: Vec<NamedCredential> = by_name.collect();
    if !by_name.is_empty() {
        text = with_names(&text, document.dialect, &by_name)?;
    }
    for one in moved.iter().filter(|one| one.candidate.way == Way::Input) {
        text = with_input(&text, document.dialect, &Slot::credential(&one.name)).ok()?;
    }
    for one in moved.iter().filter(|one| one.is_declared_beside()) {
        let key = input_id(&one.name);
        text = put(&text, &["user_config", &key], &one.setting()).ok()?;
    }
    // An extension's program gets no credential of the shell that its manifest does not name.
    let is_extension = document.dialect.asks == Asks::Settings
        && document
            .file
            .is_some_and(|file| file.scope == FileScope::Plugin);
    for one in moved.iter().filter(|_| is_extension) {
        text = with_setting(&text, &Slot::credential(&one.name)).ok()?;
    }
    Some(text)
}

/// Declares in a plugin's manifest what its host has to ask for.
fn plan_manifest(plugin: &Plugin, named: &[Named<'_>], plan: &mut EnvPlan) {
    let asked: Vec<&Named<'_>> = named
        .iter()
        .filter(|one| one.candidate.way == Way::UserConfig && !one.is_declared_beside())
        .collect();
    let Some(manifest) = plugin.documents.iter().find(|it| is_manifest(it)) else {
        return;
    };
    let file = manifest.source.shared_path();
    let planned = plan.documents.iter().position(|change| change.file == file);
    let known = planned.and_then(|at| plan.documents.get(at));
    let before = manifest.source.text().to_owned();
    let mut text = known.map_or_else(|| before.clone(), |change| change.after.clone());
    for one in &asked {
        let key = input_id(&one.name);
        if let Ok(after) = put(&text, &["userConfig", &key], &one.setting()) {
            text = after;
        }
    }
    if asked.is_empty() {
        return;
    }
    if let Some(at) = planned {
        plan.documents.remove(at);
    }
    // First what declares the setting, then what uses it.
    plan.documents
        .insert(0, TextChange::new(file, Some(before), text));
}

/// Says whether a file is the manifest in which Claude Code looks for settings to ask for.
fn is_manifest(document: &Document) -> bool {
    document.kind == DocumentKind::Manifest && document.dialect.asks == Asks::UserConfig
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
        asked_as: candidate.way.variable(&named.name),
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
