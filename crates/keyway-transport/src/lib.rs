//! Connections to MCP servers as streams of [`Frame`]s, over any of the four transports.
//!
//! A frame is the bytes of one JSON-RPC message. Only its envelope is read; everything else passes
//! through unchanged, big integers, unknown fields and the order of keys included. This crate opens
//! the only sockets and starts the only child processes of the product.

mod answer;
mod callback;
mod capture;
mod cause;
mod challenge;
mod child_env;
mod connection;
mod error;
mod event_stream;
mod frame;
mod gather;
mod harden;
mod helper;
mod http_client;
mod in_flight;
mod launch;
mod legacy_sse;
mod lines;
mod oauth_http;
mod peer;
mod redact;
mod serve;
mod stdio;
mod streamable;
#[cfg(test)]
mod testing;
mod turn;
mod websocket;

pub use self::callback::{CallbackListener, RedirectFault, read_redirect};
pub use self::capture::capture;
pub use self::cause::NetworkCause;
pub use self::child_env::{ChildEnv, EnvReader, EnvRules, HostEnv, Inherit};
pub use self::connection::{Connection, Event, Link, deliver, enqueue};
pub use self::error::TransportError;
pub use self::event_stream::{EventStream, StreamError, StreamEvent};
pub use self::frame::{Envelope, Frame, FrameError, MAX_FRAME_BYTES, Raw, RequestId};
pub use self::harden::harden_self;
pub use self::helper::{HELPER_TIMEOUT, Helper, HelperCommand};
pub use self::http_client::{
    AddressPolicy, ClientIdentity, HttpClient, HttpSettings, Lookup, ProxySettings, Reach, Trust,
};
pub use self::launch::{
    Isolation, LAUNCH_WORD, LaunchError, Launcher, Level, Mechanism, Profile, Program, Stage,
    launcher_main,
};
pub use self::legacy_sse::connect_sse;
pub use self::oauth_http::OAuthHttp;
pub use self::redact::Redactor;
pub use self::serve::{
    BodyFault, Guest, Inbound, ListenError, Listener, MAX_BODY_BYTES, Reply, Service, serve,
};
pub use self::stdio::{ChildStream, Log, StdioServer, Verify};
pub use self::streamable::{Repeated, ToolHeaders, connect_http, read_header_text};
pub use self::websocket::connect_ws;
