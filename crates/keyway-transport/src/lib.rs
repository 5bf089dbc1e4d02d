//! Connections to MCP servers as streams of [`Frame`]s, over any of the four transports.
//!
//! A frame is the bytes of one JSON-RPC message. Only its envelope is read; everything else passes
//! through unchanged, big integers, unknown fields and the order of keys included. This crate opens
//! the only sockets and starts the only child processes of the product.

mod authorized_client;
mod body_buffer;
#[cfg(feature = "callback")]
mod callback;
mod capture;
mod challenge;
mod child_env;
mod child_log;
mod connection;
mod error;
mod event_stream;
mod frame;
mod harden;
#[cfg(feature = "stdio")]
mod helper;
mod http_client;
mod in_flight;
#[cfg(feature = "stdio")]
mod launch;
#[cfg(feature = "sse")]
mod legacy_sse;
mod meaning;
mod message_memory;
mod network_cause;
mod oauth_http;
mod pipe;
mod queue;
mod responses;
mod send_queue;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "stdio")]
mod stdio;
mod streamable;
#[cfg(test)]
mod testing;
mod timeouts;
#[cfg(feature = "ws")]
mod websocket;

pub use self::authorized_client::{AuthorizedClient, ResponseBody};
#[cfg(feature = "callback")]
pub use self::callback::{CallbackListener, RedirectError, read_redirect};
pub use self::capture::capture;
pub use self::child_env::{ChildEnv, ChildKind, EnvRules, HostEnv, Inherit};
pub use self::child_log::{ChildStream, Log, Verify, VerifyMoment};
pub use self::connection::{Connection, Event, EventReceiver, EventSender, Link};
pub use self::error::TransportError;
pub use self::event_stream::{EventStream, StreamError, StreamEvent};
pub use self::frame::{Envelope, Frame, FrameError, MAX_FRAME_BYTES, Raw, RequestId};
pub use self::harden::harden_self;
#[cfg(feature = "stdio")]
pub use self::helper::{Helper, HelperCommand};
pub use self::http_client::{
    AddressPolicy, AddressScope, ClientIdentity, HttpClient, HttpSettings, Lookup, ProxySettings,
    RootCertificates,
};
#[cfg(all(feature = "stdio", target_os = "linux"))]
pub use self::launch::is_started_by_keyway;
#[cfg(feature = "stdio")]
pub use self::launch::{
    Isolation, IsolationLevel, IsolationMechanism, IsolationProfile, KnownFolders, KnownGrant,
    LaunchError, LaunchStage, Launcher, OnReduced, Program, detached, take_over,
};
#[cfg(feature = "sse")]
pub use self::legacy_sse::connect_sse;
pub use self::message_memory::MemoryReservation;
pub use self::network_cause::NetworkCause;
pub use self::oauth_http::OAuthHttp;
pub use self::pipe::{PipeReader, PipeWriter, ReadBytes, WriteBytes, socket_pipes, standard_pipes};
pub use self::queue::{QueueClosed, QueueReceiver, QueueRefusal, QueueSender, queue};
#[cfg(feature = "serve")]
pub use self::serve::{
    BodyError, Inbound, ListenError, Listener, MAX_BODY_BYTES, Peer, RemoteConnections, Reply,
    Service, Upgrade, UpgradedStream, serve,
};
#[cfg(feature = "stdio")]
pub use self::stdio::StdioServer;
pub use self::streamable::{RequestMetadata, ToolHeaders, connect_http, read_header_text};
pub use self::timeouts::{HELPER_TIMEOUT, SHUTDOWN_TIMEOUT};
#[cfg(feature = "ws")]
pub use self::websocket::connect_ws;
pub use keyway_auth::Redactor;
