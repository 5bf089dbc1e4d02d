//! Paths to servers.

use super::Served;
use super::holders::Principal;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Route {
    /// To one server.
    One(usize),
    /// To all that the client may reach, together.
    All(Vec<usize>),
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
    servers: &[Served],
    principal: &Principal,
) -> Result<Route, NoRoute> {
    let opens = |server: &Served| principal.opens(&server.plugin, &server.name);
    let nowhere = if servers.iter().all(opens) {
        NoRoute::Unknown
    } else {
        NoRoute::Forbidden
    };
    let rest = path.strip_prefix("/mcp").ok_or(NoRoute::Unknown)?;
    let all = servers.iter().enumerate();
    let Some(rest) = rest.strip_prefix('/').filter(|rest| !rest.is_empty()) else {
        if !rest.is_empty() && rest != "/" {
            return Err(NoRoute::Unknown);
        }
        let reached: Vec<usize> = all.filter(|(_, it)| opens(it)).map(|(at, _)| at).collect();
        return match reached.as_slice() {
            [] => Err(nowhere),
            [only] => Ok(Route::One(*only)),
            _ => Ok(Route::All(reached)),
        };
    };
    let (plugin, name) = match rest.split_once('/') {
        Some((plugin, name)) => (Some(decoded(plugin)), decoded(name)),
        None => (None, decoded(rest)),
    };
    let mut named = all.filter(|(_, server)| {
        let is_plugin = plugin
            .as_ref()
            .is_none_or(|plugin| server.plugin == *plugin);
        is_plugin && server.name == name
    });
    match (named.next(), named.next()) {
        (Some((at, server)), None) if opens(server) => Ok(Route::One(at)),
        _ => Err(nowhere),
    }
}

/// Resolves `%20` and the like; what is no text is kept as it is written.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
