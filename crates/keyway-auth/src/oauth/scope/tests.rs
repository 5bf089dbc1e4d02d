//! Lists of scopes: their order, what is new, and what is asked for.

use super::*;

fn list(scopes: &Scopes) -> Vec<&str> {
    scopes.as_slice().iter().map(String::as_str).collect()
}

#[test]
fn scopes_keep_their_order_and_stand_once() {
    let scopes = Scopes::parse("  write read\twrite Read\nread  ");
    assert_eq!(list(&scopes), ["write", "read", "Read"]);
    assert_eq!(scopes.to_parameter().as_deref(), Some("write read Read"));
    assert!(scopes.contains("read") && !scopes.contains("READ"));
}

#[test]
fn without_scopes_there_is_no_parameter() {
    for text in ["", " ", "\t\n", "\"", "é"] {
        let scopes = Scopes::parse(text);
        assert!(scopes.is_empty(), "{text:?}");
        assert_eq!(scopes.to_parameter(), None);
    }
}

#[test]
fn union_and_difference_keep_the_order() {
    let (ours, theirs) = (Scopes::parse("b a"), Scopes::parse("c a d"));
    assert_eq!(list(&ours.union(&theirs)), ["b", "a", "c", "d"]);
    assert_eq!(list(&theirs.union(&ours)), ["c", "a", "d", "b"]);
    assert_eq!(list(&theirs.difference(&ours)), ["c", "d"]);
    assert_eq!(list(&ours.difference(&theirs)), ["b"]);
    assert!(ours.difference(&ours).is_empty());
    assert_eq!(ours.union(&Scopes::default()), ours);
}

/// Threats B10 and B11.
#[test]
fn b11_invalid_scopes_are_left_out() {
    let longest = "x".repeat(MAX_SCOPE);
    let too_long = "x".repeat(MAX_SCOPE + 1);
    let table = [
        ("a", true),
        ("https://www.googleapis.com/auth/drive", true),
        ("urn:x:y", true),
        ("!#$%&'()*+,-./:;<=>?@[]^_`{|}~", true),
        (longest.as_str(), true),
        (too_long.as_str(), false),
        ("", false),
        ("a b", false),
        ("a\"", false),
        ("a\\", false),
        ("\x1b]0;pwn\x07", false),
        ("a\u{202e}b", false),
        ("a\u{200b}", false),
        ("a\0", false),
        ("a\x7f", false),
        ("é", false),
    ];
    for (text, expected) in table {
        assert_eq!(is_scope(text), expected, "{text:?}");
        let scopes: Scopes = [text, "other"].into_iter().collect();
        assert_eq!(
            scopes.as_slice().len(),
            1 + usize::from(expected),
            "{text:?}"
        );
    }
}

#[test]
fn b10_there_is_a_limit_to_how_much_is_asked_for() {
    let many: Vec<_> = (0..100_000).map(|n| format!("s{n}")).collect();
    let scopes = Scopes::parse(&many.join(" "));
    assert_eq!(scopes.as_slice(), &many[..MAX_SCOPES]);
    let others = Scopes::parse(&many[MAX_SCOPES..].join(" "));
    assert_eq!(scopes.union(&others), scopes);
}
