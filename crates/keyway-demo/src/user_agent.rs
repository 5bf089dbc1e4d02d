//! A person without hands: reads the consent page, presses its button, goes where it leads.
//!
//! It follows what the page says, not what this crate knows about it. Loopback and plain HTTP only.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::timeouts::PAGE_TIMEOUT;
use keyway::connect::BoxFuture;
use keyway::sign_in::{ConsentQuestion, InteractionError, Presenter, Typed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use url::{Host, Url, form_urlencoded};

/// Agrees to every consent page on this machine.
#[derive(Debug)]
pub struct UserAgent {
    /// Why the last page led nowhere; a caller that waits for its answer then stops.
    failure: watch::Sender<Option<String>>,
}

impl Default for UserAgent {
    fn default() -> Self {
        Self {
            failure: watch::Sender::new(None),
        }
    }
}

impl Presenter for UserAgent {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let url = question.url.clone();
        let failure = self.failure.clone();
        failure.send_replace(None);
        drop(tokio::spawn(async move {
            if let Err(error) = agree(url).await {
                failure.send_replace(Some(error.to_string()));
            }
        }));
        Ok(())
    }

    fn typed(&self) -> BoxFuture<'_, Result<Typed, InteractionError>> {
        let mut failure = self.failure.subscribe();
        Box::pin(async move {
            // The sender lives as long as `self`, so this ends with a failure or never.
            match failure.wait_for(Option::is_some).await {
                Ok(why) => Err(InteractionError::Listener {
                    why: why.clone().unwrap_or_default(),
                }),
                Err(_) => Err(InteractionError::Cancelled),
            }
        })
    }
}

/// Opens a page, presses its button if it has one, and follows redirects.
async fn agree(mut url: Url) -> io::Result<()> {
    let mut body = None;
    for _ in 0..MAX_PAGES {
        let answer = timeout(PAGE_TIMEOUT, ask(&url, body.take()));
        let answer = answer.await.unwrap_or_else(|_| {
            let seconds = PAGE_TIMEOUT.as_secs();
            Err(io::Error::other(format!("no answer within {seconds} s")))
        });
        let answer = answer.map_err(|error| at(&url, &error))?;
        let unreadable = || at(&url, &"not an HTTP response");
        let (head, html) = answer.split_once("\r\n\r\n").ok_or_else(unreadable)?;
        let next = |target: &str| url.join(target).map_err(|error| at(&url, &error));
        if let Some(location) = header(head, "location") {
            url = next(location)?;
        } else if let Some(form) = Form::of(html) {
            url = next(&form.action)?;
            body = Some(form.fields);
        } else {
            return Ok(());
        }
    }
    Err(at(&url, &"too many redirects"))
}

/// Says at which page something went wrong; its query holds a code and is not shown.
fn at(url: &Url, why: &dyn std::fmt::Display) -> io::Error {
    let origin = url.origin().ascii_serialization();
    io::Error::other(format!("`{origin}{}`: {why}", url.path()))
}

/// Sends a request, a form if there is one, and reads the answer to its end.
async fn ask(url: &Url, form: Option<String>) -> io::Result<String> {
    let elsewhere = || io::Error::other("this is not plain HTTP on this machine");
    let addresses = loopback_addresses(url).ok_or_else(elsewhere)?;
    let (host, port) = (url.host_str().unwrap_or_default(), url.port());
    let port = port.ok_or_else(elsewhere)?;
    let mut stream = TcpStream::connect(addresses.as_slice()).await?;
    let query = url.query().map(|query| format!("?{query}"));
    let target = format!("{}{}", url.path(), query.unwrap_or_default());
    let head = format!("host: {host}:{port}\r\naccept: text/html\r\nconnection: close\r\n");
    let request = match form {
        None => format!("GET {target} HTTP/1.1\r\n{head}\r\n"),
        Some(form) => format!(
            "POST {target} HTTP/1.1\r\n{head}origin: {}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            url.origin().ascii_serialization(),
            form.len()
        ),
    };
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_PAGE_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Returns where a plain HTTP address on this machine leads; `None` for any other.
///
/// `localhost` is loopback without asking a resolver (RFC 6761 §6.3): a container without
/// `/etc/hosts` has none that knows it, and browsers do the same.
fn loopback_addresses(url: &Url) -> Option<Vec<SocketAddr>> {
    let addresses: Vec<IpAddr> = match url.host()? {
        Host::Domain("localhost") => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Host::Ipv4(address) if address.is_loopback() => vec![address.into()],
        Host::Ipv6(address) if address.is_loopback() => vec![address.into()],
        _ => return None,
    };
    let port = url.port().filter(|_| url.scheme() == "http")?;
    let addresses = addresses.into_iter();
    Some(addresses.map(|it| SocketAddr::new(it, port)).collect())
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
}

/// The form of a page, filled in as it is.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    action: String,
    fields: String,
}

impl Form {
    fn of(html: &str) -> Option<Self> {
        let (_, form) = html.split_once("<form ")?;
        let (form, _) = form.split_once("</form>")?;
        let action = attribute(form, "action")?;
        let mut fields = form_urlencoded::Serializer::new(String::new());
        for input in form.split("<input ").skip(1) {
            fields.append_pair(attribute(input, "name")?, attribute(input, "value")?);
        }
        Some(Self {
            action: action.to_owned(),
            fields: fields.finish(),
        })
    }
}

/// Returns an attribute of the tag with which `text` begins.
fn attribute<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (tag, _) = text.split_once('>')?;
    let (_, value) = tag.split_once(&format!("{name}=\""))?;
    value.split_once('"').map(|(value, _)| value)
}

const MAX_PAGES: usize = 8;
const MAX_PAGE_BYTES: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use keyway_secret::Secret;

    use super::*;

    #[test]
    fn a_form_is_sent_as_it_stands_on_the_page() {
        let html = r#"<p>Sure?</p><form method="post" action="/consent">
            <input type="hidden" name="question" value="a b&c"><button>Allow</button></form>"#;
        let form = Form::of(html).unwrap();
        assert_eq!(form.action, "/consent");
        assert_eq!(form.fields, "question=a+b%26c");
        assert_eq!(Form::of("<h1>You are signed in</h1>"), None);
    }

    #[test]
    fn localhost_is_loopback_without_a_resolver() {
        let url = Url::parse("http://localhost:7/callback").unwrap();
        let addresses = loopback_addresses(&url).unwrap();
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["127.0.0.1:7", "[::1]:7"]);
    }

    #[tokio::test]
    async fn a_page_that_leads_nowhere_ends_the_wait_and_names_the_page() {
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let agent = UserAgent::default();
        let page = Url::parse(&format!("http://{address}/authorize?code=c-1")).unwrap();
        let question = ConsentQuestion::new(page, Secret::new("state".to_owned()));
        agent.show(&question).unwrap();
        let why = agent.typed().await.unwrap_err().to_string();
        assert!(
            why.contains(&format!("http://{address}/authorize")),
            "{why}"
        );
        assert!(!why.contains("c-1"), "{why}");
    }

    #[tokio::test]
    async fn no_page_leads_away_from_this_machine() {
        for away in [
            "https://127.0.0.1:1/",
            "http://192.0.2.1:80/",
            "http://localhost.example:80/",
        ] {
            let url = Url::parse(away).unwrap();
            let error = ask(&url, None).await.unwrap_err();
            assert!(
                error.to_string().contains("this machine"),
                "{away}: {error}"
            );
        }
    }
}
