use super::*;
use crate::declared::{DeclaredServer, Endpoint, EntryFault, OAuth};
use crate::document::{Document, DocumentKind, Wrapper};
use crate::source::Source;
use crate::usage;

fn read(path: &str, text: &str) -> Document {
    Document::parse(Source::new(path, text.as_bytes()), DocumentKind::Entries)
}

/// Reads a file of a host and says in one line each what its entries are.
fn entries(path: &str, id: &str, text: &str) -> Vec<String> {
    let document = read(path, text);
    assert_eq!(document.dialect.id, id, "{path}");
    assert!(document.is_usable(), "{path}: {:?}", document.tree.faults);
    assert_eq!(document.wrapper, Wrapper::Wrapped, "{path}");
    let shown = document.entries.iter().map(|entry| match &entry.server {
        Ok(server) => shown(server),
        Err(faults) => format!("{}: {faults:?}", entry.name),
    });
    shown.collect()
}

fn shown(server: &DeclaredServer) -> String {
    let mut words = vec![server.name.clone(), server.transport.as_str().to_owned()];
    match &server.endpoint {
        Endpoint::Local(local) => {
            words.push(local.command.template.to_string());
            words.extend(local.args.iter().map(|arg| arg.template.to_string()));
        }
        Endpoint::Remote(remote) => {
            words.push(remote.url.template.to_string());
            for header in &remote.headers {
                words.push(format!("{}={}", header.name, header.value.template));
            }
            if let OAuth::Configured(oauth) = &remote.oauth {
                for field in &oauth.strings {
                    words.push(format!("oauth.{}={}", field.name, field.value.template));
                }
                for scope in &oauth.scopes {
                    words.push(format!("scope={}", scope.template));
                }
            }
        }
    }
    for variable in &server.env {
        words.push(format!("env.{}={}", variable.name, variable.value.template));
    }
    let needs = usage::names(server);
    if !needs.is_empty() {
        words.push(format!("needs {}", needs.join(",")));
    }
    words.extend(server.timeout_ms.map(|ms| format!("{ms} ms")));
    if server.disabled {
        words.push("off".to_owned());
    }
    words.join(" ")
}

#[test]
fn every_dialect_is_listed_once_with_its_sources() {
    for dialect in DIALECTS {
        let same = DIALECTS.iter().filter(|other| other.id == dialect.id);
        assert_eq!(same.count(), 1, "{}", dialect.id);
        assert!(!dialect.sources.is_empty(), "{}", dialect.id);
        for field in dialect.fields {
            let same = dialect.fields.iter().filter(|other| other.key == field.key);
            assert_eq!(same.count(), 1, "{}: {}", dialect.id, field.key);
        }
    }
    let ids: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.id).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(DIALECTS.len(), 20);
}

#[test]
fn a_path_names_the_most_specific_file() {
    for (path, id) in [
        (".mcp.json", "claude-code"),
        ("a/b/.mcp.json", "claude-code"),
        (".mcp.json.example", "claude-code"),
        ("/home/u/.claude.json", "claude-code"),
        ("plugins/x/.claude-plugin/plugin.json", "claude-code"),
        (".claude-plugin/marketplace.json", "claude-code"),
        ("x/.vscode/mcp.json", "vs-code"),
        (".cursor/mcp.json", "cursor"),
        (".kiro/settings/mcp.json", "kiro"),
        (".roo/mcp.json", "roo"),
        (".kilocode/mcp.json", "roo"),
        (".codex/config.toml", "codex"),
        (".gemini/settings.json", "gemini-cli"),
        ("ext/gemini-extension.json", "gemini-cli"),
        ("opencode.jsonc", "opencode"),
        (".zed/settings.json", "zed"),
        ("claude_desktop_config.example.json", "claude-desktop"),
        ("x/cline_mcp_settings.json", "cline"),
        (".continue/mcpServers/a.yaml", "continue"),
        (".config/goose/config.yaml", "goose"),
        (".github/mcp.json", "copilot-cli"),
        ("C:\\Users\\u\\.lmstudio\\mcp.json", "lm-studio"),
        ("mcp_config.json", "windsurf"),
        (".gemini/antigravity/mcp_config.json", "windsurf"),
        (".opencode/opencode.json", "opencode"),
        ("/home/u/.config/opencode/opencode.jsonc", "opencode"),
        (".devcontainer/node/devcontainer.json", "vs-code"),
        (".amazonq/mcp.json", "amazon-q"),
        (".amazonq/cli-agents/dev.json", "amazon-q"),
        (".devcontainer/devcontainer.json", "vs-code"),
    ] {
        let found = host_file(path).map(|(dialect, _)| dialect.id);
        assert_eq!(found, Some(id), "{path}");
    }
    for path in [
        "package.json",
        "settings.json",
        "config.toml",
        "a.mcp.json",
        "mcp.jsonx",
    ] {
        assert_eq!(host_file(path), None, "{path}");
    }
}

