//! Entries of one host's file for another host: credentials become slots on the way.
//!
//! What a host's notation is, and what it cannot say, is decided in [`keyway_config::portable`].
//! Here the literal credentials are found, each gets a variable, and the result is searched again:
//! an entry in which a literal would still be written is left out.

use keyway_code::Code;
use keyway_config::declared::DeclaredServer;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::dialect::Dialect;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::environment::Variables;
use keyway_config::portable::{FoundLiteral, Loss, PortableServer, WrittenEntry, new_file, write};
use keyway_config::source::{Pointer, Source};
use keyway_secret::Secret;

use crate::literals::{self, Literal};
use crate::migrate::judge::base_name;
use crate::migrate::names::Namer;
use crate::secrets::is_credential_name;

/// What became of the entries of a file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Conversion {
    /// The entries, as the target writes them.
    pub entries: Vec<WrittenEntry>,
    /// The variables that they need, each once.
    pub slots: Vec<NeededVariable>,
    /// What was left out and what was lost.
    pub diagnostics: Vec<Diagnostic>,
}

/// A variable that a converted entry needs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeededVariable {
    /// Its name.
    pub name: String,
    /// Whether it is a credential.
    pub is_secret: bool,
    /// The entry that needs it first.
    pub server: String,
    /// Where its value stands as a literal in the old file, if it does.
    pub literal_at: Option<Pointer>,
}

/// Converts the entries of `document` for `target`; `only` is the name of the one that is wanted.
#[must_use]
pub fn convert(document: &Document, target: &'static Dialect, only: Option<&str>) -> Conversion {
    let mut conversion = Conversion::default();
    let literals = literals::in_document(document);
    let used = used_names(document);
    let nothing = Variables::default();
    let mut namer = Namer::new(&nothing, Variables::default(), used);
    for entry in &document.entries {
        if only.is_some_and(|only| only != entry.name) {
            continue;
        }
        let Ok(server) = &entry.server else {
            let why = "it is not loaded as it is; `keyway check` says what is wrong".to_owned();
            let left_out = left_out(&entry.name, &why).with_server(Some(entry.name.clone()));
            let location = document.source.locate(entry.name_span, &entry.pointer);
            conversion
                .diagnostics
                .push(left_out.with_location(location));
            continue;
        };
        let found = found_literals(document, server, &literals, &mut namer);
        conversion.add(document, server, &found, target);
    }
    conversion
}

impl Conversion {
    /// Adds what became of another file's entries.
    pub fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
        self.diagnostics.extend(other.diagnostics);
        for slot in other.slots {
            if !self.slots.iter().any(|known| known.name == slot.name) {
                self.slots.push(slot);
            }
        }
    }

    fn add(
        &mut self,
        document: &Document,
        server: &DeclaredServer,
        found: &[(FoundLiteral, Pointer)],
        target: &'static Dialect,
    ) {
        let values: Vec<FoundLiteral> = found.iter().map(|(found, _)| found.clone()).collect();
        let portable = PortableServer::of(document, server, &values, &is_credential_name);
        let about = |diagnostic: Diagnostic| {
            let location = document.source.locate(server.name_span, &server.pointer);
            let named = diagnostic.with_server(Some(server.name.clone()));
            named.with_location(location)
        };
        let written = write(&portable, target).and_then(|entry| without_literal(entry, target));
        let entry = match written {
            Ok(entry) => entry,
            Err(Loss { message, .. }) => {
                self.diagnostics
                    .push(about(left_out(&server.name, &message)));
                return;
            }
        };
        for loss in &entry.losses {
            let lost = Diagnostic::new(
                Code::LostInConversion,
                Severity::Warning,
                loss.message.clone(),
            );
            self.diagnostics.push(about(lost));
        }
        for slot in portable.texts().into_iter().flat_map(|text| text.slots()) {
            let is_known = self.slots.iter().any(|known| known.name == slot.name);
            if is_known || entry.unwritten.contains(&slot.name) {
                continue;
            }
            let mut literal = found
                .iter()
                .filter(|(found, _)| found.variable == slot.name);
            self.slots.push(NeededVariable {
                name: slot.name.clone(),
                is_secret: slot.is_secret,
                server: server.name.clone(),
                literal_at: literal.next().map(|(_, pointer)| pointer.clone()),
            });
        }
        self.entries.push(entry);
    }
}

