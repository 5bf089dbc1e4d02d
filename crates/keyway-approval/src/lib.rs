//! What a person has to approve before an entry is used, and the ledger of what they approved.
//!
//! A plugin's entries are used only once a person has approved them (contract §7 and §10). An approval is over
//! everything that the plugin decides and everywhere that the person's values can go; whatever of
//! that changes asks again, and shows the difference.
//!
//! ```text
//! entry + variables ──facts──▶ Question ──digest──▶ in the ledger?  yes: used
//!                    └─files──▲                     no: Changes since the last approval, asked
//! ```

mod agreement;
mod answer;
mod change;
mod code_variables;
mod command;
mod confinement;
mod digest;
mod env_values;
mod fact;
mod facts;
mod file_system;
mod files;
mod hash;
mod hidden;
mod inline_code;
mod json;
mod ledger;
mod link;
mod manifest;
mod outside_paths;
mod owner;
mod places;
mod plan_digest;
pub mod program_start;
mod program_words;
mod record;
mod sandbox;
mod shared;
mod store;
mod text;
mod timeouts;
mod tree;
mod walk;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use keyway_config::declared::{DeclaredServer, NamedField};
use keyway_config::document::{Document, DocumentKind};
use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::source::Source;
use keyway_config::template::Foreign;

pub use self::code_variables::decides_about_code;
use self::code_variables::is_code_variable;
use self::command::{CommandLine, is_plugins_value, names_root};
use self::fact::Which;
use self::facts::Sources;
use self::files::{Cache, Lookup, configuration};
use self::places::Places;
use self::plan_digest::PlanDigest;
use self::walk::TreePlace;

pub use self::agreement::Agreement;
pub use self::answer::Answer;
pub use self::change::Changes;
pub use self::confinement::{Confinement, Protection, SandboxMechanism, SandboxProfile, SeenGrant};
pub use self::digest::Digest;
pub use self::fact::{Fact, FactKind};
pub use self::facts::{needs_approval, runs_program};
pub use self::files::Files;
pub use self::ledger::Ledger;
pub use self::manifest::{FileChange, Manifest};
pub use self::owner::Owner;
pub use self::record::Approval;
pub use self::sandbox::{Sandbox, ServerConfinement, is_from};
pub use self::shared::{PersonApprovals, SharedApprovals};
pub use self::store::ApprovalStore;

/// What a person is asked about one entry.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// The name of the plugin.
    pub plugin: String,
    /// The name of the entry.
    pub server: String,
    /// Where the plugin is.
    pub source: PathBuf,
    /// What the entry would do: all that is approved, and all that the digest is over, files apart.
    pub facts: Vec<Fact>,
    /// What the answer is bound to.
    pub digest: Digest,
    /// The files that are part of it.
    pub files: Files,
    /// What differs from what was approved; `None` if nothing was, or it was not looked up.
    pub changes: Option<Changes>,
    /// What of its confinement is in force here; `None` if it runs no program, or it was not looked
    /// up. No part of what is approved.
    pub protection: Option<Protection>,
    /// What its programs are kept from; `None` if it runs none.
    confinement: Option<Confinement>,
    /// Confined because the person answered so, whatever `config.toml` says.
    is_confined_by_answer: bool,
    /// An admin says that its programs may run for the people of a gateway.
    is_for_people: bool,
    /// The approval of admins beside which a person answers.
    beside_admins: Option<String>,
    /// The part that the plugin decides, whatever the person's variables say.
    of_plugin: Digest,
}

/// Where an entry stands and what surrounds it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct EntryContext<'a> {
    /// The name of the plugin.
    pub plugin: &'a str,
    /// The root of the plugin, by which it is known.
    pub root: &'a Path,
    /// The folder to which the entry's bundle was unpacked: its files count, all of them and whatever
    /// runs.
    pub unpacked: Option<&'a Path>,
    /// The host's own variables.
    pub host: &'a HostVariables,
    /// The person's home folder.
    pub home: Option<&'a Path>,
    /// Keyway's own folders, which are no part of a plugin.
    pub skipped: &'a [PathBuf],
    /// What its programs are kept from.
    pub confinement: &'a Confinement,
    /// What was approved before, for files that are unchanged since.
    pub store: Option<&'a dyn ApprovalStore>,
    /// The time of day.
    pub now: SystemTime,
}

