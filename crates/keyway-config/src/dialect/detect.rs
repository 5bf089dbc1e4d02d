//! Whose file it is: by its name and folder, then by its `$schema`, then by what stands in it.

use super::{CONTRACT, DIALECTS, Dialect, FILE_DIALECTS, HostFile};
use crate::json::{Node, Object, Tree, Value};

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detected {
    /// The dialect.
    pub dialect: &'static Dialect,
    /// The file by its name; `None` if its content decided.
    pub file: Option<&'static HostFile>,
}

/// Returns the host's file that a path names, the most specific one first.
///
/// A copy for others to fill in, such as `.mcp.json.example`, counts as what it is a copy of.
#[must_use]
pub fn host_file(path: &str) -> Option<(&'static Dialect, &'static HostFile)> {
    let path = path.replace('\\', "/");
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let name = without_copy_marks(parts.pop()?);
    parts.push(&name);
    let all = DIALECTS.iter().flat_map(|dialect| {
        let files = dialect.files.iter();
        files.map(move |file| (*dialect, file))
    });
    let fitting = all.filter(|(_, file)| fits(file.path, &parts));
    fitting.max_by_key(|(_, file)| (file.path.matches('/').count(), file.path.len()))
}

/// Returns how many folders a host puts between a file and what it belongs to: one for
/// `.vscode/mcp.json`, none for `.mcp.json`.
#[must_use]
pub fn folders_above(path: &str) -> usize {
    let Some((_, file)) = host_file(path) else {
        return 0;
    };
    // A folder without a dot in front is where an application keeps its own things.
    if file.path.starts_with('.') {
        file.path.matches('/').count()
    } else {
        0
    }
}

/// Says whose a file is.
///
/// A name that several hosts use decides only if the content does not say more.
#[must_use]
pub fn detect(path: &str, tree: &Tree) -> Detected {
    let by_name = host_file(path);
    let root = tree.root.as_ref().and_then(Node::as_object);
    if let Some((dialect, file)) = by_name
        && !is_shared_name(file)
    {
        let mut own = FILE_DIALECTS.iter();
        let own = own.find(|(path, _)| *path == file.path);
        return Detected {
            dialect: own.map_or(dialect, |(_, own)| own),
            file: Some(file),
        };
    }
    let by_content = root.and_then(of_content);
    // What every host could have written belongs to the one that the file is called after.
    let by_content = match by_content {
        Some(found) if found.is_contract() && by_name.is_none() => {
            Some(of_words(path).unwrap_or(found))
        }
        found => found,
    };
    match (by_content, by_name) {
        (Some(dialect), Some((named, file)))
            if std::ptr::eq(dialect, named) || dialect.is_contract() && shares_wrapper(named) =>
        {
            Detected {
                dialect: named,
                file: Some(file),
            }
        }
        (Some(dialect), _) => Detected {
            dialect,
            file: None,
        },
        (None, Some((dialect, file))) => Detected {
            dialect,
            file: Some(file),
        },
        (None, None) => Detected {
            dialect: CONTRACT,
            file: None,
        },
    }
}

/// Says whether a text may hold entries of any host, before it is read; cheap enough for every
/// file of a repository.
#[must_use]
pub fn has_marks(text: &str) -> bool {
    const MARKS: &[&str] = &["mcpServers", "mcp_servers", "context_servers", "mcp_config"];
    if MARKS.iter().any(|mark| text.contains(mark)) {
        return true;
    }
    let has_endpoint = || text.contains("\"command\"") || text.contains("\"url\"");
    if (text.contains("\"servers\"") || text.contains("\"mcp\"")) && has_endpoint() {
        return true;
    }
    is_like_goose(text)
}

/// Says whether a text may be Goose's YAML: its extensions have a `type`, and a `cmd` or a `uri`.
fn is_like_goose(text: &str) -> bool {
    if !text.contains("extensions:") {
        return false;
    }
    let has = |key: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.trim_start().starts_with(key))
    };
    has("extensions:") && has("type:") && (has("cmd:") || has("uri:"))
}