/// Gives every literal credential of an entry a variable, the same one for the same value.
fn found_literals(
    document: &Document,
    server: &DeclaredServer,
    literals: &[Literal],
    namer: &mut Namer<'_>,
) -> Vec<(FoundLiteral, Pointer)> {
    let own = literals.iter().filter(|literal| {
        let below = literal
            .pointer
            .as_str()
            .strip_prefix(server.pointer.as_str());
        below.is_some_and(|below| below.starts_with('/'))
    });
    let mut found = Vec::new();
    for literal in own {
        let Some((before, value)) = value_of(document, literal) else {
            continue;
        };
        let base = base_name(server, literal, &before);
        let name = match &literal.default_of {
            Some(name) => Ok(name.clone()),
            None => namer.choose(&base, &server.name, &value),
        };
        // Without a name the value stays, and then the entry is left out below.
        if let Ok(name) = name {
            let field = literal.string_span;
            found.push((
                FoundLiteral::new(field, value, name),
                literal.pointer.clone(),
            ));
        }
    }
    found
}

/// Returns a literal as it is read, and what stands before it in its string.
fn value_of(document: &Document, literal: &Literal) -> Option<(String, Secret<String>)> {
    let node = document.tree.at(&literal.pointer)?;
    let text = match node.as_str() {
        Some(text) => text,
        None => document.source.slice(node.span),
    };
    let range = literal.finding.range.clone();
    let before = text.get(..range.start).unwrap_or_default().to_owned();
    Some((before, Secret::new(text.get(range)?.to_owned())))
}

/// Looks for literal credentials in what would be written.
fn without_literal(entry: WrittenEntry, target: &Dialect) -> Result<WrittenEntry, Loss> {
    let text = new_file(target, std::slice::from_ref(&entry));
    let path = target.files.first().map_or(".mcp.json", |file| file.path);
    let source = Source::new(&path.replace('*', "x"), text.as_bytes());
    let document = Document::parse(source, DocumentKind::Entries);
    match literals::in_document(&document).first() {
        Some(literal) => Err(Loss::new(format!(
            "{} would hold a literal credential",
            literal.place
        ))),
        None => Ok(entry),
    }
}

fn left_out(server: &str, why: &str) -> Diagnostic {
    let server = keyway_secret::printable(server);
    let message = format!("`{server}` is left out: {why}");
    Diagnostic::new(Code::NotConverted, Severity::Error, message)
}

