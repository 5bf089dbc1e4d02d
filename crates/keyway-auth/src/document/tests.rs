//! A peer's documents, honest and hostile (threats A10, A11).

use super::DocumentError::{ByteOrderMark, Empty, NotJson, NotObject, NotUtf8, TrailingText};
use super::*;

fn error(body: &[u8]) -> DocumentError {
    Document::parse(body).expect_err(&String::from_utf8_lossy(body.get(..80).unwrap_or(body)))
}

fn document(body: &str) -> Document {
    Document::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"))
}

#[test]
fn a11_every_broken_body_is_refused_for_its_own_reason() {
    assert!(BROKEN.len() >= 60, "{}", BROKEN.len());
    for (body, expected) in BROKEN {
        let error = error(body);
        assert_eq!(error, *expected, "{}", String::from_utf8_lossy(body));
        assert!(!format!("{error} {error:?}").contains("CANARY"));
    }
}

#[test]
fn a11_a_member_that_stands_twice_is_refused() {
    let table: &[(&[u8], &str)] = &[
        (b"{\"issuer\": \"CANARY\", \"issuer\": \"b\"}", "issuer"),
        (b"{\"issuer\": 1, \"issuer\": 1}", "issuer"),
        (b"{\"issuer\": 1, \"a\": 2, \"issuer\": null}", "issuer"),
        (b"{\"issuer\": 1, \"\\u0069ssuer\": 2}", "issuer"),
        (b"{\"\": 1, \"\": 2}", "a member"),
        (
            b"{\"CANARY \\u001b[2J\": 1, \"CANARY \\u001b[2J\": 2}",
            "a member",
        ),
    ];
    for (body, field) in table {
        let error = error(body);
        let field = (*field).to_owned();
        assert_eq!(error, DocumentError::Repeated { field });
        assert!(!format!("{error} {error:?}").contains("CANARY"));
    }
}

#[test]
fn a10_size_and_depth_have_a_limit() {
    let padded = |bytes: usize| format!("{{\"a\": \"{}\"}}", "x".repeat(bytes - 9));
    assert!(Document::parse(padded(MAX_BYTES).as_bytes()).is_ok());
    assert_eq!(
        error(padded(MAX_BYTES + 1).as_bytes()),
        DocumentError::TooLarge
    );
    assert_eq!(
        error(&vec![b'\xff'; MAX_BYTES + 1]),
        DocumentError::TooLarge
    );

    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        format!("{{\"a\": {open}{close}}}")
    };
    assert!(Document::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(
        error(nested(MAX_DEPTH + 1).as_bytes()),
        DocumentError::TooDeep
    );
    for unit in ["[", "{\"a\":", "[{\"a\":[", "{\"a\":\"\\\"[\",\"b\":["] {
        assert_eq!(
            error(unit.repeat(50_000).as_bytes()),
            DocumentError::TooDeep,
            "{unit}"
        );
    }
    // Brackets in strings do not count as depth.
    let text = format!("{{\"a\": \"\\\"{}\"}}", "[{".repeat(1000));
    assert!(document(&text).text("a").unwrap().is_some());
}

#[test]
fn a10_members_and_items_have_a_limit() {
    let members = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!("\"m{n}\": 0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(document(&members(MAX_MEMBERS)).has("m999"));
    for count in [MAX_MEMBERS + 1, 50_000] {
        assert_eq!(
            error(members(count).as_bytes()),
            DocumentError::TooManyMembers
        );
    }
    let items = |count: usize| format!("{{\"a\": [{}]}}", vec!["\"\""; count].join(","));
    assert_eq!(
        document(&items(MAX_ITEMS))
            .texts("a")
            .unwrap()
            .unwrap()
            .len(),
        MAX_ITEMS
    );
    for count in [MAX_ITEMS + 1, 300_000] {
        let document = document(&items(count));
        let too_many = DocumentError::TooManyItems { field: "a" };
        assert_eq!(document.texts("a").unwrap_err(), too_many);
    }
    let item = |bytes: usize| format!("{{\"a\": [\"b\", \"{}\"]}}", "x".repeat(bytes));
    assert!(document(&item(MAX_ITEM)).texts("a").is_ok());
    let too_long = DocumentError::ItemTooLong { field: "a" };
    assert_eq!(
        document(&item(MAX_ITEM + 1)).texts("a").unwrap_err(),
        too_long
    );
    let text = |bytes: usize| format!("{{\"a\": \"{}\"}}", "x".repeat(bytes));
    assert!(document(&text(MAX_TEXT)).text("a").is_ok());
    let too_long = DocumentError::TextTooLong { field: "a" };
    assert_eq!(
        document(&text(MAX_TEXT + 1)).text("a").unwrap_err(),
        too_long
    );
    assert_eq!(
        document(&text(MAX_TEXT + 1)).secret("a").unwrap_err(),
        too_long
    );
}

/// A member; the text, the texts, the flag that it is.
type Row<'a> = (
    &'a str,
    Option<&'a str>,
    Option<&'a [&'a str]>,
    Option<bool>,
);

