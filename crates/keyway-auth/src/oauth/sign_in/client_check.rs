//! The client that needs no registration: whose it is, and where its secret may be sent.

use url::Url;

use crate::error::{OAuthError, shown};
use crate::oauth::client::{Client, Origin};
use crate::oauth::details::Details;
use crate::oauth::discovery::is_issuers_word;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::ServerMetadata;
use crate::oauth::registration::{configured, given};
use crate::oauth::settings::{ClientOwner, ClientProof, Endpoints, GrantKind, Settings};

impl OAuthEngine {
    /// Returns the client that needs no registration, if there is one.
    ///
    /// Credentials from the configuration that name no issuer belong to the first that they were
    /// used with: a server that points elsewhere later does not get them sent there. Signing out
    /// frees them.
    pub(super) async fn given_client(
        &self,
        server: &ServerMetadata,
    ) -> Result<Option<Client>, OAuthError> {
        let client = given(&self.settings, server)?;
        let settings = &self.settings;
        if let Some(client) = &client {
            self.check_persons_client(server)?;
            self.check_secret_destination(server, client)?;
        }
        let is_named = settings.issuer.is_some()
            || !matches!(settings.endpoints, Endpoints::Discovered)
            || settings
                .issuers
                .iter()
                .any(|(name, _)| *name == server.issuer);
        let ours = client.as_ref().filter(|it| it.origin == Origin::Configured);
        let Some(ours) = ours.filter(|_| !is_named) else {
            return Ok(client);
        };
        let stored = self.grant.read().await?;
        let before = stored.and_then(|grant| Details::decode(grant.details.expose()));
        let is_other = |before: &Details| {
            let is_same_client = before.client_id == ours.id;
            before.issuer != server.issuer
                && (is_same_client || matches!(settings.grant, GrantKind::Workload(_)))
        };
        match before.filter(is_other) {
            Some(before) => Err(OAuthError::ClientOfOther {
                issuer: shown(&before.issuer),
                found: shown(&server.issuer),
            }),
            None => Ok(client),
        }
    }

    /// Refuses to use a client of the person's at a token endpoint that is the entry's word: it
    /// gets the code and the client's secret, and on the issuer's origin it may be where any user
    /// of the issuer can put a page.
    fn check_persons_client(&self, server: &ServerMetadata) -> Result<(), OAuthError> {
        let client = configured(&self.settings, server).map(|client| &client.owner);
        let Some(ClientOwner::Person { token_endpoint }) = client else {
            return Ok(());
        };
        match &server.token_endpoint {
            Some(found)
                if !self.is_issuers_word(server) && token_endpoint.as_deref() != Some(found) =>
            {
                Err(OAuthError::EndpointOfEntry {
                    issuer: shown(&server.issuer),
                    found: shown(found.as_str()),
                })
            }
            _ => Ok(()),
        }
    }

    /// Refuses to send the secret of an entry's client to an origin that nothing the person has
    /// agreed to names: the approval says which authorization server gets it, and its metadata may
    /// put the token endpoint anywhere, and elsewhere tomorrow.
    fn check_secret_destination(
        &self,
        server: &ServerMetadata,
        client: &Client,
    ) -> Result<(), OAuthError> {
        let settings = &self.settings;
        let has_secret = matches!(
            client.proof,
            ClientProof::Secret(_) | ClientProof::SecretFrom(_)
        );
        // The person named the issuer, which may have its token endpoint elsewhere; a document that
        // only claims to be the issuer's may not.
        let is_persons = settings.issuer.is_some()
            || settings.issuers.iter().any(|(it, _)| *it == server.issuer);
        let is_named = matches!(settings.endpoints, Endpoints::Fixed { .. })
            || (is_persons && self.is_issuers_word(server));
        let Some(token) = &server.token_endpoint else {
            return Ok(());
        };
        if !has_secret || is_named || client.origin != Origin::Configured {
            return Ok(());
        }
        let issuer = Url::parse(&server.issuer);
        if issuer.is_ok_and(|issuer| issuer.origin() == token.origin()) {
            return Ok(());
        }
        Err(OAuthError::SecretElsewhere {
            issuer: shown(&server.issuer),
            found: shown(&token.origin().ascii_serialization()),
        })
    }

    /// Says whether what is known of an authorization server is its own word.
    pub(super) fn is_issuers_word(&self, server: &ServerMetadata) -> bool {
        let Settings {
            endpoints,
            issuer_exceptions,
            ..
        } = &self.settings;
        is_issuers_word(endpoints, issuer_exceptions, &server.issuer)
    }
}
