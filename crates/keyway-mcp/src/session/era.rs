//! Which protocol era a server speaks: the modern one is tried first.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use keyway_transport::{RequestId, TransportError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use super::pump::{Call, Exchange};
use super::{ClientInfo, Handler, SessionError};
use crate::era_negotiation::{Answer, EraNegotiation, Question, Step};
use crate::eras::names::{CLIENT_CAPABILITIES, CLIENT_INFO, SERVER_INFO};
use crate::splice::{member, with_member};
use crate::version::{ClientEra, Discovery, LEGACY, MODERN, NEWEST_LEGACY, PROTOCOL_VERSION};

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

/// Finds out the era and initializes the session: asks what [`EraNegotiation`] decides.
pub(super) async fn negotiate(
    exchange: &Exchange,
    client: &ClientInfo,
    (offer, limit): (OfferedEras, Duration),
) -> Result<ServerFacts, SessionError> {
    let (probe, (mut negotiation, mut step)) = match offer {
        OfferedEras::Both { probe } => (probe, EraNegotiation::of_session()),
        OfferedEras::Legacy => (limit, EraNegotiation::of_legacy_session()),
    };
    let (mut discovering, mut initializing) = (None, None);
    let mut silence = pin!(sleep(probe));
    // Replaced by the answers: a step names a question only once it was answered.
    let mut modern = Err(SessionError::from(TransportError::Closed));
    let mut legacy = Err(SessionError::from(TransportError::Closed));
    loop {
        match step {
            Step::Ask(Question::Discover) => {
                discovering = Some(Box::pin(discover(exchange, client, limit)));
            }
            Step::Ask(Question::Initialize) => {
                initializing = Some(Box::pin(initialize(exchange, client, limit)));
            }
            Step::Wait => {}
            Step::WaitBriefly => silence.as_mut().reset(Instant::now() + probe),
            Step::Decided(ClientEra::Modern) | Step::Failed(Question::Discover) => return modern,
            Step::Decided(ClientEra::Legacy) | Step::Failed(Question::Initialize) => return legacy,
            Step::NoCommonVersion(offered) => {
                let offered = keyway_secret::printable(&offered.join(", "));
                return Err(SessionError::NoCommonVersion { offered });
            }
        }
        // Biased: an answer to `server/discover` decides even if the one to `initialize` is there
        // too. A future that answered is never polled again, because it is taken out. One that is
        // dropped at the end cancels its request, except for `initialize`, which must not be
        // cancelled.
        step = tokio::select! {
            biased;
            (answer, facts) = answer_of(&mut discovering) => {
                discovering = None;
                modern = facts;
                negotiation.answered(Question::Discover, answer)
            }
            facts = answer_of(&mut initializing) => {
                initializing = None;
                legacy = facts;
                negotiation.answered(Question::Initialize, answer_to_initialize(&legacy))
            }
            () = &mut silence, if negotiation.is_timed() => negotiation.silent(),
        };
    }
}

/// Waits for a question that was asked; for ever if it was not.
async fn answer_of<F: Future + Unpin>(asked: &mut Option<F>) -> F::Output {
    match asked {
        Some(asked) => asked.await,
        None => std::future::pending().await,
    }
}

/// Asks the modern question.
async fn discover(
    exchange: &Exchange,
    client: &ClientInfo,
    limit: Duration,
) -> (Answer, Result<ServerFacts, SessionError>) {
    let meta = modern_meta(MODERN, client, exchange.handler());
    let params = json!({ "_meta": meta }).to_string();
    let call = Call {
        method: "server/discover",
        params: &params,
        timeout: limit,
        progress: None,
        of: None,
    };
    let error = match exchange.call(exchange.next_id(), call).await {
        Ok(result) => return discovered(&result),
        Err(error) => error,
    };
    let answer = match &error {
        SessionError::Rpc(error) => Discovery::of_error(error.code, error.data.as_deref()).into(),
        SessionError::Timeout { .. } => Answer::OtherEra,
        SessionError::Transport(error) => Answer::to_failed_discovery(error),
        SessionError::Protocol { .. } | SessionError::NoCommonVersion { .. } => Answer::Failed,
    };
    (answer, Err(error))
}

/// Reads a discovery result.
fn discovered(result: &RawValue) -> (Answer, Result<ServerFacts, SessionError>) {
    #[derive(Deserialize)]
    struct Discovered {
        capabilities: Value,
        instructions: Option<String>,
        #[serde(rename = "_meta", default)]
        meta: Map<String, Value>,
    }
    let what = "an answer to `server/discover` that cannot be used";
    let unusable = Err(SessionError::Protocol { what });
    let answer = Answer::from(Discovery::of_result(result.get()));
    if answer != Answer::Accepted {
        return (answer, unusable);
    }
    let Ok(found) = serde_json::from_str::<Discovered>(result.get()) else {
        return (Answer::OtherEra, unusable);
    };
    let server_info = found.meta.get(SERVER_INFO).cloned().unwrap_or(Value::Null);
    let facts = ServerFacts {
        era: Era::Modern {
            version: MODERN.to_owned(),
        },
        capabilities: found.capabilities,
        server_info,
        instructions: found.instructions,
    };
    (answer, Ok(facts))
}

fn answer_to_initialize(facts: &Result<ServerFacts, SessionError>) -> Answer {
    match facts {
        Ok(_) => Answer::Accepted,
        Err(SessionError::Rpc(error)) => Answer::to_refused_initialize(error.code),
        Err(_) => Answer::Failed,
    }
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
