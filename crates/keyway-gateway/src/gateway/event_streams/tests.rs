//! What is kept of streams, for which clients, and how much of it.

use super::*;

fn frame(text: &str) -> Frame {
    Frame::new(format!(r#"{{"method":"{text}"}}"#)).unwrap()
}

/// Everything that waits for a reader.
fn read(pieces: &mut mpsc::Receiver<Bytes>) -> String {
    let mut text = String::new();
    while let Ok(piece) = pieces.try_recv() {
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    text
}

fn ids(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines.filter_map(|line| line.strip_prefix("id: ")).collect()
}

#[tokio::test]
async fn a_stream_is_taken_up_where_it_broke_off_and_no_other_is_mixed_in() {
    let streams = EventStreams::default();
    let (one, mut first) = streams.begin(Priming::Event);
    let (two, _second) = streams.begin(Priming::Event);
    streams.write(one, &frame("a")).await;
    streams.write(two, &frame("other")).await;
    streams.note(&frame("unasked")).await;
    let text = read(&mut first);
    assert!(text.starts_with("id: 1-0\nretry: "), "{text}");
    assert_eq!(ids(&text), ["1-0", "1-1"]);
    drop(first);
    streams.write(one, &frame("b")).await;
    let mut again = streams.resume("1-1").unwrap();
    let text = read(&mut again);
    assert_eq!(ids(&text), ["1-2"], "{text}");
    let id = RequestId::number(7);
    streams.finish(one, &id, &frame("answer")).await;
    let text = read(&mut again);
    assert!(text.contains("answer"), "{text}");
    assert!(again.recv().await.is_none(), "the stream has ended");
    // Even after its end, and from its beginning.
    let mut late = streams.resume("1-0").unwrap();
    assert_eq!(ids(&read(&mut late)), ["1-1", "1-2", "1-3"]);
    assert!(late.recv().await.is_none());
}

#[tokio::test]
async fn events_sent_without_a_reader_are_read_once() {
    let streams = EventStreams::default();
    streams.note(&frame("a")).await;
    let mut first = streams.listen(Priming::None);
    assert_eq!(ids(&read(&mut first)), ["0-1"]);
    streams.note(&frame("b")).await;
    let mut second = streams.listen(Priming::Event);
    assert_eq!(ids(&read(&mut first)), ["0-2"]);
    assert!(first.recv().await.is_none(), "the first stream has ended");
    // Its id stands before everything that will come.
    assert_eq!(ids(&read(&mut second)), ["0-2"]);
    let mut resumed = streams.resume("0-1").unwrap();
    assert_eq!(ids(&read(&mut resumed)), ["0-2"]);
}

#[tokio::test]
async fn an_id_that_was_never_given_is_not_resumed() {
    let streams = EventStreams::default();
    let (_, _pieces) = streams.begin(Priming::Event);
    for id in ["", "1", "1-1", "2-0", "0-0", "-1-0", "1-0-0", "x-y"] {
        assert!(streams.resume(id).is_none(), "{id}");
    }
}

#[tokio::test]
async fn what_is_kept_is_bounded_in_number_and_in_bytes() {
    let streams = EventStreams::default();
    for _ in 0..2 * MAX_EVENTS {
        streams.note(&frame("a")).await;
    }
    assert_eq!(streams.lock().events, MAX_EVENTS);
    let large = "x".repeat(MAX_EVENT_BYTES - 100);
    for _ in 0..8 {
        let (stream, _pieces) = streams.begin(Priming::None);
        streams.write(stream, &frame(&large)).await;
        let table = streams.lock();
        assert!(table.bytes <= MAX_BYTES, "{}", table.bytes);
    }
    let id = RequestId::number(1);
    for _ in 0..2 * MAX_STREAMS {
        let (stream, _pieces) = streams.begin(Priming::None);
        streams.finish(stream, &id, &frame("a")).await;
    }
    let table = streams.lock();
    assert!(table.by_number.len() <= MAX_STREAMS);
    let kept = table
        .by_number
        .values()
        .map(|stream_state| stream_state.kept.len());
    assert_eq!(table.events, kept.sum::<usize>());
    let kept = table
        .by_number
        .values()
        .flat_map(|stream_state| &stream_state.kept);
    assert_eq!(table.bytes, kept.map(|(_, it)| it.len()).sum::<usize>());
}

#[tokio::test]
async fn an_answer_that_is_too_large_to_be_kept_becomes_an_error() {
    let streams = EventStreams::default();
    let (stream, mut pieces) = streams.begin(Priming::Event);
    let large = frame(&"x".repeat(MAX_EVENT_BYTES));
    streams.finish(stream, &RequestId::number(7), &large).await;
    assert!(read(&mut pieces).len() > MAX_EVENT_BYTES, "it was read");
    let mut again = streams.resume("1-0").unwrap();
    let text = read(&mut again);
    assert!(text.contains(r#""id":7,"error""#), "{text}");
    assert_eq!(ids(&text), ["1-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_waits_some_minutes_for_its_client() {
    let streams = EventStreams::default();
    let (stream, pieces) = streams.begin(Priming::Event);
    tokio::time::sleep(2 * STREAM_RESUME_TIMEOUT).await;
    assert!(streams.is_awaited(stream), "it has a reader");
    drop(pieces);
    assert!(streams.is_awaited(stream), "just left");
    assert!(!streams.has_reader());
    tokio::time::sleep(STREAM_RESUME_TIMEOUT).await;
    assert!(!streams.is_awaited(stream));
    streams
        .finish(stream, &RequestId::number(7), &frame("answer"))
        .await;
    streams.keep_alive();
    assert!(streams.resume("1-0").is_some());
    tokio::time::sleep(STREAM_RESUME_TIMEOUT).await;
    streams.keep_alive();
    assert!(streams.resume("1-0").is_none());
}
