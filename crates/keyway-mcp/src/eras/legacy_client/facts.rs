//! What the two sides said of themselves, and how each is presented to the other.

use keyway_transport::{Frame, FrameError};

use super::super::message;
use super::super::names::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, LOG_LEVELS, SERVER_INFO};
use crate::splice::{RawObject, quoted};
use crate::version::{Discovery, LEGACY, MODERN, NEWEST_LEGACY, PROTOCOL_VERSION};

/// What the client said of itself, as written.
#[derive(Debug)]
pub(super) struct Client {
    version: Option<String>,
    info: Option<String>,
    pub(super) capabilities: String,
    /// How much of the log it wants.
    level: Option<String>,
}

impl Client {
    /// Reads the parameters of `initialize`.
    pub(super) fn read(params: Option<&str>) -> Self {
        let params = params.and_then(RawObject::read).unwrap_or_default();
        let mut capabilities = params.object("capabilities").unwrap_or_default();
        // Tasks have become an extension, which is not the same.
        capabilities.remove("tasks");
        Self {
            version: params.text("protocolVersion"),
            info: params.get("clientInfo").map(str::to_owned),
            capabilities: capabilities.to_string(),
            level: None,
        }
    }

    /// Takes the parameters of `logging/setLevel`; says whether there is such a level.
    pub(super) fn set_level(&mut self, params: Option<&str>) -> bool {
        let level = params.and_then(|params| RawObject::read(params)?.text("level"));
        let level = level.filter(|level| LOG_LEVELS.contains(&level.as_str()));
        let is_known = level.is_some();
        self.level = level.map(|level| quoted(&level)).or(self.level.take());
        is_known
    }

    /// Returns a request with the metadata that the modern era wants.
    pub(super) fn present(&self, frame: &Frame) -> Result<Frame, FrameError> {
        let mut params = match message::params_of(frame) {
            None | Some("null") => RawObject::default(),
            Some(params) => match RawObject::read(params) {
                Some(params) => params,
                None => return Ok(frame.clone()),
            },
        };
        let given = params.object("_meta").unwrap_or_default();
        let meta = self.meta(given);
        params.set("_meta", meta);
        message::with(frame, &[("params", &params.to_string())])
    }

    /// Adds to `_meta` what the modern era wants with every request.
    pub(super) fn meta<'a>(&'a self, mut meta: RawObject<'a>) -> String {
        meta.set(PROTOCOL_VERSION, quoted(MODERN));
        if let Some(info) = &self.info {
            meta.set(CLIENT_INFO, info.as_str());
        }
        meta.set(CLIENT_CAPABILITIES, self.capabilities.as_str());
        if let Some(level) = &self.level {
            meta.set_default(LOG_LEVEL, level.as_str());
        }
        meta.to_string()
    }
}

/// What the server said of itself, as written.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) capabilities: String,
    info: Option<String>,
    instructions: Option<String>,
}

impl Server {
    /// Reads a discovery result; `None` if it is not one, or of another version.
    pub(super) fn read(answer: &Frame) -> Option<Self> {
        let envelope = answer.envelope().ok()?;
        if Discovery::of(&envelope) != Discovery::Modern {
            return None;
        }
        let result = RawObject::read(envelope.result?.get())?;
        let meta = result.object("_meta");
        Some(Self {
            capabilities: result.object("capabilities")?.to_string(),
            info: meta.and_then(|meta| meta.get(SERVER_INFO).map(str::to_owned)),
            instructions: result.get("instructions").map(str::to_owned),
        })
    }

    /// Writes what answers `initialize`.
    pub(super) fn initialized(&self, client: &Client) -> String {
        let wanted = client.version.as_deref();
        let version = wanted.filter(|version| LEGACY.contains(version));
        let info = self.info.as_deref();
        let mut result = RawObject::default();
        result.set("protocolVersion", quoted(version.unwrap_or(NEWEST_LEGACY)));
        result.set("capabilities", self.capabilities.as_str());
        result.set("serverInfo", info.unwrap_or(NAMELESS));
        if let Some(instructions) = &self.instructions {
            result.set("instructions", instructions.as_str());
        }
        result.to_string()
    }
}

/// The older era requires a name.
const NAMELESS: &str = r#"{"name":"unknown","version":"unknown"}"#;
