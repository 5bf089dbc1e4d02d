//! What `keyway demo` shows: servers of every kind on loopback that check their credentials, one
//! plugin that declares them all, and a tour through them with the same code that any host uses.
//!
//! [`Demo`] makes the ports, the credentials and the folder; [`Demo::open`] serves; a [`Tour`]
//! connects. Nothing of the person's is read or written: everything is in one temporary folder,
//! which goes when the [`Demo`] is dropped. Credentials live in memory alone.

mod clock;
mod credentials;
mod demo;
mod error;
mod journal;
mod outcome;
mod plugin;
mod servers;
mod settings;
mod signature;
mod stdio;
mod timeouts;
mod tour;
mod user_agent;
mod visits;

pub use self::clock::DemoClock;
pub use self::demo::{Demo, Open};
pub use self::error::DemoError;
pub use self::journal::{Event, Journal, Seen};
pub use self::outcome::{Outcome, Renewal};
pub use self::settings::Settings;
pub use self::signature::signed_headers;
pub use self::stdio::serve_stdio;
pub use self::tour::{Row, Tour};
pub use self::user_agent::UserAgent;
pub use self::visits::Visits;

/// The first argument with which the binary is the headers helper of the demo.
pub const SIGN_WORD: &str = "__demo-sign";

/// The first argument with which the binary is the stdio server of the demo.
pub const STDIO_WORD: &str = "__demo-stdio";
