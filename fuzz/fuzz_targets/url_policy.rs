//! No value changes the structure that an address has without it.
//!
//! The first line of the input is the template, the second what every variable holds. What the
//! address should look like is found with harmless values and the parser that connects with.

#![no_main]

use keyway_config::address::Address;
use keyway_config::declared::Transport;
use keyway_config::environment::{Environment, HostVariables, Scope};
use keyway_config::template::{Part, Template};
use keyway_secret::Secret;
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|text: &str| {
    let (written, value) = text.split_once('\n').unwrap_or((text, ""));
    let template = Template::parse(written);
    let (host, values) = (HostVariables::default(), Same(value));
    let scope = Scope::new(&host, &values);
    for transport in [Transport::Http, Transport::Sse, Transport::Ws] {
        let _ = Address::check(&template, transport);
        if let Ok(address) = Address::resolve(&template, transport, &scope) {
            check(&template, address.url().expose());
        }
    }
});

/// An environment in which every variable holds the same.
struct Same<'a>(&'a str);

impl Environment for Same<'_> {
    fn get(&self, _: &str) -> Option<Secret<String>> {
        Some(Secret::new(self.0.to_owned()))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

fn check(template: &Template, resolved: &str) {
    let url = Url::parse(resolved).expect("an address that was accepted");
    assert!(matches!(url.scheme(), "http" | "https" | "ws" | "wss"));
    assert!(
        url.username().is_empty() && url.password().is_none(),
        "{url}"
    );
    assert!(url.fragment().is_none(), "{url}");
    // A variable in front chooses the server itself; the person who sets it is asked about that.
    if template.as_str().starts_with("${") {
        return;
    }
    // Text beside a variable can make a number of it, which is an address and has no labels: such a
    // host is compared with its like alone.
    let is_name = |url: &Url| url.domain().is_some();
    let filled = |host: &str, secret: &str| {
        Url::parse(&fill(template, host, secret))
            .ok()
            .filter(|filled| filled.has_host() && is_name(filled) == is_name(&url))
    };
    // A port takes digits, which a host must not begin with.
    let pairs = [("a1", "b2"), ("1", "2")];
    let Some((one, two, three)) = pairs
        .into_iter()
        .find_map(|(a, b)| Some((filled(a, a)?, filled(b, b)?, filled(a, b)?)))
    else {
        return;
    };
    assert_eq!(
        one.host_str(),
        three.host_str(),
        "a credential in the host of {url}"
    );
    assert_eq!(url.scheme(), one.scheme());
    if one.port() == two.port() {
        assert_eq!(url.port(), one.port(), "{url}");
    }
    check_host(&url, &one, &two);
    let segments = |url: &Url| url.path().split('/').count();
    assert_eq!(segments(&url), segments(&one), "{url}");
    assert_eq!(url.query().is_some(), one.query().is_some(), "{url}");
    let fields = |url: &Url| url.query().map_or(0, |query| query.split('&').count());
    assert_eq!(fields(&url), fields(&one), "{url}");
}

/// Labels without a variable are what they were; a value is one label unless it is the whole host.
fn check_host(url: &Url, one: &Url, two: &Url) {
    let labels = |url: &Url| -> Vec<String> {
        let host = url.host_str().unwrap_or_default();
        host.split('.').map(str::to_owned).collect()
    };
    let (found, one, two) = (labels(url), labels(one), labels(two));
    if one.len() == 1 && one != two {
        return;
    }
    assert_eq!(found.len(), one.len(), "{url}");
    for (index, label) in one.iter().enumerate() {
        if two.get(index) == Some(label) {
            assert_eq!(found.get(index), Some(label), "{url}");
        }
    }
}

/// Fills in harmless text, the second where the name says that a credential is meant.
fn fill(template: &Template, other: &str, secret: &str) -> String {
    let mut text = String::new();
    for part in template.parts() {
        match part {
            Part::Literal { text: literal, .. } => text.push_str(literal),
            Part::Variable(variable) => {
                let is_secret = variable.name.split('_').any(|part| {
                    let part = part.to_ascii_uppercase();
                    SECRET_PARTS.contains(&part.as_str())
                });
                text.push_str(if is_secret { secret } else { other });
            }
            _ => {}
        }
    }
    text
}

/// Parts of the names of variables that hold credentials (threat D1), kept apart from the product.
const SECRET_PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "KEY",
    "AUTH",
    "COOKIE",
    "PAT",
    "DSN",
    "CREDENTIAL",
    "CREDENTIALS",
];
