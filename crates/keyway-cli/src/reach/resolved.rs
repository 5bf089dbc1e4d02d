//! What a resolved entry comes to, in one line: names only.

use keyway_config::declared::DeclaredServer;
use keyway_config::environment::Scope;
use keyway_config::resolve::ServerSpec;
use keyway_config::usage;

/// Says how a server is reached and authenticated to, and which variables feed it.
pub(super) fn resolved(server: &DeclaredServer, spec: &ServerSpec, scope: &Scope<'_>) -> String {
    let names = usage::names(server).into_iter();
    let variables: Vec<String> = names
        .map(|name| {
            let state = if scope.is_set(name) { "set" } else { "not set" };
            format!("{name} is {state}")
        })
        .collect();
    let variables = if variables.is_empty() {
        "no variables".to_owned()
    } else {
        variables.join(", ")
    };
    let (transport, method) = (spec.transport.as_str(), spec.method.as_str());
    format!("transport {transport}, method {method}; {variables}")
}
