//! What the two sides said of themselves, and how each is presented to the other.

use keyway_transport::Frame;

use super::super::capability::is_set;
use super::super::names::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, SERVER_INFO};
use crate::splice::{RawObject, quoted};
use crate::version::{LEGACY, MODERN, NEWEST_LEGACY, PROTOCOL_VERSION};

/// What a request says of the client that sent it.
#[derive(Debug)]
pub(super) struct RequestMeta {
    pub(super) version: Option<String>,
    info: Option<String>,
    /// As written.
    pub(super) capabilities: String,
    pub(super) level: Option<String>,
    /// As written.
    pub(super) progress_token: Option<String>,
    /// What it was given to come back with.
    pub(super) state: Option<String>,
}

impl RequestMeta {
    /// Reads the metadata of a request.
    pub(super) fn of(params: Option<&str>) -> Self {
        let params = params.and_then(RawObject::read).unwrap_or_default();
        let meta = params.object("_meta").unwrap_or_default();
        let capabilities = meta.object(CLIENT_CAPABILITIES).unwrap_or_default();
        Self {
            version: meta.text(PROTOCOL_VERSION),
            info: meta.get(CLIENT_INFO).map(str::to_owned),
            capabilities: capabilities.to_string(),
            level: meta.text(LOG_LEVEL),
            progress_token: meta.get("progressToken").map(str::to_owned),
            state: params.text("requestState"),
        }
    }

    /// Writes the parameters of `initialize`.
    pub(super) fn initialize_params(&self) -> String {
        let mut params = RawObject::default();
        params.set("protocolVersion", quoted(NEWEST_LEGACY));
        params.set("capabilities", self.capabilities.as_str());
        let info = self.info.as_deref();
        params.set("clientInfo", info.unwrap_or(NAMELESS));
        params.to_string()
    }
}

/// Takes out of `_meta` what only the modern era knows.
pub(super) fn without_modern_keys(mut meta: RawObject<'_>) -> RawObject<'_> {
    for key in [
        PROTOCOL_VERSION,
        CLIENT_INFO,
        CLIENT_CAPABILITIES,
        LOG_LEVEL,
    ] {
        meta.remove(key);
    }
    meta
}

/// What the server said of itself, as written.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) capabilities: String,
    info: Option<String>,
    instructions: Option<String>,
}

impl Server {
    /// Reads the answer to `initialize`; `None` if it is not a result, or of a version that we do
    /// not know.
    pub(super) fn read(answer: &Frame) -> Option<Self> {
        let envelope = answer.envelope().ok()?;
        let result = RawObject::read(envelope.result?.get())?;
        let version = result.text("protocolVersion")?;
        if !LEGACY.contains(&version.as_str()) {
            return None;
        }
        let mut capabilities = result.object("capabilities").unwrap_or_default();
        // Tasks have become an extension, which is not the same.
        capabilities.remove("tasks");
        Some(Self {
            capabilities: capabilities.to_string(),
            info: result.get("serverInfo").map(str::to_owned),
            instructions: result.get("instructions").map(str::to_owned),
        })
    }

    /// Says whether the level of its log can be set.
    pub(super) fn has_log(&self) -> bool {
        let capabilities = RawObject::read(&self.capabilities);
        capabilities.is_some_and(|capabilities| is_set(&capabilities, "logging"))
    }

    /// Writes what answers `server/discover`.
    pub(super) fn discovered(&self) -> String {
        let mut result = RawObject::default();
        result.set("resultType", quoted("complete"));
        result.set("supportedVersions", format!("[{}]", quoted(MODERN)));
        result.set("capabilities", self.capabilities.as_str());
        if let Some(instructions) = &self.instructions {
            result.set("instructions", instructions.as_str());
        }
        super::results::forbid_caching(&mut result);
        if let Some(info) = &self.info {
            let mut meta = RawObject::default();
            meta.set(SERVER_INFO, info.as_str());
            result.set("_meta", meta.to_string());
        }
        result.to_string()
    }
}

/// The older era requires a name, the modern one does not.
const NAMELESS: &str = r#"{"name":"unknown","version":"unknown"}"#;
