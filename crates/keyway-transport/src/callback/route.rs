//! Which requests are the answer, and what the others get.

use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Request};
use keyway_auth::ports::Callback;
use keyway_secret::Secret;

use super::address::CallbackAddress;
use super::page::Page;
use super::redirect::read_query;

/// The one answer that is waited for.
#[derive(Debug)]
pub(super) struct CallbackRoute {
    path: String,
    /// How a browser names us in `Host`.
    hosts: Vec<String>,
    state: Secret<String>,
}

impl CallbackRoute {
    pub(super) fn new(place: &CallbackAddress, state: Secret<String>) -> Self {
        let port = place.port;
        let names = ["localhost", "127.0.0.1", "[::1]"];
        let mut hosts: Vec<_> = names.map(|name| format!("{name}:{port}")).to_vec();
        if port == HTTP_PORT {
            hosts.extend(names.map(str::to_owned));
        }
        Self {
            path: place.path.clone(),
            hosts,
            state,
        }
    }

    /// Decides about a request, and returns what it brought if it is the answer.
    pub(super) fn handle<B>(&self, request: &Request<B>) -> (Page, Option<Callback>) {
        let (uri, headers) = (request.uri(), request.headers());
        let names_us = uri
            .authority()
            .is_none_or(|authority| self.is_host(authority.as_str()));
        if !names_us || !self.has_our_host(headers) || !self.has_no_foreign_origin(headers) {
            return (Page::Forbidden, None);
        }
        if *request.method() != Method::GET {
            return (Page::WrongMethod, None);
        }
        if uri.path() != self.path {
            return (Page::NotFound, None);
        }
        match read_query(uri.query().unwrap_or_default(), &self.state) {
            Ok(callback) if callback.code.is_some() => (Page::SignedIn, Some(callback)),
            Ok(callback) => (Page::Refused, Some(callback)),
            Err(_) => (Page::Malformed, None),
        }
    }

    /// A name that was pointed at this machine by its owner's resolver is not ours.
    fn has_our_host(&self, headers: &HeaderMap) -> bool {
        only(headers, &HOST).is_some_and(|host| self.is_host(host))
    }

    fn has_no_foreign_origin(&self, headers: &HeaderMap) -> bool {
        if !headers.contains_key(ORIGIN) {
            return true;
        }
        let host = only(headers, &ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        host.is_some_and(|host| self.is_host(host))
    }

    fn is_host(&self, text: &str) -> bool {
        self.hosts
            .iter()
            .any(|host| host.eq_ignore_ascii_case(text))
    }
}

/// Returns the value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

const HTTP_PORT: u16 = 80;
