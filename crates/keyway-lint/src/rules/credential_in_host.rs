//! `credential-in-host`: a variable that holds a credential stands in the host (threat D1).

use keyway_code::Code;
use keyway_config::address::{Address, AddressError};
use keyway_config::declared::Endpoint;
use keyway_config::diagnostic::Severity;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::CredentialInHost,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A credential would become part of a host name, which name servers see",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        if let Err(error @ AddressError::CredentialInHost { .. }) =
            Address::check(&remote.url.template, server.transport)
        {
            report
                .field(document, server, &remote.url, error.to_string())
                .hint("name the variable after what it selects, such as `TENANT_ID`; send credentials in `headers`");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, pointers};

    #[test]
    fn a_tenant_is_fine_and_a_token_is_not() {
        for (url, bad) in [
            ("https://${API_TOKEN}.h.example/mcp", true),
            ("https://${AWS_SECRET_ACCESS_KEY}.h.example/mcp", true),
            ("${API_KEY}/mcp", true),
            ("https://${TENANT_ID}.h.example/mcp", false),
            ("https://h.example/${API_TOKEN}", false),
        ] {
            let plugin = entry(&format!(r#""type": "http", "url": "{url}""#));
            assert_eq!(
                !pointers("credential-in-host", &plugin).is_empty(),
                bad,
                "{url}"
            );
        }
    }
}
