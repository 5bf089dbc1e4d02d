//! Which variable feeds what: the view of an entry behind `status`, the README section and trust.

#![expect(
    clippy::exhaustive_enums,
    reason = "rules, approvals and transports decide about every variant; a new one must not compile unnoticed"
)]

use keyway_secret::printable;

use crate::declared::{DeclaredServer, Endpoint, Field, Local, OAuth, OAuthFields, Remote};
use crate::dialect::Place;
use crate::document::Document;
use crate::environment::is_host_variable;
use crate::plugin::Plugin;
use crate::template::Variable;

/// What a string of an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldRole<'a> {
    /// The address.
    Url,
    /// A header.
    Header(&'a str),
    /// A variable of the process or the helper.
    Env(&'a str),
    /// The program.
    Command,
    /// An argument, counted from 1.
    Argument(usize),
    /// The working folder.
    Cwd,
    /// The file with more variables.
    EnvFile,
    /// A member of `oauth`.
    OAuth(&'a str),
}

impl FieldRole<'_> {
    /// Returns the place by which a host decides whether variables are replaced.
    #[must_use]
    pub const fn place(self) -> Place {
        match self {
            Self::Url => Place::Url,
            Self::Header(_) => Place::Headers,
            Self::Env(_) => Place::Env,
            Self::Command => Place::Command,
            Self::Argument(_) => Place::Args,
            Self::Cwd => Place::Cwd,
            Self::EnvFile => Place::EnvFile,
            Self::OAuth(_) => Place::OAuth,
        }
    }

    /// Names the field in a sentence.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Url => "address".to_owned(),
            Self::Header(name) => format!("header `{}`", printable(name)),
            Self::Env(name) => format!("variable `{}` of the process", printable(name)),
            Self::Command => "program".to_owned(),
            Self::Argument(_) => "argument".to_owned(),
            Self::Cwd => "working folder".to_owned(),
            Self::EnvFile => "name of the env file".to_owned(),
            Self::OAuth(name) => format!("OAuth `{}`", printable(name)),
        }
    }
}

/// One place where a variable is used.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Use<'a> {
    /// The reference.
    pub variable: &'a Variable,
    /// What the field is for.
    pub role: FieldRole<'a>,
    /// The string it stands in.
    pub field: &'a Field,
    /// The entry.
    pub server: &'a DeclaredServer,
    /// The file.
    pub document: &'a Document,
}

/// Returns every string of an entry in which variables are filled in, in the order of the file.
///
/// A helper's command is not among them: only host variables are filled in there.
#[must_use]
pub fn fields(server: &DeclaredServer) -> Vec<(FieldRole<'_>, &Field)> {
    // Taken apart completely: a new field has to be listed here, or left out on purpose.
    let DeclaredServer {
        name: _,
        name_span: _,
        span: _,
        pointer: _,
        source: _,
        transport: _,
        type_origin: _,
        disabled: _,
        endpoint,
        env,
        env_file,
        timeout_ms: _,
        spellings: _,
    } = server;
    let mut fields: Vec<(FieldRole<'_>, &Field)> = env
        .iter()
        .map(|field| (FieldRole::Env(&field.name), &field.value))
        .collect();
    fields.extend(env_file.iter().map(|field| (FieldRole::EnvFile, field)));
    match endpoint {
        Endpoint::Remote(remote) => {
            let Remote {
                url,
                headers,
                helper: _,
                oauth,
            } = &**remote;
            fields.push((FieldRole::Url, url));
            let headers = headers.iter();
            fields.extend(headers.map(|header| (FieldRole::Header(&header.name), &header.value)));
            if let OAuth::Configured(oauth) = oauth {
                fields.extend(oauth_fields(oauth));
            }
        }
        Endpoint::Local(Local { command, args, cwd }) => {
            fields.push((FieldRole::Command, command));
            let args = args.iter().zip(1..);
            fields.extend(args.map(|(field, number)| (FieldRole::Argument(number), field)));
            fields.extend(cwd.iter().map(|field| (FieldRole::Cwd, field)));
        }
    }
    fields.sort_by_key(|(_, field)| field.span);
    fields
}

fn oauth_fields(oauth: &OAuthFields) -> impl Iterator<Item = (FieldRole<'_>, &Field)> {
    let OAuthFields {
        strings,
        scopes,
        callback_port: _,
        span: _,
    } = oauth;
    let strings = strings.iter();
    let scopes = scopes.iter();
    strings
        .map(|field| (FieldRole::OAuth(&field.name), &field.value))
        .chain(scopes.map(|field| (FieldRole::OAuth("scopes"), field)))
}

/// Returns each use of a variable that the person supplies, in the order of the files.
#[must_use]
pub fn uses(plugin: &Plugin) -> Vec<Use<'_>> {
    plugin
        .servers()
        .flat_map(|(document, server)| {
            fields(server).into_iter().flat_map(move |(role, field)| {
                let own = field
                    .template
                    .variables()
                    .filter(|v| !is_host_variable(&v.name));
                own.map(move |variable| Use {
                    variable,
                    role,
                    field,
                    server,
                    document,
                })
            })
        })
        .collect()
}

/// Returns the names of the variables that one entry needs, each once, in the order of the file.
#[must_use]
pub fn names(server: &DeclaredServer) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, field) in fields(server) {
        for variable in field.template.variables() {
            if !is_host_variable(&variable.name) && !names.contains(&variable.name.as_str()) {
                names.push(&variable.name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::entry;

    #[test]
    fn every_field_that_is_expanded_is_listed_with_what_it_becomes() {
        let plugin = entry(
            r#""type": "http", "url": "https://${A}.h.example/", "headers": {"X-Key": "${B}"},
               "env": {"E": "${C}${A}"}, "envFile": "${HOST_PLUGIN_ROOT}/.env",
               "oauth": {"clientSecret": "${D}", "scopes": "${F:-read}"}"#,
        );
        let found: Vec<_> = uses(&plugin)
            .iter()
            .map(|u| (u.variable.name.clone(), u.role.describe()))
            .collect();
        let expected = [
            ("A", "address"),
            ("B", "header `X-Key`"),
            ("C", "variable `E` of the process"),
            ("A", "variable `E` of the process"),
            ("D", "OAuth `clientSecret`"),
            ("F", "OAuth `scopes`"),
        ];
        let expected = expected.map(|(name, role)| (name.to_owned(), role.to_owned()));
        assert_eq!(found, expected);
        let (_, server) = plugin.servers().next().unwrap();
        assert_eq!(names(server), ["A", "B", "C", "D", "F"]);
    }
}