#[test]
fn a11_a_member_of_another_kind_is_an_error_and_never_a_guess() {
    let table: &[Row<'_>] = &[
        ("\"\"", Some(""), None, None),
        ("\"a b\"", Some("a b"), None, None),
        ("\"\\u00e9\\n\\/\"", Some("é\n/"), None, None),
        ("\"true\"", Some("true"), None, None),
        ("true", None, None, Some(true)),
        ("false", None, None, Some(false)),
        ("0", None, None, None),
        ("1.5", None, None, None),
        ("{}", None, None, None),
        ("{\"a\": \"b\"}", None, None, None),
        ("[]", None, Some(&[]), None),
        ("[\"a\"]", None, Some(&["a"]), None),
        ("[\"a\", \"b\", \"a\"]", None, Some(&["a", "b", "a"]), None),
        ("[\"a\", null]", None, None, None),
        ("[\"a\", 1]", None, None, None),
        ("[[\"a\"]]", None, None, None),
        ("[{\"a\": \"a\"}, \"b\"]", None, None, None),
    ];
    for (member, text, texts, flag) in table {
        let document = document(&format!("{{\"other\": 1, \"a\": {member} }}"));
        assert_eq!(document.text("a").ok().flatten(), *text, "{member}");
        assert_eq!(document.text("a").is_err(), text.is_none(), "{member}");
        let secret = document.secret("a").ok().flatten();
        assert_eq!(
            secret.as_ref().map(|secret| secret.expose().as_str()),
            *text
        );
        assert_eq!(
            document.texts("a").ok().flatten().as_deref(),
            *texts,
            "{member}"
        );
        assert_eq!(document.texts("a").is_err(), texts.is_none(), "{member}");
        assert_eq!(document.flag("a").ok().flatten(), *flag, "{member}");
        assert_eq!(document.flag("a").is_err(), flag.is_none(), "{member}");
        assert_eq!(document.raw("a"), Some(*member));
        assert!(document.has("a"));
    }
}

#[test]
fn a11_null_and_absent_are_the_same() {
    for body in ["{}", "{\"a\": null}"] {
        let document = document(body);
        assert_eq!(document.text("a"), Ok(None));
        assert!(document.secret("a").unwrap().is_none());
        assert_eq!(document.texts("a"), Ok(None));
        assert_eq!(document.flag("a"), Ok(None));
        assert_eq!(document.seconds("a"), Ok(None));
        assert!(!document.has("a"));
    }
    assert_eq!(document("{}").raw("a"), None);
    assert_eq!(document("{\"a\": null}").raw("a"), Some("null"));
}

#[test]
fn a11_seconds_are_read_however_servers_write_them() {
    let whole = [
        ("0", 0),
        ("3600", 3600),
        ("3600.0", 3600),
        ("36e2", 3600),
        ("-0.0", 0),
        ("3599.5", 3599),
        ("1e-7", 0),
        ("\"1.0\"", 1),
        ("\"31.5\"", 31),
        ("\"0\"", 0),
        ("\"3600\"", 3600),
        ("\"003600\"", 3600),
        ("1e308", MAX_SECONDS),
        ("18446744073709551615", MAX_SECONDS),
        ("99999999999999999999999999", MAX_SECONDS),
        ("\"99999999999999999999999999\"", MAX_SECONDS),
        ("9223372036854775807", MAX_SECONDS),
    ];
    for (member, seconds) in whole {
        let document = document(&format!("{{\"expires_in\": {member}}}"));
        let expected = Ok(Some(Duration::from_secs(seconds)));
        assert_eq!(document.seconds("expires_in"), expected, "{member}");
    }
    for member in [
        "-1",
        "-3600",
        "-1e308",
        "\"\"",
        "\" 1\"",
        "\"-1\"",
        "\"+1\"",
        "\"1.\"",
        "\".5\"",
        "\"1e3\"",
        "\"1.2.3\"",
        "\"NaN\"",
        "\"0x10\"",
        "\"1h\"",
        "\"١\"",
        "true",
        "[]",
        "[3600]",
        "{}",
    ] {
        let document = document(&format!("{{\"expires_in\": {member}}}"));
        let field = "expires_in";
        assert_eq!(
            document.seconds(field),
            Err(DocumentError::NotSeconds { field }),
            "{member}"
        );
    }
}

