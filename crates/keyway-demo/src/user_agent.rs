//! A person without hands: reads the consent page, presses its button, goes where it leads.
//!
//! It follows what the page says, not what this crate knows about it. Loopback and plain HTTP only.

use std::io;
use std::time::Duration;

use keyway::sign_in::{ConsentQuestion, InteractionError, Presenter};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::{Host, Url, form_urlencoded};

/// Agrees to every consent page on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserAgent;

impl Presenter for UserAgent {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let url = question.url.clone();
        // Who asked listens meanwhile, and gives up in time if no answer comes.
        drop(tokio::spawn(async move { agree(url).await }));
        Ok(())
    }
}

/// Opens a page, presses its button if it has one, and follows redirects; `None` where it got lost.
async fn agree(mut url: Url) -> Option<()> {
    let mut body = None;
    for _ in 0..MOST_PAGES {
        let answer = timeout(PATIENCE, ask(&url, body.take())).await.ok()?.ok()?;
        let (head, html) = answer.split_once("\r\n\r\n")?;
        if let Some(location) = header(head, "location") {
            url = url.join(location).ok()?;
        } else if let Some(form) = Form::of(html) {
            url = url.join(&form.action).ok()?;
            body = Some(form.fields);
        } else {
            return Some(());
        }
    }
    None
}

/// Sends a request, a form if there is one, and reads the answer to its end.
async fn ask(url: &Url, form: Option<String>) -> io::Result<String> {
    let elsewhere = || io::Error::other("this is not plain HTTP on this machine");
    let port = url.port().ok_or_else(elsewhere)?;
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if url.scheme() != "http" || !is_local {
        return Err(elsewhere());
    }
    let host = url.host_str().unwrap_or_default();
    let mut stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
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
    stream.take(MOST_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
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

const MOST_PAGES: usize = 8;
const MOST_BYTES: u64 = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
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