#[test]
fn a_name_of_one_host_decides_where_the_content_could_be_anyones() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "env": {"K": "${env:K}"}}}}"#;
    let document = read("mcp_config.json", text);
    assert_eq!(document.dialect.id, "windsurf");
    assert_eq!(document.file.map(|file| file.path), Some("mcp_config.json"));
    let needs: Vec<_> = document.servers().flat_map(usage::names).collect();
    assert_eq!(needs, ["K"]);
    // What only another host writes still says whose it is.
    let text = r#"{"mcpServers": {"a": {"httpUrl": "https://h.example"}}}"#;
    assert_eq!(read("mcp_config.json", text).dialect.id, "gemini-cli");
    let text = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    assert_eq!(read("manifest.json", text).dialect.id, "claude-code");
}

#[test]
fn files_of_opencode_in_its_own_folder_belong_to_the_folder_above() {
    for (path, above) in [
        (".opencode/mcp.json", 1),
        (".opencode/opencode.json", 1),
        (".opencode/opencode.jsonc", 1),
        ("opencode.json", 0),
    ] {
        assert_eq!(folders_above(path), above, "{path}");
    }
}

#[test]
fn a_text_of_goose_has_marks() {
    let text = "extensions:\n  s:\n    type: stdio\n    cmd: x\n";
    assert!(has_marks(text));
    let document = read("servers.yaml", text);
    assert_eq!(document.dialect.id, "goose");
    assert_eq!(document.servers().count(), 1);
    let remote = "extensions:\n  s:\n    type: streamable_http\n    uri: https://h.example\n";
    assert!(has_marks(remote));
    for other in [
        "extensions:\n  - name: x\n    url: y\n",
        "extensions: [a]\n",
        "cmd: x\n",
        r#"{"extensions": ["a"], "cmd": 1}"#,
    ] {
        assert!(!has_marks(other), "{other}");
    }
}

