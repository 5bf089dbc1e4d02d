//! The keyring of a Linux desktop: the freedesktop Secret Service, spoken over D-Bus.
//!
//! Only what keeping one key needs is here: a Unix socket, the `EXTERNAL` handshake, method calls
//! of a handful of types, one signal. No message is larger than 64 KiB, no call takes longer than
//! its deadline. [`SecretService`] is the [`Keyring`](keyway_vault::Keyring) that the vault asks.
//!
//! Secrets travel in a plain session: the socket belongs to the person, and a process that can read
//! it can ask the service itself. Nothing is ever replaced in the keyring, and only the items that
//! carry the vault's own random name are looked at.

mod address;
mod bus;
mod malformed;
mod message;
mod names;
mod prompt;
mod secret_service;
mod wire;

pub use self::address::BusAddress;
pub use self::malformed::Malformed;
pub use self::message::Message;
pub use self::secret_service::SecretService;
