//! What a browser is shown: pages of a few plain words, and what keeps them from being anything else.

use std::sync::Arc;

use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use keyway::store::StoreError;
use keyway_code::Code;
use keyway_mcp::states::ServerProblem;
use keyway_people::BrowserSignInError;
use keyway_secret::printable;
use keyway_transport::Reply;
use url::Url;

/// Why a browser gets no sign-in. Nothing was stored.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// No link and no answer of this name was ever given out, or it is not readable.
    Unknown,
    /// It was used before.
    Used,
    /// Its time is over.
    Late,
    /// Another browser began.
    OtherBrowser,
    /// The link is another person's; this is who signed in.
    OtherPerson(String),
    /// It is not known who signed in.
    Identity(BrowserSignInError),
    /// The server is not served any more, or takes no sign-in.
    NoServer,
    /// The server's sign-in failed.
    SignIn(Box<ServerProblem>),
    /// What was sent is not what the page offers, or the page is not as it was any more.
    NotAsShown,
    /// A form was sent before.
    FormUsed,
    /// What was asked for was not done.
    NotDone(Box<ServerProblem>),
    /// The store cannot be used.
    Store(Arc<StoreError>),
    /// Too many browsers came at once of which it is not known whose they are.
    TooMany,
    /// There are no random bytes.
    NoRandomness,
    /// The gateway ends.
    Stopped,
}

impl Fault {
    /// Says it to a client.
    #[must_use]
    pub fn problem(&self) -> ServerProblem {
        match self {
            Self::SignIn(problem) | Self::NotDone(problem) => ServerProblem::clone(problem),
            Self::Store(error) => ServerProblem::new(error.code(), error.to_string()),
            other => ServerProblem::new(Code::SignInRequired, other.words().2),
        }
    }

    /// Says it to a person in a browser.
    pub fn page(&self) -> Reply {
        let (status, title, text) = self.words();
        let next = match self {
            Self::OtherBrowser => {
                "Open the link in the browser in which you want to sign in, and stay in it."
            }
            Self::OtherPerson(_) => {
                "Nothing was stored. If the link is yours, sign in to your team's account as yourself \
                 and open it again. If it was sent to you, do not use it."
            }
            Self::NotAsShown | Self::FormUsed | Self::NotDone(_) => {
                "Open your page again, and look at what it shows now."
            }
            Self::Store(_) | Self::Stopped | Self::NoRandomness | Self::TooMany => {
                "Wait a moment, then open the link again."
            }
            _ => "Call the tool again in your client, and open the new link.",
        };
        let reply = page(status, title, &[&text, next]);
        match status {
            StatusCode::SERVICE_UNAVAILABLE => {
                reply.header(RETRY_AFTER, HeaderValue::from_static("5"))
            }
            _ => reply,
        }
    }

    /// Returns status, title and what happened.
    fn words(&self) -> (StatusCode, &'static str, String) {
        let (status, title, text) = match self {
            Self::Unknown => (
                StatusCode::BAD_REQUEST,
                "This sign-in is not known",
                "The gateway gave out no such link, or the answer is not the one it waits for.",
            ),
            Self::Used => (
                StatusCode::GONE,
                "This link was used already",
                "A sign-in link works once.",
            ),
            Self::Late => (
                StatusCode::GONE,
                "This link came too late",
                "A sign-in has to be finished within 10 minutes.",
            ),
            Self::OtherBrowser => (
                StatusCode::FORBIDDEN,
                "This sign-in was begun in another browser",
                "It can be finished only where it was begun.",
            ),
            Self::OtherPerson(person) => {
                let text = format!(
                    "The link belongs to another person than {}, who is signed in here.",
                    printable(person)
                );
                return (
                    StatusCode::FORBIDDEN,
                    "This link is for another person",
                    text,
                );
            }
            Self::Identity(error) => {
                let text = format!("Your team's sign-in failed: {error}.");
                return (StatusCode::BAD_GATEWAY, "You are not signed in", text);
            }
            Self::NoServer => (
                StatusCode::NOT_FOUND,
                "The server is not there any more",
                "The gateway does not serve it, or it needs no sign-in.",
            ),
            Self::SignIn(problem) => {
                let text = format!("The server's sign-in failed: {}.", problem.message);
                return (StatusCode::BAD_GATEWAY, "You are not signed in", text);
            }
            Self::NotAsShown => (
                StatusCode::CONFLICT,
                "This is not what the page showed",
                "Nothing was changed.",
            ),
            Self::FormUsed => (
                StatusCode::GONE,
                "This form was sent already",
                "Each form counts once.",
            ),
            Self::NotDone(problem) => {
                let text = format!("Nothing was changed: {}.", problem.message);
                return (StatusCode::BAD_REQUEST, "This was not stored", text);
            }
            Self::TooMany => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many browsers sign in at this moment",
                "The gateway lets so many begin in a second.",
            ),
            Self::Store(_) | Self::Stopped | Self::NoRandomness => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The gateway cannot sign you in now",
                "What it stores sign-ins in cannot be used at the moment.",
            ),
        };
        (status, title, text.to_owned())
    }
}

