//! No value of a variable, and no literal secret beyond four characters, in any output of any
//! command in any format.

use keyway_testkit::{Canary, Folder, Keyway};

/// How the file is written in which the literals stand.
#[derive(Clone, Copy)]
enum Shape {
    WellFormed,
    OneLine,
    Malformed,
    Foreign,
}

/// A folder with a literal in every place where one may stand.
///
/// `name` stands where a rule may quote it: no real file has a short password there. What an approval
/// asks about has literals only in the places of credentials: it shows all others.
fn folder(shape: Shape, literal: &str, name: &str) -> Folder {
    let entries = format!(
        r#"{{
  "mcpServers": {{
    "remote": {{
      "url": "https://user:{literal}@h.example/mcp?api_key={literal}&x=${{CANARY_VARIABLE}}",
      "headers": {{"Authorization": "Bearer {literal}", "X-Api-Key": "{literal}", "authorization": "{literal}"}},
      "oauth": {{"clientSecret": "{literal}", "clientId": "x", "unknwon": "{literal}"}},
      "headersHelper": "./run.sh --token {literal}"
    }},
    "bare": {{"type": "http", "url": "http://h.example/{name}/", "headers": {{"Authorization": "{literal}"}}}},
    "double": {{"type": "http", "url": "https://h.example", "headers": {{"Authorization": "Bearer Bearer {literal}"}}}},
    "local": {{
      "command": "server",
      "args": ["--token", "{literal}", "--key={literal}", "postgres://u:{literal}@h/d"],
      "env": {{"A_TOKEN": "{literal}"}},
      "tpye": "{name}", "apiTokn": "{literal}",
      "envFile": ".env"
    }},
    "both": {{
      "command": "server", "url": "https://h.example",
      "args": ["{{\"k\":\"{literal}\"}}"], "env": {{"B": "${{B:-{literal}}}", "C": " {literal} ", "D": "${{input:{name}}}"}}
    }},
    "wrong": {{"type": "{name}", "url": 7, "command": ["{name}", "--token", "{literal}"], "env": "{literal}"}},
    "foreign": {{"type": "http", "url": "https://${{{literal}", "headers": {{"X": "$TOKEN {literal}"}}}}
  }}
}}"#
    );
    let text = match shape {
        Shape::WellFormed => entries,
        Shape::OneLine => entries.replace('\n', " "),
        Shape::Malformed => entries
            .replacen("\"headers\"", "headers", 1)
            .replacen("],", ",] // secret: ", 1)
            .replacen("\",\n", "\n", 2),
        Shape::Foreign => format!(
            r#"{{"servers": {{"s": {{"env": {{"T": "{literal}"}}, "args": ["{literal}"]}}}}}}"#
        ),
    };
    let prose =
        format!("# Plugin\n\n`export API_TOKEN={literal}`\n\nAuthorization: Bearer {literal}\n");
    let script =
        format!("#!/bin/sh\nTOKEN='{literal}'\ncurl -H \"X-Api-Key: {literal}\" \"$OTHER\"\n");
    Folder::with_entries(&text)
        .file("README.md", &prose)
        .executable("run.sh", &script)
        .file(
            "plugin.json",
            format!(r#"{{"mcpServers": ["./{name}.json"], "name": "p"}}"#),
        )
        .file(".env", format!("A_TOKEN={literal}\n"))
        .repository(&[".env"])
}

/// A token without a vendor's shape, one with it, and a short password.
fn literals() -> [String; 3] {
    [
        "kT8vQ2mX9wLz4Rb7Yc3N".to_owned(),
        ["ghp", "_", "q7Zt9Lw2pXc4VbN8mKj5Hg3Fd6Rs1Ty0q7Zt"].concat(),
        "p4ssw0rdX".to_owned(),
    ]
}

#[test]
fn no_command_in_no_format_shows_what_a_file_holds() {
    assert_hidden(Shape::WellFormed);
}

#[test]
fn no_command_in_no_format_shows_what_a_file_of_one_line_holds() {
    assert_hidden(Shape::OneLine);
}

