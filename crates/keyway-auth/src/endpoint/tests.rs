//! Addresses that a peer may and may not name (threats A2, B1, B2, B3).

use super::*;

fn error(text: &str) -> EndpointError {
    match Endpoint::parse(text) {
        Ok(endpoint) => panic!("{text:?} was taken for {endpoint:?}"),
        Err(error) => error,
    }
}

fn endpoint(text: &str) -> Endpoint {
    Endpoint::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn b1_every_other_scheme_is_refused() {
    let schemes = [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "javascript://as.example/%0aalert(1)",
        "data:text/html,<script>",
        "data:text/html;base64,AAAA",
        "file:///etc/passwd",
        "file://as.example/share",
        "vbscript:x",
        "ftp://as.example/",
        "ftps://as.example/",
        "sftp://as.example/",
        "smb://as.example/share",
        "ssh://as.example/",
        "telnet://as.example/",
        "ldap://as.example/",
        "gopher://as.example/",
        "ws://as.example/",
        "wss://as.example/",
        "about:blank",
        "blob:https://as.example/x",
        "view-source:https://as.example/",
        "chrome://settings",
        "mailto:a@as.example",
        "tel:1",
        "intent://as.example/#Intent;end",
        "ms-msdt:/id",
        "search-ms:query=x",
        "vscode://x/y",
        "jar:https://as.example/!/",
        "urn:x:y",
        "httpss://as.example/",
        "https+x://as.example/",
        "-https://as.example/",
        "x-https://as.example/",
        "/etc/passwd",
        "//as.example/",
        "as.example",
        "--help",
        "",
    ];
    assert!(schemes.len() >= 20);
    for text in schemes {
        assert_eq!(error(text), EndpointError::Scheme, "{text}");
    }
}

/// What the parser would strip or repair.
#[test]
fn b1_nothing_is_repaired() {
    for text in [
        "java\nscript:alert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
        " https://as.example/",
        "https://as.example/ ",
        "https://as.example/\n",
        "ht\ntps://as.example/",
        "https://as.ex\tample/",
        "https://as.example/a b",
        "https://as.example/\u{a0}",
        "https://as.example/\0",
        "https://as.example/\x1b[2J",
        "https://as.example/\x7f",
        "https://as.example/\u{9b}",
        "https://as.example/\u{202e}moc",
        "https://as\u{200b}.example/",
        "https://as\u{ad}.example/",
        "\u{feff}https://as.example/",
        "https:\\\\as.example\\",
        "https://good.example\\@evil.example/",
    ] {
        assert_eq!(error(text), EndpointError::Characters, "{text:?}");
    }
    for text in [
        "https:as.example",
        "https:/as.example",
        "https:",
        "https://",
        "https:///as.example",
        "https://?x",
        "https://:443/",
        "https://as.example:99999/",
        "https://as.example:x/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
    ] {
        assert_eq!(error(text), EndpointError::Host, "{text:?}");
    }
    let path = "x".repeat(MAX_LENGTH - "https://a.example/".len());
    endpoint(&format!("https://a.example/{path}"));
    let long = format!("https://a.example/{path}x");
    assert_eq!(error(&long), EndpointError::TooLong);
}

#[test]
fn b3_neither_user_nor_fragment_is_accepted() {
    for text in [
        "https://good.example@evil.example/",
        "https://user:CANARY@as.example/",
        "https://@as.example/",
        "https://:@as.example/",
        "http://127.0.0.1@evil.example/",
        "http://localhost:80@evil.example/",
    ] {
        assert_eq!(error(text), EndpointError::User, "{text}");
    }
    for text in [
        "https://as.example/#",
        "https://as.example#x",
        "https://as.example/?a#b@c",
    ] {
        assert_eq!(error(text), EndpointError::Fragment, "{text}");
    }
    // Elsewhere it is a character like any other.
    endpoint("https://as.example/@me?a=b@c");
}

#[test]
fn a2_only_this_machine_is_reached_without_encryption() {
    for text in [
        "http://localhost/",
        "http://LOCALHOST:8080/a?b",
        "http://127.0.0.1:1234/",
        "http://127.9.9.9/",
        "http://[::1]:1234/",
    ] {
        assert!(is_loopback(endpoint(text).url()), "{text}");
    }
    for text in [
        "http://as.example/",
        "http://localhost./",
        "http://localhost.evil.example/",
        "http://a.localhost/",
        "http://127.0.0.1.evil.example/",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[fe80::1]/",
    ] {
        assert_eq!(error(text), EndpointError::NotEncrypted, "{text}");
    }
    assert!(!is_loopback(endpoint("https://as.example/").url()));
    assert!(!is_loopback(
        endpoint("https://localhost.evil.example/").url()
    ));
}

#[test]
fn a2_a_host_is_written_as_it_is_understood() {
    for text in [
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://①②⑦.0.0.1/",
        "http://１２７.0.0.1/",
        "https://%65vil.example/",
        "https://evil%2eexample/",
        "https://$(calc.exe).example/",
        "https://`id`.example/",
        "https://a'b.example/",
        "https://a\"b.example/",
        "https://a;b.example/",
        "https://a&b.example/",
        "https://{a}.example/",
        "https://a..example/",
        "https://.example/",
        "https://-x.example/",
    ] {
        assert_eq!(error(text), EndpointError::Host, "{text}");
    }
}

#[test]
fn b3_names_of_other_scripts_are_shown_in_ascii() {
    let cyrillic = endpoint("https://\u{430}pple.com/");
    assert_eq!(cyrillic.host(), "xn--pple-43d.com");
    assert_eq!(
        endpoint("https://m\u{fc}nchen.example:444/").host(),
        "xn--mnchen-3ya.example"
    );
    assert_eq!(endpoint("https://AS.Example/").host(), "as.example");
}

#[test]
fn origins_are_the_same_by_scheme_host_and_port() {
    let ours = endpoint("https://as.example/a");
    for (text, expected) in [
        ("https://AS.example:443/b?c", true),
        ("https://as.example:444/a", false),
        ("http://as.example/a", false),
        ("https://other.as.example/a", false),
    ] {
        assert_eq!(
            ours.is_same_origin(&Url::parse(text).unwrap()),
            expected,
            "{text}"
        );
    }
    assert_eq!(ours.url().as_str(), "https://as.example/a");
    assert_eq!(ours.clone().into_url(), *ours.url());
}

#[test]
fn b2_nothing_that_a_shell_reads_reaches_a_browser() {
    let table = [
        ("https://h.example/", "https://h.example/"),
        (
            "https://h.example/$(touch%20pwn)?`id`&a=%0d%0a",
            "https://h.example/%24(touch%20pwn)?%60id%60&a=%0d%0a",
        ),
        (
            "https://h.example/'a'?'b'",
            "https://h.example/%27a%27?%27b%27",
        ),
        (
            "https://h.example/a^b|c?a^b|c",
            "https://h.example/a%5Eb%7Cc?a%5Eb%7Cc",
        ),
        (
            "https://h.example/<a>{b}\"?<a>{b}\"",
            "https://h.example/%3Ca%3E%7Bb%7D%22?%3Ca%3E%7Bb%7D%22",
        ),
        (
            "https://h.example/100%?50%&%zz%2",
            "https://h.example/100%25?50%25&%25zz%252",
        ),
        (
            "https://h.example/%24%27?%60",
            "https://h.example/%24%27?%60",
        ),
        (
            "https://h.example/a;b,c!d*e(f)?g=[h]&i=~j",
            "https://h.example/a;b,c!d*e(f)?g=[h]&i=~j",
        ),
        (
            "https://h.example/\u{e9}?\u{e9}",
            "https://h.example/%C3%A9?%C3%A9",
        ),
        ("http://[::1]:80/%", "http://[::1]/%25"),
    ];
    for (text, expected) in table {
        let safe = for_browser(endpoint(text).url()).unwrap();
        assert_eq!(safe.as_str(), expected, "{text}");
        assert_eq!(for_browser(&safe).unwrap(), safe, "{text}");
    }
}

/// Every character, in path and in query.
#[test]
fn b2_no_character_slips_through() {
    for byte in 0x21..0x7f_u8 {
        let text = format!("https://h.example/a{0}a?b{0}b", char::from(byte));
        let Ok(endpoint) = Endpoint::parse(&text) else {
            assert!(matches!(byte, b'\\' | b'#'), "{text}");
            continue;
        };
        let safe = for_browser(endpoint.url()).unwrap();
        assert!(safe.as_str().starts_with("https://h.example/"));
        assert!(
            !safe.as_str().contains(|c| "$`'\"\\^|<>{} ".contains(c)),
            "{safe}"
        );
        let (before, after) = (endpoint.url().as_str(), safe.as_str());
        assert_eq!(percent_decoded(after), percent_decoded(before), "{text}");
    }
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(escaped) if *byte == b'%' => {
                decoded.push(escaped);
                rest = &after[2..];
            }
            _ => decoded.push(*byte),
        }
    }
    decoded
}
