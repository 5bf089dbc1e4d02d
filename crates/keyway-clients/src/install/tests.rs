//! Every layout of a file: what is written, and that undoing leaves the bytes as they were.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::clients::Client;

fn command() -> OwnEntry {
    OwnEntry::Run(Command {
        program: "/opt/keyway".to_owned(),
        args: ["run", "--server", "docs"].map(str::to_owned).to_vec(),
    })
}

struct Case {
    folder: TempDir,
    client: &'static Client,
    receipts: Receipts,
}

impl Case {
    fn new(client: &str, text: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        if let Some(text) = text {
            write::create(&folder.path().join("file"), text.as_bytes(), 0o640).unwrap();
        }
        let receipts = Receipts::open(&folder.path().join("data")).unwrap();
        Self {
            client: Client::by_name(client).unwrap(),
            folder,
            receipts,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("file")
    }

    fn open(&self) -> ClientFile {
        ClientFile::read(self.client, self.path()).unwrap()
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(self.path()).ok()
    }

    fn install(&mut self, name: &str) {
        let mut file = self.open();
        let patch = file.put(name, &command()).unwrap();
        let receipt = Receipt::new(&file, (name, &command()), &patch);
        self.receipts.back_up(&file).unwrap();
        self.receipts.all.push(receipt);
        self.receipts.save().unwrap();
        file.write(false).unwrap();
    }

    /// Undoes everything, the last first, with what was read back from the disk.
    fn uninstall(&mut self) {
        let kept = Receipts::open(&self.folder.path().join("data")).unwrap();
        let mut file = self.open();
        for receipt in kept.all.iter().rev() {
            assert!(file.undo(receipt).unwrap());
        }
        let is_ours = kept.all.iter().any(|receipt| receipt.is_new_file);
        file.write(is_ours).unwrap();
    }
}

/// `ENTRY` stands for an entry of ours on lines of its own, indented by `I`.
#[track_caller]
fn check(client: &str, before: Option<&str>, expected: &str) {
    let mut case = Case::new(client, before);
    case.install("docs");
    assert_eq!(case.text().as_deref(), Some(expected));
    case.uninstall();
    assert_eq!(case.text().as_deref(), before, "undone");
}

const FLAT: &str =
    r#"{"type": "stdio", "command": "/opt/keyway", "args": ["run", "--server", "docs"]}"#;

fn laid_out(indent: &str, unit: &str, newline: &str) -> String {
    let inner = format!("{newline}{indent}{unit}");
    format!(
        "{{{inner}\"type\": \"stdio\",{inner}\"command\": \"/opt/keyway\",{inner}\"args\": [\"run\", \"--server\", \"docs\"]{newline}{indent}}}"
    )
}

#[test]
fn a_missing_and_an_empty_file_become_whole_files() {
    let entry = laid_out("    ", "  ", "\n");
    let whole = format!("{{\n  \"mcpServers\": {{\n    \"docs\": {entry}\n  }}\n}}\n");
    check("claude-code", None, &whole);
    check("claude-code", Some(""), &whole);
    check("claude-code", Some(" \n\n"), &whole);
    check("claude-code", Some("\u{feff}"), &format!("\u{feff}{whole}"));
    let entry = entry.replace('\n', "\r\n");
    let whole = format!("{{\r\n  \"servers\": {{\r\n    \"docs\": {entry}\r\n  }}\r\n}}\r\n");
    check("vs-code", Some("\r\n"), &whole);
}

#[test]
fn an_entry_follows_the_others_in_their_layout() {
    let entry = laid_out("        ", "    ", "\n");
    check(
        "cursor",
        Some("{\n    \"mcpServers\": {\n        \"a\": {}\n    },\n    \"x\": [1,2]\n}"),
        &format!(
            "{{\n    \"mcpServers\": {{\n        \"a\": {{}},\n        \"docs\": {entry}\n    }},\n    \"x\": [1,2]\n}}"
        ),
    );
    let entry = laid_out("\t\t", "\t", "\r\n");
    check(
        "cursor",
        Some("\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}\r\n\t}\r\n}\r\n"),
        &format!(
            "\u{feff}{{\r\n\t\"mcpServers\": {{\r\n\t\t\"a\": {{}},\r\n\t\t\"docs\": {entry}\r\n\t}}\r\n}}\r\n"
        ),
    );
    check(
        "claude-code",
        Some(r#"{"n": 1, "mcpServers": {"a": {}}}"#),
        &format!(r#"{{"n": 1, "mcpServers": {{"a": {{}}, "docs": {FLAT}}}}}"#),
    );
    // Odd indentation: the neighbour decides.
    let entry = laid_out("       ", " ", "\n");
    check(
        "cursor",
        Some("{\n \"mcpServers\":\n   {\n       \"a\": {} }\n}\n"),
        &format!(
            "{{\n \"mcpServers\":\n   {{\n       \"a\": {{}},\n       \"docs\": {entry}\n   }}\n}}\n"
        ),
    );
}

#[test]
fn an_object_without_servers_gets_them() {
    let entry = laid_out("    ", "  ", "\n");
    let servers = format!("{{\n    \"docs\": {entry}\n  }}");
    for (before, expected) in [
        ("{}", format!(r#"{{"mcpServers": {{"docs": {FLAT}}}}}"#)),
        ("{\n}\n", format!("{{\n  \"mcpServers\": {servers}\n}}\n")),
        (
            "{\n  \"x\": 1\n}\n",
            format!("{{\n  \"x\": 1,\n  \"mcpServers\": {servers}\n}}\n"),
        ),
        (
            "{\n  \"mcpServers\": {},\n  \"x\": 1\n}\n",
            format!("{{\n  \"mcpServers\": {servers},\n  \"x\": 1\n}}\n"),
        ),
        (
            "{\n  \"mcpServers\": {\n  }\n}\n",
            format!("{{\n  \"mcpServers\": {servers}\n}}\n"),
        ),
    ] {
        check("claude-code", Some(before), &expected);
    }
}

#[test]
fn comments_stay_with_what_they_are_about() {
    let entry = laid_out("    ", "  ", "\n");
    check(
        "vs-code",
        Some(
            "// top\n{\n  \"servers\": {\n    // on a\n    \"a\": {} // a, too\n    /* end */\n  }\n}\n",
        ),
        &format!(
            "// top\n{{\n  \"servers\": {{\n    // on a\n    \"a\": {{}}, // a, too\n    /* end */\n    \"docs\": {entry}\n  }}\n}}\n"
        ),
    );
    check(
        "vs-code",
        Some("{\n  \"servers\": {\n    \"a\": {}, // a\n  },\n}\n"),
        &format!(
            "{{\n  \"servers\": {{\n    \"a\": {{}}, // a\n    \"docs\": {entry},\n  }},\n}}\n"
        ),
    );
    check(
        "vs-code",
        Some("{\n  \"servers\": { // none yet\n  }\n}\n"),
        &format!("{{\n  \"servers\": {{ // none yet\n    \"docs\": {entry}\n  }}\n}}\n"),
    );
}

#[test]
fn toml_gets_a_table_behind_everything() {
    let table =
        "[mcp_servers.docs]\ncommand = \"/opt/keyway\"\nargs = [\"run\", \"--server\", \"docs\"]\n";
    check("codex", None, table);
    check("codex", Some(""), table);
    let before =
        "model = \"m\" # why\n\n[mcp_servers.a]\ncommand = 'x'\n[mcp_servers.a.env]\nT = \"1\"\n";
    check("codex", Some(before), &format!("{before}\n{table}"));
    let open = "# only a comment";
    check("codex", Some(open), &format!("{open}\n\n{table}"));
    let crlf = "\u{feff}a = 1\r\n";
    let table = table.replace('\n', "\r\n");
    check("codex", Some(crlf), &format!("{crlf}\r\n{table}"));
}

#[test]
fn a_name_that_is_not_a_bare_key_is_quoted() {
    let mut case = Case::new("codex", Some("a = 1\n"));
    case.install("a \"b\".c");
    assert!(
        case.text()
            .unwrap()
            .contains("[mcp_servers.\"a \\\"b\\\".c\"]")
    );
    case.uninstall();
    assert_eq!(case.text().as_deref(), Some("a = 1\n"));
}

#[test]
fn several_entries_are_undone_to_the_last_byte() {
    for (client, text) in [
        ("claude-code", None),
        ("claude-code", Some("{}")),
        ("gemini-cli", Some("{\n  // c\n  \"x\": 1\n}\n")),
        ("codex", Some("a = 1")),
        ("codex", None),
    ] {
        let mut case = Case::new(client, text);
        for name in ["one", "two", "three"] {
            case.install(name);
        }
        assert_eq!(case.open().entries().unwrap().len(), 3, "{client}");
        case.uninstall();
        assert_eq!(case.text().as_deref(), text, "{client}");
    }
}

#[test]
fn an_entry_of_the_same_name_is_replaced_and_comes_back() {
    let entry = laid_out("    ", "  ", "\n");
    let before = "{\n  \"mcpServers\": {\n    \"docs\": {\"command\": \"npx\", \"env\": {\"T\": \"1\"}}, \"b\": {}\n  }\n}\n";
    check(
        "claude-code",
        Some(before),
        &format!("{{\n  \"mcpServers\": {{\n    \"docs\": {entry}, \"b\": {{}}\n  }}\n}}\n"),
    );
    let ours =
        "[mcp_servers.docs]\ncommand = \"/opt/keyway\"\nargs = [\"run\", \"--server\", \"docs\"]\n";
    check(
        "codex",
        Some(
            "[mcp_servers.docs]\ncommand = \"npx\"\n\n[mcp_servers.docs.env]\nT = \"1\"\n\n# on b\n[mcp_servers.b]\ncommand = \"b\"\n",
        ),
        &format!("{ours}\n# on b\n[mcp_servers.b]\ncommand = \"b\"\n"),
    );
    check(
        "codex",
        Some("[mcp_servers.docs]\ncommand = \"npx\""),
        ours.trim_end(),
    );
    // A line of a value is no header, whatever it looks like; a header may be indented.
    check(
        "codex",
        Some(
            "a = 1\n  [mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"\"\"\n[mcp_servers.b]\n\"\"\"]\n\n [x]\ny = 1\n",
        ),
        &format!("a = 1\n{ours}\n [x]\ny = 1\n"),
    );
}

#[test]
fn a_file_that_the_client_rewrote_loses_the_entry_alone() {
    let mut case = Case::new(
        "claude-code",
        Some("{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}"),
    );
    case.install("docs");
    let updated = "{\n  \"numStartups\": 2,\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"a\"\n    },\n    \"docs\": {\n      \"type\": \"stdio\",\n      \"command\": \"/opt/keyway\",\n      \"args\": [\n        \"run\",\n        \"--server\",\n        \"docs\"\n      ]\n    }\n  }\n}";
    write::replace(
        &case.path(),
        case.text().unwrap().as_bytes(),
        updated.as_bytes(),
    )
    .unwrap();
    case.uninstall();
    let expected = "{\n  \"numStartups\": 2,\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"a\"\n    }\n  }\n}";
    assert_eq!(case.text().as_deref(), Some(expected));

    let mut case = Case::new("codex", Some("b = 1\n"));
    case.install("docs");
    let updated = "b = 2\n\n[mcp_servers.docs]\nargs = [\"run\", \"--server\", \"docs\"]\ncommand = '/opt/keyway'\n\n[x]\ny = 1\n";
    write::replace(
        &case.path(),
        case.text().unwrap().as_bytes(),
        updated.as_bytes(),
    )
    .unwrap();
    case.uninstall();
    assert_eq!(case.text().as_deref(), Some("b = 2\n\n[x]\ny = 1\n"));
}

#[test]
fn an_entry_that_was_changed_since_is_left_alone() {
    let mut case = Case::new("claude-code", None);
    case.install("docs");
    let theirs = case.text().unwrap().replace("/opt/keyway", "/opt/other");
    write::replace(
        &case.path(),
        case.text().unwrap().as_bytes(),
        theirs.as_bytes(),
    )
    .unwrap();
    let error = case.open().undo(&case.receipts.all[0]).unwrap_err();
    assert!(matches!(error, InstallError::Changed { .. }));
    assert_eq!(case.text().as_deref(), Some(theirs.as_str()));
}

#[test]
fn a_file_that_the_client_could_not_read_is_refused_with_its_place() {
    for (client, text, place) in [
        ("claude-code", "{\n  \"a\": 1,,\n}", (2, 10)),
        ("claude-code", "{\n  // c\n}", (2, 3)),
        ("claude-desktop", "{\"a\": 1,}", (1, 8)),
        ("gemini-cli", "{\n\"a\": 1, // c\n}", (2, 7)),
        ("vs-code", "[]", (1, 1)),
        ("codex", "a = 1\nb = = 2\n", (2, 5)),
    ] {
        let case = Case::new(client, Some(text));
        let error = ClientFile::read(case.client, case.path()).unwrap_err();
        let InstallError::NotParsed { line, column, .. } = error else {
            panic!("{client}: {error:?}");
        };
        assert_eq!((line, column), place, "{client}: {text}");
        assert_eq!(case.text().as_deref(), Some(text));
    }
}

#[test]
fn a_value_that_is_not_a_table_of_servers_is_refused() {
    for (client, text) in [
        ("claude-code", "{\"mcpServers\": []}"),
        ("claude-code", "{\"mcpServers\": {\"a\": {}, \"a\": {}}}"),
        ("codex", "mcp_servers = 1\n"),
    ] {
        let case = Case::new(client, Some(text));
        let error = ClientFile::read(case.client, case.path()).unwrap_err();
        assert!(matches!(error, InstallError::NotServers { .. }), "{text}");
    }
    // An inline table is closed: a further table would be another file's meaning.
    let case = Case::new("codex", Some("mcp_servers = { a = { command = \"x\" } }\n"));
    let error = case.open().put("docs", &command()).unwrap_err();
    assert!(matches!(error, InstallError::NoPlace { .. }));
}

#[test]
fn a_header_inside_a_string_does_not_cut_a_table_in_two() {
    let text = "[mcp_servers.docs]\ncommand = \"x\"\nnote = '''\n[other]\n'''\n[b]\nc = 1\n";
    let mut case = Case::new("codex", Some(text));
    case.install("docs");
    let installed = case.text().unwrap();
    assert!(installed.contains("/opt/keyway"), "{installed}");
    assert!(installed.ends_with("\n[b]\nc = 1\n"), "{installed}");
    assert!(!installed.contains("\"x\""), "{installed}");
    case.uninstall();
    assert_eq!(case.text().as_deref(), Some(text));
}

#[test]
fn mode_and_link_are_kept_and_the_records_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut case = Case::new("claude-code", Some("{}"));
    let real = case.folder.path().join("real");
    fs::rename(case.path(), &real).unwrap();
    std::os::unix::fs::symlink("real", case.path()).unwrap();
    case.install("docs");
    assert!(fs::symlink_metadata(case.path()).unwrap().is_symlink());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o640);
    let data = case.folder.path().join("data/clients");
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("installed.json")), 0o600);
    let backup = data.join("backups/claude-code-0001.");
    assert_eq!(
        (mode(&backup), fs::read(&backup).unwrap()),
        (0o600, b"{}".to_vec())
    );
}

#[test]
fn a_record_that_cannot_be_read_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("clients")).unwrap();
    let record = folder.path().join("clients/installed.json");
    write::create(&record, b"{}", 0o600).unwrap();
    assert!(Receipts::open(folder.path()).is_err());
}

