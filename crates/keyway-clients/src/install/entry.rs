//! What Keyway writes into a client's file, and what stands there.

use keyway_config::dialect::{Dialect, HostFieldRole, host_file};
use keyway_config::json::{Node, Object, Value as Tree, quote};
use keyway_config::source::Source;
use keyway_secret::Secret;

use super::value::Value;
use crate::clients::{Client, Form};

/// What a client shall start: a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// The program, absolute.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Command {
    /// Names a program with its arguments.
    #[must_use]
    pub fn new(program: impl Into<String>, args: Vec<String>) -> Self {
        let program = program.into();
        Self { program, args }
    }
}

/// A server that the client reaches itself, with headers from a command of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HelperEntry {
    /// The word for the transport.
    pub transport: String,
    /// Where the server is.
    pub url: String,
    /// The command line that prints headers.
    pub helper: String,
}

impl HelperEntry {
    /// Makes one for Streamable HTTP.
    #[must_use]
    pub fn new(url: impl Into<String>, helper: impl Into<String>) -> Self {
        Self {
            transport: "http".to_owned(),
            url: url.into(),
            helper: helper.into(),
        }
    }
}

/// An entry of ours. It names a server, and never holds a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnEntry {
    /// The client starts `keyway run`.
    Run(Command),
    /// The client asks `keyway headers` for what it sends.
    Helper(HelperEntry),
}

impl OwnEntry {
    /// Returns the entry as a client writes it.
    pub(super) fn value(&self, client: &Client, name: &str, kept: Vec<(String, Value)>) -> Value {
        let text = |text: &str| Value::Text(text.to_owned());
        let mut members: Vec<(&str, Value)> = Vec::new();
        match self {
            Self::Run(command) => {
                let (program, args) = (text(&command.program), Value::Texts(command.args.clone()));
                match client.form {
                    Form::Plain => {}
                    Form::Typed(word) => members.push(("type", text(word))),
                    Form::CommandArray => {
                        let words = [command.program.clone()].into_iter();
                        let words = words.chain(command.args.iter().cloned());
                        members.push(("type", text("local")));
                        members.push(("command", Value::Texts(words.collect())));
                    }
                    Form::WithTools => {
                        members.push(("type", text("local")));
                        members.push(("tools", Value::Texts(vec!["*".to_owned()])));
                    }
                    Form::Goose => {
                        members.extend([("name", text(name)), ("type", text("stdio"))]);
                        members.push(("enabled", Value::Raw("true".to_owned())));
                        members.push(("timeout", Value::Raw("300".to_owned())));
                    }
                    Form::Named => members.push(("name", text(name))),
                }
                match client.form {
                    Form::CommandArray => {}
                    Form::Goose => members.extend([("cmd", program), ("args", args)]),
                    _ => members.extend([("command", program), ("args", args)]),
                }
            }
            Self::Helper(entry) => {
                if matches!(client.form, Form::Typed(_)) {
                    members.push(("type", text(&entry.transport)));
                }
                members.push(("url", text(&entry.url)));
                let field = client.helper.unwrap_or("headersHelper");
                members.push((field, text(&entry.helper)));
            }
        }
        let own = members.iter().map(|(key, _)| (*key).to_owned());
        let own: Vec<String> = own.collect();
        let members = members.into_iter().map(|(key, it)| (key.to_owned(), it));
        let kept = kept.into_iter().filter(|(key, _)| !own.contains(key));
        Value::Members(members.chain(kept).collect())
    }

    /// Returns the texts that a diff may show, as they stand in the file.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::Run(command) => {
                let args: Vec<String> = command.args.iter().map(|arg| quote(arg)).collect();
                vec![quote(&command.program), args.join(", ")]
            }
            Self::Helper(entry) => vec![quote(&entry.url), quote(&entry.helper)],
        }
    }
}

/// An entry that stands in a client's file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it starts; `None` for an entry of another kind.
    pub program: Option<String>,
    /// The arguments, which may hold a credential.
    pub args: Vec<Secret<String>>,
    /// The variables that it sets.
    pub env: Vec<(String, Secret<String>)>,
    /// Where it is, which may hold a credential.
    pub url: Option<Secret<String>>,
    /// The command line that prints headers.
    pub helper: Option<String>,
}

