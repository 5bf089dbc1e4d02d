//! What a carrier does when the process that handed it something is gone.

use super::engine::Ports;
use super::sent_request::SentRequest;
use super::{refresh, sign_in};
use crate::ports::Carried;

/// Stores the tokens that the last request of a process brought, which is gone; ends its claim, or
/// records what became of it. Goes on until the store has taken it.
///
/// `sent` is the last request; `None` if none was sent, and then a claim is given back.
///
/// Cancel safety: dropping the future loses tokens that are not stored yet.
pub async fn settle(carried: &Carried, sent: Option<SentRequest>, ports: Ports) {
    match carried.claim {
        Some(claim) => refresh::settle(carried, claim, sent, ports).await,
        None => sign_in::settle(carried, sent, ports).await,
    }
}