#[test]
fn a_file_without_a_hosts_name_is_told_by_what_stands_in_it() {
    for (text, id) in [
        (r#"{"servers": {"a": {"command": "x"}}}"#, "vs-code"),
        (
            r#"{"mcp": {"servers": {"a": {"url": "https://h.example"}}}}"#,
            "vs-code",
        ),
        (
            r#"{"mcp": {"a": {"type": "local", "command": ["x"]}}}"#,
            "opencode",
        ),
        (r#"{"context_servers": {"a": {"command": "x"}}}"#, "zed"),
        (r#"{"mcp_servers": {"a": {"command": "x"}}}"#, "codex"),
        (
            r#"{"mcpServers": {"a": {"httpUrl": "https://h.example"}}}"#,
            "gemini-cli",
        ),
        (
            r#"{"mcpServers": {"a": {"serverUrl": "https://h.example"}}}"#,
            "windsurf",
        ),
        (
            r#"{"mcpServers": {"a": {"type": "streamableHttp", "url": "https://h.example"}}}"#,
            "cline",
        ),
        (r#"{"mcpServers": {"a": {"command": "x"}}}"#, "claude-code"),
        (
            r#"{"manifest_version": "0.3", "name": "b", "server": {"mcp_config": {"command": "x"}}}"#,
            "mcpb",
        ),
        (
            r#"{"name": "io.github.a/b", "remotes": [{"type": "sse", "url": "https://h.example"}]}"#,
            "registry",
        ),
        (
            r#"{"$schema": "https://agentplugins.example/schemas/1.0.0/mcp.schema.json", "mcpServers": {}}"#,
            "agent-plugins",
        ),
        // A server of that name, and no wrapper.
        (r#"{"servers": {"command": "x"}}"#, "claude-code"),
    ] {
        assert_eq!(read("sample.json", text).dialect.id, id, "{text}");
        assert_eq!(read("mcp.json", text).dialect.id, id, "{text}");
    }
}

#[test]
fn vs_code_asks_for_inputs_and_takes_comments() {
    let text = r#"{
        // comments and trailing commas are fine
        "inputs": [{"type": "promptString", "id": "gh-token", "description": "PAT", "password": true}],
        "servers": {
            "gh": {"type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ${input:gh-token}"}},
            "fs": {"command": "npx", "args": ["-y", "fs", "${workspaceFolder}${/}src"], "env": {"K": "${env:KEY}"},},
        },
    }"#;
    assert_eq!(
        entries(".vscode/mcp.json", "vs-code", text),
        [
            "gh http https://h.example/mcp Authorization=Bearer ${input:gh-token} needs INPUT_GH_TOKEN",
            "fs stdio npx -y fs ${workspaceFolder}${/}src env.K=${env:KEY} needs KEY",
        ]
    );
    let document = read(".vscode/mcp.json", text);
    assert_eq!(document.prompts[0].variable, "INPUT_GH_TOKEN");
    assert!(document.prompts[0].is_secret);
}

#[test]
fn cursor_replaces_variables_with_a_prefix_alone() {
    let text = r#"{"mcpServers": {
        "a": {"url": "https://h.example/mcp", "headers": {"X-Key": "${env:KEY}"}, "auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "${env:S}", "scopes": ["read"]}},
        "b": {"command": "x", "args": ["${KEY}"]}
    }}"#;
    assert_eq!(
        entries(".cursor/mcp.json", "cursor", text),
        [
            "a http https://h.example/mcp X-Key=${env:KEY} oauth.clientId=id \
             oauth.clientSecret=${env:S} scope=read needs KEY,S",
            "b stdio x ${KEY}",
        ]
    );
}

#[test]
fn codex_names_variables_in_fields() {
    let text = r#"
model = "m"
[mcp_servers.remote]
url = "https://h.example/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { X-Region = "eu ${NOT}" }
env_http_headers = { X-Key = "KEY" }
tool_timeout_sec = 2.5
scopes = ["read"]

[mcp_servers.local]
command = "npx"
args = ["-y", "srv"]
env_vars = ["A_KEY", { name = "B_KEY", source = "local" }]
enabled = false
[mcp_servers.local.env]
MODE = "x"
"#;
    assert_eq!(
        entries(".codex/config.toml", "codex", text),
        [
            "remote http https://h.example/mcp X-Region=eu ${NOT} X-Key=${KEY} \
             Authorization=Bearer ${TOKEN} scope=read needs TOKEN,KEY 2500 ms",
            "local stdio npx -y srv env.MODE=x env.A_KEY=${A_KEY} env.B_KEY=${B_KEY} \
             needs A_KEY,B_KEY off",
        ]
    );
}

#[test]
fn gemini_has_a_key_for_each_transport() {
    let text = r#"{ /* note */ "mcpServers": {
        "a": {"httpUrl": "https://h.example/mcp", "headers": {"Authorization": "Bearer $TOKEN"}, "timeout": 5000, "trust": false},
        "b": {"tcp": "wss://h.example"},
        "c": {"command": "${extensionPath}${/}run", "env": {"A": "${B:-c}"}}
    }}"#;
    let path = "gemini-extension.json";
    assert_eq!(
        entries(path, "gemini-cli", text),
        [
            "a http https://h.example/mcp Authorization=Bearer $TOKEN needs TOKEN 5000 ms",
            "b ws wss://h.example",
            "c stdio ${extensionPath}${/}run env.A=${B:-c} needs B",
        ]
    );
    let settings = read(".gemini/settings.json", r#"{"theme": "dark"}"#);
    assert_eq!(settings.wrapper, Wrapper::Absent);
}

#[test]
fn opencode_takes_one_array_and_braces() {
    let text = r#"{"mcp": {
        "a": {"type": "local", "command": ["npx", "-y", "a"], "environment": {"K": "{env:KEY}"}, "enabled": true},
        "b": {"type": "remote", "url": "https://h.example", "headers": {"X": "${KEY}"}, "oauth": false},
        "c": {"enabled": false},
    }}"#;
    let found = entries("opencode.json", "opencode", text);
    assert_eq!(
        found,
        [
            "a stdio npx -y a env.K={env:KEY} needs KEY",
            "b http https://h.example X=${KEY}",
        ]
    );
}

