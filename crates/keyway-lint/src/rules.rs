//! The rules: what each looks for, how bad it is, and the report they write into.
//!
//! A rule is a constant in a file of its own, named after its id. It looks at a [`Plugin`] and
//! never does anything else. [`RULES`] lists them all; docs and `--help` are made from that list.

mod auth_conflict;
mod bad_reference;
mod bridge_not_needed;
mod credential_in_args;
mod credential_in_host;
mod credential_in_url;
mod deprecated_sse;
mod duplicate_key;
mod duplicate_server;
mod empty_credential;
mod empty_header_dropped;
mod empty_url;
mod env_file_not_ignored;
mod env_file_tracked;
mod field_of_other_transport;
#[cfg(test)]
pub(crate) mod fixture;
mod foreign_schema;
mod foreign_spelling;
mod foreign_variable_syntax;
mod foreign_wrapper;
mod helper_needs_env;
mod helper_not_executable;
mod helper_outside_plugin;
mod helper_runs_once;
mod host_variable_redefined;
mod ignored_key;
mod insecure_url;
mod invalid_entry;
mod invalid_header;
mod invalid_json;
mod invalid_oauth;
mod invalid_source;
mod invalid_url;
mod literal_default;
mod literal_in_credential_place;
mod literal_secret;
mod machine_path;
mod missing_field;
mod mtls_in_entry;
mod name_collision;
mod oauth_needs_approval;
mod placeholder_credential;
mod prefer_oauth;
mod secret_in_docs;
mod shared_token;
mod short_timeout;
mod transport_owned_header;
mod two_entry_files;
mod type_alias;
mod undocumented_scopes;
mod undocumented_variable;
mod unknown_field;
mod unknown_type;
mod unpinned_package;
mod unresolved_variable;
mod unsupported_schema;
mod unusable_value;
mod unused_suppression;
mod url_missing_type;
mod walk;
mod whitespace_in_value;
mod wrong_header_format;

use std::sync::{Arc, OnceLock};

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Field};
use keyway_config::diagnostic::{Diagnostic, Related, Severity};
use keyway_config::dialect::Syntax;
use keyway_config::document::Document;
use keyway_config::edit::{self, Applicability, Edit, Fix};
use keyway_config::environment::Scope;
use keyway_config::plugin::Plugin;
use keyway_config::resolve::ResolveError;
use keyway_config::source::{Location, Pointer, Source, Span};

use crate::literals::{self, Literal};

/// One rule.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Rule {
    /// Its id; the name of its file, and of its page in `keyway-code`.
    pub id: Code,
    /// How bad a finding is.
    pub severity: Severity,
    /// How bad it is under `--strict`.
    pub strict: Severity,
    /// Whether findings may come with a fix, and of which kind.
    pub fix: Option<Applicability>,
    /// What it looks for, in one line.
    pub summary: &'static str,
    check: fn(&Context<'_>, &mut Report<'_>),
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// What the rules look at: a plugin, and how strictly.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    plugin: &'a Plugin,
    scope: Option<Scope<'a>>,
    strict: bool,
    pedantic: bool,
    /// The literal credentials of each document; several rules ask, and the scan is the most
    /// expensive step.
    literals: OnceLock<Vec<Vec<Literal>>>,
}

impl<'a> Context<'a> {
    /// Looks at `plugin` without variables and not strictly.
    #[must_use]
    pub const fn new(plugin: &'a Plugin) -> Self {
        Self {
            plugin,
            scope: None,
            strict: false,
            pedantic: false,
            literals: OnceLock::new(),
        }
    }

    /// Also resolves every entry against `scope` and reports what does not resolve.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope<'a>) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Turns the warnings that the contract names into errors, if `strict`.
    #[must_use]
    pub const fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Also reports what hardly anyone acts on, if `pedantic`.
    #[must_use]
    pub const fn pedantic(mut self, pedantic: bool) -> Self {
        self.pedantic = pedantic;
        self
    }

    /// Returns the literal credentials of all documents, in the order of the files.
    fn literals(&self) -> impl Iterator<Item = (&'a Document, &Literal)> {
        let documents = &self.plugin.documents;
        let found = self
            .literals
            .get_or_init(|| documents.iter().map(literals::in_document).collect());
        documents
            .iter()
            .zip(found)
            .flat_map(|(document, found)| found.iter().map(move |literal| (document, literal)))
    }
}

