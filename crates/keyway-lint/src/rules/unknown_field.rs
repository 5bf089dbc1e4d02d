//! `unknown-field`: a key of an entry, of `oauth` or of `headersHelper` that has no effect.
//!
//! Hosts drop the keys of an entry that they do not know. Where the key is close to a field, or
//! another host reads it, something was meant to happen and does not: a warning. Any other key, such
//! as what a catalogue shows of the server, loses nothing by being dropped: an info with `--pedantic`.
//! `oauth` and `headersHelper` hold settings alone, so there every such key is a warning.

mod of_host;

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, Entry};
use keyway_config::edit::{Applicability, Edit};
use keyway_config::environment::nearest;
use keyway_config::fields::{ENTRY, FieldSpec, HELPER, OAUTH};
use keyway_config::json::{Member, Object, quote};
use keyway_config::source::Pointer;

use super::mtls_in_entry::is_mtls_field;
use super::walk::{objects, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UnknownField,
    severity: Severity::Warning,
    strict: Severity::Error,
    fix: Some(Applicability::Unsafe),
    summary: "An entry has a field that is not part of the contract, so it has no effect",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry, object) in objects(context.plugin) {
        if !document.dialect.is_contract() {
            of_host::check(document, entry, object, report);
            continue;
        }
        let mut check = |object, pointer, kind| {
            let place = CheckedObject {
                document,
                entry,
                object,
                pointer,
                kind,
            };
            place.check(report);
        };
        check(object, entry.pointer.clone(), ObjectKind::Entry);
        for (key, kind) in [
            ("oauth", ObjectKind::OAuth),
            ("headersHelper", ObjectKind::Helper),
        ] {
            let inner = object.get(key).and_then(|member| member.value.as_object());
            if let Some(inner) = inner {
                check(inner, entry.pointer.child(key), kind);
            }
        }
        if document.is_of_contract_host() {
            of_host::check_additions(document, entry, object, report);
        }
    }
}

/// An object whose keys are known.
struct CheckedObject<'a> {
    document: &'a Document,
    entry: &'a Entry,
    object: &'a Object,
    pointer: Pointer,
    kind: ObjectKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ObjectKind {
    Entry,
    OAuth,
    Helper,
}

impl ObjectKind {
    const fn fields(self) -> &'static [FieldSpec] {
        match self {
            Self::Entry => ENTRY,
            Self::OAuth => OAUTH,
            Self::Helper => HELPER,
        }
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Entry => "an entry",
            Self::OAuth => "`oauth`",
            Self::Helper => "`headersHelper`",
        }
    }
}

