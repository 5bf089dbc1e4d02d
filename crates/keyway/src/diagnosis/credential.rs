//! Which variables and headers a credential that was refused is made of.
//!
//! Values are read and never shown; what is told of them is which variable they came from.

use keyway_auth::CredentialFlaw;
use keyway_code::Code;
use keyway_config::headers::is_credential_header;
use keyway_config::resolve::{RemoteSpec, ServerSpec, SpecEndpoint};
use keyway_config::source::Location;
use keyway_lint::secrets::is_credential_name;

use crate::health::now;

/// A header that carries a credential, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fed {
    /// The header.
    pub(super) header: String,
    /// The variables that it is made of.
    pub(super) variables: Vec<String>,
    /// What is wrong with it.
    pub(super) flaw: Option<CredentialFlaw>,
    /// Where the entry has it.
    location: Location,
}

/// Looks at every credential that a server is sent; those with a flaw come first.
pub(super) fn credentials(remote: &RemoteSpec, now: i64) -> Vec<Fed> {
    let headers = remote.headers.iter();
    let credentials = headers.filter(|(name, _)| is_credential_header(name));
    let mut found: Vec<Fed> = credentials
        .map(|(name, value)| Fed {
            header: name.clone(),
            variables: value.variables(),
            flaw: CredentialFlaw::of(name, value.value(), now),
            location: value.location().clone(),
        })
        .collect();
    found.sort_by_key(|fed| fed.flaw.is_none());
    found
}

/// Returns where the entry has the credential that a server refused; `None` if `code` says that
/// something else is wrong.
pub(super) fn refused_at(spec: &ServerSpec, code: Code) -> Option<Location> {
    let is_credential = matches!(
        code,
        Code::AuthRejected
            | Code::TokenExpired
            | Code::TokenPlaceholder
            | Code::WhitespaceInValue
            | Code::WrongHeaderFormat
    );
    let SpecEndpoint::Remote(remote) = &spec.endpoint else {
        return None;
    };
    let first = credentials(remote, now()).into_iter().next();
    first.filter(|_| is_credential).map(|fed| fed.location)
}

/// Returns the variables that feed the credential of a server: those of its headers, or those of its
/// environment that are named like credentials.
#[must_use]
pub fn credential_variables(spec: &ServerSpec) -> Vec<String> {
    let fed: Vec<String> = match &spec.endpoint {
        SpecEndpoint::Remote(remote) => {
            let headers = remote.headers.iter();
            let credentials = headers.filter(|(name, _)| is_credential_header(name));
            credentials
                .flat_map(|(_, value)| value.variables())
                .collect()
        }
        _ => {
            let declared = spec.env.iter();
            let fed = declared.flat_map(|(name, value)| {
                let named = value.variables().into_iter();
                named.filter(|found| is_credential_name(found) || is_credential_name(name))
            });
            fed.collect()
        }
    };
    let mut distinct: Vec<String> = Vec::new();
    for name in fed {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}
