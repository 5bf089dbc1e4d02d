//! What a person has to approve before an entry is used, and the ledger of what they approved.
//!
//! A plugin's file is not trusted because it exists (contract §7). An approval is bound to the
//! content of the entry and of the files inside the plugin that it runs; a change asks again.

mod digest;
mod files;
#[cfg(feature = "vault")]
mod ledger;
mod record;

use std::path::{Path, PathBuf};

use keyway_config::address::Address;
use keyway_config::declared::{
    DeclaredServer, Endpoint, Helper, HelperCommand, Local, OAuth, Remote,
};
use keyway_config::document::Document;
use keyway_config::environment::{HostVariables, Scope, is_host_variable};
use keyway_config::template::{Part, Template};
use keyway_config::usage::{FieldRole, fields};

pub use self::digest::Digest;
pub use self::files::Files;
#[cfg(feature = "vault")]
pub use self::ledger::Ledger;
pub use self::record::Approval;

/// What a person is asked about one entry.
#[derive(Debug, Clone)]
pub struct Question {
    /// The name of the plugin.
    pub plugin: String,
    /// The name of the entry.
    pub server: String,
    /// Where the plugin is.
    pub source: PathBuf,
    /// The exact command line that would run, host variables filled in, others by name.
    pub runs: Option<String>,
    /// What of the command line is itself a program, and so may do anything.
    pub inline_code: Option<String>,
    /// Which variable would go where.
    pub sends: Vec<Sent>,
    /// What would become weaker than the default.
    pub weakens: Vec<String>,
    /// What the answer is bound to.
    pub digest: Digest,
    /// The files that are part of it.
    pub files: Files,
}

/// A variable that would leave the person's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The variable.
    pub variable: String,
    /// What it becomes there, in words.
    pub becomes: String,
    /// The origin or the process that gets it.
    pub to: String,
    is_in_address: bool,
}

impl Sent {
    /// Says how it gets there, in words that follow `sends X`.
    #[must_use]
    pub fn how(&self) -> String {
        if self.is_in_address {
            return "in the address".to_owned();
        }
        format!("as {}", self.becomes)
    }
}

/// Where an entry stands and what surrounds it.
#[derive(Debug, Clone, Copy)]
pub struct EntryContext<'a> {
    /// The name of the plugin.
    pub plugin: &'a str,
    /// The root of the plugin.
    pub root: &'a Path,
    /// The file of the entry.
    pub document: &'a Document,
    /// The host's own variables.
    pub host: &'a HostVariables,
}

impl Question {
    /// Puts the question together; `None` if the entry runs nothing and sends no variable.
    ///
    /// Of variables only those in the address are looked at, to show where it leads.
    #[must_use]
    pub fn about(
        server: &DeclaredServer,
        around: EntryContext<'_>,
        scope: &Scope<'_>,
    ) -> Option<Self> {
        let runs = command_line(server, around.host);
        let inline_code = inline_code(server, around.host);
        let sends = sends(server, scope);
        let weakens = weakens(server);
        if runs.is_none() && sends.is_empty() && weakens.is_empty() {
            return None;
        }
        let files = Files::of(server, around);
        Some(Self {
            plugin: around.plugin.to_owned(),
            server: server.name.clone(),
            source: around.root.to_path_buf(),
            runs,
            inline_code,
            sends,
            weakens,
            digest: digest::of(server, around, &files),
            files,
        })
    }
}

fn command_line(server: &DeclaredServer, host: &HostVariables) -> Option<String> {
    match &server.endpoint {
        Endpoint::Local(Local { command, args, .. }) => {
            let words = std::iter::once(command).chain(args);
            Some(quoted(words.map(|field| shown(&field.template, host))))
        }
        Endpoint::Remote(remote) => {
            let Helper { command, .. } = remote.helper.as_ref()?;
            Some(match command {
                HelperCommand::Program(field) => shown(&field.template, host),
                HelperCommand::Shell(field) => format!("sh -c {}", quote(field.template.as_str())),
                HelperCommand::Words(words) => {
                    quoted(words.iter().map(|field| shown(&field.template, host)))
                }
            })
        }
    }
}

