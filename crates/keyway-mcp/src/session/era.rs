//! Which protocol era a server speaks: the modern one is tried first.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use keyway_transport::{RequestId, TransportError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::pump::{Call, Exchange};
use super::{ClientInfo, Handler, SessionError};
use crate::eras::names::{CLIENT_CAPABILITIES, CLIENT_INFO, SERVER_INFO};
use crate::splice::{member, with_member};
use crate::version::{Discovery, LEGACY, MODERN, MODERN_CODES, NEWEST_LEGACY, PROTOCOL_VERSION};

/// The protocol era in force, with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Era {
    /// 2026-07-28: every request says all there is to know.
    Modern {
        /// The version.
        version: String,
    },
    /// 2025-11-25 and before: a handshake comes first.
    Legacy {
        /// The version.
        version: String,
    },
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Modern { version } | Self::Legacy { version }) = self;
        let version = keyway_secret::printable(version);
        write!(f, "MCP {version} ({})", self.word())
    }
}

/// What a server said of itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerFacts {
    /// The era in force.
    pub era: Era,
    /// What it offers, as sent.
    pub capabilities: Value,
    /// Its own name and version, as sent; to be shown, never to be believed.
    pub server_info: Value,
    /// What it wants a model to know.
    pub instructions: Option<String>,
}

impl ServerFacts {
    /// Says whether the server declared a capability, such as `tools`.
    #[must_use]
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities
            .get(capability)
            .is_some_and(|value| !value.is_null())
    }
}

/// Which eras to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfferedEras {
    /// Modern first, then legacy.
    Both {
        /// How long a server that does not know the question may keep silent.
        probe: Duration,
    },
    /// Only the handshake: transports that modern servers do not have.
    Legacy,
}

impl Era {
    /// Returns the version in force.
    #[must_use]
    pub fn version(&self) -> &str {
        let (Self::Modern { version } | Self::Legacy { version }) = self;
        version
    }

