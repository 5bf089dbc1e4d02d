//! Answers of the dashboard, with what keeps a page from being anything else than itself.

use futures_util::stream::poll_fn;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use keyway_secret::Secret;
use keyway_transport::Reply;

use super::html::{Html, html};

/// Answers with a page.
pub(super) fn page(status: StatusCode, html: Html) -> Reply {
    guarded(status, "text/html; charset=utf-8").body(html.into_string())
}

/// Sends a browser that a link let in to its own pages.
pub(super) fn entered(base: &str) -> Reply {
    let html = html!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={}/\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>Welcome – Keyway</title>\n</head>\n\
         <body><p><a href=\"{}/\">Continue to the dashboard</a></p></body>\n</html>\n",
        base,
        base,
    );
    page(StatusCode::OK, html)
}

/// Answers with a file of ours.
pub(super) fn asset(kind: &'static str, text: &'static str) -> Reply {
    guarded(StatusCode::OK, kind).body(text)
}

/// Answers with a line of text.
pub(super) fn plain(status: StatusCode, text: impl Into<bytes::Bytes>) -> Reply {
    guarded(status, "text/plain; charset=utf-8").body(text)
}

/// Sends a browser to another page of ours.
pub(super) fn see(path: &str) -> Reply {
    let reply = guarded(StatusCode::SEE_OTHER, "text/plain; charset=utf-8");
    match HeaderValue::from_str(path) {
        Ok(path) => reply.header(LOCATION, path),
        Err(_) => reply.header(LOCATION, HeaderValue::from_static("/")),
    }
}

/// Gives a browser its cookie for what lies below `base`; an empty one takes it away.
pub(super) fn with_cookie(
    reply: Reply,
    (name, base): (&str, &str),
    value: Option<&Secret<String>>,
) -> Reply {
    let text = match value {
        Some(value) => {
            let value = value.expose();
            format!("{name}={value}; Path={base}/; HttpOnly; SameSite=Strict")
        }
        None => format!("{name}=; Path={base}/; HttpOnly; SameSite=Strict; Max-Age=0"),
    };
    match HeaderValue::from_str(&text) {
        Ok(mut value) => {
            value.set_sensitive(true);
            reply.header(SET_COOKIE, value)
        }
        Err(_) => reply,
    }
}

/// Begins a stream of events.
pub(super) fn events(mut pieces: tokio::sync::mpsc::Receiver<bytes::Bytes>) -> Reply {
    guarded(StatusCode::OK, "text/event-stream")
        .pieces(poll_fn(move |context| pieces.poll_recv(context)))
}

fn guarded(status: StatusCode, kind: &'static str) -> Reply {
    let mut reply = Reply::new(status);
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // Without any, browsers would send our own forms with `Origin: null`.
        (REFERRER_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
        (RESOURCE_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
    ] {
        reply = reply.header(name, HeaderValue::from_static(value));
    }
    reply
}

/// Nothing from other origins, nothing inline, no framing; images may be part of a page.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