#[test]
fn no_command_in_no_format_shows_what_a_malformed_file_holds() {
    assert_hidden(Shape::Malformed);
}

#[test]
fn no_command_in_no_format_shows_what_a_file_for_another_program_holds() {
    assert_hidden(Shape::Foreign);
}

/// Puts each literal everywhere, and looks for it and for the value of a variable in all output.
fn assert_hidden(shape: Shape) {
    let variable = Canary::hidden("vQ9x7Lk2Wp4Zt8Rb3Nc6Ym1Hd5");
    for literal in literals() {
        let name = if literal.len() < 12 { "name" } else { &literal };
        let folder = folder(shape, &literal, name);
        let literal = Canary::literal(&literal);
        for arguments in CALLS {
            let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
            let outcome = call
                .args(arguments.iter().copied())
                .env("CANARY_VARIABLE", variable.value())
                .env("A_TOKEN", variable.value())
                .env("B", variable.value())
                // No other machine gets a request.
                .env("HTTPS_PROXY", "http://127.0.0.1:9")
                .env("HTTP_PROXY", "http://127.0.0.1:9")
                .run();
            let output = outcome.everything();
            assert_eq!(variable.leak(&output), None, "{arguments:?}\n{output}");
            assert_eq!(literal.leak(&output), None, "{arguments:?}\n{output}");
        }
    }
}

const CALLS: &[&[&str]] = &[
    &["check"],
    &["check", "--verbose", "--strict", "--env"],
    &["check", "--env", "--env-file", ".env", "--color", "always"],
    &["check", "--format", "json", "--env"],
    &["check", "--format", "sarif", "--env"],
    &["check", "--format", "github", "--env"],
    &["check", "--diff"],
    &["check", "--diff", "--unsafe-fixes"],
    &["check", "--fix"],
    &["check", "--fix", "--unsafe-fixes", "--verbose"],
    &["check", "--format", "sarif"],
    &["readme"],
    &["readme", "--check", "--format", "json"],
    &["migrate", "oauth", "--server", "remote"],
    &["migrate", "oauth", "--server", "bare", "--format", "json"],
    &["migrate", "env"],
    &["migrate", "env", "--server", "local", "--verbose"],
    &["migrate", "env", "--format", "json"],
    &["readme", "--write"],
    &["migrate", "env", "--write"],
    &[
        "migrate",
        "env",
        "--write",
        "--offline",
        "--color",
        "always",
    ],
    &["migrate", "oauth", "--server", "bare", "--write"],
    &[
        "migrate",
        "oauth",
        "--server",
        "bare",
        "--write",
        "--offline",
    ],
    &["status"],
    &["status", "--env-file", ".env", "--color", "always"],
    &["status", "--format", "json"],
    &["probe", "remote"],
    &["probe", "local", "--format", "json"],
    &["open", "--print"],
    &["doctor", "--timeout", "1", "--debug=config"],
    &[
        "doctor",
        "--trust",
        "--timeout",
        "1",
        "--format",
        "json",
        "--debug",
        "--bundle",
        "report.tar",
    ],
    &["rotate", "bare", "--trust"],
    &["rotate", "remote"],
    &["explain", "auth-rejected"],
    &["call", "local", "t", "A=B"],
    &["env", "list"],
    &["env", "list", "--format", "json"],
    &["trust", "list", "--format", "json"],
    &["token", "list", "--format", "json"],
    &["vault", "status"],
    &["vault", "status", "--format", "json"],
    &["vault", "verify", "--format", "json"],
    &["vault", "rekey", "--to", "file"],
    &["mtls", "--cert", ".mcp.json", "--key", ".mcp.json"],
    &["service", "install", "--dry-run"],
    &["service", "status"],
    &["install", "cursor", "--all", "--dry-run"],
    &["install", "codex", "--all", "--yes", "--verbose"],
    &["install", "claude-code", "--project", "--all", "--dry-run"],
    &[
        "install",
        "claude-code",
        "--project",
        "--mcp-remote",
        "--dry-run",
    ],
    &["uninstall", "claude-code", "--project", "--yes"],
    &["schema"],
    &["man"],
    &["completions", "bash"],
];
