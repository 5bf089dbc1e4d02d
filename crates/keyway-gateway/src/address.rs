//! Where clients of this machine find the gateway, written down for programs that write their files.
//!
//! A gateway notes its port when it starts. It stands in the folder for data: clients drop
//! `XDG_RUNTIME_DIR` from what their helpers see.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;

use keyway_config::names::path_segment;
use url::Url;

/// The port that a gateway listens on unless it is told otherwise.
pub const DEFAULT_PORT: u16 = 5399;

/// Notes the port that a gateway listens on.
///
/// # Errors
///
/// Returns what the system says; clients then use the port that was noted before.
pub fn record(data: &Path, port: u16) -> io::Result<()> {
    if read(data) == Some(port) {
        return Ok(());
    }
    fs::create_dir_all(data)?;
    let new = data.join(format!("{FILE}.{}", std::process::id()));
    let mut file = File::create(&new)?;
    file.write_all(format!("127.0.0.1:{port}\n").as_bytes())?;
    fs::rename(&new, data.join(FILE))
}

/// Returns the port of the gateway that was started last; `None` if there never was one.
#[must_use]
pub fn read(data: &Path) -> Option<u16> {
    let mut text = String::new();
    let file = File::open(data.join(FILE)).ok()?;
    file.take(64).read_to_string(&mut text).ok()?;
    let address: SocketAddr = text.trim().parse().ok()?;
    Some(address.port())
}

/// Returns the address at which a gateway serves one server.
#[must_use]
pub fn route(port: u16, plugin: &str, server: &str) -> String {
    let (plugin, server) = (path_segment(plugin), path_segment(server));
    format!("http://127.0.0.1:{port}/mcp/{plugin}/{server}")
}

/// Says whether an address is that route, by any name of this machine: a token for the gateway must
/// not go to whatever else listens here.
#[must_use]
pub fn is_route(url: &str, port: u16, plugin: &str, server: &str) -> bool {
    let (Ok(url), Ok(own)) = (Url::parse(url), Url::parse(&route(port, plugin, server))) else {
        return false;
    };
    let is_here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    let is_bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    is_here
        && is_bare
        && url.scheme() == "http"
        && url.port_or_known_default() == Some(port)
        && url.path() == own.path()
}

const FILE: &str = "gateway-address";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_of_the_last_gateway_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), None);
        for port in [5399, 5400, 5400] {
            record(folder.path(), port).unwrap();
            assert_eq!(read(folder.path()), Some(port));
        }
        let mut file = File::create(folder.path().join(FILE)).unwrap();
        file.write_all(b"rubbish").unwrap();
        assert_eq!(read(folder.path()), None);
    }

    #[test]
    fn only_the_servers_own_route_is_its_route() {
        let is = |url: &str| is_route(url, 5399, "own", "my docs");
        assert!(is(&route(5399, "own", "my docs")));
        assert!(is("http://localhost:5399/mcp/own/my%20docs"));
        for url in [
            "http://127.0.0.1:5399/mcp/own/other",
            "http://127.0.0.1:5399/mcp",
            "http://127.0.0.1:6666/mcp/own/my%20docs",
            "http://evil.example:5399/mcp/own/my%20docs",
            "http://127.0.0.1.evil.example:5399/mcp/own/my%20docs",
            "http://u@127.0.0.1:5399/mcp/own/my%20docs",
            "https://127.0.0.1:5399/mcp/own/my%20docs",
            "nonsense",
        ] {
            assert!(!is(url), "{url}");
        }
    }
}
