//! `bridge-not-needed`: a program stands between the host and a server that the host could reach.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::HostFieldRole;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::BridgeNotNeeded,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "`mcp-remote` is started where an entry with `url` reaches the server itself",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Local(local) = &server.endpoint else {
            continue;
        };
        let dialect = document.dialect;
        let fields = dialect.fields.iter();
        let url = fields
            .clone()
            .find(|field| matches!(field.role, HostFieldRole::Url(_)));
        let words = std::iter::once(&local.command).chain(&local.args);
        let bridge = words.clone().find(|word| is_bridge(word));
        let address = words.clone().find(|word| is_address(word));
        if let (Some(url), Some(bridge), Some(_)) = (url, bridge, address) {
            let message = format!(
                "{} reaches the server without a bridge in between",
                dialect.name
            );
            report
                .field(document, server, bridge, message)
                .hint(format!(
                    "write the address as `{}`, and the arguments of `--header` as headers",
                    url.key
                ));
        }
    }
}

fn is_bridge(word: &Field) -> bool {
    let text = word.template.as_str();
    let name = text.rsplit('/').next().unwrap_or(text);
    name == "mcp-remote" || name.starts_with("mcp-remote@")
}

fn is_address(word: &Field) -> bool {
    let text = word.template.as_str();
    text.starts_with("https://") || text.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "bridge-not-needed";
    const FIELDS: &str =
        r#""command": "npx", "args": ["-y", "mcp-remote@latest", "https://h.example/mcp"]"#;

    #[test]
    fn a_bridge_is_reported_where_the_host_reaches_servers() {
        assert_eq!(pointers(ID, &entry(FIELDS)), ["/mcpServers/s/args/1"]);
        let text = format!(r#"{{"mcpServers": {{"s": {{{FIELDS}}}}}}}"#);
        let plugin = Plugin::from_text("/plugin", "claude_desktop_config.json", &text);
        assert!(findings(ID, &plugin).is_empty());
        let fields = r#""command": "npx", "args": ["mcp-remote-files", "https://h.example"]"#;
        assert!(pointers(ID, &entry(fields)).is_empty());
    }
}
