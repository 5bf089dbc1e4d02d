//! Connects and makes one list call: an answered `initialize` alone proves nothing.

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
    let session = server.connect().await?;
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