#[test]
fn zed_cline_roo_and_kiro_have_their_own_words() {
    let text = r#"{"context_servers": {
        "a": {"command": {"path": "x", "args": ["y"], "env": {"A": "b"}}},
        "b": {"url": "https://h.example", "timeout": 30},
        "c": {"settings": {}},
    }}"#;
    assert_eq!(
        entries(".zed/settings.json", "zed", text),
        ["a stdio x y env.A=b", "b http https://h.example 30000 ms"]
    );
    let text = r#"{"mcpServers": {"a": {"url": "https://h.example"}, "b": {"type": "streamableHttp", "url": "https://h.example", "timeout": 60, "disabled": true}}}"#;
    assert_eq!(
        entries("cline_mcp_settings.json", "cline", text),
        [
            "a sse https://h.example",
            "b http https://h.example 60000 ms off"
        ]
    );
    let text = r#"{"mcpServers": {"a": {"type": "streamable-http", "url": "https://h.example", "headers": {"X": "${env:K}"}}}}"#;
    assert_eq!(
        entries(".roo/mcp.json", "roo", text),
        ["a http https://h.example X=${env:K} needs K"]
    );
    let text = r#"{"mcpServers": {"a": {"url": "https://h.example", "headers": {"X": "${K}"}, "oauthScopes": ["r"]}}}"#;
    assert_eq!(
        entries(".kiro/settings/mcp.json", "kiro", text),
        ["a http https://h.example X=${K} scope=r needs K"]
    );
}

#[test]
fn json_files_of_continue_replace_names_in_env_alone() {
    let path = ".continue/mcpServers/a.json";
    let text = r#"{ // a note
        "mcpServers": {
          "l": {"command": "x", "args": ["${A}"], "env": {"K": "${API_KEY}"}},
          "r": {"type": "http", "url": "https://h.example/", "headers": {"A": "${API_KEY}"}}}}"#;
    assert_eq!(
        entries(path, "continue", text),
        [
            "l stdio x ${A} env.K=${API_KEY} needs API_KEY",
            "r http https://h.example/ A=${API_KEY}"
        ]
    );
    // The form of YAML is not one of JSON.
    let text = r#"{"mcpServers": {"l": {"command": "x", "env": {"K": "${{ secrets.API_KEY }}"}}}}"#;
    assert_eq!(
        entries(path, "continue", text),
        ["l stdio x env.K=${{ secrets.API_KEY }}"]
    );
    let alone = read(path, r#"{"command": "x", "env": {"K": "${API_KEY}"}}"#);
    let servers: Vec<_> = alone.servers().map(shown).collect();
    assert_eq!(servers, ["a stdio x env.K=${API_KEY} needs API_KEY"]);
    let text = r#"{"projects": {"/p": {"mcpServers": {"l": {"command": "x"}}}}}"#;
    assert_eq!(entries(path, "continue", text), ["l stdio x"]);
}

