//! Entries written for every host and read back mean the same, or the loss is said.

use std::collections::BTreeSet;

use super::*;
use crate::dialect::DIALECTS;
use crate::document::DocumentKind;
use crate::source::Source;

fn is_secret(name: &str) -> bool {
    ["TOKEN", "KEY", "SECRET"]
        .iter()
        .any(|word| name.contains(word))
}

fn read(path: &str, text: &str) -> (Document, Vec<PortableServer>) {
    let document = Document::parse(Source::new(path, text.as_bytes()), DocumentKind::Entries);
    let servers = document.servers();
    let servers = servers
        .map(|it| PortableServer::of(&document, it, &[], &is_secret))
        .collect();
    (document, servers)
}

/// The path by which a host's file is recognised.
fn path_of(target: &Dialect) -> String {
    let file = target
        .project_file()
        .or_else(|| target.files.first().map(|file| file.path));
    file.unwrap().replace('*', "a")
}

/// What a target may say differently without a loss.
fn meaning(mut server: PortableServer) -> PortableServer {
    server.host_keys.clear();
    server.env.sort_by(|a, b| a.0.cmp(&b.0));
    if let PortableEndpoint::Remote { headers, .. } = &mut server.endpoint {
        headers.sort_by(|a, b| a.0.cmp(&b.0));
    }
    server
}

const ENTRIES: &[&str] = &[
    r#"{"mcpServers": {"docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN}"}}}}"#,
    r#"{"mcpServers": {"two": {"type": "http", "url": "https://h.example/mcp", "headers": {"X-API-Key": "${A_KEY}", "X-Region": "eu"}}}}"#,
    r#"{"mcpServers": {"sse": {"type": "sse", "url": "https://h.example/sse"}}}"#,
    r#"{"mcpServers": {"ws": {"type": "ws", "url": "wss://h.example/mcp"}}}"#,
    r#"{"mcpServers": {"db": {"command": "npx", "args": ["-y", "db-mcp@1.2.3", "--note", "a \"b\" #c: d"], "env": {"DB_TOKEN": "${DB_TOKEN}", "MODE": "read-only"}}}}"#,
    r#"{"mcpServers": {"renamed": {"command": "x", "env": {"API_KEY": "${OTHER_KEY}"}}}}"#,
    r#"{"mcpServers": {"here": {"command": "${CLAUDE_PROJECT_DIR:-.}/run.sh", "args": ["--root", "${CLAUDE_PROJECT_DIR:-.}"]}}}"#,
    r#"{"mcpServers": {"port": {"command": "x", "args": ["--port", "${PORT:-8080}"], "timeout": 5000}}}"#,
    r#"{"mcpServers": {"mixed": {"type": "http", "url": "https://${TENANT}.h.example/${PATH_PART}", "headers": {"X-Auth": "user ${A_TOKEN} end"}}}}"#,
    r#"{"mcpServers": {"off": {"command": "x", "disabled": true}}}"#,
    r#"{"mcpServers": {"sign-in": {"type": "http", "url": "https://h.example/mcp", "oauth": {"clientId": "abc", "scopes": "a b"}}}}"#,
    r#"{"mcpServers": {"helper": {"type": "http", "url": "https://h.example/mcp", "headersHelper": "./sign.sh"}}}"#,
    r#"{"mcpServers": {"program": {"type": "http", "url": "https://h.example/mcp", "headersHelper": {"command": ["./sign.sh", "-v"], "ttlMs": 5000, "timeoutMs": 900}}}}"#,
    r#"{"mcpServers": {"dollar": {"command": "sh", "args": ["-c", "echo $HOME {env:X} $${Y}"]}}}"#,
    "{\"mcpServers\": {\"odd name\": {\"command\": \"x\", \"args\": [\"line\\nbreak\\ttab\", \"é\", \"yes\", \"1.0\", \"\"]}}}",
];

#[test]
fn what_is_written_for_a_host_means_the_same_when_that_host_reads_it() {
    let mut written_for = BTreeSet::new();
    for target in DIALECTS.iter().filter(|target| target.is_writable()) {
        for text in ENTRIES {
            let (_, servers) = read(".mcp.json", text);
            let Ok(entry) = write(&servers[0], target) else {
                continue;
            };
            let file = new_file(target, std::slice::from_ref(&entry));
            let (document, again) = read(&path_of(target), &file);
            assert_eq!(document.dialect.id, target.id, "{file}");
            assert_eq!(document.faults().count(), 0, "{file}");
            assert_eq!(again.len(), 1, "{} {file}", target.id);
            written_for.insert(target.id);
            if entry.losses.is_empty() {
                let (was, is) = (meaning(servers[0].clone()), meaning(again[0].clone()));
                assert_eq!(was, is, "{} {file}", target.id);
            }
        }
    }
    assert_eq!(written_for.len(), 17, "{written_for:?}");
}