/// Names under which several hosts keep different things.
fn is_shared_name(file: &HostFile) -> bool {
    matches!(
        file.path,
        "mcp.json" | "mcp_config.json" | "manifest.json" | "server.json"
    )
}

/// Finds a host that keeps its servers under `mcpServers` by the name of a file, such as
/// `cursor-mcp.json`.
fn of_words(path: &str) -> Option<&'static Dialect> {
    let name = path.rsplit(['/', '\\']).next()?.to_ascii_lowercase();
    let name = name.replace('_', "-");
    let mut hosts = DIALECTS
        .iter()
        .filter(|dialect| shares_wrapper(dialect))
        .filter(|dialect| dialect.syntax.is_json());
    let found = hosts.find(|dialect| {
        let word = dialect.id.strip_suffix("-cli").unwrap_or(dialect.id);
        let mut places = name.match_indices(word);
        places.any(|(at, _)| {
            let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
            let before = name.get(..at).and_then(|text| text.chars().next_back());
            let behind = name
                .get(at + word.len()..)
                .and_then(|text| text.chars().next());
            is_edge(before) && is_edge(behind)
        })
    });
    found.copied()
}

/// Says whether a host keeps its servers where most do.
fn shares_wrapper(dialect: &Dialect) -> bool {
    dialect.wrappers.contains(&["mcpServers"].as_slice())
}

fn of_content(root: &Object) -> Option<&'static Dialect> {
    let schema = root.get("$schema").and_then(|member| member.value.as_str());
    let schema = schema.unwrap_or_default();
    // The specification was first published as Open Plugin.
    let is_agent_plugin = ["agent", "open-plugin"]
        .iter()
        .any(|word| schema.contains(word))
        && schema.ends_with("/mcp.schema.json");
    let id = if is_agent_plugin {
        "agent-plugins"
    } else if schema.ends_with("server.schema.json") || is_registry(root) {
        "registry"
    } else if let Some(servers) = root.get("mcpServers") {
        return Some(of_entries(&servers.value));
    } else {
        return of_wrapper(root);
    };
    Dialect::by_id(id)
}

/// Finds the dialect by the key that holds the entries.
fn of_wrapper(root: &Object) -> Option<&'static Dialect> {
    let at = |keys: &[&str]| {
        let (first, rest) = keys.split_first()?;
        let start = &root.get(first)?.value;
        rest.iter()
            .try_fold(start, |node, key| Some(&node.as_object()?.get(key)?.value))
    };
    let has = |keys: &[&str], test: fn(&Object) -> bool| at(keys).is_some_and(|it| any(it, test));
    let is_bundle = || {
        let versions = ["manifest_version", "dxt_version"];
        versions.iter().any(|key| root.get(key).is_some())
            && at(&["server", "mcp_config"]).is_some()
    };
    let id = if is_bundle() {
        "mcpb"
    } else if has(&["context_servers"], |_| true) {
        "zed"
    } else if has(&["mcp_servers"], has_endpoint) {
        "codex"
    } else if has(&["mcp"], is_opencode) || has(&["mcp", "servers"], is_opencode) {
        "opencode"
    } else if has(&["servers"], has_endpoint)
        || has(&["mcp", "servers"], has_endpoint)
        || has(
            &["customizations", "vscode", "mcp", "servers"],
            has_endpoint,
        )
    {
        "vs-code"
    } else if has(&["extensions"], |entry| {
        is_text(entry, "cmd") || is_text(entry, "uri")
    }) {
        "goose"
    } else {
        return None;
    };
    Dialect::by_id(id)
}

/// Tells the hosts apart that keep their servers under `mcpServers`.
fn of_entries(servers: &Node) -> &'static Dialect {
    let has = |test: fn(&Object) -> bool| any(servers, test);
    let id = if matches!(servers.value, Value::Array(_)) {
        "continue"
    } else if has(|entry| is_text(entry, "httpUrl") || is_text(entry, "tcp")) {
        "gemini-cli"
    } else if has(|entry| is_text(entry, "serverUrl")) {
        "windsurf"
    } else if has(|entry| {
        let word = entry.get("type").and_then(|member| member.value.as_str());
        word == Some("streamableHttp") || entry.get("transportType").is_some()
    }) {
        "cline"
    } else {
        return CONTRACT;
    };
    Dialect::by_id(id).unwrap_or(CONTRACT)
}

