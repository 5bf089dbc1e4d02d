//! What a server says before it has answered the first request.

use std::io;

use keyway_transport::Event;

use keyway_mcp::negotiation::Aside;

/// Its messages, and how many bytes they have; what is too much is left out.
#[derive(Default)]
pub(super) struct EarlyEvents(pub(super) Vec<Event>, usize);

impl Aside for EarlyEvents {
    async fn pass(&mut self, event: Event) -> io::Result<()> {
        if let Event::Frame(frame) = &event {
            self.1 = self.1.saturating_add(frame.bytes().len());
        }
        if self.0.len() < BACKLOG && self.1 <= BACKLOG_BYTES {
            self.0.push(event);
        }
        Ok(())
    }
}

/// How many messages are kept that come before the first answer.
const BACKLOG: usize = 64;
const BACKLOG_BYTES: usize = 1024 * 1024;