/// Runs every rule and returns the findings in the order of the files.
#[must_use]
pub fn lint(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for rule in RULES {
        if rule.is_pedantic() && !context.pedantic {
            continue;
        }
        let mut report = Report {
            rule,
            strict: context.strict,
            pedantic: context.pedantic,
            diagnostics: &mut diagnostics,
        };
        (rule.check)(context, &mut report);
    }
    drop_unwritable_fixes(context.plugin, &mut diagnostics);
    diagnostics.sort_by(|a, b| {
        let place = |location: &Location| (Arc::clone(&location.file), location.span);
        let key = |diagnostic: &Diagnostic| diagnostic.location.as_ref().map(place);
        key(a)
            .cmp(&key(b))
            .then(b.severity.cmp(&a.severity))
            .then(a.code.as_str().cmp(b.code.as_str()))
    });
    diagnostics
}

/// Drops the fixes of files that are not JSON, unless they do not depend on that: most insert JSON.
fn drop_unwritable_fixes(plugin: &Plugin, diagnostics: &mut [Diagnostic]) {
    let documents = plugin.documents.iter();
    let other = documents.filter(|document| !document.syntax.is_json());
    let other: Vec<&Document> = other.collect();
    for diagnostic in diagnostics {
        let Some(fix) = &diagnostic.fix else {
            continue;
        };
        let is_in = |document: &&&Document| {
            let file = document.source.path();
            fix.edits.iter().any(|edit| &*edit.file == file)
        };
        let is_dropped = match other.iter().find(is_in) {
            Some(document) => !is_still_toml(document, fix),
            None => false,
        };
        if is_dropped {
            diagnostic.fix = None;
        }
    }
}

/// Says whether a fix leaves TOML behind: a new name or a removal does. YAML takes almost any text
/// for something.
fn is_still_toml(document: &Document, fix: &Fix) -> bool {
    let source = &document.source;
    let is_alone = fix.edits.iter().all(|edit| &*edit.file == source.path());
    if document.syntax != Syntax::Toml || !is_alone {
        return false;
    }
    let text = edit::apply(source.text(), &fix.edits.iter().collect::<Vec<_>>());
    let again = document.read_again(source.path(), Source::new(source.path(), text.as_bytes()));
    again.tree.faults.is_empty() && again.entries.len() == document.entries.len()
}

impl Rule {
    /// Says whether the rule is only run where everything is wanted.
    #[must_use]
    pub fn is_pedantic(&self) -> bool {
        PEDANTIC.contains(&self.id)
    }
}

/// Where a rule puts its findings.
#[derive(Debug)]
pub struct Report<'a> {
    rule: &'a Rule,
    strict: bool,
    pedantic: bool,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Report<'_> {
    /// Says whether the warnings that the contract names are errors.
    pub(crate) const fn strict(&self) -> bool {
        self.strict
    }

    /// Says whether notes are wanted that hardly anyone acts on.
    pub(crate) const fn pedantic(&self) -> bool {
        self.pedantic
    }

    /// Adds a finding about a field of a server; refine it through the returned handle.
    pub(crate) fn field(
        &mut self,
        document: &Document,
        server: &DeclaredServer,
        field: &Field,
        message: impl Into<String>,
    ) -> Finding<'_> {
        self.at(&document.source, field.span, &field.pointer, message)
            .server(&server.name)
    }

    /// Adds what stands in the way of an entry.
    pub(crate) fn resolve_error(
        &mut self,
        document: &Document,
        server: &DeclaredServer,
        error: &ResolveError,
    ) {
        let Location { span, pointer, .. } = &error.location;
        let hint = error.hint();
        let fallback = || "correct the variable, or look at what set it".to_owned();
        self.at(&document.source, *span, pointer, error.fault.to_string())
            .server(&server.name)
            .hint(hint.unwrap_or_else(fallback));
    }

    /// Adds a finding about a file as a whole.
    pub(crate) fn file(&mut self, path: &str, message: impl Into<String>) -> Finding<'_> {
        let source = Source::new(path, b"");
        self.at(&source, Span::default(), &Pointer::default(), message)
    }

    /// Adds a finding about a span.
    pub(crate) fn at(
        &mut self,
        source: &Source,
        span: Span,
        pointer: &Pointer,
        message: impl Into<String>,
    ) -> Finding<'_> {
        let severity = if self.strict {
            self.rule.strict
        } else {
            self.rule.severity
        };
        let location = source.locate(span, pointer);
        self.diagnostics
            .push(Diagnostic::new(self.rule.id, severity, message.into()).with_location(location));
        Finding {
            diagnostic: self.diagnostics.last_mut(),
        }
    }
}

