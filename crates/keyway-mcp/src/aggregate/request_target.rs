//! What a request to all servers is about, by which the one that answers is found.

use super::hub::Hub;
use super::list_kind::ListKind;
use crate::splice::{member, string};

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestTarget {
    /// A tool, by the name that the client knows.
    Tool(String),
    /// A prompt, by the name that the client knows.
    Prompt(String),
    /// A resource, by its address.
    Resource(String),
}

impl RequestTarget {
    /// Reads what a request is about; `None` if it is about nothing that one server has, or its
    /// name is too long.
    pub fn of(method: &str, params: &str) -> Option<Self> {
        let found = match method {
            "tools/call" => Self::Tool(string(params, "name")?),
            "prompts/get" => Self::Prompt(string(params, "name")?),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                Self::Resource(string(params, "uri")?)
            }
            "completion/complete" => {
                let reference = member(params, "ref")?;
                let prompt = string(reference, "name").map(Self::Prompt);
                prompt.or_else(|| string(reference, "uri").map(Self::Resource))?
            }
            _ => return None,
        };
        let (Self::Tool(name) | Self::Prompt(name) | Self::Resource(name)) = &found;
        (name.len() <= LONGEST).then_some(found)
    }
}

impl Hub {
    /// Returns plugin and server of what a request is about, as far as lists have told.
    pub(super) fn server_of(&self, subject: &RequestTarget) -> Option<(String, String)> {
        let owner = |kind, name: &str| self.owners().get(kind, name).map(|owner| owner.server);
        let index = match subject {
            RequestTarget::Tool(name) => {
                owner(ListKind::Tools, name).or_else(|| self.own_tool(name))?
            }
            RequestTarget::Prompt(name) => owner(ListKind::Prompts, name)?,
            RequestTarget::Resource(uri) => {
                let template = owner(ListKind::Templates, uri);
                template.or_else(|| self.owners().of_uri(uri))?
            }
        };
        self.servers.get(index)?.server_id.clone()
    }

    /// Returns the server that a tool of ours speaks about.
    fn own_tool(&self, name: &str) -> Option<usize> {
        let is_own =
            |at: &usize| self.sign_in_tool_name(*at) == name || self.status_name(*at) == name;
        (0..self.servers.len()).find(is_own)
    }
}

/// More than any name or address that a list is likely to have.
const LONGEST: usize = 4096;
