//! `invalid-source`: a marketplace says where a plugin is in a way that its host cannot follow.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::environment::nearest;
use keyway_config::json::{Node, Object, Value};
use keyway_config::source::{Pointer, Span};

use super::walk::shown;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::InvalidSource,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A marketplace's entry does not say where its plugin is, so it cannot be installed",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        if document.kind != DocumentKind::Marketplace {
            continue;
        }
        let plugins = Pointer::default().child("plugins");
        let list = document.tree.at(&plugins).map(|node| &node.value);
        let Some(Value::Array(items)) = list else {
            continue;
        };
        for (index, item) in items.iter().enumerate() {
            let place = ListedItem {
                document,
                pointer: plugins.child(&index.to_string()),
                span: item.span.at_start(),
            };
            match item.as_object() {
                Some(plugin) => place.check(plugin, report),
                None => place.report(
                    "a plugin of the list is not an object",
                    "write an object with `name` and `source`",
                    report,
                ),
            }
        }
    }
}

/// One item of the list, or an object below it.
struct ListedItem<'a> {
    document: &'a Document,
    pointer: Pointer,
    span: Span,
}

impl ListedItem<'_> {
    fn report(&self, message: impl Into<String>, hint: &str, report: &mut Report<'_>) {
        report
            .at(&self.document.source, self.span, &self.pointer, message)
            .hint(hint);
    }

    fn below(&self, key: &str, span: Span) -> Self {
        Self {
            document: self.document,
            pointer: self.pointer.child(key),
            span,
        }
    }

    fn check(&self, plugin: &Object, report: &mut Report<'_>) {
        if text(plugin, "name").is_none() {
            self.report(
                "a plugin of the list has no `name`",
                "add `name`, by which it is installed",
                report,
            );
        }
        let Some(source) = plugin.get("source") else {
            self.report(
                "a plugin of the list has no `source`",
                "add `source`, such as `\"./plugins/one\"`",
                report,
            );
            return;
        };
        let place = self.below("source", source.value.span);
        match &source.value.value {
            Value::String(path) => place.check_path(path, report),
            Value::Object(source) => place.check_object(source, report),
            _ => place.report(
                "`source` is neither a path nor an object",
                "write a path such as `\"./plugins/one\"`, or an object with `source`",
                report,
            ),
        }
    }

    fn check_path(&self, path: &str, report: &mut Report<'_>) {
        const BELOW: &str = "name a folder below the marketplace's own, such as `./plugins/one`";
        let leaves = path.starts_with(['/', '\\', '~']) || path.split('/').any(|it| it == "..");
        if path.trim().is_empty() {
            self.report("`source` is empty", BELOW, report);
        } else if path.contains("://") {
            let hint = "write `{\"source\": \"url\", \"url\": \"…\"}` for a repository";
            self.report("`source` is an address, not a path", hint, report);
        } else if leaves {
            let message = format!("`{}` leaves the marketplace", shown(path));
            self.report(message, BELOW, report);
        } else if !path.starts_with("./") && self.wants_dot() {
            let message = format!("`{}` does not begin with `./`", shown(path));
            self.report(message, "write `./` in front of the path", report);
        }
    }

    /// Says whether a path has to begin with `./`: Cursor's do not, and neither do those below a
    /// base that the marketplace names.
    fn wants_dot(&self) -> bool {
        let has_base = self.document.listed.iter().any(|it| it.base.is_some());
        self.document.dialect.id != "cursor" && !has_base
    }

    fn check_object(&self, source: &Object, report: &mut Report<'_>) {
        let Some(word) = text(source, "source") else {
            let hint = format!("add `source`, one of {}", words());
            self.report("`source` does not say of which kind it is", &hint, report);
            return;
        };
        let Some((_, required)) = SOURCES.iter().find(|(known, _)| *known == word) else {
            let near = nearest(word, SOURCES.iter().map(|(known, _)| *known));
            let hint = near.first().map_or_else(
                || format!("write one of {}", words()),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("`{}` is not a kind of source", shown(word));
            self.report(message, &hint, report);
            return;
        };
        for key in *required {
            if text(source, key).is_none() {
                let message = format!("a source of the kind `{word}` has no `{key}`");
                self.report(message, &format!("add `{key}`"), report);
            }
        }
        for (key, is_right, what, hint) in SHAPES {
            let Some(member) = source.get(key) else {
                continue;
            };
            let value = member.value.as_str().unwrap_or_default();
            let is_meant = required.contains(key) || matches!(*key, "sha" | "sha256");
            if is_meant && !value.trim().is_empty() && !is_right(word, value) {
                let message = format!("`{key}` is not {what}");
                self.below(key, member.value.span)
                    .report(message, hint, report);
            }
        }
    }
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    let text = object.get(key).map(|member| &member.value);
    text.and_then(Node::as_str)
        .filter(|text| !text.trim().is_empty())
}

