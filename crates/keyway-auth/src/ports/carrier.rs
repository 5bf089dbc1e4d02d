//! Exchanges that outlive the process that began them.
//!
//! A client that ends its bridge kills it within half a second, in the middle of an exchange if it
//! comes to that. So the request of a refresh can be handed, together with its claim, to a carrier:
//! a process that no client knows of. The exchange of a code, for which a person was asked, is
//! handed over in the same way; it has no claim.
//!
//! ```text
//!   process                                carrier
//!   claim ── take ──────────────────────▶  adopts the claim
//!   build the request ── send ──────────▶  sends it, waits for the answer, keeps a copy
//!   read the answer ◀─────────────────────
//!   commit, or end the claim ── end ────▶  ends
//!        ╳ dies anywhere, or is dropped ▶  commits, or ends the claim, by what it has
//! ```

use std::fmt::Debug;
use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::{ClaimId, GrantKey};

use super::http::{HttpFailure, HttpRequest, HttpResponse};
use crate::future::BoxFuture;

/// Takes claims over, so that their exchanges survive the end of this process.
pub trait ExchangeCarrier: Send + Sync + Debug {
    /// Hands a claim or a new sign-in over, before its first request: when this returns something,
    /// it belongs to the carrier.
    ///
    /// `None` if that did not succeed. Then it need not be known which of both has the claim; the
    /// caller gives it back, and sends its request by itself under another.
    ///
    /// Cancel safety: as for `None`: it is not known which of both has the claim. A carrier that
    /// took it ends it when it finds that its caller is gone.
    fn take(&self, carried: Carried) -> BoxFuture<'_, Option<Arc<dyn CarriedExchange>>>;
}

/// A claim or a new sign-in that a carrier owns. Dropping this leaves it to the carrier to end the
/// claim, or to store the sign-in.
pub trait CarriedExchange: Send + Sync + Debug {
    /// Sends a request and waits for its answer, as long as [`exchange`](crate::oauth::exchange)
    /// does. `details` go with the tokens if the carrier has to store them.
    ///
    /// # Errors
    ///
    /// Returns why there is no answer.
    ///
    /// Cancel safety: the carrier still waits for the answer, and stores the tokens in it once the
    /// exchange itself is dropped. No other request may be sent on it: it could get this answer.
    fn send(
        &self,
        details: Secret<Vec<u8>>,
        request: HttpRequest,
    ) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>>;

    /// Tells the carrier that the claim has ended or the sign-in is stored, so that nothing is left
    /// for it to do.
    ///
    /// Cancel safety: a carrier that was not told looks at the store, and finds that the claim has
    /// ended.
    fn end(&self) -> BoxFuture<'_, ()>;
}

/// A claim on a refresh token, or a new sign-in that is about to be exchanged for tokens, with
/// everything that ends it properly.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Carried {
    /// Of which sign-in.
    pub grant: GrantKey,
    /// The claim; a new sign-in has none.
    pub claim: Option<ClaimId>,
    /// What [`settle`](crate::oauth::settle) needs to know besides; a refresh token is in it.
    pub state: Secret<Vec<u8>>,
}

impl Carried {
    /// Puts it together again on the carrier's side.
    #[must_use]
    pub const fn new(grant: GrantKey, claim: Option<ClaimId>, state: Secret<Vec<u8>>) -> Self {
        Self {
            grant,
            claim,
            state,
        }
    }
}
