//! Answers that do not get to the client in one piece, or not at all.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::settings::Delivery;
use crate::http::{self, Answer};

/// Writes as much of an answer as is to arrive, and closes the connection.
pub(super) fn deliver(mut client: TcpStream, answer: &Answer, how: Delivery) -> io::Result<()> {
    let bytes = http::bytes(answer);
    let (kept, pause) = match how {
        Delivery::Whole => (bytes.len(), Duration::ZERO),
        Delivery::Lost => (0, Duration::ZERO),
        Delivery::Cut(length) => (length.min(bytes.len()), Duration::ZERO),
        Delivery::Dripping(millis) => {
            let pieces = u64::try_from(bytes.len().div_ceil(PIECE))
                .unwrap_or(1)
                .max(1);
            (bytes.len(), Duration::from_millis(millis / pieces))
        }
    };
    client.set_nodelay(true)?;
    for piece in bytes.get(..kept).unwrap_or_default().chunks(PIECE) {
        client.write_all(piece)?;
        // Slow on command.
        std::thread::sleep(pause);
    }
    client.shutdown(Shutdown::Both)
}

const PIECE: usize = 16;
