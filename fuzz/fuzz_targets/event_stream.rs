//! A stream reads the same wherever it is cut, and no event holds more than was sent.

#![no_main]

use bytes::Bytes;
use keyway_transport::{EventStream, StreamEvent};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, text) = input;
    let (first, second) = text.split_at(usize::from(cut).min(text.len()));
    let whole = read(&[text]);
    assert_eq!(whole, read(&[first, second]), "cut at {cut}");
    let carried: usize = whole.0.iter().map(|event| event.data.len()).sum();
    assert!(carried <= text.len());
    assert!(whole.0.iter().all(|event| !event.data.is_empty()));
});

fn read(pieces: &[&[u8]]) -> (Vec<StreamEvent>, Option<Bytes>, bool) {
    let mut stream = EventStream::new();
    let mut events = Vec::new();
    for piece in pieces {
        stream.push(Bytes::copy_from_slice(piece));
        loop {
            match stream.next_event() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(_) => return (events, None, true),
            }
        }
    }
    (events, stream.last_id().cloned(), false)
}