impl fmt::Debug for EntryContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("EntryContext");
        let debug = debug.field("plugin", &self.plugin);
        debug.field("root", &self.root).finish_non_exhaustive()
    }
}

impl<'a> EntryContext<'a> {
    /// Makes the context of an entry whose plugin was not approved before; what is known beyond that
    /// is set field by field.
    #[must_use]
    pub const fn new(
        plugin: &'a str,
        root: &'a Path,
        host: &'a HostVariables,
        confinement: &'a Confinement,
    ) -> Self {
        Self {
            plugin,
            root,
            unpacked: None,
            host,
            home: None,
            skipped: &[],
            confinement,
            store: None,
            now: SystemTime::UNIX_EPOCH,
        }
    }
}

impl Question {
    /// Puts the question together; `None` if the entry runs nothing and sends no variable.
    #[must_use]
    pub fn about(
        server: &DeclaredServer,
        context: EntryContext<'_>,
        around: &Scope<'_>,
    ) -> Option<Self> {
        if !needs_approval(server) {
            return None;
        }
        let EntryContext {
            plugin,
            root: source,
            unpacked,
            host,
            home,
            skipped: _,
            confinement,
            store,
            now,
        } = context;
        let root = unpacked.unwrap_or(source);
        let confinement = &confinement.looked();
        let places = Places { host, home };
        let scope = &server.scope(around);
        let line = CommandLine::of(server, places, scope);
        let program = line
            .as_ref()
            .and_then(|line| program(server, line, places, scope));
        let cache = Cache {
            store,
            source,
            server: &server.name,
            now,
        };
        let lookup = line.as_ref().map(|line| {
            lookup(
                line,
                program.as_deref(),
                context,
                env_file(server, root, around),
            )
        });
        let counts_tree = line.as_ref().is_some_and(|line| {
            let is_own = program.as_ref().is_some_and(|it| it.starts_with(root));
            unpacked.is_some() || is_own || sets_code(server, root, scope) || line.loads_from(root)
        });
        let files = Files::of(lookup.unwrap_or_default(), counts_tree, home, cache);
        let programs = line.as_ref().map(CommandLine::program_words);
        let sources = Sources {
            server,
            places,
            scope,
            around,
            line: line.as_ref(),
            programs: &programs.unwrap_or_default(),
            program: program.as_deref(),
            confinement,
        };
        let mut facts = sources.facts();
        let coverage = files.coverage();
        facts.extend(
            coverage.map(|it| Fact::new(FactKind::Files, "", it).with_caution(files.caution())),
        );
        let digest = PlanDigest {
            plugin,
            server: &server.name,
            facts: &facts,
            files: &files,
        };
        let question = Self {
            plugin: plugin.to_owned(),
            server: server.name.clone(),
            source: source.to_path_buf(),
            digest: digest.of(Which::All),
            of_plugin: digest.of(Which::OfPlugin),
            facts,
            files,
            changes: None,
            protection: None,
            confinement: line.is_some().then(|| confinement.clone()),
            is_confined_by_answer: false,
            is_for_people: false,
            beside_admins: None,
        };
        Some(question.with_earlier_grants(store))
    }

    /// The same with the variables that were granted before: they are shown with whatever is asked
    /// next. What an earlier version approved, which did not count them, stays approved.
    fn with_earlier_grants(self, store: Option<&dyn ApprovalStore>) -> Self {
        let find = |store: &dyn ApprovalStore| store.find(&self.source, &self.server).ok()?;
        match store.and_then(find) {
            Some(before) if !before.grants.is_empty() && !before.covers(&self.digest) => {
                self.granting(before.grants.iter().map(String::as_str))
            }
            _ => self,
        }
    }

