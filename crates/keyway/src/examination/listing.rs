//! Connects and makes one list call: an answered `initialize` alone proves nothing.

use keyway_auth::oauth::GivenTokens;
use keyway_mcp::session::{Era, Session, SessionError};
use serde_json::value::RawValue;

use crate::diagnosis::Offer;
use crate::host::{Approved, Error, Plan};

/// What a server listed.
#[derive(Debug)]
pub struct Listing {
    era: Era,
    key: Option<&'static str>,
    items: Vec<Box<RawValue>>,
}

impl Listing {
    /// Returns the protocol version and how much was listed, in words.
    #[must_use]
    pub fn summary(&self) -> String {
        let era = &self.era;
        match (self.key, self.items.len()) {
            (Some(key), 1) => format!("{era}, 1 {}", key.trim_end_matches('s')),
            (Some(key), count) => format!("{era}, {count} {key}"),
            (None, _) => format!("{era}, offers nothing to list"),
        }
    }

    pub(super) fn into_offer(self) -> Offer {
        let summary = self.summary();
        let tools = match self.key {
            Some("tools") => self.items,
            _ => Vec::new(),
        };
        Offer::new(self.era, summary, tools)
    }
}

/// Connects and lists the first of tools, resources and prompts that the server has.
///
/// Cancel safety: dropping the future drops the connection.
///
/// # Errors
///
/// As [`Approved::connect`], and [`Error::Talk`] if nothing can be listed.
pub async fn list_anything(server: &Approved<Plan>) -> Result<Listing, Error> {
    list_in(server, server.connect().await?).await
}

/// Signs in with tokens that another program obtained. They are stored once the server has answered
/// a list request with them.
///
/// Cancel safety: nothing is stored before the list request was answered.
///
/// # Errors
///
/// Returns [`Error::NotOAuth`], [`Error::SignIn`] if the tokens are those of another issuer or for
/// another resource, and as [`list_anything`] if the server does not accept them. An earlier sign-in
/// then stays as it was.
pub async fn sign_in_with(server: &Approved<Plan>, given: GivenTokens) -> Result<(), Error> {
    let name = || server.server().to_owned();
    let failed = |error| Error::SignIn {
        server: name(),
        error,
    };
    let Some(oauth) = server.oauth() else {
        return Err(Error::NotOAuth {
            server: name(),
            method: server.method(),
        });
    };
    let checked = oauth.check_given(given).await.map_err(failed)?;
    let session = server.connect_with_tokens(&checked).await?;
    list_in(server, session).await?;
    oauth.keep_given(&checked).await.map_err(failed)
}

async fn list_in(server: &Approved<Plan>, session: Session) -> Result<Listing, Error> {
    let listed = list(&session).await;
    session.close().await;
    let (key, items) = listed.map_err(|error| Error::talk(server.spec(), error))?;
    Ok(Listing {
        era: session.facts().era.clone(),
        key,
        items,
    })
}

async fn list(
    session: &Session,
) -> Result<(Option<&'static str>, Vec<Box<RawValue>>), SessionError> {
    let lists = [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("prompts/list", "prompts"),
    ];
    let offered = lists.iter().find(|(_, key)| session.facts().offers(key));
    let Some((method, key)) = offered else {
        return Ok((None, Vec::new()));
    };
    let items = session.list(method, key).await?;
    Ok((Some(key), items))
}