#[test]
fn whatever_is_accepted_can_be_undone_to_the_byte() {
    let texts = [
        (
            "vs-code",
            "// c\n{\n  \"servers\": { // d\n    \"a\": {\"command\": \"x\", \"args\": [\"1\"]}, /* e */\n  },\n \"y\": {}\n}\n",
        ),
        (
            "claude-code",
            "{\"mcpServers\":{\"a\":{}},\r\n\"b\" : [ ]\r\n}",
        ),
        (
            "codex",
            "a = 1 # b\n[mcp_servers]\n[mcp_servers.docs]\ncommand = \"x\"\n[mcp_servers.docs.env]\nb = \"c\"\n\n# d\n[[e]]\nf = '''\n[g]\n'''\n",
        ),
    ];
    let mut accepted = 0;
    for (client, text) in texts {
        for (at, gone) in text.char_indices() {
            for with in ["", "\n", "{", "}", ",", "#", "[", "\"", "/", "é"] {
                let end = at + gone.len_utf8();
                let before = format!("{}{with}{}", &text[..at], &text[end..]);
                let mut file = ClientFile {
                    client: Client::by_name(client).unwrap(),
                    keys: vec![Client::by_name(client).unwrap().key.to_owned()],
                    path: PathBuf::from("file"),
                    before: Some(before.clone()),
                    text: before.clone(),
                };
                if file.entries().is_err() {
                    continue;
                }
                for name in ["docs", "new"] {
                    let Ok(patch) = file.put(name, &command()) else {
                        continue;
                    };
                    let receipt = Receipt::new(&file, (name, &command()), &patch);
                    assert!(file.undo(&receipt).unwrap(), "{before}");
                    assert_eq!(file.text, before);
                    accepted += 1;
                }
            }
        }
    }
    assert!(accepted > 300, "{accepted}");
}