fn is_registry(root: &Object) -> bool {
    let is_list = |key: &str| {
        let value = root.get(key).map(|member| &member.value.value);
        matches!(value, Some(Value::Array(_)))
    };
    let is_named = root
        .get("name")
        .and_then(|member| member.value.as_str())
        .is_some_and(|name| name.contains('/'));
    let has_transport = |key: &str| {
        root.get(key).is_some_and(|member| {
            any(&member.value, |item| {
                item.get("transport").is_some() || item.get("registryType").is_some()
            })
        })
    };
    let is_addressed = || {
        let remotes = root.get("remotes").map(|member| &member.value);
        remotes.is_some_and(|remotes| {
            any(remotes, |item| {
                is_text(item, "url") && is_text(item, "type")
            })
        })
    };
    is_named && (is_list("remotes") && is_addressed() || has_transport("packages"))
}

/// Says whether one of the objects below a node passes a test.
fn any(node: &Node, test: fn(&Object) -> bool) -> bool {
    match &node.value {
        Value::Object(object) => {
            let mut objects = object.members.iter().filter_map(|it| it.value.as_object());
            objects.any(test)
        }
        Value::Array(items) => items.iter().filter_map(Node::as_object).any(test),
        _ => false,
    }
}

fn has_endpoint(entry: &Object) -> bool {
    is_text(entry, "command") || is_text(entry, "url")
}

fn is_opencode(entry: &Object) -> bool {
    let word = entry.get("type").and_then(|member| member.value.as_str());
    let is_array = |key: &str| {
        let value = entry.get(key).map(|member| &member.value.value);
        matches!(value, Some(Value::Array(_)))
    };
    match word {
        Some("local") => is_array("command"),
        Some("remote") => is_text(entry, "url"),
        _ => false,
    }
}

fn is_text(entry: &Object, key: &str) -> bool {
    let value = entry.get(key);
    value.is_some_and(|member| member.value.as_str().is_some())
}

/// Says whether the parts of a path end as a pattern says.
///
/// From the last part, because it is asked for every file of a repository and nearly all are told
/// apart by their name.
fn fits(pattern: &str, parts: &[&str]) -> bool {
    let mut parts = parts.iter().rev();
    let mut wanted = pattern.rsplit('/');
    wanted.all(|wanted| parts.next().is_some_and(|part| is_part(wanted, part)))
}

fn is_part(wanted: &str, part: &str) -> bool {
    match wanted.split_once('*') {
        Some((before, after)) => {
            part.len() >= before.len() + after.len()
                && part.starts_with(before)
                && part.ends_with(after)
        }
        None => wanted == part,
    }
}

/// Says whether a file is one to copy and fill in, such as `.mcp.json.example`.
#[must_use]
pub fn is_copy(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let mut words = name.split(['.', '-', '_']).skip(1);
    words.any(|word| matches!(word, "example" | "sample" | "template" | "tmpl" | "dist"))
}

/// Says whether a path names an MCP bundle, by its present or its old ending.
#[must_use]
pub fn is_bundle(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["mcpb", "dxt"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// Says whether a path names something inside of a bundle, which cannot be changed there.
#[must_use]
pub fn is_in_bundle(path: &str) -> bool {
    let folder = path.rsplit_once(['/', '\\']);
    folder.is_some_and(|(folder, _)| is_bundle(folder))
}

/// Drops the words by which a copy is told from the file itself.
fn without_copy_marks(name: &str) -> String {
    let kept = name
        .split('.')
        .enumerate()
        .filter(|(place, word)| *place == 0 || !COPY_MARKS.contains(word));
    let kept: Vec<&str> = kept.map(|(_, word)| word).collect();
    kept.join(".")
}

const COPY_MARKS: &[&str] = &[
    "example", "sample", "template", "tmpl", "dist", "default", "local", "bak", "backup", "orig",
    "old",
];
