//! What the sign-in of an entry is bound to, as the entry and the person's settings for its source
//! say. The person stands above the entry.

use keyway_auth::oauth::{Endpoints, ResourceRule, SignInBinding};
use keyway_config::resolve::RemoteSpec;

use crate::settings::{Grant, Resource, ServerOAuth};

/// Returns what decides which sign-in is an entry's. `own` is what the person says of the server,
/// which counts for one source of the plugin.
pub(super) fn binding(own: Option<&ServerOAuth>, remote: &RemoteSpec) -> SignInBinding {
    let mut bound = SignInBinding::default();
    bound.client = entry_text(remote, "clientId").map(str::to_owned);
    bound.endpoints = endpoints(remote);
    bound.resource = resource(own, remote);
    if let Some(own) = own {
        bound.client = own.client.id.clone().or(bound.client);
        bound.issuer.clone_from(&own.issuer);
        bound.grant = match own.grant {
            Some(Grant::ClientCredentials) => Some("client-credentials"),
            Some(Grant::WorkloadIdentity) => Some("workload-identity"),
            Some(Grant::IdJag) => Some("id-jag"),
            // By a page or by a code: a person agrees either way.
            _ => None,
        };
    }
    bound
}

/// Returns where an entry says that the endpoints are.
pub(crate) fn endpoints(remote: &RemoteSpec) -> Endpoints {
    let url = |name| entry_text(remote, name).and_then(|text| text.parse().ok());
    if let (Some(authorization), Some(token)) = (url("authorizationUrl"), url("tokenUrl")) {
        return Endpoints::Fixed {
            authorization,
            token,
        };
    }
    match url("authServerMetadataUrl") {
        Some(url) => Endpoints::Metadata(url),
        None => Endpoints::Discovered,
    }
}

/// Returns what is to be sent as `resource`.
pub(crate) fn resource(own: Option<&ServerOAuth>, remote: &RemoteSpec) -> ResourceRule {
    let own = own.and_then(|own| own.resource.as_ref());
    match (own, entry_text(remote, "resource")) {
        (Some(Resource::Omit), _) | (None, Some("omit")) => ResourceRule::Omit,
        (Some(Resource::Use(name)), _) => ResourceRule::Exactly(name.clone()),
        (None, Some(name)) => ResourceRule::Exactly(name.to_owned()),
        (None, None) => ResourceRule::Declared,
    }
}

/// Returns a member of an entry's `oauth`.
pub(crate) fn entry_text<'a>(remote: &'a RemoteSpec, name: &str) -> Option<&'a str> {
    let found = remote.oauth.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.value().expose().as_str())
}