    /// Returns what a person would be asked about the entries of a text that lies in no plugin: for
    /// editors, and for looking at a file before it is installed. No approval can be stored of it
    /// that would count for a plugin.
    #[must_use]
    pub fn preview(text: &[u8], variables: &Variables) -> Vec<Self> {
        let source = Source::new("preview.json", text);
        let document = Document::parse(source, DocumentKind::Entries);
        let host = HostVariables {
            plugin_root: PathBuf::from(PREVIEW),
            ..HostVariables::default()
        };
        let confinement = Confinement::default();
        let context = EntryContext::new("preview", &host.plugin_root, &host, &confinement);
        let scope = Scope::new(&host, variables);
        let servers = document.servers();
        servers
            .filter_map(|server| Self::about(server, context, &scope))
            .collect()
    }

    /// The same with what differs from what was approved before.
    #[must_use]
    pub fn compared_with(mut self, store: &dyn ApprovalStore) -> Self {
        self.changes = Changes::since(&self, store);
        self
    }

    /// Returns the digest of the part that the plugin decides, whatever the person's variables say.
    #[must_use]
    pub const fn plugin_digest(&self) -> &Digest {
        &self.of_plugin
    }

    /// Returns the command line that would run, if any.
    #[must_use]
    pub fn runs(&self) -> Option<&str> {
        let mut facts = self.facts.iter();
        let runs = facts.find(|fact| fact.kind == FactKind::Runs)?;
        Some(&runs.value)
    }
}

/// Returns the program that a command line leads to, where the plugin decides which one that is: it
/// sets `PATH`, or the file lies in the plugin. Of others the name counts, so that an upgrade needs
/// no new approval.
fn program(
    server: &DeclaredServer,
    line: &CommandLine,
    places: Places<'_>,
    scope: &Scope<'_>,
) -> Option<PathBuf> {
    let mut env = server.env.iter();
    let own =
        env.find(|field| field.name == "PATH" && is_plugins_value(&field.value.template, scope));
    let value = |field: &NamedField| field.value.template.expand(scope, Foreign::Refuse).ok();
    let path = own.and_then(value).or_else(|| scope.lookup("PATH"));
    let program = line.program(&places.host.plugin_root, path.as_ref())?;
    let is_decided = own.is_some() || places.lead_into(&program);
    (is_decided && program.is_file()).then_some(program)
}

/// Says whether the plugin sets a variable that decides which code is loaded, or that leads to its
/// own.
fn sets_code(server: &DeclaredServer, root: &Path, scope: &Scope<'_>) -> bool {
    let mut env = server.env.iter();
    env.any(|NamedField { name, value, .. }| {
        let template = &value.template;
        let filled = || template.expand(scope, Foreign::Keep).ok();
        let leads_inside = || filled().is_some_and(|it| names_root(it.expose(), root));
        is_plugins_value(template, scope) && (is_code_variable(name) || leads_inside())
    })
}

/// Returns the env file that an entry names, if its values may change without a question.
fn env_file(server: &DeclaredServer, root: &Path, scope: &Scope<'_>) -> Option<PathBuf> {
    let template = &server.env_file.as_ref()?.template;
    let written = template.expand(scope, Foreign::Refuse).ok()?;
    env_values::of_entry(root, written.expose())
}

fn lookup(
    line: &CommandLine,
    program: Option<&Path>,
    context: EntryContext<'_>,
    env_file: Option<PathBuf>,
) -> Lookup {
    let (root, host) = (context.unpacked.unwrap_or(context.root), context.host);
    let places = Places {
        host,
        home: context.home,
    };
    let mut programs = configuration(&line.folder, places);
    programs.extend(program.map(Path::to_path_buf));
    Lookup {
        place: TreePlace {
            root: root.to_path_buf(),
            // Bundles are unpacked in one of Keyway's own folders, and nothing else lies there.
            skipped: match context.unpacked {
                Some(_) => Vec::new(),
                None => context.skipped.to_vec(),
            },
            env_file,
        },
        data: host.plugin_data.clone(),
        bases: line.bases(root),
        words: line.paths(),
        programs,
        program: program.map(Path::to_path_buf),
    }
}

/// Where nothing is: the root of a plugin that is only looked at.
const PREVIEW: &str = "/proc/self/fd/preview";

#[cfg(test)]
#[cfg(feature = "vault")]
mod tests;
