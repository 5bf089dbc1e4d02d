//! Clients that were registered beforehand, and the proof that a request comes from one of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use url::{Host, Url, form_urlencoded};

use super::confidential::SecretMethod;
use super::settings::Settings;
use crate::http::{Answer, Request};

/// Returns the methods to advertise: one's own for each client, and `none` for all others.
pub(super) fn methods(settings: &Settings) -> Vec<&'static str> {
    let mut methods = vec!["none"];
    for client in settings.clients.values() {
        if !methods.contains(&client.method.as_str()) {
            methods.push(client.method.as_str());
        }
    }
    methods
}

/// Says whether a client of these settings may be answered at an address: any port of this machine
/// (RFC 8252 section 7.3).
pub(super) fn knows(settings: &Settings, client: &str, redirect_uri: &Url) -> bool {
    let is_here = match redirect_uri.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    is_here && redirect_uri.scheme() == "http" && settings.clients.contains_key(client)
}

/// Returns the client; one with a secret has to show it by its own method, and only by that.
pub(super) fn authenticate(request: &Request, settings: &Settings) -> Result<String, Answer> {
    let named = request.field("client_id");
    let in_body = request.field("client_secret");
    let in_header = match request.header("authorization") {
        Some(header) => Some(basic(header).ok_or_else(refused)?),
        None => None,
    };
    let (client, shown) = match (in_header, in_body) {
        (Some(_), Some(_)) => return Err(refused()),
        (Some((client, _)), None) if named.as_ref().is_some_and(|named| *named != client) => {
            return Err(refused());
        }
        (Some((client, secret)), None) => (client, Some((SecretMethod::ClientSecretBasic, secret))),
        (None, Some(secret)) => {
            let shown = (SecretMethod::ClientSecretPost, secret);
            (named.unwrap_or_default(), Some(shown))
        }
        (None, None) => (named.unwrap_or_default(), None),
    };
    let expected = settings.clients.get(&client);
    let expected = expected.map(|known| (known.method, known.secret.clone()));
    if shown == expected {
        Ok(client)
    } else {
        Err(refused())
    }
}

/// Reads `Basic`, both parts of which are encoded as in a form.
fn basic(header: &str) -> Option<(String, String)> {
    let encoded = header.strip_prefix("Basic ")?;
    let pair = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (client, secret) = pair.split_once(':')?;
    Some((decoded(client)?, decoded(secret)?))
}

/// Takes the form's encoding off one word.
fn decoded(word: &str) -> Option<String> {
    if word.contains(['&', '=']) {
        return None;
    }
    let mut pairs = form_urlencoded::parse(word.as_bytes());
    Some(
        pairs
            .next()
            .map_or_else(String::new, |(word, _)| word.into_owned()),
    )
}

/// RFC 6749 section 5.2.
fn refused() -> Answer {
    Answer::json(401, &json!({ "error": "invalid_client" }))
        .with("www-authenticate", r#"Basic realm="rig""#)
}
