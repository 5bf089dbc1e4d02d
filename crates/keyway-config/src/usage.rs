//! Which variable feeds what: the view of an entry behind `status`, the README section and trust.

use crate::declared::{DeclaredServer, Endpoint, Field, OAuth};
use crate::document::Document;
use crate::environment::is_host_variable;
use crate::plugin::Plugin;
use crate::template::Variable;

/// What a string of an entry becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Feeds<'a> {
    /// The address.
    Url,
    /// A header.
    Header(&'a str),
    /// A variable of the process or the helper.
    Env(&'a str),
    /// The program.
    Command,
    /// An argument.
    Argument,
    /// The working folder.
    Cwd,
    /// The file with more variables.
    EnvFile,
    /// A member of `oauth`.
    OAuth(&'a str),
}

impl Feeds<'_> {
    /// Says it in a person's words.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Url => "address".to_owned(),
            Self::Header(name) => format!("header `{name}`"),
            Self::Env(name) => format!("variable `{name}` of the process"),
            Self::Command => "program".to_owned(),
            Self::Argument => "argument".to_owned(),
            Self::Cwd => "working folder".to_owned(),
            Self::EnvFile => "name of the env file".to_owned(),
            Self::OAuth(name) => format!("OAuth `{name}`"),
        }
    }
}

/// One place where a variable is used.
#[derive(Debug, Clone, Copy)]
pub struct Use<'a> {
    /// The reference.
    pub variable: &'a Variable,
    /// What it feeds.
    pub feeds: Feeds<'a>,
    /// The string it stands in.
    pub field: &'a Field,
    /// The entry.
    pub server: &'a DeclaredServer,
    /// The file.
    pub document: &'a Document,
}

/// Returns every string of an entry in which variables are filled in, in the order of the file.
#[must_use]
pub fn fields(server: &DeclaredServer) -> Vec<(Feeds<'_>, &Field)> {
    let mut fields: Vec<(Feeds<'_>, &Field)> = server
        .env
        .iter()
        .map(|field| (Feeds::Env(&field.name), &field.value))
        .collect();
    fields.extend(server.env_file.iter().map(|field| (Feeds::EnvFile, field)));
    match &server.endpoint {
        Endpoint::Remote(remote) => {
            fields.push((Feeds::Url, &remote.url));
            let headers = remote.headers.iter();
            fields.extend(headers.map(|header| (Feeds::Header(&header.name), &header.value)));
            if let OAuth::Configured(oauth) = &remote.oauth {
                let strings = oauth.strings.iter();
                fields.extend(strings.map(|field| (Feeds::OAuth(&field.name), &field.value)));
                fields.extend(
                    oauth
                        .scopes
                        .iter()
                        .map(|field| (Feeds::OAuth("scopes"), field)),
                );
            }
        }
        Endpoint::Local(local) => {
            fields.push((Feeds::Command, &local.command));
            fields.extend(local.args.iter().map(|field| (Feeds::Argument, field)));
            fields.extend(local.cwd.iter().map(|field| (Feeds::Cwd, field)));
        }
    }
    fields.sort_by_key(|(_, field)| field.span);
    fields
}

/// Returns each use of a variable that the person supplies, in the order of the files.
#[must_use]
pub fn uses(plugin: &Plugin) -> Vec<Use<'_>> {
    plugin
        .servers()
        .flat_map(|(document, server)| {
            fields(server).into_iter().flat_map(move |(feeds, field)| {
                let own = field
                    .template
                    .variables()
                    .filter(|v| !is_host_variable(&v.name));
                own.map(move |variable| Use {
                    variable,
                    feeds,
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
            .map(|u| (u.variable.name.clone(), u.feeds.describe()))
            .collect();
        let expected = [
            ("A", "address"),
            ("B", "header `X-Key`"),
            ("C", "variable `E` of the process"),
            ("A", "variable `E` of the process"),
            ("D", "OAuth `clientSecret`"),
            ("F", "OAuth `scopes`"),
        ];
        let expected = expected.map(|(name, feeds)| (name.to_owned(), feeds.to_owned()));
        assert_eq!(found, expected);
        let (_, server) = plugin.servers().next().unwrap();
        assert_eq!(names(server), ["A", "B", "C", "D", "F"]);
    }
}