#[test]
fn continue_and_goose_are_yaml() {
    let text = "name: x\nmcpServers:\n  - name: a\n    type: streamable-http\n    url: https://h.example\n    \
                requestOptions:\n      headers:\n        X-Key: ${{ secrets.KEY }}\n  - name: b\n    command: npx\n    \
                args: [-y, b]\n    env:\n      PORT: 80\n  - uses: other/block\n";
    assert_eq!(
        entries(".continue/mcpServers/a.yaml", "continue", text),
        [
            "a http https://h.example X-Key=${{ secrets.KEY }} needs KEY",
            "b stdio npx -y b env.PORT=80",
        ]
    );
    let text = "extensions:\n  dev:\n    type: builtin\n    enabled: true\n  gh:\n    type: stdio\n    cmd: npx\n    \
                args: [gh]\n    env_keys: [GH_TOKEN]\n    envs: {MODE: x}\n    timeout: 300\n    enabled: true\n  \
                r:\n    type: streamable_http\n    uri: https://h.example\n    headers: {Authorization: 'Bearer $T'}\n";
    assert_eq!(
        entries(".config/goose/config.yaml", "goose", text),
        [
            "gh stdio npx gh env.MODE=x env.GH_TOKEN=${GH_TOKEN} needs GH_TOKEN 300000 ms",
            "r http https://h.example Authorization=Bearer $T needs T",
        ]
    );
}

#[test]
fn the_other_hosts_keep_servers_under_the_common_key() {
    for (path, id, entry, expected) in [
        (
            "claude_desktop_config.json",
            "claude-desktop",
            r#"{"command": "x", "env": {"A": "${B}"}}"#,
            "a stdio x env.A=${B}",
        ),
        (
            ".codeium/windsurf/mcp_config.json",
            "windsurf",
            r#"{"serverUrl": "https://h.example", "headers": {"X": "${env:K}"}}"#,
            "a http https://h.example X=${env:K} needs K",
        ),
        (
            ".copilot/mcp-config.json",
            "copilot-cli",
            r#"{"type": "local", "command": "x", "args": ["$A"], "tools": ["*"]}"#,
            "a stdio x $A needs A",
        ),
        (
            ".lmstudio/mcp.json",
            "lm-studio",
            r#"{"url": "https://h.example", "headers": {"X": "${K}"}}"#,
            "a http https://h.example X=${K}",
        ),
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
        assert_eq!(entries(path, id, &text), [expected], "{path}");
    }
}

#[test]
fn agent_plugins_replace_two_names_in_three_fields() {
    let text = r#"{"$schema": "https://agent-plugins.example/schemas/1.0.0/mcp.schema.json", "mcpServers": {
        "a": {"type": "stdio", "command": "${PLUGIN_ROOT}/x", "args": ["${PLUGIN_ROOT}/y", "${K}"]}}}"#;
    let document = read("mcp.json", text);
    let server = document.servers().next().unwrap();
    let Endpoint::Local(local) = &server.endpoint else {
        unreachable!()
    };
    assert_eq!(local.command.template.variables().count(), 0);
    let names: Vec<_> = local.args[0]
        .template
        .variables()
        .map(|v| v.name.as_str())
        .collect();
    assert_eq!(names, ["HOST_PLUGIN_ROOT"]);
    assert_eq!(local.args[1].template.variables().count(), 0);
}

#[test]
fn a_bundle_has_one_server_and_settings_to_ask_for() {
    let text = r#"{"manifest_version": "0.3", "name": "files", "server": {"type": "node", "mcp_config":
        {"command": "node", "args": ["${__dirname}/server.js"], "env": {"API_KEY": "${user_config.api_key}"}}},
        "user_config": {"api_key": {"type": "string", "title": "Key", "sensitive": true, "required": true}}}"#;
    assert_eq!(
        entries("manifest.json", "mcpb", text),
        [
            "files stdio node ${__dirname}/server.js env.API_KEY=${user_config.api_key} needs USER_CONFIG_API_KEY"
        ]
    );
    assert_eq!(read("manifest.json", text).prompts[0].key, "api_key");
    let other = read("manifest.json", r#"{"name": "a web app", "icons": []}"#);
    assert!(other.entries.is_empty());
}

