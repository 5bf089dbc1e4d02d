//! Requests and answers as the servers need them, on the transport's HTTP server.

use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use keyway_transport::{BodyError, Inbound, Reply, Upgrade};
use serde_json::Value;
use url::form_urlencoded;

/// A request, read to its end.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    /// The connection, if the answer changes its protocol.
    pub(super) upgrade: Option<Upgrade>,
    pub(super) body: String,
    query: String,
}

#[cfg(test)]
impl Request {
    /// Makes a request that says nothing but headers.
    pub(super) fn with_headers(headers: &[(&str, &str)]) -> Self {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, value.parse().unwrap());
        }
        Self {
            upgrade: None,
            method: Method::POST,
            path: "/mcp".to_owned(),
            headers: map,
            body: String::new(),
            query: String::new(),
        }
    }
}

impl Request {
    /// Reads a request; the error is the status to answer with.
    pub(super) async fn read(mut inbound: Inbound) -> Result<Self, StatusCode> {
        let length = inbound.headers.get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > MAX_BODY_BYTES) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let upgrade = Some(inbound.on_upgrade());
        let body = inbound.body().await.map_err(|error| match error {
            BodyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        })?;
        if body.len() > MAX_BODY_BYTES {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Ok(Self {
            method: inbound.method,
            path: inbound.uri.path().to_owned(),
            query: inbound.uri.query().unwrap_or_default().to_owned(),
            headers: inbound.headers,
            upgrade,
            body: String::from_utf8(body.into()).map_err(|_| StatusCode::BAD_REQUEST)?,
        })
    }

    /// Returns a header that is there once.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let only = values.next().filter(|_| values.next().is_none())?;
        only.to_str().ok()
    }

    /// Returns a parameter of the query, or nothing.
    pub(super) fn parameter(&self, name: &str) -> String {
        value_of(&self.query, name)
    }

    /// Returns a field of the form in the body, or nothing.
    pub(super) fn field(&self, name: &str) -> String {
        value_of(&self.body, name)
    }
}

/// Returns a value that is there once.
fn value_of(encoded: &str, name: &str) -> String {
    let pairs = form_urlencoded::parse(encoded.as_bytes());
    let mut found = pairs.filter(|(key, _)| key == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => value.into_owned(),
        _ => String::new(),
    }
}

/// Makes an answer without a body.
pub(super) fn empty(status: StatusCode) -> Reply {
    Reply::new(status)
}

/// Makes an answer with a body of some kind.
pub(super) fn whole(status: StatusCode, kind: &'static str, body: String) -> Reply {
    with(empty(status), CONTENT_TYPE, kind).body(body)
}

/// Makes an answer of JSON that must not be cached.
pub(super) fn json(status: StatusCode, body: &Value) -> Reply {
    let answer = whole(status, "application/json", body.to_string());
    with(answer, CACHE_CONTROL, "no-store")
}

/// Adds a header; a value that fits into none is left out.
pub(super) fn with(answer: Reply, name: HeaderName, value: &str) -> Reply {
    match HeaderValue::from_str(value) {
        Ok(value) => answer.header(name, value),
        Err(_) => answer,
    }
}

const MAX_BODY_BYTES: usize = 64 * 1024;
