//! `secret-in-docs`: a credential stands in the README, the documentation or a script.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::source::{Pointer, Source, Span};
use keyway_secret::hint_of;

use super::literal_secret::name_of;
use super::{Context, Report, Rule};
use crate::secrets::{self, Position};

pub(super) const RULE: Rule = Rule {
    id: Code::SecretInDocs,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A token is written in the README, the documentation or a script of the plugin",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for source in &context.plugin.snapshot.prose {
        let found = credentials_in(source);
        for (span, message) in found.into_iter().take(MOST_PER_FILE) {
            report
                .at(source, span, &Pointer::default(), message)
                .hint("write a placeholder such as `<your-token>`, and rotate the token");
        }
    }
}

fn credentials_in(source: &Source) -> impl Iterator<Item = (Span, String)> {
    let mut start = 0;
    let lines = source.text().split_inclusive('\n').map(move |line| {
        let at = start;
        start += line.len();
        (at, line.trim_end())
    });
    lines.flat_map(|(at, line)| {
        let findings = secrets::find(line, Position::Prose);
        findings.into_iter().map(move |finding| {
            let literal = line.get(finding.range.clone()).unwrap_or_default();
            let what = name_of(finding.vendor);
            let message = format!("a literal {what} is written here (`{}`)", hint_of(literal));
            (
                Span::new(at + finding.range.start, at + finding.range.end),
                message,
            )
        })
    })
}

const MOST_PER_FILE: usize = 20;

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::Diagnostic;

    use super::*;
    use crate::rules::fixture::{entry, findings};

    fn found(text: &str) -> Vec<Diagnostic> {
        let mut plugin = entry(r#""command": "x""#);
        let source = Source::new("README.md", text.as_bytes());
        plugin.snapshot.prose.push(source);
        findings("secret-in-docs", &plugin)
    }

    fn token() -> String {
        ["sbp_38db93c4", "def7414fdb269a51", "c07e62b8d3f0475e"].concat()
    }

    #[test]
    fn a_token_is_located_by_line_and_column() {
        let found = found(&format!("# Ü\r\n\r\nexport T={}\r\n", token()));
        let location = found[0].location.as_ref().unwrap();
        assert_eq!((location.start.line, location.start.column), (3, 10));
        assert_eq!(&*location.file, "README.md");
        assert!(!format!("{found:?}").contains("sbp_3"));
    }

    #[test]
    fn placeholders_references_and_plain_words_are_left_alone() {
        for line in [
            "export API_TOKEN=your-token-here",
            "Set `API_TOKEN` to the token of your account.",
            "curl -H \"Authorization: Bearer $API_TOKEN\"",
            "Authorization: Bearer <ACCESS_TOKEN>",
        ] {
            assert!(found(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_file_full_of_tokens_is_reported_twenty_times() {
        assert_eq!(found(&format!("{}\n", token()).repeat(30)).len(), 20);
    }
}