impl CheckedObject<'_> {
    fn check(&self, report: &mut Report<'_>) {
        let unknown = self.object.members.iter().filter(|member| {
            let key = member.key.as_str();
            let is_known = self.kind.fields().iter().any(|spec| spec.name == key);
            let is_note = key.starts_with(['_', '$']);
            let is_told_elsewhere = self.kind == ObjectKind::Entry
                && (is_mtls_field(key) || self.is_read_as_ours(member));
            !(is_known || is_note || is_told_elsewhere)
        });
        for member in unknown.take(MOST_PER_OBJECT) {
            self.report(member, report);
        }
    }

    /// Says whether the entry was read in spite of the key; `foreign-spelling` tells of it.
    fn is_read_as_ours(&self, member: &Member) -> bool {
        let server = self.entry.server.as_ref();
        server.is_ok_and(|server| server.spellings.iter().any(|s| s.span == member.key_span))
    }

    fn report(&self, member: &Member, report: &mut Report<'_>) {
        let meant = self.meant(&member.key);
        let is_note = meant.is_none() && self.kind == ObjectKind::Entry && !report.strict();
        if is_note && !report.pedantic() {
            return;
        }
        let source = &self.document.source;
        let key = shown(&member.key);
        let pointer = self.pointer.child(&member.key);
        let message = format!("`{key}` is not a field of {}", self.kind.describe());
        let mut finding = report
            .at(source, member.key_span, &pointer, message)
            .server(&self.entry.name);
        if is_note {
            finding = finding.severity(Severity::Info);
        }
        let (hint, rename) = match meant {
            Some((hint, rename)) => (hint, rename.map(str::to_owned)),
            None => {
                let hint = "remove it, or start its name with `_` to keep it as a note";
                (hint.to_owned(), Some(format!("_{}", member.key)))
            }
        };
        let finding = finding.hint(hint);
        if let Some(name) = rename.filter(|name| self.object.get(name).is_none()) {
            let edits = vec![Edit::replace(source, member.key_span, quote(&name))];
            finding.fix(
                Applicability::Unsafe,
                format!("rename it to `{}`", shown(&name)),
                edits,
            );
        }
    }

    /// Returns what the author may have meant by `key`: a hint, and the name that would do it.
    fn meant(&self, key: &str) -> Option<(String, Option<&'static str>)> {
        let is_of_entry = self.kind == ObjectKind::Entry;
        let foreign = FOREIGN.iter().find(|(foreign, ..)| *foreign == key);
        if let Some((_, host, how)) = foreign.filter(|_| is_of_entry) {
            return Some((how.hint(host), how.rename()));
        }
        // Another host's `disabledTools` is not a misspelt `disabled`.
        let reader = is_of_entry.then(|| of_host::reader(self.document.dialect, key));
        if let Some(host) = reader.flatten() {
            return Some((format!("{host} reads it; here it has no effect"), None));
        }
        let near = self.near(key);
        let (first, others) = near.split_first()?;
        let rename = others.is_empty().then_some(*first);
        Some((format!("did you mean `{first}`?"), rename))
    }

    /// Returns the fields that look like `key`; the one that differs only in spelling alone.
    fn near(&self, key: &str) -> Vec<&'static str> {
        let names = || self.kind.fields().iter().map(|spec| spec.name);
        match names().find(|name| plain(name) == plain(key)) {
            Some(same) => vec![same],
            None => nearest(key, names()),
        }
    }
}

