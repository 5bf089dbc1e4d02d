//! `invalid-url`: an address that no value of its variables could make a valid one.

use keyway_code::Code;
use keyway_config::address::{Address, AddressError};
use keyway_config::declared::Endpoint;
use keyway_config::diagnostic::Severity;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::InvalidUrl,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "An address is not absolute, has the wrong scheme, or lets a variable change its structure",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        if remote.url.template.as_str().is_empty() {
            continue;
        }
        let Err(error) = Address::check(&remote.url.template, server.transport) else {
            continue;
        };
        let hint = match &error {
            // Each has a rule of its own.
            AddressError::Insecure
            | AddressError::UserInfo
            | AddressError::CredentialInHost { .. }
            | AddressError::Expand(_) => continue,
            AddressError::WrongScheme { scheme, .. } => match scheme.as_str() {
                "ws" | "wss" => "set `type` to `ws`, or use an `https://` address",
                "http" | "https" => "set `type` to `http` or `sse`, or use a `wss://` address",
                _ => "use an `https://` or `wss://` address",
            },
            AddressError::VariableInScheme { .. } => {
                "write the scheme out, or let one variable hold the whole beginning of the address"
            }
            AddressError::BaseValue { .. } | AddressError::HostValue { .. } => {
                "correct the default behind `:-`"
            }
            _ => "write it as `https://host/path`",
        };
        report
            .field(document, server, &remote.url, error.to_string())
            .hint(hint);
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, pointers};

    #[test]
    fn only_addresses_that_can_never_work_are_reported() {
        for (url, bad) in [
            ("h.example/mcp", true),
            ("wss://h.example/", true),
            ("https://h.example/#x", true),
            ("https://a b.example/", true),
            ("${S}://h.example/", true),
            ("https://h.example/${P}", false),
            ("${BASE}/mcp", false),
            ("", false),
        ] {
            let plugin = entry(&format!(r#""type": "http", "url": "{url}""#));
            assert_eq!(!pointers("invalid-url", &plugin).is_empty(), bad, "{url}");
        }
    }
}