#[test]
fn a_bundle_of_type_uv_that_says_no_more_is_run_by_uv() {
    let text = |server: &str| {
        format!(r#"{{"manifest_version": "0.4", "name": "files", "server": {{{server}}}}}"#)
    };
    let plain = text(r#""type": "uv", "entry_point": "src/server.py""#);
    assert_eq!(
        entries("manifest.json", "mcpb", &plain),
        ["files stdio uv run --directory ${__dirname} src/server.py"]
    );
    let own = r#""type": "uv", "entry_point": "a.py", "mcp_config": {"command": "python3"}"#;
    assert_eq!(
        entries("manifest.json", "mcpb", &text(own)),
        ["files stdio python3"]
    );
    // Of other types a host cannot know it.
    for server in [
        r#""type": "node", "entry_point": "a.js""#,
        r#""type": "uv""#,
    ] {
        assert!(read("manifest.json", &text(server)).entries.is_empty());
    }
}

#[test]
fn the_registrys_packages_are_started_by_their_runner() {
    let text = r#"{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.acme/search", "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": "https://{tenant}.h.example/mcp",
            "variables": {"tenant": {"description": "Tenant", "isRequired": true}},
            "headers": [{"name": "X-API-Key", "isSecret": true, "isRequired": true},
                        {"name": "X-Optional"}]}],
        "packages": [
            {"registryType": "npm", "identifier": "@acme/search", "version": "1.2.3", "transport": {"type": "stdio"},
             "environmentVariables": [{"name": "ACME_KEY", "isSecret": true, "isRequired": true}, {"name": "MODE", "value": "x"}],
             "packageArguments": [{"type": "named", "name": "--region", "value": "eu"}, {"type": "positional", "value": "go"}]},
            {"registryType": "oci", "identifier": "docker.io/acme/search:1.2.3", "transport": {"type": "stdio"},
             "environmentVariables": [{"name": "ACME_KEY", "isRequired": true}]},
            {"registryType": "mcpb", "identifier": "https://h.example/x.mcpb", "transport": {"type": "stdio"}}]}"#;
    let found = entries("server.json", "registry", text);
    assert_eq!(
        found,
        [
            "search http https://{tenant}.h.example/mcp X-API-Key=${X_API_KEY} needs INPUT_TENANT,X_API_KEY",
            "search-2 stdio npx -y @acme/search@1.2.3 --region eu go env.ACME_KEY=${ACME_KEY} env.MODE=x needs ACME_KEY",
            "search-3 stdio docker run -i --rm -e ACME_KEY docker.io/acme/search:1.2.3 env.ACME_KEY=${ACME_KEY} needs ACME_KEY",
            "search-4: [NoEndpoint]",
        ]
    );
    let asked: Vec<String> = read("server.json", text)
        .prompts
        .into_iter()
        .map(|prompt| prompt.variable)
        .collect();
    assert_eq!(
        asked,
        [
            "INPUT_TENANT",
            "X_API_KEY",
            "X_OPTIONAL",
            "ACME_KEY",
            "ACME_KEY"
        ]
    );
}