/// Each client: a file with a remote server, what becomes of it, and a member that stays.
const NATIVE: &[(&str, &str, &str)] = &[
    (
        "claude-code",
        "{\n  \"mcpServers\": {\n    \"docs\": {\"type\": \"http\", \"url\": \"https://h.example/mcp\", \"timeout\": 9}\n  }\n}\n",
        "\"timeout\": 9",
    ),
    (
        "claude-desktop",
        "{\"mcpServers\": {\"docs\": {\"command\": \"npx\", \"args\": [\"mcp-remote\", \"https://h.example/mcp\"]}}}",
        "keyway",
    ),
    (
        "cline",
        "{\"mcpServers\": {\"docs\": {\"url\": \"https://h.example/mcp\", \"type\": \"streamableHttp\", \"autoApprove\": [\"a\"]}}}",
        "\"autoApprove\": [\"a\"]",
    ),
    (
        "codex",
        "a = 1\n\n[mcp_servers.docs]\nurl = \"https://h.example/mcp\"\nenabled = false\n",
        "enabled = false",
    ),
    (
        "continue",
        "name: mine # me\nmcpServers:\n  - name: other\n    command: x\n  - name: docs\n    type: streamable-http\n    url: https://h.example/mcp\n# end\nmodels: []\n",
        "# end",
    ),
    (
        "copilot-cli",
        "{\"mcpServers\": {\"docs\": {\"type\": \"http\", \"url\": \"https://h.example/mcp\", \"tools\": [\"x\"]}}}",
        "\"tools\": [\"*\"]",
    ),
    (
        "cursor",
        "{\"mcpServers\": {\"docs\": {\"url\": \"https://h.example/mcp\"}, /* b */ \"b\": {\"command\": \"b\"}}}",
        "/* b */",
    ),
    (
        "gemini-cli",
        "{\"mcpServers\": {\"docs\": {\"httpUrl\": \"https://h.example/mcp\", \"trust\": true}}}",
        "\"trust\": true",
    ),
    (
        "goose",
        "GOOSE_MODEL: m\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  docs:\n    type: streamable_http\n    uri: https://h.example/mcp\n    enabled: true\n\n# tail\nother: 1\n",
        "# tail",
    ),
    (
        "jetbrains",
        "{\"mcpServers\": {\"docs\": {\"type\": \"http\", \"url\": \"https://h.example/mcp\"}}}",
        "keyway",
    ),
    (
        "lm-studio",
        "{\"mcpServers\": {\"docs\": {\"url\": \"https://h.example/mcp\"}}}",
        "keyway",
    ),
    (
        "opencode",
        "{\n  // mine\n  \"mcp\": {\n    \"docs\": {\"type\": \"remote\", \"url\": \"https://h.example/mcp\", \"enabled\": true},\n  },\n}\n",
        "\"enabled\": true",
    ),
    (
        "roo",
        "{\"mcpServers\": {\"docs\": {\"type\": \"streamable-http\", \"url\": \"https://h.example/mcp\", \"alwaysAllow\": []}}}",
        "\"alwaysAllow\": []",
    ),
    (
        "vs-code",
        "{\"servers\": {\"docs\": {\"type\": \"http\", \"url\": \"https://h.example/mcp\"},},}",
        "keyway",
    ),
    (
        "windsurf",
        "{\"mcpServers\": {\"docs\": {\"serverUrl\": \"https://h.example/mcp\", \"disabledTools\": [\"x\"]}}}",
        "\"disabledTools\": [\"x\"]",
    ),
    (
        "zed",
        "// top\n{\"context_servers\": {\"docs\": {\"url\": \"https://h.example/mcp\"}}, \"theme\": \"t\"}",
        "// top",
    ),
];

