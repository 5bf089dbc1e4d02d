//! Reports what passes over a bridge, for the list of recent requests.

use keyway_transport::{Event, Frame};

/// Sees every message of a client, and everything that it is written.
pub trait TrafficObserver: Send + Sync {
    /// The client said this.
    fn client_sent(&self, frame: &Frame);

    /// The client is written this.
    fn client_received(&self, event: &Event);
}