fn plain(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// How many findings one object gets; one with more is something else.
const MOST_PER_OBJECT: usize = 64;

/// What another host's field is here.
enum Here {
    /// The same under another name.
    Is(&'static str),
    /// Something that takes more than a new name, as a continuation of "here".
    Needs(&'static str),
}

impl Here {
    fn hint(&self, host: &str) -> String {
        match self {
            Self::Is(name) => format!("{host} reads it; here it is called `{name}`"),
            Self::Needs(how) => format!("{host} reads it; here {how}"),
        }
    }

    const fn rename(&self) -> Option<&'static str> {
        match self {
            Self::Is(name) => Some(name),
            Self::Needs(_) => None,
        }
    }
}

/// Fields that other hosts read, whose they are, and what they are here.
const FOREIGN: &[(&str, &str, Here)] = &[
    ("serverUrl", "Windsurf", Here::Is("url")),
    ("httpUrl", "Gemini CLI", Here::Is("url")),
    ("baseUrl", "another host", Here::Is("url")),
    ("endpoint", "another host", Here::Is("url")),
    ("uri", "another host", Here::Is("url")),
    ("environment", "opencode", Here::Is("env")),
    ("envs", "Goose", Here::Is("env")),
    (
        "env_keys",
        "Goose",
        Here::Needs("write `\"NAME\": \"${NAME}\"` in `env`"),
    ),
    (
        "env_vars",
        "Codex",
        Here::Needs("write `\"NAME\": \"${NAME}\"` in `env`"),
    ),
    ("http_headers", "Codex", Here::Is("headers")),
    (
        "env_http_headers",
        "Codex",
        Here::Needs("write `\"Name\": \"${VAR}\"` in `headers`"),
    ),
    (
        "bearer_token_env_var",
        "Codex",
        Here::Needs("write `\"Authorization\": \"Bearer ${VAR}\"` in `headers`"),
    ),
    (
        "requestInit",
        "a client of the TypeScript SDK",
        Here::Needs("move its `headers` into the entry itself"),
    ),
    (
        "eventSourceInit",
        "a client of the TypeScript SDK",
        Here::Needs("move its `headers` into the entry itself"),
    ),
    (
        "apiKey",
        "another host",
        Here::Needs("send the key as a header: `\"X-API-Key\": \"${API_KEY}\"` in `headers`"),
    ),
    (
        "token",
        "another host",
        Here::Needs("write `\"Authorization\": \"Bearer ${TOKEN}\"` in `headers`"),
    ),
    (
        "auth",
        "Cursor",
        Here::Needs("OAuth needs no field, or `oauth`"),
    ),
    (
        "authProviderType",
        "Gemini CLI",
        Here::Needs("OAuth needs no field, or `oauth`"),
    ),
    ("transportType", "Cline", Here::Is("type")),
    ("transport", "FastMCP", Here::Is("type")),
    ("cmd", "Goose", Here::Is("command")),
    ("arguments", "another host", Here::Is("args")),
    ("workingDirectory", "another host", Here::Is("cwd")),
    ("working_directory", "another host", Here::Is("cwd")),
    (
        "startup_timeout_sec",
        "Codex",
        Here::Needs("the limits are the host's own; remove it"),
    ),
    (
        "tool_timeout_sec",
        "Codex",
        Here::Needs("write `timeout`, in milliseconds"),
    ),
    (
        "includeTools",
        "Gemini CLI",
        Here::Needs("all tools are offered; remove it"),
    ),
    (
        "excludeTools",
        "Gemini CLI",
        Here::Needs("all tools are offered; remove it"),
    ),
    (
        "enabled_tools",
        "Codex",
        Here::Needs("all tools are offered; remove it"),
    ),
    (
        "disabled_tools",
        "Codex",
        Here::Needs("all tools are offered; remove it"),
    ),
    (
        "source",
        "Zed",
        Here::Needs("nothing takes its place; remove it"),
    ),
    (
        "dev",
        "VS Code",
        Here::Needs("nothing takes its place; remove it"),
    ),
];

#[cfg(test)]
mod tests {
    use keyway_code::Code;
    use keyway_config::diagnostic::Severity;

    use super::{ENTRY, FOREIGN, Here};
    use crate::rules::fixture::{entry, findings, fixed, pointers};
    use crate::rules::{Context, lint};

    const ID: &str = "unknown-field";

    #[test]
    fn known_fields_and_notes_are_not_reported() {
        for fields in [
            r#""type": "http", "url": "u", "headers": {"Any-Thing": "x"}, "timeout": 5000"#,
            r#""command": "x", "args": [], "env": {"ANY": "x"}, "timeout": 5000"#,
            r#""command": "x", "_note": 1, "$comment": 2, "description": "d", "alwaysAllow": []"#,
            r#""url": "u", "oauth": {"clientId": "c", "_why": "x"}, "disabled": false"#,
            r#""url": "u", "headersHelper": {"command": ["${HOST_PLUGIN_ROOT}/x"], "ttlMs": 1, "timeoutMs": 5}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn unknown_keys_are_found_in_the_entry_and_its_objects_even_if_it_is_skipped() {
        let fields = r#""wat": 1, "oauth": {"audience": "x"}, "headersHelper": {"shell": "${HOST_PLUGIN_ROOT}/x"}"#;
        assert_eq!(
            pointers(ID, &entry(fields)),
            [
                "/mcpServers/s/wat",
                "/mcpServers/s/oauth/audience",
                "/mcpServers/s/headersHelper/shell"
            ]
        );
    }

    #[test]
    fn a_key_that_no_host_reads_and_that_looks_like_no_field_is_a_note() {
        let plugin = entry(
            r#""command": "x", "category": "Search", "complexity": "Low", "homepage": "h",
               "maintainer": {"name": "n"}, "tags": ["a"], "popularity": 3, "verified": true"#,
        );
        let of = |context: &Context<'_>| -> Vec<Severity> {
            let found = lint(context).into_iter();
            let found = found.filter(|it| it.code == Code::UnknownField);
            found.map(|it| it.severity).collect()
        };
        let context = Context::new(&plugin);
        assert!(of(&context).is_empty());
        assert_eq!(of(&context.clone().pedantic(true)), [Severity::Info; 7]);
        assert_eq!(of(&context.strict(true)), [Severity::Error; 7]);
    }

    #[test]
    fn a_key_by_which_something_was_to_happen_is_reported_without_being_asked() {
        for fields in [
            r#""command": "x", "arg": []"#,
            r#""command": "x", "discription": "d""#,
            r#""url": "u", "bearer_token_env_var": "T""#,
            r#""command": "x", "disabledTools": ["delete"]"#,
            r#""url": "u", "oauth": {"audience": "x"}"#,
            r#""url": "u", "headersHelper": {"command": ["./x"], "shell": "sh"}"#,
        ] {
            let plugin = entry(fields);
            let found = lint(&Context::new(&plugin)).into_iter();
            let found: Vec<_> = found.filter(|it| it.code == Code::UnknownField).collect();
            assert!(!found.is_empty(), "{fields}");
            assert_eq!(found[0].severity, Severity::Warning, "{fields}");
        }
        let found = findings(ID, &entry(r#""command": "x", "disabledTools": ["delete"]"#));
        let hint = found[0].hint.as_deref();
        assert_eq!(hint, Some("Kiro reads it; here it has no effect"));
    }

    #[test]
    fn a_misspelt_field_is_renamed() {
        for (wrong, right) in [
            ("descrption", "description"),
            ("Args", "args"),
            ("headers_helper", "headersHelper"),
            ("cmd", "command"),
        ] {
            let text = format!(r#"{{"s": {{"{wrong}": "x"}}}}"#);
            let expected = format!(r#"{{"s": {{"{right}": "x"}}}}"#);
            assert_eq!(fixed(ID, &text), expected);
        }
        assert_eq!(
            fixed(
                ID,
                r#"{"s": {"url": "u", "oauth": {"client_id": "x", "scope": "a"}}}"#
            ),
            r#"{"s": {"url": "u", "oauth": {"clientId": "x", "scopes": "a"}}}"#
        );
    }

    #[test]
    fn a_field_that_is_like_none_becomes_a_note() {
        let text = r#"{"mcpServers": {"s": {"command": "x", "category": "Medium"}}}"#;
        assert_eq!(fixed(ID, text), text.replace("category", "_category"));
        let found = findings(
            ID,
            &entry(r#""command": "x", "category": 1, "_category": 2"#),
        );
        assert!(found[0].fix.is_none());
    }

    #[test]
    fn a_field_that_is_there_already_is_never_overwritten() {
        let found = findings(
            ID,
            &entry(r#""args": ["a"], "Args": ["b"], "command": "x""#),
        );
        assert_eq!(found[0].hint.as_deref(), Some("did you mean `args`?"));
        assert!(found[0].fix.is_none());
    }

    #[test]
    fn a_field_of_another_host_names_that_host_and_our_field() {
        for (fields, host, ours) in [
            (r#""serverUrl": "u", "url": "v""#, "Windsurf", "`url`"),
            (r#""httpUrl": "u", "url": "v""#, "Gemini CLI", "`url`"),
            (r#""environment": {}"#, "opencode", "`env`"),
            (r#""bearer_token_env_var": "T""#, "Codex", "`headers`"),
        ] {
            let found = findings(ID, &entry(fields));
            let hint = found[0].hint.as_ref().unwrap();
            assert!(hint.contains(host) && hint.contains(ours), "{hint}");
        }
    }

    #[test]
    fn the_table_of_other_hosts_leads_to_fields_of_ours_and_hides_none() {
        let is_ours = |name: &str| ENTRY.iter().any(|spec| spec.name == name);
        for (key, _, here) in FOREIGN {
            assert!(!is_ours(key), "{key}");
            if let Here::Is(name) = here {
                assert!(is_ours(name), "{name}");
            }
        }
    }
}