    /// Returns the word used in every format.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Modern { .. } => "modern",
            Self::Legacy { .. } => "legacy",
        }
    }

    /// Returns the parameters as this era wants them; anything but an object counts as empty.
    pub(super) fn params(
        &self,
        params: &str,
        id: &RequestId,
        client: &ClientInfo,
        handler: &dyn Handler,
    ) -> String {
        let meta = member(params, "_meta").unwrap_or("{}");
        let meta = with_member(meta, "progressToken", id.as_json());
        let mut meta = meta.unwrap_or_else(|| format!(r#"{{"progressToken":{}}}"#, id.as_json()));
        if let Self::Modern { version } = self {
            for (key, value) in modern_meta(version, client, handler) {
                meta = with_member(&meta, &key, &value.to_string()).unwrap_or(meta);
            }
        }
        let with_meta = with_member(params, "_meta", &meta);
        with_meta.unwrap_or_else(|| format!(r#"{{"_meta":{meta}}}"#))
    }
}

/// Finds out the era and initializes the session.
///
/// A server that does not answer the modern question is an old one, or is still starting. It gets
/// `initialize` while its answer is awaited, and the first answer decides.
pub(super) async fn negotiate(
    exchange: &Exchange,
    client: &ClientInfo,
    (offer, limit): (OfferedEras, Duration),
) -> Result<ServerFacts, SessionError> {
    let OfferedEras::Both { probe } = offer else {
        return initialize(exchange, client, limit).await;
    };
    let mut asked = pin!(discover(exchange, client, limit));
    if let Ok(answer) = timeout(probe, &mut asked).await {
        return match answer? {
            Some(facts) => Ok(facts),
            None => initialize(exchange, client, limit).await,
        };
    }
    let mut initializing = pin!(initialize(exchange, client, limit));
    // Biased: an answer to `server/discover` decides even if the one to `initialize` is there too.
    // The branch that loses is polled on where its answer still matters; else dropping it cancels
    // its request, except for `initialize`, which must not be cancelled.
    tokio::select! {
        biased;
        answer = &mut asked => match answer? {
            // A server that accepts `initialize` after all has begun a session with it.
            Some(modern) => match timeout(probe, initializing).await {
                Ok(Ok(legacy)) => Ok(legacy),
                _ => Ok(modern),
            },
            None => initializing.await,
        },
        answer = &mut initializing => match answer {
            Err(SessionError::Rpc(error)) if MODERN_CODES.contains(&error.code) => {
                asked.await?.ok_or(SessionError::Rpc(error))
            }
            answer => answer,
        },
    }
}

/// Asks the modern question; `None` means that the server is a legacy one.
async fn discover(
    exchange: &Exchange,
    client: &ClientInfo,
    limit: Duration,
) -> Result<Option<ServerFacts>, SessionError> {
    let meta = modern_meta(MODERN, client, exchange.handler());
    let params = json!({ "_meta": meta }).to_string();
    let call = Call {
        method: "server/discover",
        params: &params,
        timeout: limit,
        progress: None,
        of: None,
    };
    let mut answer = exchange.call(exchange.next_id(), call.clone()).await;
    let refused = |answer: &Result<Box<RawValue>, SessionError>| match answer {
        Err(SessionError::Rpc(error)) => {
            Some(Discovery::of_error(error.code, error.data.as_deref()))
        }
        _ => None,
    };
    // The specification: after an unsupported version, pick one from the server's list and retry. Of
    // the stateless versions we know one, so the retry is with the same; such a list comes from
    // servers that are upgraded one after another behind one address. None of the servers that
    // we test with does it, but the official suite requires the retry.
    if let Some(Discovery::OtherVersion { supported }) = refused(&answer)
        && supported.iter().any(|version| version == MODERN)
    {
        answer = exchange.call(exchange.next_id(), call).await;
    }
    match (refused(&answer), answer) {
        (_, Ok(result)) => discovered(&result),
        (Some(Discovery::OtherVersion { supported }), _) => choose_legacy(&supported),
        (_, Err(SessionError::Rpc(_) | SessionError::Timeout { .. })) => Ok(None),
        // An old server may even break at a question that it does not know.
        (_, Err(SessionError::Transport(TransportError::Status { status, .. })))
            if status <= 501 =>
        {
            Ok(None)
        }
        (_, Err(error)) => Err(error),
    }
}

/// Reads a discovery result; `None` means that the server is a legacy one.
fn discovered(result: &RawValue) -> Result<Option<ServerFacts>, SessionError> {
    #[derive(Deserialize)]
    struct Discovered {
        capabilities: Value,
        instructions: Option<String>,
        #[serde(rename = "_meta", default)]
        meta: Map<String, Value>,
    }
    match Discovery::of_result(result.get()) {
        Discovery::Modern => {}
        Discovery::OtherVersion { supported } => return choose_legacy(&supported),
        Discovery::Legacy => return Ok(None),
    }
    let Ok(found) = serde_json::from_str::<Discovered>(result.get()) else {
        return Ok(None);
    };
    let server_info = found.meta.get(SERVER_INFO).cloned().unwrap_or(Value::Null);
    Ok(Some(ServerFacts {
        era: Era::Modern {
            version: MODERN.to_owned(),
        },
        capabilities: found.capabilities,
        server_info,
        instructions: found.instructions,
    }))
}

fn choose_legacy(offered: &[String]) -> Result<Option<ServerFacts>, SessionError> {
    if offered
        .iter()
        .any(|version| LEGACY.contains(&version.as_str()))
    {
        return Ok(None);
    }
    let offered = keyway_secret::printable(&offered.join(", "));
    Err(SessionError::NoCommonVersion { offered })
}

async fn initialize(
    exchange: &Exchange,
    client: &ClientInfo,
    limit: Duration,
) -> Result<ServerFacts, SessionError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
        #[serde(default)]
        capabilities: Value,
        #[serde(default)]
        server_info: Value,
        instructions: Option<String>,
    }
    let params = json!({
        "protocolVersion": NEWEST_LEGACY,
        "capabilities": exchange.handler().capabilities(),
        "clientInfo": { "name": client.name, "version": client.version },
    });
    let params = params.to_string();
    let call = Call {
        method: "initialize",
        params: &params,
        timeout: limit,
        progress: None,
        of: None,
    };
    let result = exchange.call(exchange.next_id(), call).await?;
    let bad = |_| SessionError::Protocol {
        what: "an answer to `initialize` without a version",
    };
    let answer: Initialized = serde_json::from_str(result.get()).map_err(bad)?;
    if !LEGACY.contains(&answer.protocol_version.as_str()) {
        let offered = keyway_secret::printable(&answer.protocol_version);
        return Err(SessionError::NoCommonVersion { offered });
    }
    exchange.notify("notifications/initialized", None).await?;
    Ok(ServerFacts {
        era: Era::Legacy {
            version: answer.protocol_version,
        },
        capabilities: answer.capabilities,
        server_info: answer.server_info,
        instructions: answer.instructions,
    })
}

fn modern_meta(version: &str, client: &ClientInfo, handler: &dyn Handler) -> Map<String, Value> {
    let info = json!({ "name": client.name, "version": client.version });
    Map::from_iter([
        (PROTOCOL_VERSION.to_owned(), Value::from(version)),
        (CLIENT_INFO.to_owned(), info),
        (CLIENT_CAPABILITIES.to_owned(), handler.capabilities()),
    ])
}
