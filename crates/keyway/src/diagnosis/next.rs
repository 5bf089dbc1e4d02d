//! The commands that a person may run next, with the name of the server in them.

use keyway_config::method::Method;
use keyway_config::resolve::{ServerSpec, SpecEndpoint};

use super::credential::Fed;
use keyway_secret::server_argument;

/// Words the commands that a person may run next.
pub(super) struct Next<'a> {
    /// The server, as it is named on a command line.
    pub(super) server: String,
    /// Whether it is a program on this machine.
    pub(super) is_local: bool,
    /// How it is authenticated to.
    pub(super) method: Method,
    /// The variables whose values the vault keeps.
    pub(super) stored: &'a [String],
}

impl<'a> Next<'a> {
    pub(super) fn about(spec: &ServerSpec, stored: &'a [String]) -> Self {
        Self {
            stored,
            server: server_argument(&spec.name),
            method: spec.method,
            is_local: matches!(spec.endpoint, SpecEndpoint::Local(_)),
        }
    }

    /// Looks once more.
    pub(super) fn again(&self) -> String {
        format!("keyway doctor {}", self.server)
    }

    /// Looks once more, after this many seconds at the earliest.
    pub(super) fn after(&self, seconds: u64) -> String {
        format!("sleep {seconds} && {}", self.again())
    }

    /// A new value for the variables, or for the header where there are none.
    pub(super) fn renew(&self, fed: Option<&Fed>) -> String {
        let again = self.again();
        match fed.and_then(|fed| fed.variables.first()) {
            // The shell's value would go before the one that was kept on purpose.
            Some(name) if self.stored.contains(name) => {
                let server = &self.server;
                format!("set a new value: keyway rotate {server}")
            }
            Some(name) => format!("set a new value: export {name}=…; then {again}"),
            None => format!("put a new value into the entry; then {again}"),
        }
    }

    /// Who can fix a fault of the server itself.
    pub(super) const fn owner(&self) -> &'static str {
        if self.is_local {
            "its author"
        } else {
            "its operator"
        }
    }

    /// What to give to them.
    pub(super) fn evidence(&self) -> String {
        let again = self.again();
        format!(
            "send {} the log that this writes: {again} --debug=transport --debug-file keyway-debug.txt",
            self.owner()
        )
    }
}
