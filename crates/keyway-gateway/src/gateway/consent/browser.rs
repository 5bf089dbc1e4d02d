//! A browser, told apart from others by a cookie.

use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use keyway::store::seal::Context;
use keyway_secret::random::{self, NoRandomness};
use keyway_secret::{Secret, hex};
use keyway_transport::Reply;

/// A browser that began a sign-in here.
#[derive(Debug)]
pub(super) struct Browser(Secret<String>);

impl Browser {
    /// A browser that was not here before.
    pub(super) fn new() -> Result<Self, NoRandomness> {
        random::token().map(Self)
    }

    /// Reads the cookie of a request to the gateway at `origin`; `None` without one, or with two.
    pub(super) fn of(headers: &HeaderMap, origin: &str) -> Option<Self> {
        let lines = headers.get_all(COOKIE).iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';'));
        let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
        let mut ours = pairs.filter(|(name, _)| *name == cookie_name(origin));
        let (_, value) = ours.next().filter(|_| ours.next().is_none())?;
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_ours = value.len() == COOKIE_LENGTH && value.bytes().all(is_allowed);
        is_ours.then(|| Self(Secret::new(value.to_owned())))
    }

    /// Returns what a sign-in that it began is told by.
    pub(super) fn digest(&self) -> String {
        let place = Context::new("browser of a consent").text(self.0.expose());
        hex::write(&place.digest())
    }

    /// Gives the browser its cookie, for as long as its sign-ins may last.
    pub(super) fn remembered_by(&self, reply: Reply, origin: &str) -> Reply {
        match HeaderValue::from_str(self.cookie(origin).expose()) {
            Ok(mut value) => {
                value.set_sensitive(true);
                reply.header(SET_COOKIE, value)
            }
            Err(_) => reply,
        }
    }

    fn cookie(&self, origin: &str) -> Secret<String> {
        let secure = if is_encrypted(origin) { "; Secure" } else { "" };
        let (name, value) = (cookie_name(origin), self.0.expose());
        // `Lax`: the browser comes back from pages of other sites.
        Secret::new(format!(
            "{name}={value}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Lax{secure}"
        ))
    }
}

/// With the prefix no other host of the domain can set it (RFC 6265bis section 4.1.3.2); without
/// encryption, which is on this machine alone, browsers refuse it.
fn cookie_name(origin: &str) -> &'static str {
    if is_encrypted(origin) {
        "__Host-keyway-browser"
    } else {
        "keyway-browser"
    }
}

fn is_encrypted(origin: &str) -> bool {
    origin.starts_with("https://")
}

/// That of a random token.
const COOKIE_LENGTH: usize = 43;
const COOKIE_SECONDS: u64 = 3600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_bound_to_the_host_wherever_it_is_encrypted() {
        let set = |origin| {
            let browser = Browser(Secret::new("A".repeat(43)));
            browser.cookie(origin).expose().clone()
        };
        let text = set("https://gateway.example");
        assert!(text.starts_with("__Host-keyway-browser=AAAA"), "{text}");
        for word in ["Path=/;", "HttpOnly", "SameSite=Lax", "Secure"] {
            assert!(text.contains(word), "{text}");
        }
        assert!(!text.contains("Domain"), "{text}");
        let text = set("http://127.0.0.1:5399");
        assert!(text.starts_with("keyway-browser=AAAA"), "{text}");
        assert!(!text.contains("Secure"), "{text}");
    }

    #[test]
    fn only_one_cookie_of_ours_is_a_browser() {
        let of = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, line.parse().unwrap());
            }
            Browser::of(&headers, "https://gateway.example").map(|it| it.digest())
        };
        let (one, other) = ("A".repeat(43), "B".repeat(43));
        let name = "__Host-keyway-browser";
        let found = of(&[&format!("a=b; {name}={one}")]).unwrap();
        assert_eq!(of(&["x=y", &format!("{name}={one}")]), Some(found.clone()));
        assert_ne!(of(&[&format!("{name}={other}")]), Some(found));
        for lines in [
            vec![],
            vec![format!("{name}={one}; {name}={other}")],
            vec![format!("{name}={one}"), format!("{name}={one}")],
            vec![format!("keyway-browser={one}")],
            vec![format!("{name}={one}A")],
            vec![format!("{name}={}!", "A".repeat(42))],
            vec![format!("{name}=")],
        ] {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert_eq!(of(&lines), None, "{lines:?}");
        }
    }
}