fn written(target: &str, text: &str) -> Result<(String, Vec<String>), String> {
    let target = Dialect::by_id(target).unwrap();
    let (_, servers) = read(".mcp.json", text);
    let entry = write(&servers[0], target).map_err(|loss| loss.message)?;
    let losses = entry
        .losses
        .iter()
        .map(|loss| loss.message.clone())
        .collect();
    Ok((new_file(target, &[entry]), losses))
}

#[test]
fn each_host_gets_a_credential_in_its_own_way() {
    let header = ENTRIES[0];
    for (target, part) in [
        ("cursor", r#""Authorization": "Bearer ${env:DOCS_TOKEN}""#),
        (
            "vs-code",
            r#""Authorization": "Bearer ${input:docs_token}""#,
        ),
        ("vs-code", r#""password": true"#),
        ("codex", r#"bearer_token_env_var = "DOCS_TOKEN""#),
        ("opencode", r#""Authorization": "Bearer {env:DOCS_TOKEN}""#),
        ("gemini-cli", r#""Authorization": "Bearer ${DOCS_TOKEN}""#),
        ("goose", "env_keys:\n      - DOCS_TOKEN"),
        (
            "continue",
            "Authorization: \"Bearer ${{ secrets.DOCS_TOKEN }}\"",
        ),
        ("copilot-cli", r#""tools": ["*"]"#),
    ] {
        let (text, losses) = written(target, header).unwrap();
        assert!(text.contains(part), "{target}: {text}");
        assert!(losses.is_empty(), "{target}: {losses:?}");
    }
    let (text, _) = written("codex", ENTRIES[1]).unwrap();
    assert!(
        text.contains("[mcp_servers.two.env_http_headers]\nX-API-Key = \"A_KEY\""),
        "{text}"
    );
    let (text, _) = written("codex", ENTRIES[4]).unwrap();
    assert!(text.contains("env_vars = [\"DB_TOKEN\"]"), "{text}");
}

#[test]
fn what_a_host_cannot_say_is_left_out_or_reported_and_never_a_literal() {
    for (target, entry, why) in [
        ("claude-desktop", 0, "Claude Desktop does not speak `http`"),
        (
            "claude-desktop",
            4,
            "fills in no variable there, and it needs `DB_TOKEN`",
        ),
        ("zed", 0, "header `Authorization` cannot be written"),
        ("codex", 5, "it needs `OTHER_KEY`"),
        ("codex", 8, "it needs `TENANT`"),
        ("codex", 2, "Codex does not speak `sse`"),
        ("cursor", 3, "Cursor does not speak `ws`"),
        ("cursor", 11, "programs that print headers"),
        ("vs-code", 9, "cannot disable an entry"),
        ("registry", 0, "describes one package"),
    ] {
        let found = written(target, ENTRIES[entry]).unwrap_err();
        assert!(found.contains(why), "{target}: {found}");
    }
    let (text, losses) = written("cursor", ENTRIES[7]).unwrap();
    assert!(
        text.contains("${env:PORT}") && losses[0].contains("the default of `PORT`"),
        "{losses:?}"
    );
    let (text, losses) = written("codex", ENTRIES[7]).unwrap();
    assert!(
        text.contains("8080") && losses[0].contains("for good"),
        "{losses:?}"
    );
}

#[test]
fn a_default_that_is_not_written_is_reported_for_every_host() {
    let local = |value: &str| {
        format!(r#"{{"mcpServers": {{"s": {{"command": "x", "env": {{"S_TOKEN": "{value}"}}}}}}}}"#)
    };
    let remote = |value: &str| {
        format!(
            r#"{{"mcpServers": {{"s": {{"type": "http", "url": "https://h.example/mcp", "headers": {{"X-Key": "{value}"}}}}}}}}"#
        )
    };
    let mut reported = 0;
    for target in DIALECTS {
        for text in [
            local("${S_TOKEN:-anonymous}"),
            remote("${S_TOKEN:-anonymous}"),
        ] {
            let Ok((file, losses)) = written(target.id, &text) else {
                continue;
            };
            assert!(!file.contains("anonymous"), "{}: {file}", target.id);
            let mut losses = losses.iter();
            assert!(
                losses.any(|loss| loss
                    == "the default of `S_TOKEN` is not written: it may be a credential"),
                "{}: {file}",
                target.id
            );
            reported += 1;
        }
        // An empty one says that the server works without; it is written, or it is a loss.
        let Ok((file, losses)) = written(target.id, &local("${S_TOKEN:-}")) else {
            continue;
        };
        let is_kept = file.contains("${S_TOKEN:-}");
        let is_reported = losses.iter().any(|it| it.contains("default of `S_TOKEN`"));
        assert_ne!(is_kept, is_reported, "{}: {file} {losses:?}", target.id);
    }
    assert!(reported >= 20, "{reported}");
}

#[test]
fn a_literal_that_was_found_is_a_slot_wherever_it_stands() {
    let text = r#"{"mcpServers": {"s": {"command": "x", "env": {"A": "pre-hunter2-post", "B": "${B:-hunter2}"}}}}"#;
    let document = Document::parse(
        Source::new(".mcp.json", text.as_bytes()),
        DocumentKind::Entries,
    );
    let server = document.servers().next().unwrap();
    let secret = || Secret::new("hunter2".to_owned());
    let found: Vec<FoundLiteral> = server
        .env
        .iter()
        .map(|field| FoundLiteral::new(field.value.span, secret(), "S_PASSWORD"))
        .collect();
    let portable = PortableServer::of(&document, server, &found, &|_| false);
    for target in DIALECTS {
        if let Ok(entry) = write(&portable, target) {
            let losses = entry.losses.clone();
            let text = new_file(target, &[entry]);
            assert!(!text.contains("hunter2"), "{}: {text}", target.id);
            let told = |loss: &Loss| {
                loss.message
                    .starts_with("the default of `B` is not written")
            };
            assert!(losses.iter().any(told), "{}: {losses:?}", target.id);
        }
    }
    assert_eq!(portable.env[0].1.slots().count(), 1);
    assert!(!format!("{portable:?}").contains("hunter2"));
}

#[test]
fn entries_are_added_to_a_file_whose_other_text_stays() {
    let (_, servers) = read(".mcp.json", ENTRIES[0]);
    let into = |path: &str, text: &str| {
        let document = Document::parse(Source::new(path, text.as_bytes()), DocumentKind::Entries);
        let entry = write(&servers[0], document.dialect).unwrap();
        merge(&document, &[entry])
    };
    let text = "{\n    // mine\n    \"servers\": {\n        \"a\": {\"command\": \"x\"}, // last\n    }\n}\n";
    let merged = into(".vscode/mcp.json", text).unwrap();
    assert!(
        merged.contains("// mine") && merged.contains("// last"),
        "{merged}"
    );
    let (document, _) = read(".vscode/mcp.json", &merged);
    assert_eq!(document.faults().count(), 0, "{merged}");
    assert_eq!(document.prompts.len(), 1, "{merged}");
    let names: Vec<&str> = document
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(names, ["a", "docs"]);
    assert_eq!(
        into(".vscode/mcp.json", &merged),
        Err(MergeFault::Exists {
            name: "docs".to_owned()
        })
    );

    let text = "model = \"m\" # mine\n\n[mcp_servers.a]\ncommand = \"x\"\n";
    let merged = into(".codex/config.toml", text).unwrap();
    assert!(merged.starts_with(text), "{merged}");
    assert_eq!(read(".codex/config.toml", &merged).1.len(), 2, "{merged}");

    for text in [
        "{}",
        "{ }\n",
        "",
        "{\"theme\": \"x\"}",
        "{\"mcpServers\": {}}",
    ] {
        let merged = into(".gemini/settings.json", text).unwrap();
        let (document, servers) = read(".gemini/settings.json", &merged);
        assert_eq!(
            (document.faults().count(), servers.len()),
            (0, 1),
            "{merged}"
        );
    }
    assert!(into(".gemini/settings.json", "{\"mcpServers\": [").is_err());
    assert!(into(".gemini/settings.json", "{\"mcpServers\": []}").is_err());
}

#[test]
fn references_that_the_old_host_passed_on_are_slots_of_the_new_one() {
    for (path, value, expected) in [
        ("claude_desktop_config.json", "${A_TOKEN}", "${env:A_TOKEN}"),
        (
            ".mcp.json",
            "x ${{ secrets.A_TOKEN }} y",
            "x ${env:A_TOKEN} y",
        ),
    ] {
        let text = format!(
            r#"{{"mcpServers": {{"s": {{"command": "x", "env": {{"A_TOKEN": "{value}"}}}}}}}}"#
        );
        let (_, servers) = read(path, &text);
        let written = write(&servers[0], Dialect::by_id("cursor").unwrap()).unwrap();
        let text = new_file(
            Dialect::by_id("cursor").unwrap(),
            std::slice::from_ref(&written),
        );
        assert!(
            text.contains(&format!("\"A_TOKEN\": \"{expected}\"")),
            "{text}"
        );
        assert!(
            written.losses[0].message.contains("expanded from now on"),
            "{:?}",
            written.losses
        );
    }
}
