//! The authentication section of a plugin's README: what a person sets, why, and where to get it.
//!
//! Made from the entries, plus what only the author knows: a `keyway` object in the manifest with
//! `variables.<NAME>.obtain`, `variables.<NAME>.permissions` and `servers.<name>.permissions`.

mod obtain;

use std::fmt::Write as _;

use keyway_config::declared::{DeclaredServer, Endpoint, OAuth};
use keyway_config::document::DocumentKind;
use keyway_config::edit::TextChange;
use keyway_config::json::{Node, Value};
use keyway_config::method::Method;
use keyway_config::plugin::Plugin;
use keyway_config::template::is_asked_for;
use keyway_config::usage::{Use, names, uses};
use thiserror::Error;

use self::obtain::how_to_get;
use crate::literals;

/// Writes the section, markers included; the same plugin always gives the same text.
#[must_use]
pub fn section(plugin: &Plugin) -> String {
    let mut text = format!("{BEGIN}\n{HEADING}\n\n");
    if plugin.servers().next().is_none() {
        text.push_str("No MCP server is declared, so there is nothing to set up.\n");
        text.push_str(END);
        return text;
    }
    text.push_str("| Server | Transport | How it authenticates |\n|---|---|---|\n");
    for (_, server) in plugin.servers() {
        let transport = server.transport.as_str();
        let _ = writeln!(
            text,
            "| {} | {transport} | {} |",
            cell(&server.name),
            how(server)
        );
    }
    write_variables(plugin, &mut text);
    write_permissions(plugin, &mut text);
    text.push_str(END);
    text
}

/// Why a README is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadmeFault {
    /// It is not UTF-8, or too large.
    #[error("it is not UTF-8, or too large")]
    NotText,
    /// A marker is missing, repeated or in the wrong order.
    #[error("its markers do not enclose one section")]
    Markers,
}

/// Brings the section of the plugin's README up to date; `None` if it is.
///
/// A plugin without README gets a `README.md`.
///
/// # Errors
///
/// Returns a [`ReadmeFault`] where replacing the section could remove other text.
pub fn update(plugin: &Plugin) -> Result<Option<TextChange>, ReadmeFault> {
    let readme = plugin.snapshot.readme.as_ref();
    let before = readme.map_or("", |source| source.text());
    if readme.is_some_and(|source| source.defect().is_some()) {
        return Err(ReadmeFault::NotText);
    }
    let places = (before.find(BEGIN), before.find(END));
    let is_whole = match places {
        (None, None) => true,
        (Some(begin), Some(end)) => begin < end,
        _ => false,
    };
    if !is_whole || before.matches(BEGIN).count() > 1 || before.matches(END).count() > 1 {
        return Err(ReadmeFault::Markers);
    }
    let mut section = section(plugin);
    if has_own_section(before) {
        section = section.replacen(HEADING, OTHER_HEADING, 1);
    }
    let after = merge(before, &section);
    let file = readme.map_or_else(
        || plugin.shown("README.md").into(),
        |source| source.shared_path(),
    );
    let before = readme.map(|source| source.text().to_owned());
    Ok((before.as_ref() != Some(&after)).then(|| TextChange::new(file, before, after)))
}

/// Says whether the author has a section of the same name outside of the markers.
fn has_own_section(readme: &str) -> bool {
    let (begin, end) = (readme.find(BEGIN), readme.find(END));
    let before = readme.get(..begin.unwrap_or(readme.len()));
    let after = end.and_then(|end| readme.get(end..));
    let mut lines = before.into_iter().chain(after).flat_map(str::lines);
    lines.any(|line| line.trim_end().eq_ignore_ascii_case(HEADING))
}

/// Returns `readme` with the section in place: between its markers, or else at the end.
#[must_use]
pub fn merge(readme: &str, section: &str) -> String {
    let newline = if readme.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let section = section.replace('\n', newline);
    let begin = readme.find(BEGIN);
    let end = readme.find(END).map(|at| at + END.len());
    if let (Some(begin), Some(end)) = (begin, end.filter(|&end| begin.is_some_and(|b| b < end))) {
        let before = readme.get(..begin).unwrap_or_default();
        let after = readme.get(end..).unwrap_or_default();
        return format!("{before}{section}{after}");
    }
    let before = readme.trim_end();
    let gap = if before.is_empty() {
        String::new()
    } else {
        newline.repeat(2)
    };
    format!("{before}{gap}{section}{newline}")
}

fn how(server: &DeclaredServer) -> &'static str {
    match Method::declared(server) {
        Method::Dynamic => "a script of the plugin makes the headers",
        Method::Static => "a token that you set in a variable",
        Method::OAuth => "you sign in once in the browser, if the server asks for it",
        Method::Environment => "variables that you set",
        // A variable may stand in an argument as well.
        Method::None if !names(server).is_empty() => "variables that you set",
        Method::None => "nothing to set up",
    }
}