/// Finds a flag that hands code to an interpreter: `sh -c`, `node -e`, `npx -c`, `cmd /c` (threat
/// D15). Nothing follows from its absence; it is shown because such lines are easily skimmed.
fn inline_code(server: &DeclaredServer, host: &HostVariables) -> Option<String> {
    let words: Vec<String> = match &server.endpoint {
        Endpoint::Local(Local { command, args, .. }) => std::iter::once(command)
            .chain(args)
            .map(|field| shown(&field.template, host))
            .collect(),
        Endpoint::Remote(remote) => match &remote.helper.as_ref()?.command {
            HelperCommand::Shell(_) => return Some("sh -c".to_owned()),
            HelperCommand::Words(words) => words
                .iter()
                .map(|field| shown(&field.template, host))
                .collect(),
            HelperCommand::Program(_) => return None,
        },
    };
    let mut flags = words.iter().enumerate().skip(1);
    flags.find_map(|(at, flag)| {
        let is_code = CODE_FLAGS
            .iter()
            .any(|code| flag.eq_ignore_ascii_case(code));
        let before = words.get(..at)?.iter().rev();
        let mut programs = before.map(|word| word.rsplit(['/', '\\']).next().unwrap_or(word));
        let program = programs.find(|name| is_interpreter(name))?;
        is_code.then(|| format!("{program} {flag}"))
    })
}

fn is_interpreter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&plain)
}

/// Fills in host variables; everything else stays as written.
pub(crate) fn shown(template: &Template, host: &HostVariables) -> String {
    let text = template.as_str();
    let pieces = template.parts().iter().map(|part| match part {
        Part::Variable(variable) if is_host_variable(&variable.name) => {
            host.get(&variable.name).unwrap_or_default()
        }
        part => text.get(part.range()).unwrap_or_default().to_owned(),
    });
    pieces.collect()
}

fn quoted(words: impl Iterator<Item = String>) -> String {
    words.map(|word| quote(&word)).collect::<Vec<_>>().join(" ")
}

/// Writes a word so that its ends and its blanks can be seen.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:=@${}+,%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn sends(server: &DeclaredServer, scope: &Scope<'_>) -> Vec<Sent> {
    let to = match &server.endpoint {
        Endpoint::Remote(remote) => destination(remote, server, scope),
        _ => "the server process".to_owned(),
    };
    let mut sent = Vec::new();
    for (role, field) in fields(server) {
        let becomes = role.describe();
        let to = match (role, &server.endpoint) {
            (FieldRole::Env(_), Endpoint::Remote(_)) => "the headers helper",
            (FieldRole::OAuth(_), _) => "the authorization server",
            _ => to.as_str(),
        };
        for variable in field
            .template
            .variables()
            .filter(|v| !is_host_variable(&v.name))
        {
            let next = Sent {
                variable: variable.name.clone(),
                becomes: becomes.clone(),
                to: to.to_owned(),
                is_in_address: role == FieldRole::Url,
            };
            if !sent.contains(&next) {
                sent.push(next);
            }
        }
    }
    sent
}

/// The origin that a remote entry reaches, as far as it is known.
fn destination(remote: &Remote, server: &DeclaredServer, scope: &Scope<'_>) -> String {
    let resolved = Address::resolve(&remote.url.template, server.transport, scope);
    match resolved {
        Ok(address) => address.origin().to_owned(),
        Err(_) => remote
            .url
            .template
            .as_str()
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

fn weakens(server: &DeclaredServer) -> Vec<String> {
    let Endpoint::Remote(remote) = &server.endpoint else {
        return Vec::new();
    };
    let OAuth::Configured(oauth) = &remote.oauth else {
        return Vec::new();
    };
    let weak = ["resource", "pkce"].iter().filter_map(|key| oauth.get(key));
    weak.map(|field| format!("{} = {}", field.name, field.value.template))
        .collect()
}

/// Programs that run what they are given, and how it is given.
const INTERPRETERS: &[&str] = &[
    "ash",
    "bash",
    "bun",
    "cmd",
    "csh",
    "dash",
    "deno",
    "fish",
    "ksh",
    "lua",
    "node",
    "npm",
    "npx",
    "osascript",
    "perl",
    "php",
    "pnpm",
    "powershell",
    "pwsh",
    "python",
    "ruby",
    "sh",
    "tclsh",
    "uvx",
    "zsh",
];
const CODE_FLAGS: &[&str] = &[
    "-c",
    "--call",
    "-e",
    "--eval",
    "-p",
    "--print",
    "-r",
    "-command",
    "-encodedcommand",
    "/c",
    "/k",
    "-lc",
    "-ic",
];

#[cfg(test)]
#[cfg(all(feature = "authoring", feature = "vault"))]
mod tests;
