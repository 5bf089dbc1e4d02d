//! From an entry to the facts that a person approves. Every part of an entry is taken apart here, so
//! that a new field does not compile until it is decided whether, and how, it counts.
//!
//! By value counts what the plugin wrote, and what the env file says that it chose, wherever that
//! lies, if it decides what runs or where something goes. Values of the person's own count by name,
//! except in an origin and in the working folder, which may be the folder that they work in.
//!
//! Whatever counts by value is shown, unless it may be a secret of the person's: of a value out of an
//! env file that decides nothing, and of a variable that is named like a credential, the name is.

mod confinement;
mod remote;

use std::collections::HashSet;
use std::path::Path;

use keyway_config::declared::{DeclaredServer, Endpoint, Field, Local, NamedField, OAuth};
use keyway_config::environment::{HostVariables, Scope, is_host_variable};
use keyway_config::headers::is_credential_header;
use keyway_config::paths::lexical;
use keyway_config::template::{Foreign, Template};
use keyway_config::usage::{self, FieldRole};
use keyway_secret::escaped;

pub(crate) use self::confinement::confinement_fact;
use self::remote::{SECRET, weakens};
use crate::code_variables::{is_code_variable, is_route_variable};
use crate::command::{CommandLine, is_plugins, is_plugins_value};
use crate::confinement::Confinement;
use crate::fact::{Fact, FactKind};
use crate::hidden::{hide_in_address, is_credential_value, is_secret_variable, names_program};
use crate::places::Places;
use crate::program_words::is_program_argument;

/// What facts are made from.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) server: &'a DeclaredServer,
    pub(crate) places: Places<'a>,
    pub(crate) scope: &'a Scope<'a>,
    /// The variables without those of the entry's env file: its name is filled in from them.
    pub(crate) around: &'a Scope<'a>,
    pub(crate) line: Option<&'a CommandLine>,
    /// The places of the words that an interpreter or a runner takes for its program.
    pub(crate) programs: &'a HashSet<usize>,
    pub(crate) program: Option<&'a Path>,
    pub(crate) confinement: &'a Confinement,
}

/// Says whether using an entry starts a program: its own, or a helper.
#[must_use]
pub fn runs_program(server: &DeclaredServer) -> bool {
    match &server.endpoint {
        Endpoint::Local(_) => true,
        Endpoint::Remote(remote) => remote.helper.is_some(),
    }
}

/// Says whether an entry has to be approved: it runs a program, sends a variable or weakens the
/// sign-in (contract §7).
pub fn needs_approval(server: &DeclaredServer) -> bool {
    let Endpoint::Remote(remote) = &server.endpoint else {
        return true;
    };
    let is_sent = |role: FieldRole<'_>| {
        matches!(
            role,
            FieldRole::Url | FieldRole::Header(_) | FieldRole::OAuth(_)
        )
    };
    let is_persons = |field: &Field| {
        let mut variables = field.template.variables();
        variables.any(|variable| !is_host_variable(&variable.name))
    };
    let mut fields = usage::fields(server).into_iter();
    remote.helper.is_some()
        || fields.any(|(role, field)| is_sent(role) && is_persons(field))
        || matches!(&remote.oauth, OAuth::Configured(oauth) if weakens(oauth))
}