/// Lists what a person sets, what they may set, and what their host asks them for: a table each,
/// and none that is empty.
fn write_variables(plugin: &Plugin, text: &mut String) {
    let uses = uses(plugin);
    let mut names: Vec<&str> = Vec::new();
    for usage in &uses {
        if !names.contains(&usage.variable.name.as_str()) {
            names.push(&usage.variable.name);
        }
    }
    let (asked, own): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| is_asked_for(name));
    let (optional, needed): (Vec<&str>, Vec<&str>) = own.iter().partition(|name| {
        let mut of_name = uses.iter().filter(|usage| usage.variable.name == **name);
        of_name.all(|usage| usage.variable.default.is_some())
    });
    write_table(plugin, &uses, ("Variables", &needed), text);
    if !needed.is_empty() {
        text.push_str("\nSet them in the shell that starts your client:\n\n```sh\n");
        for name in &needed {
            let _ = writeln!(text, "export {name}=…");
        }
        text.push_str("```\n");
    }
    write_table(plugin, &uses, ("Optional variables", &optional), text);
    write_table(plugin, &uses, ("Asked for by the host", &asked), text);
}

fn write_table(
    plugin: &Plugin,
    all: &[Use<'_>],
    (title, names): (&str, &[&str]),
    text: &mut String,
) {
    if names.is_empty() {
        return;
    }
    let (first, last) = match title {
        "Optional variables" => ("Variable", "Without it"),
        "Asked for by the host" => ("Setting", "How to get it"),
        _ => ("Variable", "How to get it"),
    };
    let _ = write!(
        text,
        "\n### {title}\n\n| {first} | Used for | {last} |\n|---|---|---|\n"
    );
    let secret_defaults = secret_defaults(plugin);
    for name in names {
        let of_name: Vec<&Use<'_>> = all.iter().filter(|u| u.variable.name == *name).collect();
        let mut prompts = plugin.prompts().filter(|prompt| prompt.variable == *name);
        let prompt = prompts.next();
        let shown = prompt.map_or(*name, |prompt| prompt.key.as_str());
        let default = of_name
            .iter()
            .find_map(|usage| usage.variable.default.as_deref());
        let obtain = note(plugin, &["variables", name, "obtain"]).map(|text| cell(&text));
        let described = || prompt?.description.as_deref().map(cell);
        let last = match default.filter(|_| title == "Optional variables") {
            Some(_) if secret_defaults.iter().any(|it| it == name) => LITERAL_DEFAULT.to_owned(),
            Some(default) if obtain.is_none() => format!("`{}`", cell(default)),
            _ => obtain
                .or_else(described)
                .or_else(|| how_to_get(name))
                .unwrap_or_else(|| "ask the provider of the server".to_owned()),
        };
        let used = used_for(&of_name);
        let _ = writeln!(text, "| `{}` | {used} | {last} |", cell(shown));
    }
}

/// Returns the variables whose default is a credential: it is written down once too often already.
fn secret_defaults(plugin: &Plugin) -> Vec<String> {
    let literals = plugin.documents.iter().flat_map(literals::in_document);
    literals.filter_map(|literal| literal.default_of).collect()
}

fn used_for(uses: &[&Use<'_>]) -> String {
    let mut places: Vec<String> = Vec::new();
    for usage in uses {
        let place = format!("{} of {}", usage.role.describe(), cell(&usage.server.name));
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.join(", ")
}

/// Lists what each token or sign-in must be allowed to do, as far as the author said it.
fn write_permissions(plugin: &Plugin, text: &mut String) {
    let mut lines: Vec<String> = Vec::new();
    for (_, server) in plugin.servers() {
        let scopes = scopes(server);
        let noted = note(plugin, &["servers", &server.name, "permissions"]);
        let what = noted.or_else(|| (!scopes.is_empty()).then(|| scopes.join(", ")));
        match (what, Method::declared(server)) {
            (Some(what), _) => lines.push(format!("- {}: {}", cell(&server.name), cell(&what))),
            (None, Method::OAuth) => lines.push(format!(
                "- {}: the permissions (scopes) that the server asks for are shown when you sign in",
                cell(&server.name)
            )),
            _ => {}
        }
    }
    for usage in uses(plugin) {
        let name = &usage.variable.name;
        if let Some(what) = note(plugin, &["variables", name, "permissions"]) {
            let line = format!("- `{name}`: {}", cell(&what));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    if !lines.is_empty() {
        let _ = write!(text, "\n### Permissions\n\n{}\n", lines.join("\n"));
    }
}

fn scopes(server: &DeclaredServer) -> Vec<String> {
    let Endpoint::Remote(remote) = &server.endpoint else {
        return Vec::new();
    };
    let OAuth::Configured(oauth) = &remote.oauth else {
        return Vec::new();
    };
    let words = oauth
        .scopes
        .iter()
        .flat_map(|field| field.template.as_str().split_whitespace());
    words.map(|word| format!("`{word}`")).collect()
}

/// Returns a text below the manifest's `keyway` object; an array is joined by commas.
fn note(plugin: &Plugin, path: &[&str]) -> Option<String> {
    plugin.documents.iter().find_map(|document| {
        let root = document.tree.root.as_ref();
        let root = root.filter(|_| document.kind == DocumentKind::Manifest)?;
        let mut node: &Node = &root.as_object()?.get("keyway")?.value;
        for key in path {
            node = &node.as_object()?.get(key)?.value;
        }
        match &node.value {
            Value::String(text) => Some(text.clone()),
            Value::Array(items) => Some(
                items
                    .iter()
                    .filter_map(Node::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
            _ => None,
        }
    })
}

/// Makes foreign text fit a table cell: one line, no markup of its own.
fn cell(text: &str) -> String {
    let plain = keyway_secret::printable(text);
    plain.replace('|', "\\|").replace('<', "&lt;")
}

const HEADING: &str = "## Authentication";
/// The heading where the author has a section of the usual name.
const OTHER_HEADING: &str = "## Authentication of the MCP servers";

/// Opens the section.
pub const BEGIN: &str = "<!-- keyway:begin -->";

/// Closes the section.
pub const END: &str = "<!-- keyway:end -->";

const LITERAL_DEFAULT: &str = "a default that must be removed (`keyway check` says where)";

#[cfg(test)]
mod tests {
    use keyway_config::document::Document;
    use keyway_config::source::Source;

    use super::*;

    fn plugin() -> Plugin {
        let entries = r#"{"search": {"type": "http", "url": "https://${TENANT_ID}.h.example/mcp",
            "headers": {"Authorization": "Bearer ${API_TOKEN}", "X-Log": "${LOG:-info}"}},
            "docs": {"type": "http", "url": "https://docs.example/mcp", "oauth": {"scopes": "read write"}},
            "wiki": {"type": "http", "url": "https://wiki.example/mcp"}}"#;
        let manifest = r#"{"keyway": {"variables": {"API_TOKEN":
            {"obtain": "Settings | Tokens", "permissions": ["read", "delete (optional)"]}}}}"#;
        let document = |name: &str, text: &str, kind| {
            Document::parse(Source::new(name, text.as_bytes()), kind)
        };
        Plugin::new(
            "/p",
            vec![
                document(".mcp.json", entries, DocumentKind::Entries),
                document("plugin.json", manifest, DocumentKind::Manifest),
            ],
        )
    }

    #[test]
    fn a_credential_in_a_default_is_not_repeated() {
        let token = ["sbp_38db93c4", "def7414fdb269a51", "c07e62b8d3f0475e"].concat();
        let entries = format!(
            r#"{{"a": {{"type": "http", "url": "https://h.example/mcp",
                "headers": {{"Authorization": "Bearer ${{T:-{token}}}", "X-Tenant": "${{TENANT:-{token}}}"}}}}}}"#
        );
        let source = Source::new(".mcp.json", entries.as_bytes());
        let text = section(&Plugin::new(
            "/p",
            vec![Document::parse(source, DocumentKind::Entries)],
        ));
        assert!(
            text.contains("`TENANT`") && !text.contains("sbp_"),
            "{text}"
        );
    }

    #[test]
    fn section_of_the_author_keeps_its_name_to_itself() {
        let mut plugin = plugin();
        let text = "# P\n\n## Authentication\n\nMine.\n";
        let with = |plugin: &mut Plugin, text: &str| {
            plugin.snapshot.readme = Some(Source::new("README.md", text.as_bytes()));
        };
        with(&mut plugin, text);
        let change = update(&plugin).unwrap().unwrap();
        assert!(change.after.starts_with(text), "{}", change.after);
        let own = change.after.lines().filter(|line| *line == HEADING);
        assert_eq!(own.count(), 1, "{}", change.after);
        assert!(change.after.contains(OTHER_HEADING), "{}", change.after);
        with(&mut plugin, &change.after);
        assert!(update(&plugin).unwrap().is_none(), "it is up to date");
    }

    #[test]
    fn a_variable_in_the_arguments_of_a_program_has_to_be_set_up() {
        let entries = r#"{"neon": {"command": "npx", "args": ["neon", "${NEON_API_KEY}"]},
            "plain": {"command": "npx", "args": ["plain"]}}"#;
        let source = Source::new(".mcp.json", entries.as_bytes());
        let text = section(&Plugin::new(
            "/p",
            vec![Document::parse(source, DocumentKind::Entries)],
        ));
        assert!(
            text.contains("| neon | stdio | variables that you set |"),
            "{text}"
        );
        assert!(
            text.contains("| plain | stdio | nothing to set up |"),
            "{text}"
        );
    }

    #[test]
    fn the_section_names_every_variable_what_it_feeds_and_where_to_get_it() {
        let text = section(&plugin());
        for line in [
            "| search | http | a token that you set in a variable |",
            "| `API_TOKEN` | header `Authorization` of search | Settings \\| Tokens |",
            "| `TENANT_ID` | address of search | ask the provider of the server |",
            "| `LOG` | header `X-Log` of search | `info` |",
            "export API_TOKEN=…",
            "- docs: `read`, `write`",
            "- wiki: the permissions (scopes) that the server asks for are shown when you sign in",
            "- `API_TOKEN`: read, delete (optional)",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n---\n{text}");
        }
    }

    #[test]
    fn a_variable_in_an_argument_is_something_to_set_up() {
        let how = |fields: &str| {
            let text = format!(r#"{{"neon": {{"command": "npx", {fields}}}}}"#);
            section(&Plugin::from_text("/p", ".mcp.json", &text))
        };
        let text = how(r#""args": ["start", "${NEON_API_KEY}"]"#);
        assert!(
            text.contains("| neon | stdio | variables that you set |"),
            "{text}"
        );
        assert!(
            text.contains(
                "| `NEON_API_KEY` | argument of neon | create it at <https://console.neon.tech/"
            ),
            "{text}"
        );
        let text = how(r#""args": ["start", "${HOST_PLUGIN_ROOT}/x"]"#);
        assert!(
            text.contains("| neon | stdio | nothing to set up |"),
            "{text}"
        );
    }

    #[test]
    fn what_a_host_asks_for_is_named_as_its_file_does_and_no_table_is_empty() {
        let text = r#"{"inputs": [{"type": "promptString", "id": "tracker-token", "description": "From the profile", "password": true}],
            "servers": {"tracker": {"type": "http", "url": "https://h.example/mcp",
            "headers": {"Authorization": "Bearer ${input:tracker-token}"}}}}"#;
        let text = section(&Plugin::from_text("/p", ".vscode/mcp.json", text));
        let line = "| `tracker-token` | header `Authorization` of tracker | From the profile |";
        assert!(text.contains(line), "{text}");
        assert!(
            !text.contains("### Variables") && !text.contains("export"),
            "{text}"
        );
        let text = section(&Plugin::from_text(
            "/p",
            ".mcp.json",
            "{\"mcpServers\": {}}",
        ));
        assert!(!text.contains('|'), "{text}");
    }

    #[test]
    fn merging_twice_changes_nothing_and_the_rest_of_the_file_survives() {
        let section = section(&plugin());
        for readme in ["", "# Title\n\nText\n", "# Title\r\n\r\nText\r\n"] {
            let once = merge(readme, &section);
            assert_eq!(merge(&once, &section), once);
            assert!(once.starts_with(readme.trim_end()));
        }
        let moved = format!("top\n{section}\nbottom\n");
        let changed = merge(&moved, &section.replace("search", "find"));
        assert!(changed.starts_with("top\n") && changed.ends_with("\nbottom\n"));
        assert!(changed.contains("| find |") && !changed.contains("| search |"));
    }

    #[test]
    fn markers_that_enclose_no_section_are_refused_since_text_would_be_lost() {
        let mut plugin = plugin();
        for text in [
            format!("{BEGIN}\nmine\n"),
            format!("mine {END}\n"),
            format!("{END} mine {BEGIN}\n"),
            format!("{BEGIN}{END} mine {BEGIN}{END}\n"),
        ] {
            plugin.snapshot.readme = Some(Source::new("README.md", text.as_bytes()));
            let fault = update(&plugin).unwrap_err();
            assert_eq!(fault, ReadmeFault::Markers, "{text}");
        }
        plugin.snapshot.readme = Some(Source::new("README.md", b"\xff"));
        assert_eq!(update(&plugin).unwrap_err(), ReadmeFault::NotText);
    }

    #[test]
    fn an_up_to_date_readme_needs_no_change() {
        let mut plugin = plugin();
        let change = update(&plugin).unwrap().unwrap();
        assert_eq!((&*change.file, change.before), ("README.md", None));
        plugin.snapshot.readme = Some(Source::new("README.md", change.after.as_bytes()));
        assert!(update(&plugin).unwrap().is_none());
    }
}
