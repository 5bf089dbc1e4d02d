//! The modern era's questions inside a result (multi round-trip requests).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Handler, SessionError};
use crate::splice::{quoted, with_member};

/// What a result asks for before it can be complete.
#[derive(Debug, Deserialize)]
pub(super) struct InputRequired<'a> {
    #[serde(borrow, default, rename = "inputRequests")]
    requests: BTreeMap<String, Question<'a>>,
    #[serde(rename = "requestState")]
    state: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Question<'a> {
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "resultType")]
    result_type: Option<std::borrow::Cow<'a, str>>,
}

/// Returns what a result asks for, or `None` if it is complete.
///
/// # Errors
///
/// A kind of result that this client does not know is invalid (2026-07-28, basic).
pub(super) fn required(result: &RawValue) -> Result<Option<InputRequired<'_>>, SessionError> {
    // Old servers say nothing of the kind, and most results are long: look before parsing.
    if !result.get().contains("resultType") {
        return Ok(None);
    }
    let bad = |_| SessionError::Protocol {
        what: "a result that is not an object",
    };
    let kind: Kind<'_> = serde_json::from_str(result.get()).map_err(bad)?;
    match kind.result_type.as_deref() {
        None | Some("complete") => Ok(None),
        Some("input_required") => {
            let bad = |_| SessionError::Protocol {
                what: "a malformed `input_required`",
            };
            serde_json::from_str(result.get()).map(Some).map_err(bad)
        }
        Some(_) => Err(SessionError::Protocol {
            what: "a result of unknown type",
        }),
    }
}

impl InputRequired<'_> {
    /// Answers every question and returns the parameters of the next try.
    pub(super) async fn answer(
        self,
        handler: &dyn Handler,
        params: &str,
    ) -> Result<String, SessionError> {
        let mut responses = BTreeMap::new();
        for (key, question) in self.requests {
            let answer = handler.pass_on(&question.method, question.params).await?;
            responses.insert(key, answer);
        }
        let mut params = params.to_owned();
        if !responses.is_empty()
            && let Ok(responses) = serde_json::to_string(&responses)
            && let Some(with_responses) = with_member(&params, "inputResponses", &responses)
        {
            params = with_responses;
        }
        if let Some(state) = self.state
            && let Some(with_state) = with_member(&params, "requestState", &quoted(&state))
        {
            params = with_state;
        }
        Ok(params)
    }
}

/// How often a request may come back with questions.
pub(super) const MAX_ROUNDS: usize = 10;
