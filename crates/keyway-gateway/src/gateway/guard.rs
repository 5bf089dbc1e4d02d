//! Which requests the gateway accepts at all: neither a page of another origin nor a request for
//! another host name may reach it (threat B6).

use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Uri};
use keyway_transport::Peer;

/// Says whether a request names us and comes from no foreign page.
pub(super) fn is_ours(peer: Peer, uri: &Uri, headers: &HeaderMap) -> bool {
    let Peer::Loopback { port } = peer else {
        // No browser gets to a socket file, and no name leads there.
        return !headers.contains_key(ORIGIN);
    };
    let authority = uri.authority().map(|authority| authority.as_str());
    let has_host = headers.contains_key(HOST);
    let names_us = match (authority, has_host) {
        (None, false) => false,
        (authority, has_host) => {
            authority.is_none_or(|authority| is_host(authority, port))
                && (!has_host || only(headers, &HOST).is_some_and(|host| is_host(host, port)))
        }
    };
    names_us && has_no_foreign_origin(headers, port)
}

fn has_no_foreign_origin(headers: &HeaderMap, port: u16) -> bool {
    if !headers.contains_key(ORIGIN) {
        return true;
    }
    let host = only(headers, &ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
    host.is_some_and(|host| is_host(host, port))
}

fn is_host(text: &str, port: u16) -> bool {
    let is_name = |host: &str| NAMES.iter().any(|name| name.eq_ignore_ascii_case(host));
    match text.rsplit_once(':') {
        Some((host, digits)) if is_name(host) => digits.parse() == Ok(port),
        _ => port == HTTP_PORT && is_name(text),
    }
}

/// Returns the value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
const HTTP_PORT: u16 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: Peer = Peer::Loopback { port: 5399 };

    fn judge(uri: &str, pairs: &[(HeaderName, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value.parse().unwrap());
        }
        is_ours(GUEST, &uri.parse().unwrap(), &headers)
    }

    #[test]
    fn b6_only_our_own_names_with_our_port_are_us() {
        for host in [
            "127.0.0.1:5399",
            "localhost:5399",
            "LOCALHOST:5399",
            "[::1]:5399",
        ] {
            assert!(judge("/mcp", &[(HOST, host)]), "{host}");
        }
        for host in [
            "evil.test",
            "evil.test:5399",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:53990",
            "127.0.0.1.evil.test:5399",
            "localhost.evil.test:5399",
            "evil@127.0.0.1:5399",
            "0.0.0.0:5399",
            "::1:5399",
            "[::1]",
            "",
        ] {
            assert!(!judge("/mcp", &[(HOST, host)]), "{host}");
        }
        assert!(!judge("/mcp", &[]));
        let twice = [(HOST, "localhost:5399"), (HOST, "evil.test")];
        assert!(!judge("/mcp", &twice));
    }

    #[test]
    fn b6_the_authority_of_a_whole_address_counts_as_well() {
        assert!(judge("http://localhost:5399/mcp", &[]));
        assert!(!judge("http://evil.test/mcp", &[]));
        assert!(!judge("http://evil.test/mcp", &[(HOST, "localhost:5399")]));
        assert!(!judge("http://localhost:5399/mcp", &[(HOST, "evil.test")]));
    }

    #[test]
    fn b6_a_foreign_page_is_turned_away() {
        let with = |origin| judge("/mcp", &[(HOST, "localhost:5399"), (ORIGIN, origin)]);
        assert!(with("http://localhost:5399"));
        assert!(with("http://127.0.0.1:5399"));
        for origin in [
            "null",
            "https://localhost:5399",
            "http://localhost:3000",
            "http://evil.test",
            "http://localhost:5399.evil.test",
            "",
        ] {
            assert!(!with(origin), "{origin}");
        }
    }
}
