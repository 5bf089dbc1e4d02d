//! What holds for any input.

use super::*;

#[test]
fn any_text_gives_ordered_ranges_at_character_boundaries() {
    let pieces = [
        "${",
        "}",
        ":-",
        "://",
        "@",
        ":",
        "=",
        "\"",
        "\\\"",
        "'",
        "Bearer ",
        "api_key",
        "token",
        "é",
        "漢",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "\n",
        " ",
        "--key",
        "-e",
        "sk-",
        "ghp_",
        ".atlasv1.",
        ":AA",
        "-us",
        "%22",
        "?key=",
        "&",
        "{{",
        "}}",
        "<",
        ">",
        "\u{0}",
        "password",
        "tcp(",
        ";",
        ",",
        "postgres",
        "\\",
        "`",
        "$(",
        ")",
        "😀",
        "eyJ",
        ".",
    ];
    let mut state = 42_u64;
    let mut next = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    for round in 0..1_500_u64 {
        let mut text = String::new();
        for _ in 0..next(14) {
            text.push_str(pieces[next(pieces.len())]);
            if next(2) == 0 {
                text.push_str(&noise("abcXYZ0189_-/é", next(40), round));
            }
        }
        check(&text);
    }
}

#[test]
fn a_very_long_value_is_searched_in_reasonable_time() {
    for unit in [
        "\"a\":", "${", "a=b;", "x://y:z@", "sk-aa ", "\\\"", "'", "{", ": ", "-e ", "AA:AA", "漢",
        "token=", "key: x9 ", "eyJ.", "ops_eyJ/", "-pabc ", "${{", "$(", "{env:",
    ] {
        let text = unit.repeat(3_000 / unit.len());
        check(&text);
        // The closing marks of everything that was opened.
        check(&(text + "}\"')"));
    }
}

fn check(text: &str) {
    let args = ["--token", text];
    let positions = [
        Position::Header {
            name: "Authorization",
        },
        Position::Env { name: "API_TOKEN" },
        Position::Env { name: "NOTHING" },
        Position::Env {
            name: "DB_PASSWORD",
        },
        Position::Argument {
            args: &args,
            index: 1,
        },
        Position::Argument {
            args: &args,
            index: 7,
        },
        Position::Command,
        Position::Url,
        Position::OAuthField {
            name: "clientSecret",
        },
        Position::Prose,
    ];
    for position in positions {
        let mut end = 0;
        for finding in find(text, position) {
            assert!(finding.range.start >= end && finding.range.start < finding.range.end);
            assert!(text.get(finding.range.clone()).is_some());
            end = finding.range.end;
        }
    }
    let _ = (
        is_placeholder(text),
        is_reference(text),
        is_credential_name(text),
    );
}

#[test]
fn a_printed_finding_does_not_show_the_credential() {
    let found = find("own-token-4711", Position::Env { name: "API_TOKEN" });
    assert!(!format!("{found:?}").contains("4711"));
}
