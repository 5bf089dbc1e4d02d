//! A claim in the hands of a carrier: what the process that made it sends along, and how the
//! carrier ends it if that process is gone.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::{ClaimId, Fingerprint, Generation, GrantKey};
use serde::{Deserialize, Serialize};
use url::Url;

use super::Claimed;
use super::claiming::OwnClaim;
use crate::error::OAuthError;
use crate::oauth::client::Origin;
use crate::oauth::details::Details;
use crate::oauth::engine::{OAuthEngine, Ports, Server};
use crate::oauth::secret_serde;
use crate::oauth::sent_request::SentRequest;
use crate::oauth::settings::Settings;
use crate::ports::{Carried, CarriedExchange, ExchangeCarrier};
use crate::timeouts::{COMMIT_FIRST_PAUSE, COMMIT_MAX_PAUSE};

impl OAuthEngine {
    /// Hands a claim to the carrier, if that takes it.
    pub(super) async fn carry(
        &self,
        claimed: &Claimed<'_>,
        carrier: &dyn ExchangeCarrier,
    ) -> Option<Arc<dyn CarriedExchange>> {
        let state = CarriedState {
            server: self.server.name.clone(),
            url: self.server.url.clone(),
            generation: claimed.generation.get(),
            details: claimed.before.clone(),
            refresh: Some(claimed.claim.refresh.clone()),
            fingerprint: *claimed.claim.fingerprint.as_bytes(),
            is_configured: claimed.origin == Origin::Configured,
        };
        let id = claimed.claim.id();
        let claim = Carried::new(self.server.key.clone(), Some(id), state.encode());
        carrier.take(claim).await
    }
}

/// Ends a claim whose process is gone.
pub(in crate::oauth) async fn settle(
    carried: &Carried,
    claim: ClaimId,
    sent: Option<SentRequest>,
    ports: Ports,
) {
    let Some(state) = CarriedState::decode(&carried.state) else {
        return;
    };
    let engine = state.engine(carried.grant.clone(), ports);
    let refresh = state.refresh.clone();
    let refresh = refresh.unwrap_or_else(|| Secret::new(String::new()));
    let fingerprint = Fingerprint::new(state.fingerprint);
    let now = engine.clock.monotonic();
    let own = OwnClaim::carried(claim, refresh, fingerprint, now);
    let claimed = Claimed {
        generation: Generation::new(state.generation),
        before: &state.details,
        stored: None,
        claim: &own,
        first: None,
        origin: state.origin(),
    };
    let mut pause = COMMIT_FIRST_PAUSE;
    while engine.settle_sent(&claimed, sent.as_ref()).await.is_err() {
        engine.tasks.sleep(pause).await;
        pause = (pause * 2).min(COMMIT_MAX_PAUSE);
    }
}

impl OAuthEngine {
    /// Fails if the claim could not be ended.
    async fn settle_sent(
        &self,
        claimed: &Claimed<'_>,
        sent: Option<&SentRequest>,
    ) -> Result<(), OAuthError> {
        let Some(sent) = sent else {
            return self.release(claimed.claim).await;
        };
        let details = Details::decode(sent.details.expose());
        let details = details.unwrap_or_else(|| claimed.before.clone());
        let asked = self.read_answer(&details, sent);
        self.settle(claimed, &details, asked).await.map(drop)
    }
}

/// What ending a claim needs besides the claim: it travels from one process of ours to another.
#[derive(Debug, Serialize, Deserialize)]
struct CarriedState {
    server: String,
    url: Url,
    generation: i64,
    details: Details,
    #[serde(with = "secret_serde")]
    refresh: Option<Secret<String>>,
    fingerprint: [u8; 32],
    is_configured: bool,
}

impl CarriedState {
    fn encode(&self) -> Secret<Vec<u8>> {
        Secret::new(serde_json::to_vec(self).unwrap_or_default())
    }

    fn decode(bytes: &Secret<Vec<u8>>) -> Option<Self> {
        serde_json::from_slice(bytes.expose()).ok()
    }

    const fn origin(&self) -> Origin {
        if self.is_configured {
            Origin::Configured
        } else {
            Origin::Stored
        }
    }

    /// Returns an engine that can end claims and nothing else: it knows no settings.
    fn engine(&self, key: GrantKey, ports: Ports) -> OAuthEngine {
        let server = Server {
            name: self.server.clone(),
            url: self.url.clone(),
            key,
        };
        OAuthEngine::new(server, Settings::default(), ports)
    }
}