fn words() -> String {
    let words: Vec<String> = SOURCES
        .iter()
        .map(|(word, _)| format!("`{word}`"))
        .collect();
    words.join(", ")
}

/// The kinds of sources that hosts read, with what each of them needs.
const SOURCES: &[(&str, &[&str])] = &[
    ("github", &["repo"]),
    ("url", &["url"]),
    ("git-subdir", &["url", "path"]),
    ("npm", &["package"]),
    ("archive", &["url"]),
    ("command", &["command"]),
    ("local", &["path"]),
];

/// A member, what its text has to be like in a source of a kind, and what to write.
type Shape = (
    &'static str,
    fn(&str, &str) -> bool,
    &'static str,
    &'static str,
);

const SHAPES: &[Shape] = &[
    (
        "repo",
        |_, repo| {
            let mut parts = repo.split('/');
            let is_name = |part: Option<&str>| {
                part.is_some_and(|part| {
                    !part.is_empty()
                        && part
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
                })
            };
            is_name(parts.next()) && is_name(parts.next()) && parts.next().is_none()
        },
        "a repository of GitHub",
        "write `owner/name`",
    ),
    (
        "url",
        |word, url| {
            // A folder of a repository may be named as on GitHub.
            let is_short = word == "git-subdir" && url.split('/').count() == 2;
            url.contains("://") || url.starts_with("git@") || is_short
        },
        "an address",
        "write the whole address, such as `https://git.example/plugins.git`",
    ),
    (
        "path",
        |_, path| !path.starts_with(['/', '~']) && !path.split('/').any(|part| part == ".."),
        "a path inside of what is fetched",
        "write the path of the plugin's folder, relative to the top",
    ),
    (
        "package",
        |_, name| {
            let scoped = name.strip_prefix('@').unwrap_or(name);
            let is_letter = |c: char| !c.is_whitespace() && !matches!(c, '@' | ':' | '\\');
            scoped.chars().all(is_letter) && !name.starts_with(['.', '/'])
        },
        "the name of a package",
        "write the name alone; the version stands in `version`",
    ),
    (
        "sha",
        |_, sha| sha.len() == 40 && sha.chars().all(|c| c.is_ascii_hexdigit()),
        "a commit",
        "write all 40 characters of the commit",
    ),
    (
        "sha256",
        |_, sum| sum.len() == 64 && sum.chars().all(|c| c.is_ascii_hexdigit()),
        "a SHA-256 checksum",
        "write the 64 characters of the checksum",
    ),
];

#[cfg(test)]
mod tests {
    use keyway_config::document::{Document, DocumentKind};
    use keyway_config::plugin::Plugin;
    use keyway_config::source::Source;

    use crate::rules::fixture::findings;

    fn found_in(path: &str, text: &str) -> Vec<(String, String)> {
        let source = Source::new(path, text.as_bytes());
        let document = Document::parse(source, DocumentKind::Marketplace);
        let plugin = Plugin::new("/p", vec![document]);
        let found = findings("invalid-source", &plugin).into_iter();
        found
            .map(|it| {
                let pointer = it.location.unwrap().pointer.as_str().to_owned();
                (pointer, it.message)
            })
            .collect()
    }

    fn found(source: &str) -> Vec<(String, String)> {
        let text = format!(
            r#"{{"name": "m", "owner": {{"name": "o"}}, "plugins": [{{"name": "a", "source": {source}}}]}}"#
        );
        found_in(".claude-plugin/marketplace.json", &text)
    }

