//! One question to a server before an adapter is attached; no event that comes meanwhile is lost.

use keyway_transport::{Connection, Event, EventReceiver, Frame, RequestId, queue};

use crate::timeouts::PROBE_TIMEOUT;

/// Asks and waits a while for the answer.
///
/// The connection comes back as it was: what the server said meanwhile is still to be read.
pub(crate) async fn ask(
    mut connection: Connection,
    id: &RequestId,
    question: Frame,
) -> (Connection, Option<Frame>) {
    let mut kept = Vec::new();
    let answer = async {
        connection.link.send(question).await.ok()?;
        answer_to(id, &mut connection.events, &mut kept).await
    };
    let answer = tokio::time::timeout(PROBE_TIMEOUT, answer)
        .await
        .ok()
        .flatten();
    if answer.is_none() {
        connection.link.abandon(id);
    }
    (with_events_back(connection, kept), answer)
}

async fn answer_to(
    id: &RequestId,
    events: &mut EventReceiver,
    kept: &mut Vec<Event>,
) -> Option<Frame> {
    while kept.len() < MAX_KEPT {
        match events.recv().await? {
            Event::Frame(frame) if answers(&frame, id) => return Some(frame),
            Event::Failed { id: failed, .. } if failed == *id => return None,
            closed @ Event::Closed(_) => {
                kept.push(closed);
                return None;
            }
            other => kept.push(other),
        }
    }
    None
}

fn answers(frame: &Frame, id: &RequestId) -> bool {
    let envelope = frame.envelope();
    envelope.is_ok_and(|envelope| envelope.is_response() && envelope.id().as_ref() == Some(id))
}

/// Puts events back in front of those that are still to come.
fn with_events_back(connection: Connection, kept: Vec<Event>) -> Connection {
    if kept.is_empty() {
        return connection;
    }
    let Connection {
        link,
        events: mut later,
        watch,
        ..
    } = connection;
    let (sender, events) = queue(MAX_KEPT);
    drop(tokio::spawn(async move {
        for event in kept {
            if sender.send(event).await.is_err() {
                return;
            }
        }
        while let Some(event) = later.recv().await {
            if sender.send(event).await.is_err() {
                return;
            }
        }
    }));
    let mut connection = Connection::new(link, events);
    connection.watch = watch;
    connection
}

const MAX_KEPT: usize = 256;