impl Listed {
    /// Says whether the entry is `own` and nothing else.
    #[must_use]
    pub fn is(&self, own: &OwnEntry) -> bool {
        match own {
            OwnEntry::Run(command) => self.starts(command),
            OwnEntry::Helper(entry) => {
                let url = self.url.as_ref().map(Secret::expose);
                url == Some(&entry.url) && self.helper.as_ref() == Some(&entry.helper)
            }
        }
    }

    fn starts(&self, command: &Command) -> bool {
        self.program.as_deref() == Some(command.program.as_str())
            && self.args.len() == command.args.len()
            && self
                .args
                .iter()
                .zip(&command.args)
                .all(|(a, b)| a.expose() == b)
    }

    /// Says whether the entry runs Keyway, by whichever program it was written.
    #[must_use]
    pub fn runs_keyway(&self) -> bool {
        let is_ours = |program: &str| {
            let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
            name.trim_matches(['"', '\'']) == "keyway"
        };
        let helper = self.helper.as_deref().unwrap_or_default();
        self.program.as_deref().is_some_and(is_ours)
            || helper.split_whitespace().next().is_some_and(is_ours)
    }

    /// Reads an entry by the fields of its host.
    pub(super) fn of(dialect: &Dialect, name: &str, node: &Node) -> Self {
        let mut listed = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let secret = |text: &str| Secret::new(text.to_owned());
        let secrets = |nodes: &[Node]| -> Vec<Secret<String>> {
            nodes.iter().filter_map(Node::as_str).map(secret).collect()
        };
        for member in node.as_object().into_iter().flat_map(|it| &it.members) {
            let Some(field) = dialect.field(&member.key) else {
                continue;
            };
            match (field.role, &member.value.value) {
                (HostFieldRole::Command, Tree::String(text)) => {
                    listed.program = Some(text.clone());
                }
                (HostFieldRole::Command, Tree::Array(items)) => {
                    let mut words = items.iter().filter_map(Node::as_str);
                    listed.program = words.next().map(str::to_owned);
                    listed.args = words.map(secret).collect();
                }
                (HostFieldRole::Args, Tree::Array(items)) => listed.args = secrets(items),
                (HostFieldRole::Env, Tree::Object(env)) => listed.env = pairs(env),
                (HostFieldRole::Url(_), Tree::String(text)) => listed.url = Some(secret(text)),
                (HostFieldRole::Helper, Tree::String(text)) => listed.helper = Some(text.clone()),
                _ => {}
            }
        }
        listed
    }
}

/// Returns the members of an entry that are the person's and say nothing about how the server is
/// reached: a client's switches, limits and lists of tools.
pub(super) fn kept_members(
    source: &Source,
    dialect: &Dialect,
    node: &Node,
) -> Vec<(String, Value)> {
    let members = node.as_object().into_iter().flat_map(|it| &it.members);
    let kept = members.filter(|member| {
        let role = dialect.field(&member.key).map(|field| field.role);
        let is_kept = matches!(
            role,
            None | Some(
                HostFieldRole::TimeoutMs
                    | HostFieldRole::TimeoutSeconds
                    | HostFieldRole::Disabled
                    | HostFieldRole::Enabled
                    | HostFieldRole::Other
            )
        );
        // Some hosts have words of their own for what ours replaces.
        is_kept && !matches!(member.key.as_str(), "type" | "transport" | "oauth" | "auth")
    });
    let raw = |node: &Node| Value::Raw(source.slice(node.span).to_owned());
    kept.map(|member| (member.key.clone(), raw(&member.value)))
        .collect()
}

/// Returns the dialect of a client's files.
pub(super) fn dialect_of(client: &Client) -> &'static Dialect {
    host_file(client.read_as).map_or(keyway_config::dialect::CONTRACT, |(dialect, _)| dialect)
}

fn pairs(object: &Object) -> Vec<(String, Secret<String>)> {
    let members = object.members.iter().filter_map(|member| {
        let value = member.value.as_str()?.to_owned();
        Some((member.key.clone(), Secret::new(value)))
    });
    members.collect()
}
