//! What a sign-in belongs to besides the address of its server: where to sign in, as which client
//! and for what, as far as an entry or the person says so.
//!
//! Two entries that agree in all of it share one sign-in; others have one each. So a plugin that
//! gives itself another plugin's name cannot leave a sign-in of its own in the other's place, whose
//! token endpoint would then get what belongs to the other's: its client secret, its refresh token.

use keyway_store::Grant;
use ring::digest::{Context, SHA256};
use url::Url;

use super::details::Details;
use super::settings::{Endpoints, ResourceRule};

/// What decides which sign-in is an entry's. The default is that of an entry that says nothing: all
/// of it is found out by asking the server.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SignInBinding {
    /// The identifier of a client that was registered beforehand.
    pub client: Option<String>,
    /// Where the endpoints are.
    pub endpoints: Endpoints,
    /// The issuer that the person chose.
    pub issuer: Option<String>,
    /// What is sent as `resource`.
    pub resource: ResourceRule,
    /// The grant by which tokens are obtained without a person's consent, by its registered or usual
    /// name: what an administrator decides is not mixed with what a person agreed to.
    pub grant: Option<&'static str>,
}

impl SignInBinding {
    /// Returns a name for it that gives nothing away; empty if nothing is decided.
    ///
    /// Scopes are not part of it: a sign-in gets more of them while it lasts. Nor is the secret of
    /// a client, which is rotated.
    #[must_use]
    pub fn name(&self) -> String {
        let Self {
            client,
            endpoints,
            issuer,
            resource,
            grant,
        } = self;
        let mut parts: Vec<(&str, &str)> = Vec::new();
        parts.extend(client.as_deref().map(|id| ("client", id)));
        match endpoints {
            Endpoints::Discovered => {}
            Endpoints::Metadata(at) => parts.push(("metadata", at.as_str())),
            Endpoints::Fixed {
                authorization,
                token,
            } => {
                parts.push(("authorization", authorization.as_str()));
                parts.push(("token", token.as_str()));
            }
            Endpoints::Issuer(issuer) => parts.push(("provider", issuer)),
        }
        parts.extend(issuer.as_deref().map(|issuer| ("issuer", issuer)));
        match resource {
            ResourceRule::Declared => {}
            ResourceRule::Omit => parts.push(("without resource", "")),
            ResourceRule::Exactly(name) => parts.push(("resource", name)),
        }
        parts.extend(grant.map(|grant| ("grant", grant)));
        if parts.is_empty() {
            return String::new();
        }
        let mut hash = Context::new(&SHA256);
        for text in parts.into_iter().flat_map(|(name, value)| [name, value]) {
            hash.update(&text.len().to_le_bytes());
            hash.update(text.as_bytes());
        }
        let hash = hash.finish();
        hash.as_ref().iter().map(|it| format!("{it:02x}")).collect()
    }

    /// Says whether a stored sign-in was obtained as this says: by the same client, where the same
    /// issuer or endpoint gave it out. For a sign-in from before its binding was part of its key.
    #[must_use]
    pub fn is_of(&self, grant: &Grant) -> bool {
        let Some(details) = Details::decode(grant.details.expose()) else {
            return false;
        };
        let is_client = self
            .client
            .as_ref()
            .is_none_or(|id| *id == details.client_id);
        let is_issuer = self.issuer.as_ref().is_none_or(|it| *it == details.issuer);
        let is_there = match &self.endpoints {
            Endpoints::Discovered => true,
            Endpoints::Fixed { token, .. } => *token == details.token_endpoint,
            Endpoints::Metadata(at) => {
                let issuer = Url::parse(&details.issuer);
                issuer.is_ok_and(|issuer| issuer.origin() == at.origin())
                    || details.token_endpoint.origin() == at.origin()
            }
            Endpoints::Issuer(issuer) => *issuer == details.issuer,
        };
        let is_resource = match &self.resource {
            ResourceRule::Declared => true,
            ResourceRule::Omit => details.resource.is_none(),
            ResourceRule::Exactly(name) => details.resource.as_ref() == Some(name),
        };
        is_client && is_issuer && is_there && is_resource
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn fixed(token: &str) -> Endpoints {
        Endpoints::Fixed {
            authorization: at("https://as.example/authorize"),
            token: at(token),
        }
    }

    #[test]
    fn nothing_decided_has_no_name_and_each_decision_another() {
        let plain = SignInBinding::default;
        assert_eq!(plain().name(), "");
        let client = |id: &str| SignInBinding {
            client: Some(id.to_owned()),
            ..plain()
        };
        let endpoints = |endpoints| SignInBinding {
            endpoints,
            ..plain()
        };
        let resource = |resource| SignInBinding {
            resource,
            ..plain()
        };
        let all = [
            client("one"),
            client("other"),
            endpoints(fixed("https://as.example/token")),
            endpoints(fixed("https://as.example/other")),
            endpoints(Endpoints::Metadata(at("https://as.example/token"))),
            endpoints(Endpoints::Issuer("https://as.example".to_owned())),
            SignInBinding {
                issuer: Some("https://as.example".to_owned()),
                ..plain()
            },
            resource(ResourceRule::Omit),
            resource(ResourceRule::Exactly("one".to_owned())),
            SignInBinding {
                grant: Some("id-jag"),
                ..plain()
            },
            SignInBinding {
                resource: ResourceRule::Omit,
                ..client("one")
            },
        ];
        let mut names: Vec<String> = all.iter().map(SignInBinding::name).collect();
        assert!(names.iter().all(|name| name.len() == 64), "{names:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert_eq!(client("one").name(), client("one").name());
    }
}