/// Threat E7: `A=B` as a name would set the variable `A`, which is not the one that is shown.
#[test]
fn e07_a_name_that_sets_another_variable_makes_the_entry_unusable_for_every_host() {
    let under = |key: &str, name: &str| {
        format!(r#"{{"{key}": {{"s": {{"command": "x", "env": {{"{name}": "v"}}}}}}}}"#)
    };
    let registry = |name: &str| {
        format!(
            r#"{{"name": "a/s", "packages": [{{"registryType": "npm", "identifier": "s",
                "environmentVariables": [{{"name": "{name}", "value": "v"}}]}}]}}"#
        )
    };
    let zed = |name: &str| {
        format!(
            r#"{{"context_servers": {{"s": {{"command": {{"path": "x", "env": {{"{name}": "v"}}}}}}}}}}"#
        )
    };
    let codex =
        |name: &str| format!("[mcp_servers.s]\ncommand = \"x\"\nenv = {{\"{name}\" = \"v\"}}\n");
    let files = |name: &str| {
        [
            (".mcp.json", under("mcpServers", name)),
            (".vscode/mcp.json", under("servers", name)),
            (".cursor/mcp.json", under("mcpServers", name)),
            (".gemini/settings.json", under("mcpServers", name)),
            (".zed/settings.json", zed(name)),
            (".codex/config.toml", codex(name)),
            ("server.json", registry(name)),
        ]
    };
    for name in ["A=B", "=", "", " ", "A B", "A\\u0000", "A\\u0009", "\u{c4}"] {
        for (path, text) in files(name) {
            let document = read(path, &text);
            let [entry] = document.entries.as_slice() else {
                panic!("{path}: {text}");
            };
            let faults = entry.server.as_ref().expect_err(path);
            let is_told = |fault: &EntryFault| matches!(fault, EntryFault::BadVariableName { .. });
            assert!(faults.iter().any(is_told), "{path} {name:?}: {faults:?}");
        }
    }
    for name in [
        "A",
        "_a1",
        "BASH_FUNC_x%%",
        "npm_config_//h.example/:_authToken",
    ] {
        for (path, text) in files(name) {
            let document = read(path, &text);
            assert!(document.entries[0].server.is_ok(), "{path} {name}");
        }
    }
}

#[test]
fn the_persons_own_file_holds_servers_of_projects_as_well() {
    let text = r#"{"numStartups": 3, "mcpServers": {"a": {"command": "x"}},
        "projects": {"/home/u/p": {"mcpServers": {"b": {"command": "y"}}}}}"#;
    assert_eq!(
        entries(".claude.json", "claude-code", text),
        ["a stdio x", "b stdio y"]
    );
    let none = read(".claude.json", r#"{"numStartups": 3}"#);
    assert!(none.entries.is_empty() && none.wrapper == Wrapper::Absent);
}

#[test]
fn a_marketplace_lists_plugins_and_their_servers() {
    let text = r#"{"name": "m", "owner": {"name": "o"}, "plugins": [
        {"name": "a", "source": "./plugins/a", "mcpServers": {"s": {"command": "x"}}},
        {"name": "b", "source": {"source": "github", "repo": "o/b"}},
        {"name": "c", "source": "./c", "mcpServers": "./mcp.json"}]}"#;
    let source = Source::new(".claude-plugin/marketplace.json", text.as_bytes());
    let document = Document::parse(source, DocumentKind::Marketplace);
    assert_eq!(document.entries.len(), 1);
    assert_eq!(
        document.entries[0].pointer.as_str(),
        "/plugins/0/mcpServers/s"
    );
    let paths: Vec<_> = document
        .listed
        .iter()
        .map(|it| it.path.as_ref().map(|path| path.template.to_string()))
        .collect();
    assert_eq!(
        paths,
        [Some("./plugins/a".into()), None, Some("./c".into())]
    );
}

#[test]
fn a_key_of_another_host_is_named_and_a_missing_one_is_told() {
    let wrong = read(
        ".cursor/mcp.json",
        r#"{"servers": {"a": {"command": "x"}}}"#,
    );
    assert!(matches!(
        wrong.wrapper,
        Wrapper::Foreign {
            key: "servers",
            host: "VS Code",
            ..
        }
    ));
    let wrong = read(
        ".vscode/mcp.json",
        r#"{"mcpServers": {"a": {"command": "x"}}}"#,
    );
    assert!(matches!(
        wrong.wrapper,
        Wrapper::Foreign {
            key: "mcpServers",
            ..
        }
    ));
    let bare = read(".cursor/mcp.json", r#"{"a": {"command": "x"}}"#);
    assert_eq!(bare.wrapper, Wrapper::Missing);
    assert_eq!(read(".cursor/mcp.json", "{}").wrapper, Wrapper::Absent);
}