#[test]
fn every_client_s_remote_entry_is_read_replaced_and_restored_to_the_byte() {
    for (client, before, kept) in NATIVE {
        let mut case = Case::new(client, Some(before));
        let document = case.open().document();
        let server = document.servers().find(|server| server.name == "docs");
        let server = server.unwrap_or_else(|| panic!("{client}: {:?}", document.entries));
        let Recognised::Remote(remote) = recognise_declared(server) else {
            panic!("{client}");
        };
        assert_eq!(remote.url().expose(), "https://h.example/mcp", "{client}");
        case.install("docs");
        let after = case.text().unwrap();
        assert!(!after.contains("h.example"), "{client}: {after}");
        assert!(after.contains(kept), "{client}: {after}");
        let entries = case.open().entries().unwrap();
        let docs = entries.iter().find(|entry| entry.name == "docs").unwrap();
        assert!(docs.is(&command()), "{client}: {after}");
        case.uninstall();
        assert_eq!(case.text().as_deref(), Some(*before), "{client}");
    }
    let tried: Vec<&str> = NATIVE.iter().map(|(client, ..)| *client).collect();
    let all: Vec<&str> = crate::clients::CLIENTS.iter().map(|it| it.name).collect();
    assert_eq!(tried, all, "a client without a case");
}

