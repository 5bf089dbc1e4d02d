//! Which request a message of the server belongs to, as far as the message says so.

use keyway_transport::{Envelope, Raw};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Where a message belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RelatedRequest {
    /// To the request with this progress token, as written.
    Progress(Box<str>),
    /// To the subscription with this id, as written.
    Subscription(Box<str>),
    /// To no request.
    Unrelated,
    /// To a request, but it does not say which.
    Unspecified,
}

impl RelatedRequest {
    pub(super) fn of(envelope: &Envelope<'_>) -> Self {
        let method = envelope.method.as_deref().unwrap_or_default();
        let params = envelope.params.map_or("{}", Raw::get);
        let params: Params<'_> = serde_json::from_str(params).unwrap_or_default();
        let meta = params.meta.map(RawValue::get);
        let meta = meta.and_then(|meta| serde_json::from_str::<Meta<'_>>(meta).ok());
        if let Some(id) = meta.and_then(|meta| meta.subscription) {
            return Self::Subscription(id.get().into());
        }
        match (method, params.token) {
            ("notifications/progress", Some(token)) => Self::Progress(token.get().into()),
            ("notifications/resources/updated", _) => Self::Unrelated,
            (method, _) if method.ends_with("/list_changed") => Self::Unrelated,
            _ => Self::Unspecified,
        }
    }
}

/// Returns the token under which progress of a request is told, as written.
pub(in crate::gateway) fn progress_token(envelope: &Envelope<'_>) -> Option<Box<str>> {
    let params: Params<'_> = serde_json::from_str(envelope.params?.get()).ok()?;
    let meta: Meta<'_> = serde_json::from_str(params.meta?.get()).ok()?;
    Some(meta.token?.get().into())
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, rename = "progressToken")]
    token: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    token: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use keyway_transport::Frame;

    use super::*;

    #[test]
    fn messages_say_where_they_belong() {
        for (text, expected) in [
            (
                r#"{"method":"notifications/progress","params":{"progressToken":"a","progress":1}}"#,
                RelatedRequest::Progress("\"a\"".into()),
            ),
            (
                r#"{"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#,
                RelatedRequest::Subscription("7".into()),
            ),
            (
                r#"{"method":"notifications/tools/list_changed"}"#,
                RelatedRequest::Unrelated,
            ),
            (
                r#"{"method":"notifications/resources/updated","params":{"uri":"x:y"}}"#,
                RelatedRequest::Unrelated,
            ),
            (
                r#"{"id":1,"method":"sampling/createMessage","params":{}}"#,
                RelatedRequest::Unspecified,
            ),
            (
                r#"{"method":"notifications/message","params":{"data":1}}"#,
                RelatedRequest::Unspecified,
            ),
        ] {
            let frame = Frame::new(text).unwrap();
            assert_eq!(
                RelatedRequest::of(&frame.envelope().unwrap()),
                expected,
                "{text}"
            );
        }
    }
}
