//! The reference server inside of a bundle, with all that it depends on, as the official packer packs it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use keyway_testkit::Folder;
use keyway_testkit::bundle::{Member, archive};
use serde_json::{Value, json};

use crate::tools::{Tools, keyway};

const EVERYTHING: &str = "@modelcontextprotocol/server-everything";
const PACKER: &str = "@anthropic-ai/mcpb@2.1.2";

#[test]
fn a_bundle_of_the_official_packer_starts_after_one_approval() {
    let Some(tools) = Tools::find(&[&format!("npm/node_modules/{EVERYTHING}/package.json")]) else {
        return;
    };
    let folder = Folder::new();
    let manifest = json!({
        "manifest_version": "0.3", "name": "everything", "version": "1.0.0", "description": "All of it",
        "author": {"name": "someone"},
        "server": {
            "type": "node", "entry_point": "server/index.js",
            "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js", "stdio"]},
        },
    });
    let index = format!("import '{EVERYTHING}/dist/index.js';\n");
    folder.put("unpacked/manifest.json", manifest.to_string());
    folder.put("unpacked/package.json", r#"{"type": "module"}"#);
    folder.put("unpacked/server/index.js", index);
    let modules = folder.at("unpacked/node_modules");
    copy_with_dependencies(Path::new(&tools.modules()), &modules);
    let packed = Command::new("npx")
        .args(["-y", PACKER, "pack", "unpacked", "everything.mcpb"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(packed.status.success(), "{packed:?}");
    let config = ["--config", "everything.mcpb"];
    let call = |words: &[&str]| {
        keyway(&folder)
            .args(words.iter().chain(&config).copied())
            .run()
    };
    let granted = call(&["trust", "grant", "everything"]);
    assert_eq!(granted.code, 0, "{}", granted.everything());
    for _ in 0..2 {
        let sum = call(&["call", "everything", "get-sum", "a=1", "b=2"]);
        assert!(sum.stdout.contains('3'), "{}", sum.everything());
    }
}

#[test]
fn a_bundle_of_type_uv_starts_with_and_without_a_lock_file() {
    let Some(tools) = Tools::find(&[UV]) else {
        return;
    };
    let manifest = json!({
        "manifest_version": "0.4", "name": "u", "version": "1.0.0", "description": "d",
        "author": {"name": "a"}, "server": {"type": "uv", "entry_point": "src/server.py"},
    });
    let project = "[project]\nname = \"u\"\nversion = \"1\"\nrequires-python = \">=3.9\"\ndependencies = []\n";
    let lock = "version = 1\nrevision = 3\nrequires-python = \">=3.9\"\n\n\
        [[package]]\nname = \"u\"\nversion = \"1\"\nsource = { virtual = \".\" }\n";
    let plain = vec![
        Member::file("manifest.json", manifest.to_string()),
        Member::file("pyproject.toml", project),
        Member::file("src/server.py", UV_SERVER),
    ];
    let locked = [plain.clone(), vec![Member::file("uv.lock", lock)]].concat();
    for members in [plain, locked] {
        let folder = Folder::new().file("u.mcpb", archive(&members));
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", tools.at("python/bin"));
        let call = |words: &[&str]| {
            let words = words.iter().chain(&["--config", "u.mcpb"]).copied();
            keyway(&folder).env("PATH", &path).args(words).run()
        };
        let granted = call(&["trust", "grant", "u"]);
        assert_eq!(granted.code, 0, "{}", granted.everything());
        for _ in 0..2 {
            let listed = call(&["tools", "u"]);
            assert!(listed.stdout.contains("by-uv"), "{}", listed.everything());
        }
    }
}

const UV: &str = "python/bin/uv";

const UV_SERVER: &str = r#"import json, sys
for line in sys.stdin:
    message = json.loads(line)
    answers = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "u", "version": "1"}},
        "tools/list": {"tools": [{"name": "by-uv", "inputSchema": {"type": "object"}}]},
    }
    if "id" in message:
        result = answers.get(message["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Copies a package and what it needs, each as it is found from the top.
fn copy_with_dependencies(from: &Path, to: &Path) {
    let (mut waiting, mut known) = (vec![EVERYTHING.to_owned()], BTreeSet::new());
    while let Some(name) = waiting.pop() {
        if !known.insert(name.clone()) || !from.join(&name).is_dir() {
            continue;
        }
        let target = to.join(&name);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        let copied = Command::new("cp")
            .arg("-RL")
            .args([from.join(&name), target])
            .status();
        assert!(copied.unwrap().success(), "{name}");
        let package = std::fs::read(from.join(&name).join("package.json")).unwrap();
        let package: Value = serde_json::from_slice(&package).unwrap();
        for kind in ["dependencies", "peerDependencies"] {
            let needed = package[kind].as_object().into_iter().flatten();
            waiting.extend(needed.map(|(name, _)| name.clone()));
        }
    }
}