/// Says that a person is signed in.
#[must_use]
pub fn signed_in(server: &str) -> Reply {
    let text = format!(
        "The gateway now uses your own sign-in to {}.",
        printable(server)
    );
    let next = "You can close this page. Your client continues by itself, or with its next call.";
    page(StatusCode::OK, "You are signed in", &[&text, next])
}

/// Sends a browser to a page of another site.
#[must_use]
pub fn redirect(page: &Url) -> Reply {
    let reply = guarded(StatusCode::SEE_OTHER, "text/plain; charset=utf-8");
    match HeaderValue::from_str(page.as_str()) {
        Ok(mut address) => {
            // It holds a state.
            address.set_sensitive(true);
            reply.header(LOCATION, address)
        }
        Err(_) => Fault::Unknown.page(),
    }
}

/// Answers with a line of text.
#[must_use]
pub fn plain(status: StatusCode, text: &'static str) -> Reply {
    guarded(status, "text/plain; charset=utf-8").body(text)
}

/// Turns a method away.
#[must_use]
pub fn wrong_method() -> Reply {
    let reply = plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
    reply.header(ALLOW, HeaderValue::from_static("GET"))
}

fn page(status: StatusCode, title: &str, lines: &[&str]) -> Reply {
    let lines = lines
        .iter()
        .map(|line| format!("<p>{}</p>\n", escaped(line)));
    let text = html(title, &lines.collect::<String>());
    guarded(status, "text/html; charset=utf-8").body(text)
}

/// Shows a page with forms, which can be sent to the gateway alone; `body` is markup.
pub fn with_forms(title: &str, body: &str) -> Reply {
    let text = html(title, body);
    guarded_by(
        StatusCode::OK,
        "text/html; charset=utf-8",
        POLICY_WITH_FORMS,
    )
    .body(text)
}

fn html(title: &str, body: &str) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title} – Keyway</title>\n</head>\n<body>\n\
         <h1>{title}</h1>\n",
        title = escaped(title)
    );
    text.push_str(body);
    text.push_str("</body>\n</html>\n");
    text
}

/// Writes text as HTML.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

fn guarded(status: StatusCode, kind: &'static str) -> Reply {
    guarded_by(status, kind, POLICY)
}

fn guarded_by(status: StatusCode, kind: &'static str, policy: &'static str) -> Reply {
    let mut reply = Reply::new(status);
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // Addresses here hold what a link or an answer is known by.
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        reply = reply.header(name, HeaderValue::from_static(value));
    }
    reply
}

/// Nothing is loaded, run, sent or framed.
const POLICY: &str = "default-src 'none'; img-src data:; form-action 'none'; base-uri 'none'; \
    frame-ancestors 'none'";

/// The same, but for forms to the gateway itself.
const POLICY_WITH_FORMS: &str = "default-src 'none'; img-src data:; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_say_is_shown_as_text() {
        let text = escaped("<script>alert('1')</script>&\"");
        assert_eq!(
            text,
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;"
        );
    }

    #[test]
    fn each_fault_of_a_browser_has_a_title_of_its_own() {
        let faults = [
            Fault::Unknown,
            Fault::Used,
            Fault::Late,
            Fault::OtherBrowser,
            Fault::OtherPerson("https://idp.example#eve".to_owned()),
            Fault::NoServer,
            Fault::NotAsShown,
            Fault::FormUsed,
        ];
        let titles: std::collections::HashSet<_> = faults.iter().map(|it| it.words().1).collect();
        assert_eq!(titles.len(), faults.len());
    }
}