#[test]
fn helper_is_written_where_the_client_has_one_and_restored_to_the_byte() {
    let own = OwnEntry::Helper(HelperEntry::new(
        "http://127.0.0.1:1/mcp/own/docs",
        "/k headers own:docs",
    ));
    for (client, before, _) in NATIVE {
        let mut case = Case::new(client, Some(before));
        if case.client.helper.is_none() {
            continue;
        }
        let mut file = case.open();
        let patch = file.put("docs", &own).unwrap();
        let receipt = Receipt::new(&file, ("docs", &own), &patch);
        case.receipts.all.push(receipt);
        case.receipts.save().unwrap();
        file.write(false).unwrap();
        let text = case.text().unwrap();
        assert!(
            text.contains("elper") && text.contains("/mcp/own/docs"),
            "{text}"
        );
        case.uninstall();
        assert_eq!(case.text().as_deref(), Some(*before), "{client}");
    }
}

#[test]
fn entry_of_one_project_is_written_below_that_project() {
    let root = "/home/p/work";
    let keys = ["projects", root, "mcpServers"];
    for before in [
        "{\n  \"numStartups\": 1\n}\n",
        "{\n  \"projects\": {\n    \"/other\": {}\n  }\n}\n",
        "{\n  \"projects\": {\n    \"/home/p/work\": {\n      \"allowedTools\": [],\n      \"mcpServers\": {}\n    }\n  }\n}\n",
    ] {
        let mut case = Case::new("claude-code", Some(before));
        let mut file = case.open();
        file.turn_to(&keys);
        let patch = file.put("docs", &command()).unwrap();
        let receipt = Receipt::new(&file, ("docs", &command()), &patch);
        case.receipts.all.push(receipt);
        case.receipts.save().unwrap();
        file.write(false).unwrap();
        let value: serde_json::Value = serde_json::from_str(&case.text().unwrap()).unwrap();
        let entry = &value["projects"][root]["mcpServers"]["docs"];
        assert_eq!(entry["command"], "/opt/keyway", "{value}");
        let mut read = case.open();
        assert!(read.entries().unwrap().is_empty(), "it is not the user's");
        read.turn_to(&keys);
        assert_eq!(read.entries().unwrap().len(), 1);
        case.uninstall();
        assert_eq!(case.text().as_deref(), Some(before));
    }
}

