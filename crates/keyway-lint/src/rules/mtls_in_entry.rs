//! `mtls-in-entry`: an entry tries to set a client certificate, which an entry cannot.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::json::Member;

use super::walk::{objects, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::MtlsInEntry,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "An entry has fields for a client certificate, which take no effect there",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry, object) in objects(context.plugin) {
        let fields = object
            .members
            .iter()
            .filter(|member| is_mtls_field(&member.key));
        let fields: Vec<&Member> = fields.collect();
        let Some(first) = fields.first() else {
            continue;
        };
        let names: Vec<String> = fields
            .iter()
            .map(|member| format!("`{}`", shown(&member.key)))
            .collect();
        let message = format!(
            "a client certificate cannot be set in an entry; nothing reads {}",
            names.join(", ")
        );
        let pointer = entry.pointer.child(&first.key);
        report
            .at(&document.source, first.key_span, &pointer, message)
            .server(&entry.name)
            .hint(
                "let a wrapper do mutual TLS: an entry with `\"command\": \"keyway\"` and \
                 `\"args\": [\"mtls\", \"--cert\", \"${CLIENT_CERT}\", \"--key\", \
                 \"${CLIENT_KEY}\"]`, and the address in its `env`",
            );
    }
}

/// Says whether a key of an entry is an attempt at a client certificate.
pub(super) fn is_mtls_field(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let words = ["", "file", "path", "pem", "data"];
    let stem = |stem: &&str| {
        plain
            .strip_prefix(*stem)
            .is_some_and(|rest| words.contains(&rest))
    };
    STEMS.iter().any(stem)
}

/// What such keys begin with, in lower case and without hyphens.
const STEMS: &[&str] = &[
    "ca",
    "cacert",
    "cert",
    "certificate",
    "clientca",
    "clientcert",
    "clientcertificate",
    "clientkey",
    "key",
    "mtls",
    "mutualtls",
    "p12",
    "pfx",
    "pkcs12",
    "privatekey",
    "sslca",
    "sslcert",
    "sslkey",
    "tls",
    "tlsca",
    "tlscert",
    "tlskey",
    "tlsoptions",
];

#[cfg(test)]
mod tests {
    use super::is_mtls_field;
    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "mtls-in-entry";

    #[test]
    fn all_fields_of_one_entry_are_one_finding_that_names_the_wrapper() {
        let fields = r#""url": "https://h.example", "cert": "c.pem", "clientKey": "k.pem""#;
        let found = findings(ID, &entry(fields));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("`cert`, `clientKey`"));
        assert!(!found[0].message.contains("pem"));
        assert!(found[0].hint.as_ref().unwrap().contains("mtls"));
        assert!(pointers("unknown-field", &entry(fields)).is_empty());
    }

    #[test]
    fn spellings_are_recognised_and_other_words_are_not() {
        for key in [
            "client_cert",
            "tls",
            "CA",
            "ca-file",
            "keyPath",
            "mtls",
            "pfx",
        ] {
            assert!(is_mtls_field(key), "{key}");
        }
        for key in [
            "url", "apiKey", "command", "cache", "category", "keys", "keyword",
        ] {
            assert!(!is_mtls_field(key), "{key}");
        }
    }

    #[test]
    fn the_wrapper_itself_is_not_reported() {
        let fields = r#""command": "keyway", "args": ["mtls", "--cert", "${CLIENT_CERT}"]"#;
        assert!(pointers(ID, &entry(fields)).is_empty());
    }
}
