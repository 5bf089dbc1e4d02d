//! A new sign-in in the hands of a carrier: what the process that asked the person sends along, and
//! how the carrier stores the tokens if that process is gone.
//!
//! ```text
//!   answer ──no tokens──▶ nothing to do
//!     │ tokens
//!     ▼
//!   what is stored ──as it was at the hand-over──▶ store, until that succeeds
//!     │ another generation, or none any more
//!     ▼
//!   the process stored these before it ended, or the person did something since: it stays, and the
//!   refresh token is remembered for the sign-out
//! ```

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::{Generation, Grant, GrantKey, GrantStore};
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Prepared, tokens};
use crate::error::OAuthError;
use crate::oauth::client::Client;
use crate::oauth::details::Details;
use crate::oauth::engine::{OAuthEngine, Ports, Server};
use crate::oauth::sent_request::SentRequest;
use crate::oauth::settings::Settings;
use crate::oauth::token::Issued;
use crate::oauth::wire::Wire;
use crate::ports::{Carried, CarriedExchange};
use crate::timeouts::{COMMIT_FIRST_PAUSE, COMMIT_MAX_PAUSE};

impl OAuthEngine {
    /// Returns the wire by which a code is redeemed: through a carrier, if one takes the sign-in.
    pub(super) async fn carried_wire(
        &self,
        prepared: &Prepared,
        client: &Client,
    ) -> Result<(Wire, Option<Arc<dyn CarriedExchange>>), OAuthError> {
        let Some(carrier) = &self.carrier else {
            return Ok((self.wire.clone(), None));
        };
        let stored = self.grant.read().await?;
        let state = CarriedState {
            server: self.server.name.clone(),
            url: self.server.url.clone(),
            over: generation(stored.as_ref()).map(Generation::get),
        };
        let sign_in = Carried::new(self.server.key.clone(), None, state.encode());
        let Some(carried) = carrier.take(sign_in).await else {
            return Ok((self.wire.clone(), None));
        };
        let details = self.details(prepared, client)?.encode();
        let wire = self.wire.carried_by(Arc::clone(&carried), details);
        Ok((wire, Some(carried)))
    }
}

/// Stores the tokens of a sign-in whose process is gone.
pub(in crate::oauth) async fn settle(carried: &Carried, sent: Option<SentRequest>, ports: Ports) {
    let state = CarriedState::decode(&carried.state);
    let (Some(state), Some(sent)) = (state, sent) else {
        return;
    };
    let Some(details) = Details::decode(sent.details.expose()) else {
        return;
    };
    let engine = state.engine(carried.grant.clone(), ports);
    // A code that was refused, or whose answer was lost, is of no use to any process.
    let Ok(issued) = engine.read_answer(&details, &sent) else {
        return;
    };
    let details = details.issued(&issued);
    let over = state.over.map(Generation::new);
    let mut pause = COMMIT_FIRST_PAUSE;
    while engine.store_over(over, &details, &issued).await.is_err() {
        engine.tasks.sleep(pause).await;
        pause = (pause * 2).min(COMMIT_MAX_PAUSE);
    }
}

impl OAuthEngine {
    /// Stores a sign-in in place of what was stored when it was begun; what has replaced that since
    /// stays. It may be these very tokens, renewed already, whose predecessors must not be put back.
    ///
    /// Fails if it cannot be said what is stored.
    async fn store_over(
        &self,
        over: Option<Generation>,
        details: &Details,
        issued: &Issued,
    ) -> Result<(), OAuthError> {
        // The process may have got as far as that.
        let settle = |store: &dyn GrantStore, key: &GrantKey| store.settle_journal(key);
        self.grant.with(settle).await?;
        let mut stored = self.grant.read().await?;
        let mut claim = None;
        if generation(stored.as_ref()) == over {
            // From here on no process renews what is replaced; one that did was waited for.
            let refresh = issued.refresh.as_ref();
            claim = self.remember_before_replacing(refresh).await;
            stored = self.grant.read().await?;
        }
        if generation(stored.as_ref()) == over {
            // This ends the claim.
            let tokens = tokens(issued).with_details(details.encode());
            self.store_sign_in_at_length(&tokens, over).await;
            self.required_scopes.clear().await;
            return Ok(());
        }
        if let Some(claim) = claim {
            let release = |store: &dyn GrantStore, key: &GrantKey, claim| store.release(key, claim);
            self.end_claim(claim, release).await?;
        }
        let is_ours = stored.is_some_and(|grant| grant.access.is_same_as(&issued.access));
        if let Some(refresh) = issued.refresh.clone().filter(|_| !is_ours) {
            self.replaced_tokens.add(details, refresh).await;
        }
        Ok(())
    }
}

fn generation(stored: Option<&Grant>) -> Option<Generation> {
    stored.map(|grant| grant.generation)
}

/// What storing a sign-in needs besides: it travels from one process of ours to another.
#[derive(Debug, Serialize, Deserialize)]
struct CarriedState {
    server: String,
    url: Url,
    /// What was stored when it was handed over.
    over: Option<i64>,
}

impl CarriedState {
    fn encode(&self) -> Secret<Vec<u8>> {
        Secret::new(serde_json::to_vec(self).unwrap_or_default())
    }

    fn decode(bytes: &Secret<Vec<u8>>) -> Option<Self> {
        serde_json::from_slice(bytes.expose()).ok()
    }

    /// Returns an engine that can store sign-ins and nothing else: it knows no settings.
    fn engine(&self, key: GrantKey, ports: Ports) -> OAuthEngine {
        let server = Server::new(self.server.clone(), self.url.clone(), key);
        OAuthEngine::new(server, Settings::default(), ports)
    }
}
