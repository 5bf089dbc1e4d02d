//! Tables of streams, read whole and cut at every place.

use super::*;

/// Reads a stream given in pieces: name and data of each event, then the last id and the retry.
fn read(pieces: &[&[u8]]) -> (Vec<(String, String)>, Option<String>, Option<u64>) {
    let mut stream = EventStream::new();
    let mut events = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for piece in pieces {
        stream.push(Bytes::copy_from_slice(piece));
        while let Some(event) = stream.next_event().unwrap() {
            let name = event.name.map_or(String::new(), |name| text(&name));
            events.push((name, text(&event.data)));
        }
    }
    let retry = stream
        .retry()
        .map(|retry| retry.as_millis().try_into().unwrap());
    (events, stream.last_id().map(|id| text(id)), retry)
}

type Row = (
    &'static str,
    &'static [(&'static str, &'static str)],
    Option<&'static str>,
    Option<u64>,
);

const ROWS: &[Row] = &[
    ("data: a\n\n", &[("", "a")], None, None),
    (
        "data:a\r\rdata: b\r\n\r\n",
        &[("", "a"), ("", "b")],
        None,
        None,
    ),
    (
        "data:  two blanks \n\n",
        &[("", " two blanks ")],
        None,
        None,
    ),
    ("data: a\ndata:\ndata: b\n\n", &[("", "a\n\nb")], None, None),
    ("data\ndata\n\n", &[("", "\n")], None, None),
    ("\u{feff}data: bom\n\n", &[("", "bom")], None, None),
    (
        "data: \u{feff}kept\n\n",
        &[("", "\u{feff}kept")],
        None,
        None,
    ),
    (": comment\n:\n\ndata: x\n\n", &[("", "x")], None, None),
    (
        "event: endpoint\ndata: /m?s=1\n\n",
        &[("endpoint", "/m?s=1")],
        None,
        None,
    ),
    ("event: message\ndata: x\n\n", &[("", "x")], None, None),
    ("event: lost\n\ndata: x\n\n", &[("", "x")], None, None),
    ("id: 7\ndata:\nretry: 500\n\n", &[], Some("7"), Some(500)),
    ("retry: 20\n", &[], None, Some(20)),
    ("retry: 2x\nretry:\nretry: -1\n\n", &[], None, None),
    ("retry: 99999999999999999999\n\n", &[], None, None),
    ("retry: 999999999\n\n", &[], None, Some(300_000)),
    (
        "id: 1\ndata: a\n\nid\ndata: b\n\n",
        &[("", "a"), ("", "b")],
        None,
        None,
    ),
    ("id: 1\n\nid: 2\u{0}\n\n", &[], Some("1"), None),
    ("id: never dispatched\n", &[], None, None),
    ("data: cut", &[], None, None),
    ("unknown: x\nDATA: y\n data: z\n\n", &[], None, None),
    (
        "data: {\"a\":\"h\u{e9}\u{4e16}\u{1f600}\"}\r\n\r\n",
        &[("", "{\"a\":\"h\u{e9}\u{4e16}\u{1f600}\"}")],
        None,
        None,
    ),
    (
        "data: a\n\n\n\n\ndata: b\n\n",
        &[("", "a"), ("", "b")],
        None,
        None,
    ),
];

#[test]
fn every_stream_reads_the_same_wherever_it_is_cut() {
    for (text, events, id, retry) in ROWS {
        let expected = (
            events
                .iter()
                .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
                .collect::<Vec<_>>(),
            id.map(str::to_owned),
            *retry,
        );
        let bytes = text.as_bytes();
        assert_eq!(read(&[bytes]), expected, "{text:?}");
        for at in 0..=bytes.len() {
            let (first, second) = bytes.split_at(at);
            assert_eq!(read(&[first, second]), expected, "{text:?} cut at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), expected, "{text:?} byte by byte");
    }
}

#[test]
fn data_of_one_line_in_one_piece_is_not_copied() {
    let piece = Bytes::from_static(b"data: {\"id\":1}\n\ndata: {\"id\":2}\n\n");
    let range = piece.as_ptr_range();
    let mut stream = EventStream::new();
    stream.push(piece);
    for _ in 0..2 {
        let data = stream.next_event().unwrap().unwrap().data;
        assert!(range.contains(&data.as_ptr()));
    }
}

#[test]
fn pushing_before_the_last_piece_is_read_keeps_both() {
    let mut stream = EventStream::new();
    stream.push(Bytes::from_static(b"data: a\n\nda"));
    stream.push(Bytes::from_static(b"ta: b\n\n"));
    let data: Vec<_> = std::iter::from_fn(|| stream.next_event().unwrap())
        .map(|event| event.data)
        .collect();
    assert_eq!(data, ["a", "b"]);
}

#[test]
fn c11_line_without_end_stops_at_the_limit() {
    for start in ["data: ", ":", "x"] {
        let mut stream = EventStream::new();
        stream.push(Bytes::copy_from_slice(start.as_bytes()));
        let piece = Bytes::from(vec![b'x'; 1024 * 1024]);
        let failed = (0..70).find_map(|_| {
            stream.push(piece.clone());
            stream.next_event().err()
        });
        assert_eq!(failed, Some(StreamError::LineTooLong), "{start}");
    }
}

#[test]
fn c11_event_of_endless_lines_stops_at_the_limit() {
    let mut stream = EventStream::new();
    let line = [b"data: ", vec![b'x'; 1024 * 1024].as_slice(), b"\n"].concat();
    let line = Bytes::from(line);
    let failed = (0..70).find_map(|_| {
        stream.push(line.clone());
        stream.next_event().err()
    });
    assert_eq!(failed, Some(StreamError::EventTooLarge));
}

#[test]
fn names_and_ids_are_short() {
    for field in ["id", "event"] {
        let mut stream = EventStream::new();
        stream.push(format!("{field}: {}\n", "x".repeat(5000)).into());
        assert_eq!(stream.next_event(), Err(StreamError::FieldTooLong));
    }
}
