//! Messages of the bus, built by hand: what is read, and what is refused.

use super::*;

/// A message of any kind, built by hand; `fields` are (code, signature, bytes of the value).
fn message(kind: u8, fields: &[(u8, &str, Writer)], body: &Writer) -> Vec<u8> {
    let mut out = Writer::default();
    out.extend(&[LITTLE_ENDIAN, kind, 0, VERSION]);
    out.number(body.as_slice().len().try_into().unwrap());
    out.number(9);
    out.array(8, |array| {
        for (code, signature, value) in fields {
            array.align(8);
            array.byte(*code);
            array.signature(signature);
            if *signature != "g" {
                array.align(4);
            }
            array.extend(value.as_slice());
        }
    });
    out.align(8);
    out.extend(body.as_slice());
    out.as_slice().to_vec()
}

fn value(write: impl FnOnce(&mut Writer)) -> Writer {
    let mut writer = Writer::default();
    write(&mut writer);
    writer
}

fn reply(signature: &str, body: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let fields = [
        (REPLY_SERIAL, "u", value(|v| v.number(3))),
        (7, "s", value(|v| v.text(":1.0"))),
        (SIGNATURE, "g", value(|v| v.signature(signature))),
    ];
    message(METHOD_RETURN, &fields, &value(body))
}

#[test]
fn reply_is_read_with_its_values() {
    let bytes = reply("aoao", |body| {
        body.array(4, |a| a.text("/a"));
        body.array(4, |_| {});
    });
    let read = Message::parse(&bytes).unwrap();
    assert_eq!(read.kind, Kind::Return(3));
    assert_eq!(read.found(), Ok((vec!["/a"], vec![])));
    assert_eq!(read.object(), Err(Malformed::Signature));
    assert_eq!(
        Message::length(bytes.first_chunk().unwrap()),
        Ok(bytes.len())
    );
}

#[test]
fn secret_is_read_and_never_shown() {
    let bytes = reply("(oayays)", |body| {
        body.text("/session");
        body.bytes(b"");
        body.bytes(b"CANARY");
        body.text("application/octet-stream");
    });
    let read = Message::parse(&bytes).unwrap();
    assert_eq!(read.secret().unwrap().expose(), b"CANARY");
    let shown = format!("{read:?}");
    assert!(
        !shown.contains("CANARY") && !shown.contains("67, 65"),
        "{shown}"
    );
}

#[test]
fn error_is_read_with_its_name() {
    let fields = [
        (REPLY_SERIAL, "u", value(|v| v.number(4))),
        (ERROR_NAME, "s", value(|v| v.text("a.B"))),
    ];
    let read = Message::parse(&message(ERROR, &fields, &Writer::default())).unwrap();
    assert_eq!(read.kind, Kind::Error(4, "a.B".to_owned()));
}

#[test]
fn call_is_what_a_bus_would_read() {
    let call = Call {
        destination: "org.example",
        path: "/x",
        interface: "org.example.I",
        member: "M",
        signature: "s",
        body: value(|body| body.text("hello")),
    };
    let bytes = call.to_bytes(1);
    let read = Message::parse(bytes.as_slice()).unwrap();
    assert_eq!((read.path.as_str(), read.member.as_str()), ("/x", "M"));
    assert_eq!(read.kind, Kind::Other);
    assert_eq!(read.read("s", Reader::text), Ok("hello"));
}

#[test]
fn every_cut_and_every_broken_rule_is_refused() {
    let good = reply("o", |body| body.text("/a"));
    for length in 0..good.len() {
        assert!(Message::parse(&good[..length]).is_err(), "{length}");
    }
    let with = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        Message::parse(&bad).and_then(|read| read.object().map(str::to_owned))
    };
    assert_eq!(with(0, b'B'), Err(Malformed::Prefix));
    assert_eq!(with(3, 2), Err(Malformed::Prefix));
    assert_eq!(with(1, 0), Err(Malformed::Value));
    assert_eq!(with(8, 0), Err(Malformed::Value));
    assert_eq!(with(6, 0xff), Err(Malformed::TooLong));
    assert_eq!(with(14, 0xff), Err(Malformed::TooLong));
    assert_eq!(with(4, 9), Err(Malformed::Short));
    let unaddressed = message(METHOD_RETURN, &[], &Writer::default());
    assert_eq!(Message::parse(&unaddressed), Err(Malformed::Value));
    let more = reply("o", |body| {
        body.text("/a");
        body.byte(1);
    });
    assert_eq!(
        Message::parse(&more).unwrap().object(),
        Err(Malformed::Value)
    );
}