/// A finding that was just added.
#[derive(Debug)]
pub(crate) struct Finding<'a> {
    diagnostic: Option<&'a mut Diagnostic>,
}

impl Finding<'_> {
    fn set(mut self, change: impl FnOnce(&mut Diagnostic)) -> Self {
        if let Some(diagnostic) = self.diagnostic.as_deref_mut() {
            change(diagnostic);
        }
        self
    }

    /// Names the server it is about.
    pub(crate) fn server(self, name: &str) -> Self {
        self.set(|diagnostic| diagnostic.server = Some(name.to_owned()))
    }

    /// Says what to do next.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.set(|diagnostic| diagnostic.hint = Some(hint.into()))
    }

    /// Makes this one finding better or worse than the rule's own severity.
    pub(crate) fn severity(self, severity: Severity) -> Self {
        self.set(|diagnostic| diagnostic.severity = severity)
    }

    /// Points to a second place.
    pub(crate) fn related(
        self,
        source: &Source,
        span: Span,
        pointer: &Pointer,
        message: impl Into<String>,
    ) -> Self {
        let related = Related::new(source.locate(span, pointer), message);
        self.set(|diagnostic| diagnostic.related = Some(related))
    }

    /// Offers a fix of the kind that the rule declares.
    pub(crate) fn fix(
        self,
        applicability: Applicability,
        title: impl Into<String>,
        edits: Vec<Edit>,
    ) -> Self {
        let fix = Fix::new(title, applicability, edits);
        self.set(|diagnostic| diagnostic.fix = Some(fix))
    }
}

/// Every rule, by id. A file in `rules/` that is missing here fails a test.
pub const RULES: &[Rule] = &[
    auth_conflict::RULE,
    bad_reference::RULE,
    bridge_not_needed::RULE,
    credential_in_args::RULE,
    credential_in_host::RULE,
    credential_in_url::RULE,
    deprecated_sse::RULE,
    duplicate_key::RULE,
    duplicate_server::RULE,
    empty_credential::RULE,
    empty_header_dropped::RULE,
    empty_url::RULE,
    env_file_not_ignored::RULE,
    env_file_tracked::RULE,
    field_of_other_transport::RULE,
    foreign_schema::RULE,
    foreign_spelling::RULE,
    foreign_variable_syntax::RULE,
    foreign_wrapper::RULE,
    helper_needs_env::RULE,
    helper_not_executable::RULE,
    helper_outside_plugin::RULE,
    helper_runs_once::RULE,
    host_variable_redefined::RULE,
    ignored_key::RULE,
    insecure_url::RULE,
    invalid_entry::RULE,
    invalid_header::RULE,
    invalid_json::RULE,
    invalid_oauth::RULE,
    invalid_source::RULE,
    invalid_url::RULE,
    literal_default::RULE,
    literal_in_credential_place::RULE,
    literal_secret::RULE,
    machine_path::RULE,
    missing_field::RULE,
    mtls_in_entry::RULE,
    name_collision::RULE,
    oauth_needs_approval::RULE,
    placeholder_credential::RULE,
    prefer_oauth::RULE,
    secret_in_docs::RULE,
    shared_token::RULE,
    short_timeout::RULE,
    transport_owned_header::RULE,
    two_entry_files::RULE,
    type_alias::RULE,
    undocumented_scopes::RULE,
    undocumented_variable::RULE,
    unknown_field::RULE,
    unknown_type::RULE,
    unpinned_package::RULE,
    unresolved_variable::RULE,
    unsupported_schema::RULE,
    unusable_value::RULE,
    unused_suppression::RULE,
    url_missing_type::RULE,
    whitespace_in_value::RULE,
    wrong_header_format::RULE,
];

/// The rules whose findings hardly anyone acts on.
const PEDANTIC: &[Code] = &[
    Code::DeprecatedSse,
    Code::EmptyUrl,
    Code::ForeignSchema,
    Code::UndocumentedScopes,
    Code::UnpinnedPackage,
];

#[cfg(test)]
mod tests;
