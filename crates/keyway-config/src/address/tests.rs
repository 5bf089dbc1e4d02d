use super::*;
use crate::environment::{HostVariables, Variables};

fn resolve_as(
    text: &str,
    transport: Transport,
    pairs: &[(&str, &str)],
) -> Result<Address, AddressError> {
    let variables = Variables::from_pairs(pairs.iter().copied());
    let host = HostVariables::default();
    Address::resolve(
        &Template::parse(text),
        transport,
        &Scope::new(&host, &variables),
    )
}

fn resolve(text: &str, pairs: &[(&str, &str)]) -> Result<String, AddressError> {
    resolve_as(text, Transport::Http, pairs).map(|address| address.url().expose().clone())
}

#[test]
fn values_are_filled_in_where_they_fit() {
    for (template, pairs, expected) in [
        (
            "https://${T}.h.example/mcp",
            &[("T", "acme")][..],
            "https://acme.h.example/mcp",
        ),
        (
            "https://api-${T}.h.example/",
            &[("T", "eu-1")],
            "https://api-eu-1.h.example/",
        ),
        (
            "https://${H}/mcp",
            &[("H", "a.b.example")],
            "https://a.b.example/mcp",
        ),
        (
            "https://h.example/${P}/mcp",
            &[("P", "a/b?c#d")],
            "https://h.example/a%2Fb%3Fc%23d/mcp",
        ),
        (
            "https://h.example/?p=${P}&x=1",
            &[("P", "a&b=c é")],
            "https://h.example/?p=a%26b%3Dc%20%C3%A9&x=1",
        ),
        (
            "https://h.example:${PORT}/x",
            &[("PORT", "8443")],
            "https://h.example:8443/x",
        ),
        (
            "${BASE}/mcp",
            &[("BASE", "https://h.example/v1/")],
            "https://h.example/v1/mcp",
        ),
        (
            "${BASE}",
            &[("BASE", "https://h.example/v1")],
            "https://h.example/v1",
        ),
        (
            "${B:-https://api.example.com}/mcp",
            &[],
            "https://api.example.com/mcp",
        ),
        (
            "http://localhost:${PORT:-3000}/mcp",
            &[],
            "http://localhost:3000/mcp",
        ),
        ("http://[::1]:80/mcp", &[], "http://[::1]:80/mcp"),
    ] {
        assert_eq!(
            resolve(template, pairs).as_deref(),
            Ok(expected),
            "{template}"
        );
    }
}

/// Threat D2: of thirty values for one label, only plain labels are accepted.
#[test]
fn d02_a_value_in_the_host_is_one_label() {
    let long = "a".repeat(64);
    let refused = [
        "evil.example/",
        "evil.example/#",
        "x@evil.example",
        "a#",
        "a?",
        "..",
        ".",
        "a.b",
        "a:80",
        "%2e",
        "a%2eb",
        "\u{ff0e}",
        "a\u{ff0e}b",
        "evil.example\\",
        "a b",
        " a",
        "a\t",
        "a\n",
        "a\r",
        "a\0",
        "[::1]",
        "а",
        "a_b",
        "a,b",
        "a;b",
        "a/../b",
        "-a",
        "a-",
        "$(id)",
        "//evil.example",
        long.as_str(),
    ];
    for value in refused {
        let result = resolve("https://${T}.good.example/mcp", &[("T", value)]);
        assert_eq!(
            result,
            Err(AddressError::HostValue { name: "T".into() }),
            "{value:?}"
        );
    }
    for value in ["acme", "acme-1"] {
        assert!(resolve("https://${T}.good.example/mcp", &[("T", value)]).is_ok());
    }
}

/// Threat D1: a credential never becomes part of a name that is looked up.
#[test]
fn d01_credential_variables_are_refused_in_host_and_port() {
    for name in [
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_PAT",
        "API_TOKEN",
        "SENTRY_DSN",
        "MyApp_Password",
    ] {
        for template in [
            format!("https://${{{name}}}.evil.example/"),
            format!("https://${{{name}}}/"),
            format!("https://h.example:${{{name}}}/"),
            format!("${{{name}}}/mcp"),
        ] {
            let expected = Err(AddressError::CredentialInHost { name: name.into() });
            assert_eq!(resolve(&template, &[(name, "x")]), expected, "{template}");
            let checked = Address::check(&Template::parse(&template), Transport::Http);
            assert_eq!(checked.map(|_| String::new()), expected, "{template}");
        }
    }
    assert!(resolve("https://h.example/${MONKEY_ID}", &[("MONKEY_ID", "x")]).is_ok());
}

