//! `GET /v1/events`: the events of contract §8 as server-sent events.

use bytes::Bytes;
use keyway::events::{Event, EventStream};
use keyway_transport::Reply;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{interval, timeout};

use super::answers;
use crate::timeouts::{KEEP_ALIVE_INTERVAL, STREAM_READ_TIMEOUT};

/// Sends events until the reader, the gateway or the events end. The first piece is a comment: what
/// happens after it was read is told.
pub(super) fn open(
    events: EventStream,
    stopping: watch::Receiver<bool>,
    permit: OwnedSemaphorePermit,
) -> Reply {
    let (out, pieces) = mpsc::channel(QUEUE);
    drop(tokio::spawn(async move {
        run(events, stopping, out).await;
        drop(permit);
    }));
    answers::events(pieces)
}

async fn run(
    mut events: EventStream,
    mut stopping: watch::Receiver<bool>,
    out: mpsc::Sender<Bytes>,
) {
    let mut silence = interval(KEEP_ALIVE_INTERVAL);
    let mut lost = 0;
    loop {
        // All three branches are cancel-safe: an event that is not taken now is taken next time.
        let text = tokio::select! {
            event = events.next() => match event {
                Some(event) => {
                    let missed = events.lost() - lost;
                    lost = events.lost();
                    written(&event, missed)
                }
                None => return,
            },
            // The first tick comes at once.
            _ = silence.tick() => ":\n\n".to_owned(),
            () = out.closed() => return,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        // A reader that takes nothing for so long is gone.
        let sent = timeout(STREAM_READ_TIMEOUT, out.send(Bytes::from(text))).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

/// Writes an event; JSON has no line breaks, so that its data is one line. What was dropped before it
/// is told first.
fn written(event: &Event, missed: u64) -> String {
    let mut text = String::new();
    if missed > 0 {
        text.push_str(&format!("event: lost\ndata: {{\"lost\":{missed}}}\n\n"));
    }
    let (id, kind, data) = (event.seq, event.kind.as_str(), event.to_json());
    text.push_str(&format!("id: {id}\nevent: {kind}\ndata: {data}\n\n"));
    text
}

const QUEUE: usize = 16;

#[cfg(test)]
mod tests {
    use keyway::events::{Events, Kind};
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn events_come_in_order_and_what_was_lost_is_counted() {
        let events = Events::new(Vec::new());
        let mut stream = events.subscribe();
        for _ in 0..1030 {
            events.emit(Kind::AuthStarted, Some("s"), None);
        }
        let first = stream.next().await.unwrap();
        let text = written(&first, stream.lost());
        assert!(
            text.starts_with("event: lost\ndata: {\"lost\":6}\n\nid: 6\n"),
            "{text}"
        );
        assert!(text.ends_with("\"server\":\"s\"}\n\n"), "{text}");
    }

    #[tokio::test]
    async fn a_stream_ends_with_the_gateway_and_gives_its_place_back() {
        let events = Events::new(Vec::new());
        let stopping = watch::Sender::new(false);
        let places = std::sync::Arc::new(Semaphore::new(1));
        let permit = std::sync::Arc::clone(&places)
            .acquire_owned()
            .await
            .unwrap();
        let _reply = open(events.subscribe(), stopping.subscribe(), permit);
        assert_eq!(places.available_permits(), 0);
        stopping.send_replace(true);
        drop(places.acquire().await.unwrap());
    }
}
