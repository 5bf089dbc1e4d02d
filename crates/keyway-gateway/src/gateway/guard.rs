//! Which requests the gateway accepts at all: neither a page of another origin nor a request for
//! another host name may reach it (threat B6).

use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Uri};
use keyway_transport::Peer;

/// By which name a request reached us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    /// By a name that leads to this machine from itself, or by the socket.
    Local,
    /// By the public address of the settings.
    Public,
}

/// Says by which name a request reached us; `None` if by none of ours, or from a foreign page.
/// `public` is the origin of the public address, if there is one.
pub(super) fn door(
    peer: Peer,
    (uri, headers): (&Uri, &HeaderMap),
    public: Option<&str>,
) -> Option<Door> {
    if peer == Peer::SameUser {
        // No browser gets to a socket file, and no name leads there.
        return (!headers.contains_key(ORIGIN)).then_some(Door::Local);
    }
    if let Peer::Loopback { port } = peer {
        let is_page = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some_and(|host| is_host(host, port))
        };
        if names(uri, headers, |host| is_host(host, port)) && is_from(headers, is_page) {
            return Some(Door::Local);
        }
    }
    // A proxy on this machine passes requests for the public address on.
    let public = public?;
    let (scheme, authority) = public.split_once("://")?;
    let is_public = |host: &str| {
        let usual = if scheme == "https" { ":443" } else { ":80" };
        let bare = host.strip_suffix(usual).unwrap_or(host);
        bare.eq_ignore_ascii_case(authority)
    };
    let is_page = |origin: &str| origin.eq_ignore_ascii_case(public);
    (names(uri, headers, is_public) && is_from(headers, is_page)).then_some(Door::Public)
}

/// Says whether everything that names the host of a request names one of ours.
fn names(uri: &Uri, headers: &HeaderMap, is_ours: impl Fn(&str) -> bool) -> bool {
    let authority = uri.authority().map(|authority| authority.as_str());
    let has_host = headers.contains_key(HOST);
    match (authority, has_host) {
        (None, false) => false,
        (authority, has_host) => {
            authority.is_none_or(&is_ours)
                && (!has_host || only(headers, &HOST).is_some_and(&is_ours))
        }
    }
}

/// Says whether a request is from no page, or from one of ours.
fn is_from(headers: &HeaderMap, is_ours: impl Fn(&str) -> bool) -> bool {
    !headers.contains_key(ORIGIN) || only(headers, &ORIGIN).is_some_and(is_ours)
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
        let found = door(GUEST, (&uri.parse().unwrap(), &headers), None);
        found == Some(Door::Local)
    }

    #[test]
    fn b6_the_public_address_is_us_by_its_own_name_alone() {
        let judge = |peer, pairs: &[(HeaderName, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(name, value.parse().unwrap());
            }
            door(
                peer,
                (&"/mcp".parse().unwrap(), &headers),
                Some("https://gateway.example"),
            )
        };
        for host in ["gateway.example", "GATEWAY.example", "gateway.example:443"] {
            assert_eq!(judge(GUEST, &[(HOST, host)]), Some(Door::Public), "{host}");
        }
        for host in [
            "evil.example",
            "gateway.example:80",
            "gateway.example:5399",
            "gateway.example.evil.example",
            "a.gateway.example",
            "a@gateway.example",
            "",
        ] {
            assert_eq!(judge(GUEST, &[(HOST, host)]), None, "{host}");
        }
        let local = judge(GUEST, &[(HOST, "localhost:5399")]);
        assert_eq!(local, Some(Door::Local));
        let with = |origin| judge(GUEST, &[(HOST, "gateway.example"), (ORIGIN, origin)]);
        assert_eq!(with("https://gateway.example"), Some(Door::Public));
        for origin in ["http://gateway.example", "https://evil.example", "null"] {
            assert_eq!(with(origin), None, "{origin}");
        }
        // One name, and a page of the other.
        let mixed = [
            (HOST, "localhost:5399"),
            (ORIGIN, "https://gateway.example"),
        ];
        assert_eq!(judge(GUEST, &mixed), None);
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
