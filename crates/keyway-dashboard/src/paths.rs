//! The addresses of the dashboard.
//!
//! Each session has its pages below an address of its own, which cannot be guessed. Browsers tell
//! cookies apart by host and path, not by port: any other server on this machine would be sent a
//! cookie for `/`, and never gets a request for this path.

use keyway_config::names::{decoded_segment, path_segment};

use super::backend::ServerId;

/// A place of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DashboardRoute {
    /// All servers.
    Overview,
    /// A one-time link, with its token.
    Enter(String),
    /// The end of a session.
    Leave,
    /// A new link, for requests over the socket.
    Link,
    /// The style sheet.
    Style,
    /// The script.
    Script,
    /// The icon.
    Icon,
    /// What changes.
    Events,
    /// One server.
    Server(ServerId),
    /// All that waits for an approval in a plugin.
    Plugin(String),
    /// Something that is done to a server.
    Act(ServerId, Action),
    /// A tool of a server.
    Tool(ServerId, String),
    /// The answer to a call that waits.
    Answer,
    /// The gateway tokens.
    Tokens,
    /// A server that is to be added.
    Add,
    /// The clients that are found here.
    Clients,
    /// One client, by its name.
    Client(String),
    /// What happened.
    History,
    /// The people of a team.
    People,
}

/// What can be done to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Check,
    SignIn,
    Cancel,
    SignOut,
    Approve,
    /// Sets a rule for a tool.
    Rule,
    /// Notes that the person has looked at a tool.
    LookAt,
    /// Stores a variable.
    SetVariable,
    /// Records its messages from now on.
    Record,
    /// Stops that, and forgets them.
    Forget,
}

impl Action {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::SignIn => "sign-in",
            Self::Cancel => "cancel",
            Self::SignOut => "sign-out",
            Self::Approve => "approve",
            Self::Rule => "rule",
            Self::LookAt => "look",
            Self::SetVariable => "variable",
            Self::Record => "record",
            Self::Forget => "forget",
        }
    }

    fn read(word: &str) -> Option<Self> {
        let all = [
            Self::Check,
            Self::SignIn,
            Self::Cancel,
            Self::SignOut,
            Self::Approve,
            Self::Rule,
            Self::LookAt,
            Self::SetVariable,
            Self::Record,
            Self::Forget,
        ];
        all.into_iter().find(|action| action.as_str() == word)
    }
}

/// Says whether a path is the dashboard's at all.
pub(super) fn is_own(path: &str) -> bool {
    path == "/" || path == "/dashboard" || path.starts_with("/dashboard/")
}

/// Finds what a path outside of every session means.
pub(super) fn outside(path: &str) -> Option<DashboardRoute> {
    let parts: Vec<&str> = path.strip_prefix("/dashboard/")?.split('/').collect();
    match parts.as_slice() {
        ["enter", token] => Some(DashboardRoute::Enter((*token).to_owned())),
        ["link"] => Some(DashboardRoute::Link),
        ["style.css"] => Some(DashboardRoute::Style),
        ["script.js"] => Some(DashboardRoute::Script),
        ["icon.svg"] => Some(DashboardRoute::Icon),
        _ => None,
    }
}

/// Returns the path key of a session, and the path below it.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(SESSION_PREFIX)?;
    let end = rest.find('/')?;
    rest.split_at_checked(end)
}

/// Returns the address below which all pages of a session lie.
pub(super) fn base(path_key: &str) -> String {
    format!("{SESSION_PREFIX}{path_key}")
}

/// Finds what a path inside of a session means.
pub(super) fn find(path: &str) -> Option<DashboardRoute> {
    if path == "/" {
        return Some(DashboardRoute::Overview);
    }
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let id = |plugin: &str, name: &str| ServerId {
        plugin: decoded_segment(plugin),
        name: decoded_segment(name),
    };
    match parts.as_slice() {
        ["leave"] => Some(DashboardRoute::Leave),
        ["answer"] => Some(DashboardRoute::Answer),
        ["events"] => Some(DashboardRoute::Events),
        ["tokens"] => Some(DashboardRoute::Tokens),
        ["add"] => Some(DashboardRoute::Add),
        ["clients"] => Some(DashboardRoute::Clients),
        ["clients", name] => Some(DashboardRoute::Client(decoded_segment(name))),
        ["history"] => Some(DashboardRoute::History),
        ["people"] => Some(DashboardRoute::People),
        ["p", plugin] => Some(DashboardRoute::Plugin(decoded_segment(plugin))),
        ["s", plugin, name] => Some(DashboardRoute::Server(id(plugin, name))),
        ["s", plugin, name, "tool", tool] => Some(DashboardRoute::Tool(
            id(plugin, name),
            decoded_segment(tool),
        )),
        ["s", plugin, name, word] => {
            Some(DashboardRoute::Act(id(plugin, name), Action::read(word)?))
        }
        _ => None,
    }
}

/// Returns the address of a server's page.
pub(super) fn server(base: &str, id: &ServerId) -> String {
    format!(
        "{base}/s/{}/{}",
        path_segment(&id.plugin),
        path_segment(&id.name)
    )
}

/// Returns the address of the page that asks about all servers of a plugin.
pub(super) fn plugin(base: &str, plugin: &str) -> String {
    format!("{base}/p/{}", path_segment(plugin))
}

/// Returns the address of a tool's page.
pub(super) fn tool(base: &str, id: &ServerId, tool: &str) -> String {
    format!("{}/tool/{}", server(base, id), path_segment(tool))
}

/// Returns the address by which a call that waits is answered.
pub(super) fn answer(base: &str) -> String {
    format!("{base}/answer")
}

/// Returns the address of a client's page.
pub(super) fn client(base: &str, name: &str) -> String {
    format!("{base}/clients/{}", path_segment(name))
}

/// Returns the address by which something is done to a server.
pub(super) fn act(base: &str, id: &ServerId, action: Action) -> String {
    format!("{}/{}", server(base, id), action.as_str())
}

const SESSION_PREFIX: &str = "/dashboard/at/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_the_way_through_an_address() {
        for name in ["docs", "a/b", "..", "%2F", "ü €", "a b?c#d&e=f", "\"><x"] {
            let id = ServerId {
                plugin: name.to_owned(),
                name: name.to_owned(),
            };
            assert_eq!(
                find(&server("", &id)),
                Some(DashboardRoute::Server(id.clone())),
                "{name}"
            );
            let path = plugin("", name);
            assert_eq!(find(&path), Some(DashboardRoute::Plugin(name.to_owned())));
            let path = tool("", &id, name);
            assert_eq!(
                find(&path),
                Some(DashboardRoute::Tool(id.clone(), name.to_owned()))
            );
            let path = act("", &id, Action::SignOut);
            assert_eq!(find(&path), Some(DashboardRoute::Act(id, Action::SignOut)));
        }
    }

    #[test]
    fn other_paths_do_not_belong_to_the_dashboard() {
        for path in ["/mcp", "/dashboardx", "/metrics", "/healthz", "//"] {
            assert!(!is_own(path), "{path}");
        }
        for path in [
            "/dashboard",
            "/dashboard/",
            "/dashboard/s/a/b",
            "/dashboard/at/x",
        ] {
            assert!(is_own(path) && outside(path).is_none(), "{path}");
            assert!(split(path).is_none(), "{path}");
        }
        for path in ["", "/s/a", "/s/a/b/c", "/enter/x", "/link"] {
            assert_eq!(find(path), None, "{path}");
        }
        let path = format!("{}/s/a/b", base("room"));
        assert_eq!(split(&path), Some(("room", "/s/a/b")));
    }
}