/// Threat D3: a whole base address is allowed, and its origin is what a person is shown.
#[test]
fn d03_a_base_address_shows_its_origin() {
    let address = resolve_as(
        "${U}/mcp",
        Transport::Http,
        &[("U", "https://Own.example:8443/x")],
    )
    .unwrap();
    assert_eq!(address.origin(), "https://own.example:8443");
    for value in [
        "own.example",
        "https://u:p@own.example",
        "https://own.example/?q",
        "https://own.example/#f",
        "https://own.example/a b",
        "https://own.example\\x",
        "javascript:alert(1)",
        "https://",
        "//x",
    ] {
        let result = resolve("${U}/mcp", &[("U", value)]);
        assert_eq!(
            result,
            Err(AddressError::BaseValue { name: "U".into() }),
            "{value}"
        );
    }
}

#[test]
fn what_the_template_itself_may_not_have() {
    let refused = |text: &str| resolve(text, &[("X", "x")]).unwrap_err();
    assert_eq!(refused("h.example/mcp"), AddressError::NotAbsolute);
    assert_eq!(refused("https://u:p@h.example/"), AddressError::UserInfo);
    assert_eq!(refused("https://${X}@h.example/"), AddressError::UserInfo);
    assert_eq!(refused("https://h.example/#x"), AddressError::Fragment);
    assert_eq!(refused("https://h.example/a b"), AddressError::BadCharacter);
    assert_eq!(
        refused("https://h.example\\@evil.example/"),
        AddressError::BadCharacter
    );
    assert_eq!(
        refused("https://h.example/a/../b"),
        AddressError::DotSegment
    );
    assert_eq!(
        refused("https://h.example/${X}/%2e%2e/b"),
        AddressError::DotSegment
    );
    assert_eq!(refused("https:///mcp"), AddressError::BadHost);
    assert_eq!(refused("https://h.example:/mcp"), AddressError::BadHost);
    assert_eq!(refused("https://h.example:0/mcp"), AddressError::BadHost);
    assert_eq!(
        refused("https://h.example:99999/mcp"),
        AddressError::BadHost
    );
    assert!(matches!(
        refused("${X}://h.example"),
        AddressError::VariableInScheme { .. }
    ));
    assert!(matches!(
        refused("http${X}://h.example"),
        AddressError::VariableInScheme { .. }
    ));
    assert!(matches!(
        refused("file:///etc/passwd"),
        AddressError::BadHost
    ));
    assert!(matches!(
        refused("ftp://h.example/"),
        AddressError::WrongScheme { .. }
    ));
    assert!(matches!(
        refused("wss://h.example/"),
        AddressError::WrongScheme { .. }
    ));
    assert!(matches!(
        refused("https://h.example/${input:x}"),
        AddressError::Expand(_)
    ));
    assert!(matches!(
        refused("https://h.example/${NONE}"),
        AddressError::Expand(_)
    ));
}

#[test]
fn dots_as_a_whole_path_value_are_refused() {
    for value in [".", ".."] {
        let result = resolve("https://h.example/a/${P}/b", &[("P", value)]);
        assert_eq!(result, Err(AddressError::PathValue { name: "P".into() }));
    }
}

/// Seed rule 5.7.3 and threat D17.
#[test]
fn d17_plain_http_is_for_this_machine_only() {
    for text in [
        "http://localhost/mcp",
        "http://127.0.0.1:9/mcp",
        "http://127.9.9.9/",
        "http://[::1]/",
    ] {
        assert!(
            resolve_as(text, Transport::Http, &[])
                .unwrap()
                .is_loopback(),
            "{text}"
        );
    }
    for text in [
        "http://h.example/",
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://localhost./",
        "http://[::ffff:7f00:1]/",
        "http://10.0.0.1/",
    ] {
        assert_eq!(resolve(text, &[]), Err(AddressError::Insecure), "{text}");
    }
    assert!(resolve_as("ws://localhost/x", Transport::Ws, &[]).is_ok());
    assert_eq!(
        resolve_as("ws://h.example/x", Transport::Ws, &[]).unwrap_err(),
        AddressError::Insecure
    );
}

#[test]
fn unusual_spellings_of_a_host_are_refused_with_the_plain_one() {
    for text in [
        "http://0x7f000001/",
        "http://2130706433/",
        "http://127.1/",
        "http://0177.0.0.1/",
    ] {
        let expected = AddressError::UnusualHost {
            plain: "127.0.0.1".into(),
        };
        assert_eq!(resolve(text, &[]), Err(expected), "{text}");
    }
    assert_eq!(
        resolve("http://${H}/", &[("H", "127.1")]),
        Err(AddressError::BadHost)
    );
    assert!(resolve("https://bücher.example/", &[]).is_ok());
    assert!(resolve("https://H.Example/", &[]).is_ok());
}

