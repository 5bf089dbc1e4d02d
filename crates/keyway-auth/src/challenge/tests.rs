//! Challenges as servers write them, right and wrong.

use super::*;

fn read(lines: &[&str]) -> Vec<AuthChallenge> {
    let values: Vec<_> = lines
        .iter()
        .map(|line| HeaderValue::from_bytes(line.as_bytes()).unwrap())
        .collect();
    parse_challenges(&values)
}

fn told(lines: &[&str]) -> (Option<String>, Option<String>) {
    let challenges = read(lines);
    let told = token_challenge(&challenges);
    (
        told.and_then(AuthChallenge::error),
        told.and_then(AuthChallenge::scope),
    )
}

#[test]
fn a12_error_and_scope_are_found_wherever_they_stand() {
    let table: &[(&[&str], Option<&str>, Option<&str>)] = &[
        (&[], None, None),
        (&["Bearer"], None, None),
        (
            &[r#"Bearer error="invalid_token""#],
            Some("invalid_token"),
            None,
        ),
        (
            &["Bearer error=invalid_token, scope=read"],
            Some("invalid_token"),
            Some("read"),
        ),
        (
            &[r#"bearer realm="a, b=c", scope="read write""#],
            None,
            Some("read write"),
        ),
        (&[r#"Basic realm="x", Bearer error="e""#], Some("e"), None),
        (
            &[r#"Basic realm="x""#, r#"DPoP error="use_dpop_nonce""#],
            Some("use_dpop_nonce"),
            None,
        ),
        (&[r#"Negotiate YWJj==, Bearer scope="s""#], None, Some("s")),
        (
            &[r#"Bearer realm="\"q\", error=no", error="yes""#],
            Some("yes"),
            None,
        ),
        (
            &[r#"Bearer scope="a", Bearer error="insufficient_scope", scope="b""#],
            Some("insufficient_scope"),
            Some("b"),
        ),
        (&[r#"Digest error="not ours""#], None, None),
        (
            &[r#",, Bearer , error = "spaced" ,,"#],
            Some("spaced"),
            None,
        ),
        (
            &[r#"Bearer error="unterminated"#],
            Some("unterminated"),
            None,
        ),
        (&["Bearer error="], None, None),
        (&["=== , \"x\" , Bearer error=e"], Some("e"), None),
    ];
    for (lines, error, scope) in table {
        let expected = (error.map(str::to_owned), scope.map(str::to_owned));
        assert_eq!(told(lines), expected, "{lines:?}");
    }
}

#[test]
fn a12_nothing_that_moves_a_cursor_comes_out() {
    let line = "Bearer error=\"a\tb\u{202e}c\u{9b}d\", scope=\"\t\"";
    assert_eq!(told(&[line]), (Some("abcd".to_owned()), None));
}

#[test]
fn a12_long_lines_are_read_in_part_and_in_time() {
    for unit in [
        "Bearer error=\"",
        "a=",
        ",",
        "\\\"",
        "Bearer ",
        "==",
        "a b,",
    ] {
        drop(told(&[&unit.repeat(20_000)]));
    }
    let behind =
        |length: usize| told(&[&format!("Bearer x=\"{}\", error=e", "y".repeat(length))]).0;
    assert_eq!(behind(8000).as_deref(), Some("e"), "within 8 KiB");
    assert_eq!(behind(8192), None);
}

#[test]
fn a12_schemes_and_parameters_are_found_whatever_their_case() {
    let challenges = read(&[
        r#"NEGOTIATE, bEaReR Resource_Metadata="https://a.example/x, y", SCOPE="s""#,
        "DPoP algs=\"ES256 EdDSA\", error=\"use_dpop_nonce\"",
    ]);
    let schemes: Vec<_> = challenges.iter().map(AuthChallenge::scheme).collect();
    assert_eq!(schemes, ["negotiate", "bearer", "dpop"]);
    let bearer = &challenges[1];
    assert_eq!(bearer.resource_metadata(), Some("https://a.example/x, y"));
    assert_eq!(bearer.get("scope"), Some("s"));
    assert_eq!(bearer.get("Scope"), Some("s"));
    assert_eq!(bearer.get("realm"), None);
    assert_eq!(challenges[2].get("algs"), Some("ES256 EdDSA"));
    assert_eq!(token_challenge(&challenges), Some(&challenges[2]));
    assert_eq!(token_challenge(&challenges[..2]), Some(bearer));
    assert_eq!(token_challenge(&challenges[..1]), None);
}

#[test]
fn a12_the_first_of_two_parameters_counts() {
    let challenges = read(&[r#"Bearer scope="a", scope="b", SCOPE="c""#]);
    assert_eq!(challenges[0].get("scope"), Some("a"));
}

#[test]
fn a12_what_is_printed_is_short_and_plain() {
    let long = format!(
        "Bearer error=\"{0}\", scope=\"{0}\", error_description=\"\u{1b}]0;{0}\u{202e}\"",
        "x".repeat(2000)
    );
    // A header cannot hold an escape character at all.
    assert!(HeaderValue::from_bytes(long.as_bytes()).is_err());
    let challenges = read(&[&long.replace('\u{1b}', "\u{9b}")]);
    let challenge = &challenges[0];
    assert_eq!(challenge.error().unwrap().len(), MAX_ERROR);
    assert_eq!(challenge.scope().unwrap().len(), MAX_SCOPE);
    let description = challenge.error_description().unwrap();
    assert_eq!(description.len(), MAX_DESCRIPTION);
    assert!(description.starts_with("]0;xxx") && description.is_ascii());
}

#[test]
fn a12_challenges_and_parameters_have_a_limit() {
    let many = "a, ".repeat(1000);
    assert_eq!(read(&[&many]).len(), MAX_CHALLENGES);
    assert_eq!(read(&vec![many.as_str(); 100]).len(), MAX_CHALLENGES);
    let many = format!("Bearer {}", "a=b, ".repeat(1000));
    assert_eq!(read(&[&many])[0].parameters.len(), MAX_PARAMETERS);
}

/// An error says most, then a scope, then where the metadata is; the stronger one is written first
/// here, since of equals the last one counts.
#[test]
fn a12_of_several_challenges_the_one_that_says_most_counts() {
    for (stronger, weaker) in [
        ("Bearer error=e", "Bearer scope=s"),
        ("Bearer error=e", "Bearer scope=s, resource_metadata=m"),
        ("Bearer scope=s", "Bearer resource_metadata=m"),
        ("Bearer resource_metadata=m", "Bearer"),
        ("Bearer error=e, scope=s", "Bearer error=e"),
        (
            "Bearer scope=s, resource_metadata=m",
            "Bearer resource_metadata=m",
        ),
    ] {
        let challenges = read(&[stronger, weaker]);
        let told = token_challenge(&challenges);
        assert_eq!(told, Some(&challenges[0]), "{stronger} and {weaker}");
    }
}

#[test]
fn a12_what_stands_outside_of_any_challenge_is_skipped_and_nothing_behind_it() {
    let challenges = read(&["Negotiate YWJj==, Bearer scope=s"]);
    assert!(challenges[0].parameters.is_empty(), "padding is no value");
    assert_eq!(
        told(&["a=b, Bearer error=e"]).0.as_deref(),
        Some("e"),
        "a parameter of no scheme"
    );
}

#[test]
fn a12_one_line_has_the_limit_of_challenges_by_itself() {
    assert_eq!(parse("a, ".repeat(1000).as_bytes()).len(), MAX_CHALLENGES);
}
