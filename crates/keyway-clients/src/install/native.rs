//! What an entry of a client's file stands for, as something that Keyway can take over.

use keyway_config::declared::{DeclaredServer, Endpoint, Local, OAuth, Remote as DeclaredRemote};
use keyway_config::template::{Part, Template};
use keyway_config::transport::Transport;
use keyway_secret::Secret;

use super::Listed;
use super::bridges::recognise;

/// What an entry turned out to be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Recognised {
    /// Something else: a program of its own.
    Other,
    /// A remote server, reached by the client itself or by a bridge.
    Remote(Remote),
    /// A remote server with something that has no counterpart.
    Unsupported {
        /// What it is.
        option: String,
    },
}

/// A remote server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Remote {
    /// Its address, which may hold a credential.
    pub(super) url: Secret<String>,
    /// The headers that were given.
    pub(super) headers: Vec<(String, Secret<String>)>,
    /// The transport, in the words of our own entries.
    pub(super) transport: &'static str,
    /// The text members of its settings of OAuth, by the contract's names.
    pub(super) oauth: Vec<(String, Secret<String>)>,
    /// The scopes to ask for.
    pub(super) scopes: Vec<String>,
    /// The port that the browser comes back to.
    pub(super) callback_port: Option<u16>,
}

impl Remote {
    /// Makes one without a credential.
    #[must_use]
    pub fn new(url: impl Into<String>, transport: &'static str) -> Self {
        Self {
            url: Secret::new(url.into()),
            headers: Vec::new(),
            transport,
            oauth: Vec::new(),
            scopes: Vec::new(),
            callback_port: None,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: Secret<String>) -> Self {
        self.headers.push((name.into(), value));
        self
    }

    /// Returns the address, which may hold a credential.
    #[must_use]
    pub const fn url(&self) -> &Secret<String> {
        &self.url
    }

    /// Says whether nothing is sent but the request: the server asks for a sign-in, or for nothing.
    #[must_use]
    pub const fn has_no_headers(&self) -> bool {
        self.headers.is_empty()
    }
}

/// Looks at an entry as its host reads it.
#[must_use]
pub fn recognise_declared(server: &DeclaredServer) -> Recognised {
    match &server.endpoint {
        Endpoint::Remote(remote) => remote_of(server.transport, remote),
        Endpoint::Local(local) => recognise(&listed(server, local)),
    }
}

fn remote_of(transport: Transport, declared: &DeclaredRemote) -> Recognised {
    let unsupported = |option: &str| Recognised::Unsupported {
        option: option.to_owned(),
    };
    if declared.helper.is_some() {
        return unsupported("headersHelper");
    }
    let Some(url) = in_our_words(&declared.url.template) else {
        return unsupported("url");
    };
    if url.is_empty() {
        return unsupported("url");
    }
    let word = match transport {
        Transport::Sse => "sse",
        Transport::Ws => "ws",
        _ => "http",
    };
    let mut remote = Remote::new(url, word);
    for header in &declared.headers {
        let Some(value) = in_our_words(&header.value.template) else {
            return unsupported(&header.name);
        };
        remote
            .headers
            .push((header.name.clone(), Secret::new(value)));
    }
    match &declared.oauth {
        OAuth::Automatic => {}
        OAuth::Off => {}
        OAuth::Configured(fields) => {
            for member in &fields.strings {
                let Some(value) = in_our_words(&member.value.template) else {
                    return unsupported(&member.name);
                };
                remote.oauth.push((member.name.clone(), Secret::new(value)));
            }
            let scopes = fields.scopes.iter();
            remote.scopes = scopes.map(|it| it.template.literal_text()).collect();
            remote.callback_port = fields.callback_port;
        }
    }
    Recognised::Remote(remote)
}

/// Writes a text as an entry of ours has it; `None` if it refers to what only its host knows.
fn in_our_words(template: &Template) -> Option<String> {
    let mut text = String::new();
    for part in template.parts() {
        match part {
            Part::Literal { text: literal, .. } => text.push_str(&literal.replace("${", "$${")),
            Part::Variable(variable) => match &variable.default {
                Some(default) => text.push_str(&format!("${{{}:-{default}}}", variable.name)),
                None => text.push_str(&format!("${{{}}}", variable.name)),
            },
            _ => return None,
        }
    }
    Some(text)
}

fn listed(server: &DeclaredServer, local: &Local) -> Listed {
    let secret = |template: &Template| Secret::new(template.as_str().to_owned());
    Listed {
        name: server.name.clone(),
        program: Some(local.command.template.as_str().to_owned()),
        args: local.args.iter().map(|it| secret(&it.template)).collect(),
        env: server
            .env
            .iter()
            .map(|it| (it.name.clone(), secret(&it.value.template)))
            .collect(),
        ..Listed::default()
    }
}
