use super::*;

fn faults(text: &str) -> Vec<FaultKind> {
    read(text).faults.iter().map(|fault| fault.kind).collect()
}

fn member<'a>(tree: &'a Tree, key: &str) -> &'a Node {
    &tree
        .root
        .as_ref()
        .unwrap()
        .as_object()
        .unwrap()
        .get(key)
        .unwrap()
        .value
}

#[test]
fn strict_json_has_no_faults() {
    let text =
        "\u{feff}{\"a\": [1, -0.5e+3, true, null, \"\\u00e9\\ud83d\\ude00\\n\"], \"b\": {}}\r\n";
    assert_eq!(faults(text), []);
    assert!(matches!(&member(&read(text), "a").value, Value::Array(items) if items.len() == 5));
}

#[test]
fn each_departure_is_named_and_the_next_member_is_still_read() {
    for (text, kind) in [
        ("{\"a\": 1, // note\n \"z\": 2}", FaultKind::Comment),
        ("{/* note */ \"z\": 2}", FaultKind::Comment),
        ("{\"z\": 2,}", FaultKind::TrailingComma),
        ("{\"a\": [1,], \"z\": 2}", FaultKind::TrailingComma),
        ("{\"a\": 1 \"z\": 2}", FaultKind::MissingComma),
        ("{\"a\" 1, \"z\": 2}", FaultKind::MissingColon),
        ("{, \"z\": 2}", FaultKind::ExpectedKey),
        ("{\"a\": , \"z\": 2}", FaultKind::ExpectedValue),
        ("{\"a\": NaN, \"z\": 2}", FaultKind::ExpectedValue),
        ("{\"a\": \"x,\n \"z\": 2}", FaultKind::UnclosedString),
        (
            "{\"a\": {\"b\": [1, 2}, \"z\": 2}",
            FaultKind::UnclosedBracket,
        ),
        ("{\"z\": 2", FaultKind::UnclosedBracket),
        ("{\"a\": 1], \"z\": 2}", FaultKind::StrayBracket),
        ("{'a': 1, \"z\": 2}", FaultKind::SingleQuotes),
        ("{a: 1, \"z\": 2}", FaultKind::UnquotedKey),
        ("{\"a\": \"\\x41\", \"z\": 2}", FaultKind::BadEscape),
        ("{\"a\": \"\\ud800\", \"z\": 2}", FaultKind::LoneSurrogate),
        ("{\"a\": \"\t\", \"z\": 2}", FaultKind::ControlCharacter),
        ("{\"a\": \"\0\", \"z\": 2}", FaultKind::ControlCharacter),
        ("{\"a\": 012, \"z\": 2}", FaultKind::BadNumber),
        ("{\"a\": +1, \"z\": 2}", FaultKind::BadNumber),
        ("{\"z\": 2} x", FaultKind::TrailingText),
    ] {
        assert!(faults(text).contains(&kind), "{text}: {:?}", faults(text));
        assert_eq!(member(&read(text), "z").kind(), "a number", "{text}");
    }
}

#[test]
fn an_empty_text_has_no_value() {
    for text in ["", "\u{feff}", " \n"] {
        assert_eq!(faults(text), [FaultKind::Empty]);
        assert!(read(text).root.is_none());
    }
}

#[test]
fn a_hundred_thousand_brackets_are_one_fault_and_no_recursion() {
    for bracket in ["[", "{\"a\":"] {
        let tree = read(&bracket.repeat(100_000));
        assert!(
            tree.faults
                .iter()
                .any(|fault| fault.kind == FaultKind::TooDeep)
        );
        assert!(tree.faults.len() <= MAX_FAULTS);
    }
}

#[test]
fn a_nest_that_is_too_deep_is_skipped_and_its_sibling_read() {
    let text = format!(
        "{{\"a\": {}{}, \"z\": 2}}",
        "[".repeat(500),
        "]".repeat(500)
    );
    assert_eq!(faults(&text), [FaultKind::TooDeep]);
    assert_eq!(member(&read(&text), "z").kind(), "a number");
}

#[test]
fn a_range_of_a_decoded_string_maps_to_the_bytes_it_came_from() {
    let text = r#"{"a": "\u00e9\n${X} b"}"#;
    let tree = read(text);
    let node = member(&tree, "a");
    let start = node.as_str().unwrap().find("${X}").unwrap();
    let span = span_inside(text, node.span, &(start..start + 4));
    assert_eq!(&text[span.range()], "${X}");
}

#[test]
fn repeated_keys_are_kept_and_paired_with_the_first() {
    let tree = read(r#"{"a": 1, "b": 2, "a": 3, "a": 4}"#);
    let object = tree.root.as_ref().unwrap().as_object().unwrap();
    assert_eq!(object.repeated().len(), 2);
    assert!(matches!(&object.get("a").unwrap().value.value, Value::Number(text) if text == "4"));
}

#[test]
fn what_quote_writes_reads_back_unchanged() {
    let text = "a\"b\\c\nd\te\u{1}é\u{1f600}/";
    let quoted = quote(text);
    assert_eq!(faults(&quoted), []);
    assert_eq!(read(&quoted).root.unwrap().as_str(), Some(text));
}