#[test]
fn a_document_does_not_print_what_it_holds() {
    let document = document("{\"CANARY\": \"CANARY\", \"b\": [\"CANARY\"]}");
    let shown = format!("{document:?} {document:#?}");
    assert!(!shown.contains("CANARY"), "{shown}");
}

#[test]
fn what_surrounds_an_object_may_be_blank() {
    assert_eq!(
        document(" \r\n\t{\"a\": true} \r\n\t").flag("a"),
        Ok(Some(true))
    );
}

/// Bodies that break a rule, and the rule.
const BROKEN: &[(&[u8], DocumentError)] = &[
    (b"", Empty),
    (b" \r\n\t ", Empty),
    (b"\x0c", NotJson),
    (b"\0", NotJson),
    (b"<html>CANARY</html>", NotJson),
    (b"CANARY", NotJson),
    (b"error=invalid_grant", NotJson),
    (b"access_token=CANARY&token_type=bearer", NotJson),
    (b"NaN", NotJson),
    (b"-Infinity", NotJson),
    (b"'a'", NotJson),
    (b"//{}", NotJson),
    (b"[", NotJson),
    (b"[]x", NotJson),
    (b"null", NotObject),
    (b"true", NotObject),
    (b"0", NotObject),
    (b"-1e3", NotObject),
    (b"\"CANARY\"", NotObject),
    (b"[]", NotObject),
    (b"[{\"a\": 1}]", NotObject),
    (b"{", NotJson),
    (b"{]", NotJson),
    (b"{\"a\"", NotJson),
    (b"{\"a\":", NotJson),
    (b"{\"a\": 1", NotJson),
    (b"{\"a\": 1,}", NotJson),
    (b"{,}", NotJson),
    (b"{\"a\" 1}", NotJson),
    (b"{a: 1}", NotJson),
    (b"{'a': 1}", NotJson),
    (b"{1: 1}", NotJson),
    (b"{\"a\": 'CANARY'}", NotJson),
    (b"{\"a\": CANARY}", NotJson),
    (b"{\"a\": NaN}", NotJson),
    (b"{\"a\": Infinity}", NotJson),
    (b"{\"a\": undefined}", NotJson),
    (b"{\"a\": True}", NotJson),
    (b"{\"a\": 01}", NotJson),
    (b"{\"a\": +1}", NotJson),
    (b"{\"a\": .5}", NotJson),
    (b"{\"a\": 1.}", NotJson),
    (b"{\"a\": 1e}", NotJson),
    (b"{\"a\": 0x10}", NotJson),
    (b"{\"a\": 1e400}", NotJson),
    (b"{\"a\": [1e400]}", NotJson),
    (b"{\"a\": [1,]}", NotJson),
    (b"{\"a\": \"CANARY}", NotJson),
    (b"{\"a\": \"\n\"}", NotJson),
    (b"{\"a\": \"\\x41\"}", NotJson),
    (b"{\"a\": \"\\ud800\"}", NotJson),
    (b"{\"a\": [\"\\udc00\"]}", NotJson),
    (b"{\"\\ud800\": 1}", NotJson),
    (b"{\"a\": 1 /* CANARY */}", NotJson),
    (b"{\"a\": \"\xff\"}", NotUtf8),
    (b"{\"\xc0\xaf\": 1}", NotUtf8),
    (b"{\"a\": \"\xed\xa0\x80\"}", NotUtf8),
    (b"\xff\xfe{\0}\0", NotUtf8),
    (b"\xef\xbb\xbf{}", ByteOrderMark),
    (b"\xef\xbb\xbf", ByteOrderMark),
    (b"{}\xef\xbb\xbf", TrailingText),
    (b"{} {}", TrailingText),
    (b"{}CANARY", TrailingText),
    (b"{}\0", TrailingText),
    (b"{\"a\": 1}}", TrailingText),
    (b")]}'\n{}", NotJson),
];
