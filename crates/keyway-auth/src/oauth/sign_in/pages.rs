//! Pages that a browser is sent to: which may be opened, and which a person is asked about first.

use url::Url;

use crate::endpoint::{Endpoint, EndpointError, for_browser, is_loopback};
use crate::error::{OAuthError, RequestTarget, shown};
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::ServerMetadata;
use crate::oauth::settings::Endpoints;
use crate::ports::ForeignPage;

impl OAuthEngine {
    /// Makes a page fit to be opened; a server elsewhere may not point a browser at this machine.
    pub(super) fn page_for_person(
        &self,
        what: RequestTarget,
        page: &Url,
    ) -> Result<Url, OAuthError> {
        let why = if is_loopback(page) && !is_loopback(&self.server.url) {
            EndpointError::ThisMachine
        } else {
            match for_browser(page) {
                Ok(page) => return Ok(page),
                Err(why) => why,
            }
        };
        Err(OAuthError::Endpoint { what, why })
    }

    /// Asks the person about a page that is neither the issuer's nor that of the host which gets
    /// what they agree to there (threat E9): a server of a plugin could send them to another's
    /// page, and get the code for it.
    pub(super) async fn confirm_page(
        &self,
        server: &ServerMetadata,
        page: &Url,
    ) -> Result<(), OAuthError> {
        // Both were named when the entry was approved.
        if matches!(self.settings.endpoints, Endpoints::Fixed { .. }) {
            return Ok(());
        }
        let is_of = |url: &Url| url.origin() == page.origin();
        let token = server.token_endpoint.as_ref();
        // A document that only claims to be the issuer's may send what the issuer's page gives out
        // anywhere.
        let is_issuers = self.is_issuers_word(server)
            && Url::parse(&server.issuer).is_ok_and(|issuer| is_of(&issuer));
        if is_issuers || token.is_some_and(is_of) {
            return Ok(());
        }
        let (host, issuer) = (issuer_host(page.as_str()), issuer_host(&server.issuer));
        let redeemer = token.map_or_else(|| issuer.clone(), |url| issuer_host(url.as_str()));
        let name = self.server.name.clone();
        let foreign = ForeignPage::new(name, host.clone(), issuer.clone(), redeemer);
        let is_wanted = match self.person.available() {
            Some(interaction) => interaction.confirm_page(foreign).await,
            None => false,
        };
        if is_wanted {
            return Ok(());
        }
        Err(OAuthError::ForeignPage { issuer, page: host })
    }
}

/// Returns the host of an address in ASCII, which cannot be mistaken for another.
pub(super) fn issuer_host(issuer: &str) -> String {
    match Endpoint::parse(issuer) {
        Ok(endpoint) => match endpoint.url().port() {
            Some(port) => format!("{}:{port}", endpoint.host()),
            None => endpoint.host().to_owned(),
        },
        Err(_) => shown(issuer),
    }
}
