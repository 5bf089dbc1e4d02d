//! What a sign-out needs of an entry: who is signed in, which its address and headers tell, and
//! what shows the authorization server that it is us. All else may be missing.

use keyway_config::declared::{DeclaredServer, Endpoint, OAuth};
use keyway_config::resolve::ResolveError;

/// Returns an entry that nobody approved without the one thing of it that a sign-out would send;
/// the variable behind it is not even read.
pub(super) fn spared(server: &DeclaredServer) -> DeclaredServer {
    let mut spared = server.clone();
    if let Endpoint::Remote(remote) = &mut spared.endpoint
        && let OAuth::Configured(fields) = &mut remote.oauth
    {
        fields.strings.retain(|field| field.name != SECRET);
    }
    spared
}

/// An entry without what could not be filled in.
#[derive(Debug)]
pub(super) struct Reduced {
    /// What is left of it.
    pub(super) server: DeclaredServer,
    /// The variables that the proof of the client comes from, and that are not set.
    pub(super) missing: Vec<String>,
}

impl Reduced {
    /// Leaves out every field of `errors` that a sign-out can go without.
    pub(super) fn new(server: &DeclaredServer, errors: &[ResolveError]) -> Self {
        let fails = |pointer: &_| {
            errors
                .iter()
                .any(|error| error.location.pointer == *pointer)
        };
        let mut server = server.clone();
        let mut missing: Vec<String> = Vec::new();
        server.env.retain(|field| !fails(&field.value.pointer));
        if let Endpoint::Remote(remote) = &mut server.endpoint
            && let OAuth::Configured(fields) = &mut remote.oauth
        {
            for field in fields.strings.iter().filter(|it| is_proof(&it.name)) {
                let of_field = errors
                    .iter()
                    .filter(|it| it.location.pointer == field.value.pointer);
                let unset = of_field.filter_map(ResolveError::unset_variable);
                missing.extend(unset.map(str::to_owned));
            }
            missing.dedup();
            fields.scopes.retain(|field| !fails(&field.pointer));
            if fields.strings.iter().any(|it| fails(&it.value.pointer)) {
                // Where tokens are revoked was learned when somebody signed in.
                fields.strings.retain(|it| is_proof(&it.name));
                fields.strings.retain(|it| !fails(&it.value.pointer));
            }
            // The secret of nobody is no proof.
            if fields.get(CLIENT).is_none() {
                fields.strings.clear();
            }
        }
        Self { server, missing }
    }
}

fn is_proof(name: &str) -> bool {
    matches!(name, CLIENT | SECRET)
}

const CLIENT: &str = "clientId";
const SECRET: &str = "clientSecret";