impl Sources<'_> {
    /// Returns the facts, in the order in which they are shown.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let DeclaredServer {
            // They are named above the facts, and in the digest.
            name: _,
            name_span: _,
            span: _,
            pointer: _,
            source: _,
            // The address and the command say how it is reached.
            transport: _,
            type_origin: _,
            // Nothing of an entry that is switched off is used.
            disabled: _,
            endpoint,
            env,
            env_file,
            // How long a call may take decides nothing about what runs or is sent.
            timeout_ms: _,
            spellings: _,
        } = self.server;
        let mut facts = Vec::new();
        facts.extend(
            self.line
                .into_iter()
                .flat_map(|line| self.program_facts(line)),
        );
        if self.line.is_some() {
            facts.extend(env.iter().map(|field| self.env(field)));
            facts.push(confinement_fact(self.confinement));
        }
        facts.extend(env_file.as_ref().map(|field| self.env_file(field)));
        match endpoint {
            Endpoint::Local(Local {
                // They are in the command line.
                command: _,
                args: _,
                cwd,
            }) => facts.extend(self.line.map(|line| self.folder(cwd.as_ref(), line))),
            Endpoint::Remote(remote) => facts.extend(self.remote(remote)),
        }
        facts.extend(self.plugin_values());
        facts.extend(self.line.and_then(|line| self.project(line)));
        facts.sort_by_key(|fact| fact.kind);
        facts
    }

    fn program_facts(&self, line: &CommandLine) -> Vec<Fact> {
        let code = line.inline_code().map(|code| {
            let code = escaped(code);
            format!("what follows `{code}` is a program itself: read it to its end")
        });
        let cautions: Vec<String> = code.into_iter().chain(self.outside(line)).collect();
        let caution = (!cautions.is_empty()).then(|| cautions.join("; "));
        let runs = Fact::new(FactKind::Runs, "", line.shown.as_str())
            .with_caution(caution)
            .with_readable(line.readable(self.programs, self.places));
        let program = self.program.map(|path| {
            let name = self.places.name(path);
            let inside = self.places.lead_into(path);
            let caution = match is_below(path, &self.places.host.plugin_data) {
                true => Some("in the data folder: programs of the plugin can write it"),
                false => inside.then_some("the plugin's own program"),
            };
            Fact::new(FactKind::Program, &line.command, name).with_caution(caution)
        });
        std::iter::once(runs).chain(program).collect()
    }

    /// Says what of the command line lies where no approval covers it.
    fn outside(&self, line: &CommandLine) -> Option<String> {
        let outside = line.outside(self.places);
        let (first, others) = outside.split_first()?;
        let first = self.places.name(first);
        let more = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "`{first}`{more} outside of the plugin: it can change without a question"
        ))
    }

    fn folder(&self, cwd: Option<&Field>, line: &CommandLine) -> Fact {
        let place = self.places.name(&line.folder);
        let is_persons = cwd.is_some_and(|cwd| self.has_persons(&cwd.template));
        let outside = match () {
            () if is_below(&line.folder, &self.places.host.plugin_data) => Some(
                "in the data folder: programs of the plugin can write what it loads from there",
            ),
            () if self.places.contain(&line.folder) => None,
            () => Some(
                "outside of the plugin: what it loads from there can change without a question",
            ),
        };
        let is_fixed = |template: &Template| {
            let mut variables = template.variables();
            variables.all(|variable| is_host_variable(&variable.name))
        };
        let fact = match cwd.map(|cwd| &cwd.template) {
            // A path that the plugin wrote stays as it wrote it, wherever the folders are today.
            Some(template) if is_fixed(template) => {
                Fact::new(FactKind::Folder, "", template.as_str())
            }
            Some(template) => path(FactKind::Folder, template, &place, self.scope),
            None => Fact::new(FactKind::Folder, "", place),
        };
        fact.with_caution(outside).of_person(is_persons)
    }

    fn env(&self, field: &NamedField) -> Fact {
        let NamedField {
            name,
            name_span: _,
            value,
        } = field;
        let template = &value.template;
        let caution = match is_plugins_value(template, self.scope) {
            true if is_code_variable(name) => Some("decides which code runs"),
            true if is_route_variable(name) => {
                Some("decides where what it sends goes, or who can read it")
            }
            _ => None,
        };
        self.literal(FactKind::Env, name, template.as_str())
            .with_caution(caution)
    }

    /// The value of a variable of the process as the plugin's files write it. What may be a program is
    /// shown whole.
    fn literal(&self, kind: FactKind, name: &str, value: &str) -> Fact {
        let is_file = |line: &CommandLine| line.is_file(value, self.places);
        if self.evaluates() || self.line.is_some_and(is_file) {
            return Fact::new(kind, name, value);
        }
        let shown = match is_code_variable(name) {
            true => value.to_owned(),
            false => hide_in_address(value),
        };
        match shown == value {
            true => Fact::literal(kind, name, value, is_credential_value(name, value)),
            false => Fact::new(kind, name, shown).counting(value),
        }
    }

    /// Says whether what runs is handed code, which may evaluate every word and variable.
    fn evaluates(&self) -> bool {
        self.line.is_some_and(|line| line.inline_code().is_some())
    }

    /// Says whether a variable of the process is the place of a credential that no program evaluates.
    fn is_credential_place(&self, name: &str) -> bool {
        !is_code_variable(name) && !self.evaluates() && is_credential_header(name)
    }

    fn env_file(&self, field: &Field) -> Fact {
        let template = &field.template;
        let path = template.expand(self.around, Foreign::Refuse).ok();
        let path = path.map(|path| self.places.host.plugin_root.join(path.expose()));
        // What lies in a folder for its programs stays as the plugin wrote it, wherever that is.
        let fact = match &path {
            Some(path) if !self.places.contain(&lexical(path)) => {
                let place = self.places.name(path);
                self::path(FactKind::EnvFile, template, &place, self.around)
            }
            _ => Fact::new(FactKind::EnvFile, "", template.as_str()),
        };
        let caution = path.and_then(|path| self.env_file_caution(&path));
        fact.with_caution(caution)
            .of_person(has_persons(template, self.around))
    }

    /// Says who else than the plugin's author writes an env file.
    fn env_file_caution(&self, path: &Path) -> Option<&'static str> {
        let HostVariables {
            plugin_root,
            plugin_data,
            ..
        } = self.places.host;
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| lexical(path));
        match () {
            () if real.starts_with(plugin_root) => None,
            () if is_below(&real, plugin_data) => {
                Some("in the data folder: programs of the plugin can write what feeds this entry")
            }
            () => Some("outside of the plugin: a file of yours feeds this entry"),
        }
    }

    /// Returns the values of the env file that the plugin chose that a program gets, or that decide
    /// what runs or where something goes. In a credential's place a value counts by its name alone, unless it
    /// may be evaluated there.
    fn plugin_values(&self) -> Vec<Fact> {
        let mut facts: Vec<Fact> = Vec::new();
        let mut known = HashSet::new();
        let fields = usage::fields(self.server);
        let shown = self.in_deciding_places(&fields);
        let mut before = None;
        for (role, field) in &fields {
            let template = &field.template;
            let decides = self.decides(*role, template, before.replace(template));
            for variable in template.variables() {
                let name = variable.name.as_str();
                // What its files say where the person gave no value is written by the plugin, and
                // counts everywhere.
                let is_written = self.scope.origin(name).is_none();
                let counts = is_plugins(name, self.scope) && (decides || is_written);
                if !counts || is_host_variable(name) || !known.insert(name) {
                    continue;
                }
                if let Some(value) = self.scope.lookup(name) {
                    let is_shown = shown.contains(name);
                    facts.push(self.plugin_value(name, value.expose(), is_shown));
                }
            }
        }
        facts
    }

    /// A value of the env file that the plugin chose. The file may be the person's, with their secrets
    /// in it, and an agent may read what is shown here: no more is than the approval needs.
    fn plugin_value(&self, name: &str, value: &str, is_shown: bool) -> Fact {
        let kind = FactKind::Value;
        let is_written = self.scope.origin(name).is_none();
        match is_shown {
            _ if !is_written && is_secret_variable(name) => {
                let caution = "decides what runs or where something goes, and is named like a credential: \
                               look at it before you approve";
                let fact = Fact::unseen(kind, name, value);
                fact.with_caution(is_shown.then_some(caution))
            }
            true => match hide_in_address(value) {
                shown if shown == value => Fact::new(kind, name, value),
                shown => Fact::new(kind, name, shown).counting(value),
            },
            false if is_written => self.literal(kind, name, value),
            false => Fact::unseen(kind, name, value),
        }
    }

    /// Returns the names of the variables whose values have to be seen to decide: they lead to a
    /// program, are evaluated, or say where something goes.
    fn in_deciding_places<'f>(&self, fields: &[(FieldRole<'_>, &'f Field)]) -> HashSet<&'f str> {
        let mut names = self.in_program_places(fields);
        for (role, field) in fields {
            let decides = match role {
                FieldRole::Url
                | FieldRole::Command
                | FieldRole::Cwd
                | FieldRole::EnvFile
                | FieldRole::Argument(_) => true,
                FieldRole::Env(name) => {
                    is_code_variable(name) || is_route_variable(name) || self.evaluates()
                }
                FieldRole::OAuth(name) => *name != SECRET,
                FieldRole::Header(_) => false,
            };
            if decides {
                names.extend(field.template.variables().map(|it| it.name.as_str()));
            }
        }
        names
    }

    /// Returns the folder that the person works in, if it decides what runs. Another one stands beside
    /// it, as another value of the person's does.
    fn project(&self, line: &CommandLine) -> Option<Fact> {
        let names_it = |template: &Template| {
            let mut variables = template.variables();
            variables.any(|variable| PROJECT.contains(&variable.name.as_str()))
        };
        let counts = |role: &FieldRole<'_>| match role {
            FieldRole::Command | FieldRole::Argument(_) | FieldRole::Cwd | FieldRole::EnvFile => {
                true
            }
            FieldRole::Env(name) => is_code_variable(name) || self.evaluates(),
            _ => false,
        };
        let mut fields = usage::fields(self.server).into_iter();
        // Every program gets it in its environment, where code that it is handed can name it.
        let is_named = PROJECT.iter().any(|name| line.shown.contains(name))
            || fields.any(|(role, field)| counts(&role) && names_it(&field.template));
        let folder = self.places.name(&self.places.host.project_dir);
        let caution = "whatever lies there can run, and can change without a question";
        is_named.then(|| {
            Fact::new(FactKind::Value, "HOST_PROJECT_DIR", folder)
                .with_caution(Some(caution))
                .of_person(true)
        })
    }

    /// Returns the names of the variables that stand where a program or its file does.
    fn in_program_places<'f>(&self, fields: &[(FieldRole<'_>, &'f Field)]) -> HashSet<&'f str> {
        let mut before = None;
        let mut names = HashSet::new();
        for (role, field) in fields {
            let template = &field.template;
            if self.may_run(*role, template, before.replace(template.as_str())) {
                names.extend(template.variables().map(|it| it.name.as_str()));
            }
        }
        names
    }

    /// Says whether a value counts in a field; `before` is the field before it.
    fn decides(&self, role: FieldRole<'_>, template: &Template, before: Option<&Template>) -> bool {
        match role {
            FieldRole::Url | FieldRole::Command | FieldRole::Cwd | FieldRole::EnvFile => true,
            FieldRole::Argument(_) => {
                let before = before.map(Template::as_str);
                self.evaluates()
                    || self.may_run(role, template, before)
                    || !is_credential_argument(template.as_str(), before)
            }
            FieldRole::Env(name) => names_program(name) || !self.is_credential_place(name),
            FieldRole::OAuth(name) => name != SECRET,
            FieldRole::Header(_) => false,
        }
    }

    /// Says whether a field is in the place of a program or of its file.
    fn may_run(&self, role: FieldRole<'_>, template: &Template, before: Option<&str>) -> bool {
        match role {
            FieldRole::Argument(at) => {
                is_program_argument(template.as_str(), before) || self.programs.contains(&at)
            }
            FieldRole::Env(name) => names_program(name),
            _ => false,
        }
    }

    /// Says whether a template has a variable that the person sets.
    fn has_persons(&self, template: &Template) -> bool {
        has_persons(template, self.scope)
    }
}

