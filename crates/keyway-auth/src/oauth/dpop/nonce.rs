//! Nonces that servers hand out, one per origin (RFC 9449 sections 8 and 9).

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use http::HeaderValue;
use url::Url;

/// The last nonce of each of the last 16 origins.
#[derive(Default)]
pub(crate) struct Nonces {
    /// Held for one look or one change. Two answers that race leave either nonce; a server that
    /// wants the other one says so, and the request is repeated once.
    known: Mutex<VecDeque<(String, String)>>,
}

impl Nonces {
    /// Returns the last nonce of the origin of an address.
    pub(crate) fn get(&self, url: &Url) -> Option<String> {
        let origin = url.origin().ascii_serialization();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(other, _)| *other == origin);
        found.map(|(_, nonce)| nonce.clone())
    }

    /// Keeps a nonce that came from an address; says whether it is one, and a new one.
    ///
    /// A request that lacked a nonce is worth repeating only if so.
    pub(crate) fn learn(&self, url: &Url, value: &HeaderValue) -> bool {
        let Some(nonce) = read(value) else {
            return false;
        };
        let origin = url.origin().ascii_serialization();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.iter().position(|(other, _)| *other == origin);
        let before = before.and_then(|position| known.remove(position));
        let is_new = before.is_none_or(|(_, before)| before != nonce);
        known.push_front((origin, nonce.to_owned()));
        known.truncate(MAX_ORIGINS);
        is_new
    }
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nonces").finish_non_exhaustive()
    }
}

/// Reads a nonce: visible ASCII but `"` and `\` (RFC 9449 section 8.1), and not too long.
pub(super) fn read(value: &HeaderValue) -> Option<&str> {
    let text = value.to_str().ok()?;
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    let is_nonce = (1..=MAX_NONCE).contains(&text.len()) && text.bytes().all(is_allowed);
    is_nonce.then_some(text)
}

pub(super) const MAX_ORIGINS: usize = 16;
pub(super) const MAX_NONCE: usize = 1024;