#[test]
fn yaml_that_is_not_in_block_style_is_left_alone() {
    for before in [
        "extensions: {docs: {type: streamable_http, uri: https://h.example/mcp}}\n",
        "extensions: {}\n",
    ] {
        let case = Case::new("goose", Some(before));
        let error = case.open().put("docs", &command()).unwrap_err();
        assert!(matches!(error, InstallError::NoPlace { .. }), "{error}");
        assert_eq!(case.text().as_deref(), Some(before));
    }
}

#[test]
fn yaml_without_entries_gets_a_block_of_its_own() {
    for (client, before) in [
        ("goose", "GOOSE_MODEL: m\n"),
        ("goose", "GOOSE_MODEL: m"),
        ("continue", "name: mine\n"),
        (
            "goose",
            "extensions:\n  a:\n    type: builtin\n    enabled: true",
        ),
        (
            "continue",
            "mcpServers:\n- name: a\n  command: x\nmodels: []\n",
        ),
    ] {
        let mut case = Case::new(client, Some(before));
        case.install("docs");
        let entries = case.open().entries().unwrap();
        let docs = entries.iter().find(|entry| entry.name == "docs").unwrap();
        assert!(docs.is(&command()), "{:?}", case.text());
        case.uninstall();
        assert_eq!(case.text().as_deref(), Some(before));
    }
}