    #[test]
    fn sources_that_hosts_read_are_not_reported() {
        for source in [
            r#""./plugins/a""#,
            r#"{"source": "github", "repo": "owner/name.js", "ref": "v1", "sha": "0123456789abcdef0123456789abcdef01234567"}"#,
            r#"{"source": "url", "url": "https://git.example/a.git"}"#,
            r#"{"source": "url", "url": "git@git.example:o/a.git"}"#,
            r#"{"source": "git-subdir", "url": "owner/name", "path": "plugins/a"}"#,
            r#"{"source": "npm", "package": "@scope/name", "version": "1.0.0"}"#,
            r#"{"source": "archive", "url": "https://h.example/a.tgz"}"#,
            r#"{"source": "command", "command": "make-plugin"}"#,
            r#"{"source": "local", "path": "./plugins/a"}"#,
        ] {
            assert!(found(source).is_empty(), "{source}: {:?}", found(source));
        }
    }

    #[test]
    fn what_a_kind_of_source_needs_is_asked_for() {
        for (source, message) in [
            (
                r#"{"source": "github"}"#,
                "a source of the kind `github` has no `repo`",
            ),
            (
                r#"{"source": "url", "url": ""}"#,
                "a source of the kind `url` has no `url`",
            ),
            (
                r#"{"source": "git-subdir", "url": "https://git.example/a.git"}"#,
                "a source of the kind `git-subdir` has no `path`",
            ),
            (
                r#"{"source": "npm", "name": "x"}"#,
                "a source of the kind `npm` has no `package`",
            ),
            (
                r#"{"repo": "o/a"}"#,
                "`source` does not say of which kind it is",
            ),
            (
                r#"{"source": "githb", "repo": "o/a"}"#,
                "`githb` is not a kind of source",
            ),
            (r#""""#, "`source` is empty"),
            (r#""plugins/a""#, "`plugins/a` does not begin with `./`"),
            (r#""../a""#, "`../a` leaves the marketplace"),
            (
                r#""https://git.example/a""#,
                "`source` is an address, not a path",
            ),
            ("3", "`source` is neither a path nor an object"),
        ] {
            let expected = ("/plugins/0/source".to_owned(), message.to_owned());
            assert_eq!(found(source), [expected], "{source}");
        }
    }

    #[test]
    fn values_have_the_shape_that_is_fetched() {
        for (source, key) in [
            (
                r#"{"source": "github", "repo": "https://github.com/o/a"}"#,
                "repo",
            ),
            (r#"{"source": "github", "repo": "a"}"#, "repo"),
            (
                r#"{"source": "github", "repo": "o/a", "sha": "abc123"}"#,
                "sha",
            ),
            (r#"{"source": "url", "url": "o/a"}"#, "url"),
            (
                r#"{"source": "git-subdir", "url": "o/a", "path": "../b"}"#,
                "path",
            ),
            (r#"{"source": "npm", "package": "x@1.0.0"}"#, "package"),
            (
                r#"{"source": "archive", "url": "https://h.example/a.tgz", "sha256": "00"}"#,
                "sha256",
            ),
        ] {
            let found = found(source);
            assert_eq!(found.len(), 1, "{source}: {found:?}");
            assert_eq!(found[0].0, format!("/plugins/0/source/{key}"));
        }
    }

    #[test]
    fn paths_of_other_hosts_and_below_a_base_are_written_without_a_dot() {
        let cursor = r#"{"name": "m", "plugins": [{"name": "a", "source": "plugins/a"}]}"#;
        assert!(found_in(".cursor-plugin/marketplace.json", cursor).is_empty());
        let based = r#"{"name": "m", "owner": {"name": "o"}, "metadata": {"pluginRoot": "./plugins"}, "plugins": [{"name": "a", "source": "a"}]}"#;
        assert!(found_in(".claude-plugin/marketplace.json", based).is_empty());
        let nameless = r#"{"name": "m", "owner": {"name": "o"}, "plugins": [{}, 3]}"#;
        assert_eq!(
            found_in(".claude-plugin/marketplace.json", nameless).len(),
            3
        );
    }
}
