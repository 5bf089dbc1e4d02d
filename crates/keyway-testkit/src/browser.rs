//! A browser without a screen: it goes where a page sends it and stays on the first that does not.
//!
//! For pages that ask nothing. Loopback and plain HTTP only, bounded in size, time and redirects.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs as _};

use url::{Host, Url};

use crate::PATIENCE;

/// The page on which a visit ended.
#[derive(Debug, Clone)]
pub struct Page {
    /// The status code.
    pub status: u16,
    /// Its address, as the last redirect wrote it.
    pub url: Url,
    /// What it says.
    pub body: String,
}

/// Why a visit ended nowhere.
#[derive(Debug)]
#[non_exhaustive]
pub enum VisitError {
    /// The address is not `http` on this machine.
    Elsewhere(String),
    /// Every page led to another one.
    Circle,
    /// The answer is not HTTP.
    Garbled,
    /// The connection failed.
    Connection(io::Error),
}

impl fmt::Display for VisitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere(url) => write!(f, "`{url}` is not plain HTTP on this machine"),
            Self::Circle => write!(f, "more than {MAX_REDIRECTS} redirects"),
            Self::Garbled => f.write_str("the answer is not HTTP"),
            Self::Connection(_) => f.write_str("the connection failed"),
        }
    }
}

impl std::error::Error for VisitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connection(source) => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for VisitError {
    fn from(source: io::Error) -> Self {
        Self::Connection(source)
    }
}

/// Opens `url`, follows where it leads, and returns the page at the end.
///
/// # Errors
///
/// Returns [`VisitError::Elsewhere`] if an address is not plain HTTP on this machine; a page with
/// an error status is not an error.
pub fn visit(url: &str) -> Result<Page, VisitError> {
    let mut url = Url::parse(url).map_err(|_| VisitError::Elsewhere(url.to_owned()))?;
    for _ in 0..=MAX_REDIRECTS {
        let answer = send(&url, None)?;
        match answer.location {
            Some(location) if (300..400).contains(&answer.status) => {
                let next = url.join(&location);
                url = next.map_err(|_| VisitError::Elsewhere(location))?;
            }
            _ => {
                return Ok(Page {
                    status: answer.status,
                    url,
                    body: answer.body,
                });
            }
        }
    }
    Err(VisitError::Circle)
}

/// Sends the form of a page, as a person does who has filled it in; `fields` are encoded already.
///
/// # Errors
///
/// As [`visit`].
pub fn submit(url: &str, fields: &str) -> Result<Page, VisitError> {
    let url = Url::parse(url).map_err(|_| VisitError::Elsewhere(url.to_owned()))?;
    let answer = send(&url, Some(fields))?;
    Ok(Page {
        status: answer.status,
        url,
        body: answer.body,
    })
}

struct Answer {
    status: u16,
    location: Option<String>,
    body: String,
}

/// Sends a form, or asks for the page where there is none.
fn send(url: &Url, form: Option<&str>) -> Result<Answer, VisitError> {
    let mut stream = connect(url)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let method = if form.is_some() { "POST" } else { "GET" };
    let form = form.unwrap_or_default();
    let length = form.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: {host}:{port}\r\naccept: text/html\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n{form}"
    );
    stream.write_all(request.as_bytes())?;
    let bytes = read(&mut stream)?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").ok_or(VisitError::Garbled)?;
    let status = head
        .strip_prefix("HTTP/1.")
        .and_then(|line| line.split(' ').nth(1)?.parse().ok())
        .ok_or(VisitError::Garbled)?;
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_location = name.eq_ignore_ascii_case("location");
        is_location.then(|| value.trim().to_owned())
    });
    Ok(Answer {
        status,
        location,
        body: body.to_owned(),
    })
}

/// Reads an answer as far as its head says; without a length, to the end.
fn read(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut reader = BufReader::new(stream.take(MAX_BYTES));
    let mut bytes = Vec::new();
    let mut length = None;
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        bytes.extend_from_slice(&line);
        let line = String::from_utf8_lossy(&line).to_ascii_lowercase();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
    }
    let length = length.unwrap_or(MAX_BYTES);
    reader.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Connects to this machine; `localhost` is tried at all of its addresses, as browsers do.
fn connect(url: &Url) -> Result<TcpStream, VisitError> {
    let elsewhere = || VisitError::Elsewhere(url.origin().ascii_serialization());
    if url.scheme() != "http" {
        return Err(elsewhere());
    }
    let port = url.port_or_known_default().unwrap_or_default();
    let addresses: Vec<SocketAddr> = match url.host() {
        Some(Host::Ipv4(address)) => vec![(address, port).into()],
        Some(Host::Ipv6(address)) => vec![(address, port).into()],
        Some(Host::Domain("localhost")) => ("localhost", port).to_socket_addrs()?.collect(),
        _ => return Err(elsewhere()),
    };
    let mut last = None;
    for address in addresses {
        if !address.ip().is_loopback() {
            return Err(elsewhere());
        }
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let none = || io::Error::other(format!("no server listens at {nowhere}"));
    Err(last.unwrap_or_else(none).into())
}

const MAX_REDIRECTS: usize = 10;
const MAX_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers one connection after the other with what is asked to be answered.
    fn serve(answers: Vec<String>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let path = line.split(' ').nth(1).unwrap();
                let answer = answer.replace("PATH", path);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        port
    }

    #[test]
    fn a_visit_ends_where_no_page_leads_on() {
        let last = serve(vec!["HTTP/1.1 200 OK\r\n\r\nat PATH".to_owned()]);
        let next =
            format!("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{last}/cb?code=1\r\n\r\n");
        let near = "HTTP/1.1 303 See Other\r\nlocation: /next?a=b\r\n\r\n".to_owned();
        let first = serve(vec![near, next]);
        let page = visit(&format!("http://localhost:{first}/authorize?x=y")).unwrap();
        assert_eq!(page.status, 200);
        assert_eq!(page.body, "at /cb?code=1");
        assert_eq!(page.url.path(), "/cb");
    }

    #[test]
    fn no_page_leads_away_from_this_machine() {
        for away in [
            "https://127.0.0.1:1/",
            "http://192.0.2.1/",
            "http://x.example/",
            "file:///etc/passwd",
        ] {
            assert!(
                matches!(visit(away), Err(VisitError::Elsewhere(_))),
                "{away}"
            );
            let answer = format!("HTTP/1.1 302 Found\r\nlocation: {away}\r\n\r\n");
            let port = serve(vec![answer]);
            let visited = visit(&format!("http://127.0.0.1:{port}/"));
            assert!(matches!(visited, Err(VisitError::Elsewhere(_))), "{away}");
        }
    }

    #[test]
    fn pages_that_lead_in_a_circle_are_left() {
        let port = serve(vec![
            "HTTP/1.1 302 Found\r\nlocation: /\r\n\r\n".to_owned();
            MAX_REDIRECTS + 1
        ]);
        assert!(matches!(
            visit(&format!("http://127.0.0.1:{port}/")),
            Err(VisitError::Circle)
        ));
    }
}
