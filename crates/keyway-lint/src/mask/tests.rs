//! What may be seen of a line. A leak here is a leak in every report.

use keyway_config::json;
use keyway_testkit::Canary;

use super::*;

fn masked(text: &str) -> String {
    let source = Source::new(".mcp.json", text.as_bytes());
    let tree = json::read(text);
    Mask::new(&source, Some(&tree), &[]).apply(text, 0..text.len())
}

fn masked_prose(text: &str) -> String {
    let source = Source::new("README.md", text.as_bytes());
    Mask::new(&source, None, &[]).apply(text, 0..text.len())
}

#[test]
fn variables_schemes_keys_and_harmless_fields_stay_readable() {
    for text in [
        r#"{"s": {"type": "htpp", "headersHelper": "${HOST_PLUGIN_ROOT}/bin/run.sh --json"}}"#,
        r#"{"s": {"type": "stdio", "command": "npx", "args": ["-y", "@scope/server-name"]}}"#,
        r#"{"s": {"url": "https://${TENANT}.example.com/v1/mcp?x=${Y}"}}"#,
        r#"{"s": {"headers": {"Authorization": "Bearer ${API_TOKEN}", "X": "${A}-${B}"}}}"#,
        r#"{"s": {"env": {"DEBUG": "true", "PORT": "8080", "A": "${env:A}", "B": "${input:b}"}}}"#,
        r#"{"s": {"args": ["--token=${T}", "--header", "Authorization: Bearer ${T}", "--verbose"]}}"#,
        r#"{"s": {"args": ["-e", "API_KEY=${K}", "--mode=on", "--env", "A_B=1"]}}"#,
        r#"{"my-server-2": {"timeout": 60000, "disabled": false, "x": null}}"#,
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn references_placeholders_and_plain_words_stay_readable() {
    for text in [
        r#"{"s": {"headers": {"Authorization": "Basic ${input:jenkins-basic-auth}"}}}"#,
        r#"{"s": {"headers": {"Authorization": "$TOKEN", "X-Api-Key": "Bearer $API_TOKEN"}}}"#,
        r#"{"s": {"headers": {"X-Api-Key": "{env:API_KEY}", "X-B": "%API_KEY%"}}}"#,
        r#"{"s": {"headers": {"Authorization": "Bearer YOUR_API_KEY", "X-Api-Key": "<your key>"}}}"#,
        r#"{"s": {"env": {"LOG_LEVEL": "warn", "TENANT": "t9", "MODE": "read-only"}}}"#,
        r#"{"s": {"complexity": "Medium", "difficulty": "very hard"}}"#,
        r#"{"s": {"args": ["${CLAUDE_PROJECT_DIR:-.}/server/index.js", "${env:HOME}/mcp/run.sh"]}}"#,
        r#"{"s": {"oauth": {"clientId": "{env:CID}", "scope": "tools:read resources:list"}}}"#,
        r#"{"s": {"auth": {"CLIENT_ID": "Iv1-example-client", "scopes": ["read:user", "repo"]}}}"#,
        r#"{"s": {"env_vars": ["LOCAL_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN"]}}"#,
        r#"{"firstStartTime": "2026-11-15T08:30:00.000Z", "day": "2026-11-15"}"#,
        r#"{"s": {"args": ["--mode=read-only", "--dir=/opt/data/one", "-e", "LOG_LEVEL=debug"]}}"#,
        r#"{"s": {"url": "https://h.example/mcp?region=us-east-1&features=docs,search&v=1.2.3"}}"#,
        r#"{"s": {"env": {"MODE": "${MODE:-production}", "DIR": "${DIR:-/var/lib/one}"}}}"#,
        r#"{"s": {"url": "${BASE:-https://h.example/mcp?mode=fast}"}}"#,
        r#"{"s": {"env": {"AWS_REGION": "eu-central-1", "MODEL": "one two three"}}}"#,
        r#"{"projects": {"/home/u/p": {"folder": "/home/u/projects/one", "x": "./a/b.json"}}}"#,
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn what_only_resembles_a_word_or_a_reference_is_hidden_in_the_place_of_a_secret() {
    for text in [
        r#"{"s": {"headers": {"X-Api-Key": "hunter"}}}"#,
        r#"{"s": {"env": {"DB_PASSWORD": "$hunter"}}}"#,
        r#"{"s": {"passphrase": "hunter hunter"}}"#,
        r#"{"s": {"x": "hunter hunter hunter hunter"}}"#,
        r#"{"s": {"sessionId": "/hunter/hunter/x"}}"#,
        r#"{"s": {"args": ["--password=hunter", "-e", "API_KEY=hunter", "--token", "m=hunter"]}}"#,
        r#"{"s": {"url": "https://h.example/?key=hunter&token=hunter"}}"#,
        r#"{"s": {"env": {"A": "${API_KEY:-hunter}", "B": "${DB_PASSWORD:-/hunter/hunter/x}"}}}"#,
        r#"{"s": {"env": {"DB_PASSWORD": "${X}/hunter"}}}"#,
    ] {
        assert!(!masked(text).contains("hunter"), "{}", masked(text));
    }
}

#[test]
fn at_most_four_characters_of_a_literal_are_seen_wherever_it_stands() {
    let canary = Canary::literal("hq7Zt9Lw2pXc4VbN");
    let secret = canary.value();
    for text in [
        format!(r#"{{"s": {{"headers": {{"Authorization": "Bearer {secret}"}}}}}}"#),
        format!(r#"{{"s": {{"headers": {{"X-Api-Key": "{secret}"}}}}}}"#),
        format!(r#"{{"s": {{"env": {{"A": "{secret}", "B": "postgres://u:{secret}@h/d"}}}}}}"#),
        format!(r#"{{"s": {{"args": ["--token", "{secret}"]}}}}"#),
        format!(r#"{{"s": {{"args": ["--token={secret}", "-p{secret}", "{secret}"]}}}}"#),
        format!(r#"{{"s": {{"args": ["x-api-key: {secret}", "{{\"key\":\"{secret}\"}}"]}}}}"#),
        format!(r#"{{"s": {{"args": ["-H", "X: {secret}", "--header", "{secret}"]}}}}"#),
        format!(
            r#"{{"s": {{"args": ["--token", "{secret}==", "{secret}==", "-e", "{secret}=x"]}}}}"#
        ),
        format!(r#"{{"s": {{"args": ["--token", "{secret}={secret}", "{secret}={secret}"]}}}}"#),
        format!(r#"{{"s": {{"env": {{"A": "${{{secret}}}", "B": "x ${{{secret}:-1}}"}}}}}}"#),
        format!(r#"{{"s": {{"args": ["{secret}:x"], "url": "https://h.example/?{secret}=x"}}}}"#),
        format!(r#"{{"s": {{"url": "https://u:{secret}@h.example/p"}}}}"#),
        format!(r#"{{"s": {{"url": "https://h.example/{secret}/mcp?key={secret}#{secret}"}}}}"#),
        format!(r#"{{"s": {{"url": "https://h.example/?a=1&key={secret}&b=2"}}}}"#),
        format!(r#"{{"s": {{"url": "${{BASE:-https://u:{secret}@h.example}}/mcp"}}}}"#),
        format!(r#"{{"s": {{"env": {{"A": "${{T:-{secret}}}", "B": "${{T:-x}}{secret}"}}}}}}"#),
        format!(r#"{{"s": {{"oauth": {{"clientSecret": "{secret}"}}}}}}"#),
        format!(r#"{{"s": {{"unknown": {{"deep": ["{secret}"]}}}}}}"#),
        format!(r#"{{"servers": {{"s": {{"headers": {{"A": "{secret}"}}}}}}}}"#),
        format!(r#"{{"s": {{"headersHelper": "./run.sh {secret}"}}}}"#),
        format!(r#"{{"{secret}": {{}}, "description": "use {secret}"}}"#),
        format!("{{\"s\": {{\"env\": {{\"A\": \"{secret}\n}}}}}}"),
        format!("{{\"s\": {{\"env\": {{\"A\": \"\\u0041{secret}\n}}}}}}"),
        format!("{{\"s\": {{\"env\": {{\"A\": '{secret}'}}}}}} // \"{secret}\""),
        format!("{{s: {{env: {{A: {secret}}}}}}} {secret}"),
        format!("{{\"a\": \"${{TOKEN {secret}\"}}"),
        format!("{{\"url\": \"https://${{{secret}\"}}"),
        format!("{{\"url\": \"https://{secret}.example\"}}"),
        format!("{{\"a\": ] {secret} }}"),
    ] {
        let shown = masked(&text);
        assert_eq!(canary.leak(&shown), None, "{shown}");
        assert_eq!(shown.chars().count(), text.chars().count());
    }
    for text in [
        format!("export TOKEN={secret}"),
        format!("`curl -H 'X-Key: {secret}'`"),
    ] {
        let shown = masked_prose(&text);
        assert_eq!(canary.leak(&shown), None, "{shown}");
    }
}

#[test]
fn names_and_pointers_keep_everything_but_tokens() {
    let token = ["ghp_", "A7f3K9x2Qm5Wz8Rt1Yb6", "Lc4Nd0Ve0aHjPs2u"].concat();
    let pointer = format!("/mcpServers/{token}/env/A");
    let shown = in_name(&pointer);
    assert!(shown.starts_with("/mcpServers/ghp_•") && shown.ends_with("•/env/A"));
    assert!(!shown.contains("A7f3"));
    let plain = "/mcpServers/My-Long-Server-Name-With-Context7/headers/X-API-Key";
    assert_eq!(in_name(plain), plain);
}

#[test]
fn nothing_of_a_short_literal_in_the_place_of_a_secret_is_seen() {
    for text in [
        r#"{"s": {"headers": {"Authorization": "Bearer hunter2"}}}"#,
        r#"{"s": {"env": {"PASSWORD": "hunter2"}}}"#,
        r#"{"s": {"args": ["--password", "hunter2"]}}"#,
        r#"{"s": {"args": ["--password=hunter2"]}}"#,
        r#"{"s": {"args": ["--password", "hunter2=hunter2", "--password", "hunter2=="]}}"#,
        r#"{"s": {"headersHelper": "./run.sh --password hunter2"}}"#,
        r#"{"s": {"type": "hunter2"}}"#,
        r#"{"s": {"command": ["run", "--password", "hunter2"]}}"#,
        r#"{"s": {"url": "https://me:hunter2@h.example/?p=hunter2"}}"#,
        r#"{"s": {"env": {"A": "${P:-hunter2}"}}}"#,
        "{} // password: hunter2",
        "{} /* password: hunter2 */",
    ] {
        assert!(!masked(text).contains("hunter"), "{}", masked(text));
    }
}

#[test]
fn what_a_finding_about_a_secret_points_to_is_hidden_in_prose_too() {
    let source = Source::new("README.md", b"the password is \"correct horse\"");
    let severity = keyway_config::diagnostic::Severity::Error;
    let pointer = keyway_config::source::Pointer::default();
    let diagnostic = Diagnostic::new(Code::SecretInDocs, severity, String::new())
        .with_location(source.locate(Span::new(16, 31), &pointer));
    let mask = Mask::new(&source, None, &[diagnostic]);
    let shown = mask.apply(source.text(), 0..source.text().len());
    assert_eq!(shown, "the password is \"corr•••••••••\"");
}

#[test]
fn columns_and_lines_are_kept() {
    let text = "{\"s\": {\"env\": {\"A\": \"gehäim-äöü-geheim\", \"B\": \"${B}\"}}}\n";
    assert_eq!(
        masked(text),
        "{\"s\": {\"env\": {\"A\": \"gehä•••••••••••••\", \"B\": \"${B}\"}}}\n"
    );
}

/// Of every host's file the credential is hidden and nothing else: references in the host's own
/// way, words, names of variables, addresses and paths are what a finding is about.
#[test]
fn in_every_hosts_file_only_the_credential_is_hidden() {
    use keyway_config::document::{Document, DocumentKind};

    let secret = "hq7Zt9Lw2pXc4VbN";
    let hidden = "hq7Z••••••••••••";
    for (path, text) in [
        (
            ".mcp.json",
            r#"{"mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/run", "env": {"A": "${API_TOKEN:-}", "MODE": "read-only", "API_KEY": "SECRET"}}}}"#,
        ),
        (
            ".vscode/mcp.json",
            "{\n\"servers\": {\"s\": {\"command\": \"${workspaceFolder}/bin/run\", \"env\": {\"A\": \"${input:api-token}\", \"B\": \"${env:HOME}/x\", \"API_KEY\": \"SECRET\",}}}}",
        ),
        (
            ".cursor/mcp.json",
            r#"{"mcpServers": {"s": {"url": "https://h.example/v1/mcp", "headers": {"Authorization": "Bearer ${env:API_TOKEN}", "X-API-Key": "SECRET"}}}}"#,
        ),
        (
            ".codex/config.toml",
            "[mcp_servers.s]\ncommand = \"/opt/tools/bin/run\"\nargs = [\"--mode\", \"read-only\"]\nenv_vars = [\"API_TOKEN\"]\n[mcp_servers.s.env]\nMODE = \"read-only\"\nAPI_KEY = \"SECRET\"\n",
        ),
        (
            ".gemini/settings.json",
            r#"{"mcpServers": {"s": {"command": "./bin/run", "env": {"A": "$API_TOKEN", "B": "${API_TOKEN}", "API_KEY": "SECRET"}}}}"#,
        ),
        (
            "gemini-extension.json",
            r#"{"name": "e", "mcpServers": {"s": {"command": "${extensionPath}${/}run", "env": {"A": "$API_TOKEN", "API_KEY": "SECRET"}}}}"#,
        ),
        (
            "opencode.json",
            r#"{"mcp": {"s": {"type": "local", "command": ["npx", "-y", "@scope/server"], "environment": {"A": "{env:API_TOKEN}", "B": "{file:~/token.txt}", "API_KEY": "SECRET"}}}}"#,
        ),
        (
            "goose/config.yaml",
            "extensions:\n  s:\n    type: stdio\n    enabled: true\n    cmd: /opt/tools/bin/run\n    args: [--mode, read-only]\n    env_keys: [API_TOKEN]\n    envs:\n      MODE: read-only\n      API_KEY: SECRET\n",
        ),
        (
            ".continue/mcpServers/a.yaml",
            "mcpServers:\n  - name: s\n    command: run\n    env:\n      A: ${{ secrets.API_TOKEN }}\n      API_KEY: SECRET\n",
        ),
        (
            "manifest.json",
            r#"{"manifest_version": "0.3", "name": "s", "server": {"type": "node", "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js"], "env": {"A": "${user_config.api_token}", "API_KEY": "SECRET"}}}}"#,
        ),
        (
            "windsurf/mcp_config.json",
            r#"{"mcpServers": {"s": {"serverUrl": "https://h.example/mcp", "headers": {"X-A": "${file:~/.config/token}", "X-API-Key": "SECRET"}}}}"#,
        ),
        (
            ".zed/settings.json",
            r#"{"theme": "One Dark", "context_servers": {"s": {"command": "/usr/local/bin/run", "env": {"LOG_LEVEL": "debug", "API_KEY": "SECRET"}}}}"#,
        ),
    ] {
        let written = text.replace("SECRET", secret);
        let source = Source::new(path, written.as_bytes());
        let document = Document::parse_at(path, source, DocumentKind::Entries);
        let mask = Mask::new(&document.source, Some(&document.tree), &[]);
        let shown = mask.apply(&written, 0..written.len());
        assert_eq!(shown, text.replace("SECRET", hidden), "{path}");
    }
}
