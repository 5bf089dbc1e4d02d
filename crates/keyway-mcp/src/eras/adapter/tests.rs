use std::sync::Weak;
use std::time::Duration;

use keyway_transport::{EventSender, queue};

use super::super::message;
use super::*;

/// Passes everything on, and sends an answer to the server for each of its pings.
struct Plain {
    remind_at: Option<Instant>,
}

impl EraAdapter for Plain {
    fn client_message(&mut self, _: Message, frame: Frame, out: &mut Outbox) {
        out.server(frame);
    }

    fn server_message(&mut self, _: Message, frame: Frame, out: &mut Outbox) {
        out.client(Event::Frame(frame));
    }

    fn failed(&mut self, id: RequestId, error: TransportError, out: &mut Outbox) {
        out.client(Event::Failed { id, error });
    }

    fn closed(&mut self, reason: Option<TransportError>, out: &mut Outbox) {
        out.client(Event::Closed(reason));
    }

    fn client_sent(&mut self, frame: Frame, out: &mut Outbox) {
        match frame.bytes().starts_with(b"remind") {
            true => self.remind_at = Some(out.now() + Duration::from_secs(5)),
            false => out.server(frame),
        }
    }

    fn server_sent(&mut self, event: Event, out: &mut Outbox) {
        if let Event::Frame(frame) = &event
            && frame.bytes().starts_with(b"ping")
        {
            let id = message::own_id("", 7);
            out.note(message::request(&id, "pong", "{}"));
            return;
        }
        if let Event::Frame(frame) = &event
            && frame.bytes().starts_with(b"large ping")
        {
            let id = message::own_id("", 8);
            let params = format!("[\"{}\"]", "x".repeat(1_000_000));
            out.note(message::request(&id, "pong", &params));
            return;
        }
        out.client(event);
    }

    fn deadline(&self) -> Option<Instant> {
        self.remind_at
    }

    fn overdue(&mut self, out: &mut Outbox) {
        self.remind_at = None;
        out.client(Event::Closed(None));
    }

    fn upstream(&self, id: &RequestId) -> Option<RequestId> {
        Some(id.clone())
    }
}

/// A server that never takes anything.
#[derive(Debug)]
struct Stuck;

impl Link for Stuck {
    fn send(&self, _: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(std::future::pending())
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn stuck() -> (EventSender, Connection, Weak<Stuck>) {
    let (sender, events) = queue(1);
    let link = Arc::new(Stuck);
    let held = Arc::downgrade(&link);
    let connection = attach(Connection::new(link, events), Plain { remind_at: None });
    (sender, connection, held)
}

fn frame(text: &'static str) -> Frame {
    Frame::new(text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_nothing_is_still_heard() {
    let (server, mut client, _) = stuck();
    client.link.send(frame("{\"id\":1}")).await.unwrap();
    for _ in 0..1000 {
        server.send(Event::Frame(frame("{}"))).await.unwrap();
        assert!(matches!(client.events.recv().await, Some(Event::Frame(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_asks_for_and_does_not_take_is_not_kept_for_ever() {
    let (server, mut client, _) = stuck();
    for _ in 0..MAX_QUEUED + 2 {
        server.send(Event::Frame(frame("ping"))).await.unwrap();
    }
    let event = client.events.recv().await;
    assert!(matches!(event, Some(Event::Failed { id, .. }) if id.as_json() == "\"keyway:7\""));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_set_by_a_client_message_is_met() {
    let (_server, mut client, _) = stuck();
    let began = Instant::now();
    client.link.send(frame("remind")).await.unwrap();
    assert!(matches!(
        client.events.recv().await,
        Some(Event::Closed(None))
    ));
    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_server_link_is_dropped_with_the_adapter() {
    let (_server, client, held) = stuck();
    client.link.send(frame("{\"id\":1}")).await.unwrap();
    tokio::task::yield_now().await;
    drop(client);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(held.upgrade().is_none());
}

fn large() -> Frame {
    Frame::new(vec![b'x'; 1_000_000]).unwrap()
}

#[tokio::test(start_paused = true)]
async fn large_messages_wait_one_at_a_time_for_a_server_that_takes_nothing() {
    let (_server, client, _) = stuck();
    // One is on its way, and one waits.
    for _ in 0..2 {
        client.link.send(large()).await.unwrap();
        tokio::task::yield_now().await;
    }
    let third = tokio::time::timeout(Duration::from_secs(1), client.link.send(large())).await;
    assert!(third.is_err(), "it was taken");
}

#[tokio::test(start_paused = true)]
async fn large_messages_wait_one_at_a_time_for_a_client_that_reads_nothing() {
    let (server, mut client, _) = stuck();
    let mut taken = 0;
    let taking = async {
        while server.send(Event::Frame(large())).await.is_ok() {
            taken += 1;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(1), taking)
            .await
            .is_err()
    );
    // In the queue of the client, before it, and in that of the server.
    assert_eq!(taken, 3);
    assert!(matches!(client.events.recv().await, Some(Event::Frame(_))));
}

#[tokio::test(start_paused = true)]
async fn what_a_server_asks_for_and_does_not_take_is_bounded_in_bytes() {
    let (server, mut client, _) = stuck();
    for _ in 0..20 {
        server
            .send(Event::Frame(frame("large ping")))
            .await
            .unwrap();
    }
    let event = client.events.recv().await;
    assert!(matches!(event, Some(Event::Failed { id, .. }) if id.as_json() == "\"keyway:8\""));
}
