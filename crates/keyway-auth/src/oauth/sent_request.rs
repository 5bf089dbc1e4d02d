//! A request that a carrier has sent for a process, and what its answer says.

use keyway_secret::Secret;

use super::details::Details;
use super::engine::OAuthEngine;
use super::token::{self, Issued, Wanted};
use super::wire::Answer;
use crate::error::{OAuthError, RequestTarget};
use crate::ports::{HttpFailure, HttpResponse};

/// A request that a carrier has sent for a process.
#[derive(Debug)]
#[non_exhaustive]
pub struct SentRequest {
    pub(super) details: Secret<Vec<u8>>,
    answer: Result<HttpResponse, HttpFailure>,
}

impl SentRequest {
    /// `details` as [`CarriedExchange::send`](crate::ports::CarriedExchange::send) got them, and
    /// what came back.
    #[must_use]
    pub const fn new(details: Secret<Vec<u8>>, answer: Result<HttpResponse, HttpFailure>) -> Self {
        Self { details, answer }
    }
}

impl OAuthEngine {
    /// Reads the answer as the process would have.
    pub(super) fn read_answer(
        &self,
        details: &Details,
        sent: &SentRequest,
    ) -> Result<Issued, OAuthError> {
        let what = RequestTarget::Token;
        let response = sent.answer.as_ref().map_err(|failure| OAuthError::Http {
            what,
            failure: failure.clone(),
        })?;
        match self.wire.answer(what, response)? {
            Answer::Document(document) => {
                let wanted = Wanted::new(details.keep(), &details.issuer, &details.client_id);
                token::read(what, &document, details.dpop().is_some(), wanted)
            }
            Answer::Refused(refusal) => Err(OAuthError::refused(&details.issuer, refusal)),
        }
    }
}