#[test]
fn a_template_is_judged_without_its_variables_as_far_as_possible() {
    let check = |text: &str| Address::check(&Template::parse(text), Transport::Http).map(|_| ());
    for text in [
        "https://${T}.h.example/${P}?q=${Q}",
        "${BASE}/mcp",
        "${BASE:-https://h.example}/mcp",
        "https://h.example:${PORT}/",
        "https://${H}/",
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
    assert_eq!(check("http://${T}.h.example/"), Err(AddressError::Insecure));
    assert_eq!(
        check("${BASE:-http://h.example}/mcp"),
        Err(AddressError::Insecure)
    );
    assert!(matches!(
        check("${BASE:-h.example}/mcp"),
        Err(AddressError::BaseValue { .. })
    ));
}

#[test]
fn errors_never_contain_a_value() {
    for template in [
        "https://${T}.h.example/",
        "https://h.example:${T}/",
        "${T}/mcp",
    ] {
        let error = resolve(template, &[("T", "CANARY/x")]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("CANARY"));
    }
}

/// Contract, section 3, and threat E16: a line break in a value is an error, not `%0A`.
#[test]
fn e16_a_line_break_in_a_path_or_a_query_is_refused() {
    for template in ["https://h.example/${T}", "https://h.example/?q=${T}"] {
        for value in ["a\nb", "a\r", "a\0b"] {
            let error = resolve(template, &[("T", value)]).unwrap_err();
            assert_eq!(
                error.variable().map(String::as_str),
                Some("T"),
                "{template}"
            );
        }
        assert!(resolve(template, &[("T", "a\tb c")]).is_ok(), "{template}");
    }
}

/// A host that came out of a variable is a value, and is not shown in an error.
#[test]
fn an_unusual_host_inside_a_base_address_is_not_shown() {
    let result = resolve("${U}/mcp", &[("U", "http://127.1")]);
    assert_eq!(result, Err(AddressError::BadHost));
}

#[test]
fn the_character_that_stands_for_variables_is_refused_in_templates_and_base_addresses() {
    let text = format!("https://h.example/{MARKER}");
    assert_eq!(resolve(&text, &[]), Err(AddressError::BadCharacter));
    assert_eq!(
        resolve("${U}/mcp", &[("U", &text)]),
        Err(AddressError::BaseValue { name: "U".into() })
    );
}

#[test]
fn an_address_is_the_same_place_over_every_transport() {
    for (text, transport, other, url, origin) in [
        (
            "https://h.example:8443/x?q=1",
            Transport::Http,
            Transport::Ws,
            "wss://h.example:8443/x?q=1",
            "wss://h.example:8443",
        ),
        (
            "http://localhost/x",
            Transport::Sse,
            Transport::Ws,
            "ws://localhost/x",
            "ws://localhost",
        ),
        (
            "wss://h.example/x",
            Transport::Ws,
            Transport::Http,
            "https://h.example/x",
            "https://h.example",
        ),
        (
            "ws://127.0.0.1:9/",
            Transport::Ws,
            Transport::Sse,
            "http://127.0.0.1:9/",
            "http://127.0.0.1:9",
        ),
    ] {
        let address = resolve_as(text, transport, &[]).unwrap();
        let other = address.over(other).unwrap();
        assert_eq!(other.url().expose(), url);
        assert_eq!(other.origin(), origin);
        assert_eq!(other.is_loopback(), address.is_loopback(), "{text}");
    }
    let remote = resolve_as("https://h.example/", Transport::Http, &[]).unwrap();
    assert!(!remote.is_loopback());
}

#[test]
fn a_default_is_judged_and_an_empty_one_is_not() {
    let check = |text: &str| {
        let address = Address::check(&Template::parse(text), Transport::Http).unwrap();
        address.map(|address| address.origin().to_owned())
    };
    let origin = |text: &str| Some(text.to_owned());
    assert_eq!(
        check("${B:-https://h.example}/x"),
        origin("https://h.example")
    );
    assert_eq!(check("${B:-}/x"), None);
    assert_eq!(
        check("https://${H:-}.h.example/"),
        origin("https://x.h.example")
    );
}

#[test]
fn the_variable_is_named_where_its_value_is_to_blame() {
    let name = || "V".to_owned();
    for error in [
        AddressError::HostValue { name: name() },
        AddressError::PortValue { name: name() },
        AddressError::PathValue { name: name() },
        AddressError::LineBreak { name: name() },
        AddressError::BaseValue { name: name() },
    ] {
        assert_eq!(error.variable(), Some(&name()), "{error:?}");
    }
    for error in [
        AddressError::Insecure,
        AddressError::CredentialInHost { name: name() },
        AddressError::VariableInScheme { name: name() },
    ] {
        assert_eq!(error.variable(), None, "{error:?}");
    }
}
