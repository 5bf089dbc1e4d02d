//! Noting what passes over a bridge, for who keeps a list of it.

use keyway_transport::{Event, Frame};

/// Sees every message of a client, and everything that it is written.
pub trait Notes: Send + Sync {
    /// The client said this.
    fn asked(&self, frame: &Frame);

    /// The client is written this.
    fn answered(&self, event: &Event);
}
