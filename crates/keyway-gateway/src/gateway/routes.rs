//! Paths to servers.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use keyway_config::names::decoded_segment;

use super::principal::Principal;
use super::served_servers::ServedServer;

/// Where a path leads. Two are the same if the same client gets to both by the same path, whatever
/// stands there by now.
#[derive(Debug, Clone)]
pub(super) enum Route {
    /// To one server.
    One(Arc<ServedServer>),
    /// To all that the client may reach, together.
    All(Vec<Arc<ServedServer>>),
}

impl Route {
    /// Returns the servers that it leads to.
    pub(super) fn servers(&self) -> &[Arc<ServedServer>] {
        match self {
            Self::One(server) => std::slice::from_ref(server),
            Self::All(servers) => servers,
        }
    }

    /// Returns where the same path leads its client now; `None` if that is nowhere.
    pub(super) fn by_now(
        &self,
        servers: &[Arc<ServedServer>],
        principal: &Principal,
    ) -> Option<Self> {
        let opens = |it: &&Arc<ServedServer>| principal.opens(&it.plugin, &it.name);
        let mut opened = servers.iter().filter(opens);
        match self {
            Self::One(one) => opened
                .find(|it| one.has_same_name_as(it))
                .map(|it| Self::One(Arc::clone(it))),
            Self::All(_) => Some(Self::All(opened.cloned().collect())),
        }
    }

    /// Returns the server, if it is one.
    pub(super) fn only(&self) -> Option<&Arc<ServedServer>> {
        match self.servers() {
            [only] => Some(only),
            _ => None,
        }
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(one), Self::One(other)) => {
                Arc::ptr_eq(one, other) || one.has_same_name_as(other)
            }
            (Self::All(_), Self::All(_)) => true,
            _ => false,
        }
    }
}

impl Eq for Route {}

impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Self::One(server) = self {
            server.plugin.hash(state);
            server.name.hash(state);
        }
    }
}

/// Why a path leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoute {
    /// There is nothing.
    Unknown,
    /// It is not for this client.
    Forbidden,
}

/// Finds what a path means to a client: `/mcp`, `/mcp/SERVER` or `/mcp/PLUGIN/SERVER`.
///
/// A client with limits is not told what there is beside what it may reach.
pub(super) fn find(
    path: &str,
    servers: &[Arc<ServedServer>],
    principal: &Principal,
) -> Result<Route, NoRoute> {
    let opens = |server: &Arc<ServedServer>| principal.opens(&server.plugin, &server.name);
    let nowhere = if servers.iter().all(opens) {
        NoRoute::Unknown
    } else {
        NoRoute::Forbidden
    };
    let rest = path.strip_prefix("/mcp").ok_or(NoRoute::Unknown)?;
    let Some(rest) = rest.strip_prefix('/').filter(|rest| !rest.is_empty()) else {
        if !rest.is_empty() && rest != "/" {
            return Err(NoRoute::Unknown);
        }
        let bound: Vec<_> = servers.iter().filter(|it| opens(it)).cloned().collect();
        return if bound.is_empty() {
            Err(nowhere)
        } else {
            Ok(Route::All(bound))
        };
    };
    let (plugin, name) = match rest.split_once('/') {
        Some((plugin, name)) => (Some(decoded_segment(plugin)), decoded_segment(name)),
        None => (None, decoded_segment(rest)),
    };
    let mut named = servers.iter().filter(|server| {
        let is_plugin = plugin
            .as_ref()
            .is_none_or(|plugin| server.plugin == *plugin);
        is_plugin && server.name == name
    });
    match (named.next(), named.next()) {
        (Some(server), None) if opens(server) => Ok(Route::One(Arc::clone(server))),
        _ => Err(nowhere),
    }
}
