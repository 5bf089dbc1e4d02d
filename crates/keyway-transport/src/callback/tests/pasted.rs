//! An answer that a person carries over by hand.

use super::*;

fn read(text: &str) -> Result<Callback, RedirectError> {
    let text = Secret::new(text.to_owned());
    read_redirect(&text, "http://localhost:4711/callback", &state())
}

#[test]
fn pasted_address_is_read_as_the_listener_reads_it() {
    let query = format!("?code=CANARY&state={STATE}");
    for text in [
        format!("http://localhost:4711/callback{query}"),
        format!("  http://127.0.0.1:4711/callback{query}#\n"),
        format!("http://[::1]:4711/callback{query}"),
        format!("localhost:4711/callback{query}"),
        format!("/callback{query}"),
        query.clone(),
        // Wrapped by a terminal.
        format!("http://localhost:4711/call\nback{query}"),
    ] {
        let callback = read(&text).expect(&text);
        assert_eq!(callback.code.unwrap().expose(), "CANARY", "{text}");
    }
}

#[test]
fn b4_pasted_address_of_another_sign_in_is_refused_with_its_reason() {
    let base = "http://localhost:4711/callback";
    for (text, fault) in [
        (format!("{base}?code=x"), RedirectError::OtherState),
        (format!("{base}?code=x&state=y"), RedirectError::OtherState),
        (format!("{base}?state={STATE}"), RedirectError::Nothing),
        (
            format!("{base}?code=a&code=b&state={STATE}"),
            RedirectError::Repeated { parameter: "code" },
        ),
        (String::new(), RedirectError::OtherAddress),
        ("CANARY".to_owned(), RedirectError::OtherAddress),
        (
            format!("https://evil.test/callback?code=x&state={STATE}"),
            RedirectError::OtherAddress,
        ),
        (
            format!("http://localhost:4712/callback?code=x&state={STATE}"),
            RedirectError::OtherAddress,
        ),
        (
            format!("http://localhost:4711/other?code=x&state={STATE}"),
            RedirectError::OtherAddress,
        ),
        (
            format!("//evil.test/callback?code=x&state={STATE}"),
            RedirectError::OtherAddress,
        ),
        (
            format!("{base}?state={STATE}&code={}", "x".repeat(20_000)),
            RedirectError::OtherAddress,
        ),
    ] {
        assert_eq!(read(&text).unwrap_err(), fault, "{text}");
        assert!(!fault.to_string().contains("CANARY"));
    }
}

#[test]
fn b4_empty_state_never_matches() {
    let text = Secret::new("http://localhost:1/callback?code=x&state=".to_owned());
    let empty = Secret::new(String::new());
    let got = read_redirect(&text, "http://localhost:1/callback", &empty);
    assert_eq!(got.unwrap_err(), RedirectError::OtherState);
}