fn has_persons(template: &Template, scope: &Scope<'_>) -> bool {
    let mut variables = template.variables();
    variables
        .any(|variable| !is_host_variable(&variable.name) && !is_plugins(&variable.name, scope))
}

/// A path that a template stands for: as it is written, if a credential is part of it.
fn path(kind: FactKind, template: &Template, place: &str, scope: &Scope<'_>) -> Fact {
    let mut names = template.variables().map(|variable| variable.name.as_str());
    let is_secret = |name: &str| {
        scope.origin(name).is_some() && !is_host_variable(name) && is_secret_variable(name)
    };
    match names.any(is_secret) {
        true => Fact::new(kind, "", template.as_str()).counting(place),
        false => Fact::new(kind, "", place),
    }
}

/// Says whether a path lies in a folder that there is.
fn is_below(path: &Path, folder: &Path) -> bool {
    let real = std::fs::canonicalize(folder);
    let folder = real.as_deref().unwrap_or(folder);
    !folder.as_os_str().is_empty() && path.starts_with(folder)
}

/// The variables for the folder that the person works in.
const PROJECT: &[&str] = &["HOST_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

/// Says whether an argument is a credential's place: it follows a flag that is named like one.
fn is_credential_argument(argument: &str, before: Option<&str>) -> bool {
    let is_flag = |text: &str| {
        let name = text.trim_start_matches('-');
        text.starts_with("--") && is_credential_header(name)
    };
    match argument.split_once('=') {
        Some((flag, _)) => is_flag(flag),
        None => before.is_some_and(|before| !before.contains('=') && is_flag(before)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_follows_a_flag_that_is_named_like_one() {
        for (argument, before) in [
            ("${V}", Some("--token")),
            ("--token=${V}", None),
            ("--api-key=${V}", Some("--mode")),
        ] {
            assert!(is_credential_argument(argument, before), "{argument}");
        }
        for (argument, before) in [
            ("${V}", None),
            ("${V}", Some("token")),
            ("${V}", Some("-token")),
            ("${V}", Some("--mode")),
            ("${V}", Some("--token=x")),
            ("${V}", Some("plain")),
            ("--mode=${V}", Some("--token")),
            ("token=${V}", None),
        ] {
            assert!(
                !is_credential_argument(argument, before),
                "{argument} behind {before:?}"
            );
        }
    }
}