/// Returns the variables that the entries name already.
fn used_names(document: &Document) -> Vec<String> {
    let fields = document.servers().flat_map(keyway_config::usage::fields);
    let mut names: Vec<String> = fields
        .flat_map(|(_, field)| field.template.variables().map(|it| it.name.clone()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_config::dialect::DIALECTS;

    fn document(path: &str, text: &str) -> Document {
        Document::parse(Source::new(path, text.as_bytes()), DocumentKind::Entries)
    }

    fn token() -> String {
        ["sbp_38db93c4", "def7414fdb269a51", "c07e62b8d3f0475e"].concat()
    }

    #[test]
    fn what_a_target_has_no_field_for_is_lost_and_neither_asked_for_nor_needed() {
        let text = r#"{"mcpServers": {
            "a": {"url": "https://a.example/mcp", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:A_SECRET}"}},
            "b": {"url": "https://b.example/mcp", "headers": {"X-Key": "${env:B_KEY}"},
                  "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:B_KEY}"}}}}"#;
        let source = document(".cursor/mcp.json", text);
        let needed = |id: &str| {
            let conversion = convert(&source, Dialect::by_id(id).unwrap(), None);
            let names = conversion.slots.iter().map(|slot| slot.name.clone());
            let lost = conversion.diagnostics.iter();
            let lost = lost.filter(|it| it.message.contains("`clientSecret`"));
            let file = new_file(Dialect::by_id(id).unwrap(), &conversion.entries);
            (
                conversion.entries.len(),
                names.collect::<Vec<_>>(),
                lost.count(),
                file,
            )
        };
        // Whether the host fills in variables there does not matter where it has no field.
        for id in ["vs-code", "roo", "windsurf", "goose"] {
            let (entries, names, lost, file) = needed(id);
            let expected = (2, vec!["B_KEY".to_owned()], 2);
            assert_eq!((entries, names, lost), expected, "{id}");
            let file = file.to_ascii_lowercase();
            assert!(!file.contains("a_secret"), "{id}: {file}");
        }
        let (_, names, lost, _) = needed("opencode");
        assert_eq!(
            (names, lost),
            (vec!["A_SECRET".to_owned(), "B_KEY".to_owned()], 0)
        );
    }

    #[test]
    fn what_a_package_of_the_registry_becomes_is_not_lost() {
        let text = r#"{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": "io.github.acme/search", "description": "d", "version": "1.0.0", "packages": [
            {"registryType": "npm", "registryBaseUrl": "https://npm.h.example", "identifier": "@acme/search",
             "version": "1.0.0", "transport": {"type": "stdio"}, "runtimeArguments": [],
             "environmentVariables": [{"name": "K", "isSecret": true, "isRequired": true}]}]}"#;
        let source = document("server.json", text);
        let conversion = convert(&source, Dialect::by_id("claude-code").unwrap(), None);
        let told: Vec<&str> = conversion
            .diagnostics
            .iter()
            .map(|it| &*it.message)
            .collect();
        let expected = "`registryBaseUrl` is not carried over: only its own host reads it";
        assert_eq!(told, [expected]);
    }

    #[test]
    fn a_literal_is_a_slot_in_every_target_and_never_text() {
        let token = token();
        let text = format!(
            r#"{{"mcpServers": {{
                "a": {{"url": "https://h.example/mcp", "headers": {{"Authorization": "Bearer {token}"}}}},
                "b": {{"command": "x", "args": ["--access-token", "{token}"]}},
                "c": {{"command": "x", "env": {{"SUPABASE_ACCESS_TOKEN": "{token}"}}}}}}}}"#
        );
        let source = document(".cursor/mcp.json", &text);
        for target in DIALECTS {
            let conversion = convert(&source, target, None);
            let written = new_file(target, &conversion.entries);
            assert!(!written.contains(&token), "{}: {written}", target.id);
            assert!(!format!("{conversion:?}").contains(&token), "{}", target.id);
            let left_out = conversion.diagnostics.iter();
            let left_out = left_out.filter(|it| it.code == Code::NotConverted).count();
            assert_eq!(conversion.entries.len() + left_out, 3, "{}", target.id);
        }
        let vs_code = convert(&source, Dialect::by_id("vs-code").unwrap(), None);
        assert_eq!(vs_code.entries.len(), 3, "{:?}", vs_code.diagnostics);
        assert_eq!(
            vs_code.slots.len(),
            1,
            "one value, one variable: {:?}",
            vs_code.slots
        );
        let slot = &vs_code.slots[0];
        assert!(slot.is_secret && slot.literal_at.is_some());
    }

    #[test]
    fn a_literal_of_every_source_is_a_slot() {
        for (path, text) in [
            (
                "goose/config.yaml",
                "extensions:\n  s:\n    type: stdio\n    cmd: x\n    envs:\n      API_TOKEN: TOKEN\n",
            ),
            (
                "goose/config.yaml",
                "extensions:\n  s:\n    type: streamable_http\n    uri: https://h.example/mcp\n    headers:\n      Authorization: Bearer TOKEN\n",
            ),
            (
                ".continue/mcpServers/s.yaml",
                "mcpServers:\n  - name: s\n    command: x\n    args: [\"--token\", \"TOKEN\"]\n",
            ),
            (
                ".codex/config.toml",
                "[mcp_servers.s]\ncommand = \"x\"\nenv = { API_TOKEN = \"TOKEN\" }\n",
            ),
            (
                "opencode.json",
                r#"{"mcp": {"s": {"type": "local", "command": ["x", "--token", "TOKEN"]}}}"#,
            ),
            (
                ".zed/settings.json",
                r#"{"context_servers": {"s": {"command": "x", "env": {"API_TOKEN": "TOKEN"}}}}"#,
            ),
            (
                ".gemini/settings.json",
                r#"{"mcpServers": {"s": {"httpUrl": "https://h.example/mcp?token=TOKEN"}}}"#,
            ),
            (
                "mcp_config.json",
                r#"{"mcpServers": {"s": {"serverUrl": "https://h.example/mcp", "headers": {"X-API-Key": "TOKEN"}}}}"#,
            ),
        ] {
            let token = token();
            let source = document(
                path,
                &text
                    .replace("TOKEN", &token)
                    .replace(&format!("API_{token}"), "API_TOKEN"),
            );
            let conversion = convert(&source, Dialect::by_id("vs-code").unwrap(), None);
            assert_eq!(
                conversion.entries.len(),
                1,
                "{path}: {:?}",
                conversion.diagnostics
            );
            assert!(
                conversion.slots.len() == 1 && conversion.slots[0].is_secret,
                "{path}"
            );
            let written = new_file(Dialect::by_id("vs-code").unwrap(), &conversion.entries);
            assert!(!written.contains(&token), "{path}: {written}");
        }
    }

    #[test]
    fn an_entry_that_does_not_load_is_named() {
        let source = document(
            ".cursor/mcp.json",
            r#"{"mcpServers": {"a": {}, "b": {"command": "x"}}}"#,
        );
        let conversion = convert(&source, Dialect::by_id("codex").unwrap(), None);
        assert_eq!(conversion.entries.len(), 1);
        assert_eq!(conversion.diagnostics[0].server.as_deref(), Some("a"));
    }
}
