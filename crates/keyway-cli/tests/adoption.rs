//! What other repositories take from this one: the pre-commit hooks and the GitHub action.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test whose fixture is broken must stop; the action's script is really run"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use keyway_config::dialect::FileScope;
use keyway_testkit::{Folder, Tools};
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a YAML file of the repository with Python's reader.
fn yaml(file: &str) -> Option<Value> {
    let tools = Tools::find(&["python/bin/python"])?;
    let program = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let read = Command::new(tools.at("python/bin/python"))
        .args(["-c", program])
        .arg(repository().join(file))
        .output();
    let output = read.unwrap();
    assert!(output.status.success(), "{file}: {}", shown(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn hooks_run_programs_that_are_there() {
    let Some(hooks) = yaml(".pre-commit-hooks.yaml") else {
        return;
    };
    for hook in hooks.as_array().unwrap() {
        let entry = hook["entry"].as_str().unwrap();
        match hook["language"].as_str().unwrap() {
            "script" => assert!(repository().join(entry).is_file(), "{entry}"),
            _ => assert_eq!(entry, "keyway check"),
        }
        assert_eq!(hook["files"], hooks[0]["files"]);
    }
    assert_eq!(hooks[0]["id"], "keyway-check");
}

/// The hook is offered the files that `keyway check` knows, and `pre-commit` matches as Python does.
#[test]
fn hooks_are_offered_every_hosts_file() {
    let Some(hooks) = yaml(".pre-commit-hooks.yaml") else {
        return;
    };
    let pattern = hooks[0]["files"].as_str().unwrap();
    let program = "import re, sys; sys.exit(0 if re.search(sys.argv[1], sys.argv[2]) else 1)";
    let matches = |path: &str| {
        let call = Command::new("python3")
            .args(["-c", program, pattern, path])
            .status();
        call.unwrap().success()
    };
    for dialect in keyway_config::dialect::DIALECTS {
        for file in dialect
            .files
            .iter()
            .filter(|file| file.scope == FileScope::Project)
        {
            let path = format!("a/{}", file.path.replace('*', "x"));
            assert!(matches(&path), "{path}");
        }
    }
    assert!(!matches("src/main.rs") && !matches("package.json"));
}

/// Serves a release on loopback: an archive that starts the program of this build, and its checksum.
struct Release {
    folder: Folder,
    url: String,
}

impl Release {
    fn new(version: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_keyway");
        let name = format!(
            "keyway-{version}-{}-unknown-linux-gnu",
            std::env::consts::ARCH
        );
        let script = format!("#!/bin/sh\nexec '{program}' \"$@\"\n");
        let folder = Folder::new().file(&format!("{name}/bin/keyway"), script);
        let packed = Command::new("sh")
            .args([
                "-ec",
                "chmod +x $0/bin/keyway; tar -cJf $0.tar.xz $0; sha256sum $0.tar.xz > SHA256SUMS",
                &name,
            ])
            .current_dir(folder.path())
            .status();
        assert!(packed.unwrap().success());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let root = folder.path().to_path_buf();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serve(&root, &mut stream.unwrap());
            }
        });
        Self { folder, url }
    }
}

/// Answers one request for a file.
fn serve(root: &Path, stream: &mut TcpStream) {
    let mut line = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    reader.read_line(&mut line).unwrap();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).unwrap() <= 2 {
            break;
        }
    }
    let path = line
        .split(' ')
        .nth(1)
        .unwrap_or("/")
        .trim_start_matches('/');
    let (status, body) = match std::fs::read(root.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body).unwrap();
}

fn fetch(release: &Release, into: &Folder, variables: &[(&str, &str)]) -> Output {
    Command::new(repository().join(".ci/fetch"))
        .arg(into.at("cache"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("KEYWAY_RELEASE_URL", &release.url)
        .env("KEYWAY_VERSION", "9.9.9")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn a_release_is_fetched_once_and_only_with_its_checksum() {
    let release = Release::new("9.9.9");
    let into = Folder::new();
    let wrong = fetch(&release, &into, &[("KEYWAY_SHA256", "00")]);
    assert!(!wrong.status.success());
    assert!(
        shown(&wrong.stderr).contains("the checksum of"),
        "{}",
        shown(&wrong.stderr)
    );
    assert!(shown(&wrong.stdout).is_empty());
    let missing = fetch(&release, &into, &[("KEYWAY_VERSION", "1.0.0")]);
    assert!(
        shown(&missing.stderr).contains("has no keyway-1.0.0-"),
        "{}",
        shown(&missing.stderr)
    );
    let nowhere = fetch(&release, &into, &[("KEYWAY_RELEASE_URL", "")]);
    assert!(shown(&nowhere.stderr).contains("release-url"));
    let fetched = fetch(&release, &into, &[]);
    assert!(fetched.status.success(), "{}", shown(&fetched.stderr));
    let program = format!("{}/keyway", shown(&fetched.stdout).trim());
    let version = Command::new(program).arg("--version").output().unwrap();
    assert!(shown(&version.stdout).starts_with("keyway "));
    // The second time nothing is asked for: the address leads nowhere.
    let again = fetch(
        &release,
        &into,
        &[("KEYWAY_RELEASE_URL", "http://127.0.0.1:9")],
    );
    assert!(again.status.success(), "{}", shown(&again.stderr));
    // A changed archive does not change the checksum that was pinned.
    let name = release
        .folder
        .files()
        .into_iter()
        .find(|it| it.ends_with(".tar.xz"))
        .unwrap();
    release.folder.put(&name, "something else");
    let changed = fetch(&release, &Folder::new(), &[]);
    assert!(!changed.status.success());
}

#[test]
fn the_hook_checks_the_files_it_is_given_with_a_released_program() {
    let release = Release::new("9.9.9");
    let folder = Folder::new().file(".cursor/mcp.json", r#"{"mcpServers": {"s": {}}}"#);
    let output = Command::new(repository().join(".ci/pre-commit"))
        .arg(".cursor/mcp.json")
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.path())
        .env("KEYWAY_RELEASE_URL", &release.url)
        .env("KEYWAY_VERSION", "9.9.9")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output.stderr));
    assert!(shown(&output.stdout).contains("invalid-entry"));
}

#[test]
fn the_job_for_gitlab_runs_as_it_stands() {
    let Some(template) = yaml("packaging/gitlab.yml") else {
        return;
    };
    let job = &template["keyway-check"];
    let release = Release::new("9.9.9");
    let folder = Folder::new().file(
        ".roo/mcp.json",
        r#"{"mcpServers": {"s": {"url": "https://h.example/mcp"}}}"#,
    );
    let lines = job["script"].as_array().unwrap().iter();
    let script: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
    let run = |url: &str, checksum: &str| {
        Command::new("sh")
            .args(["-ec", &script.join("\n")])
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", folder.path())
            .env("CI_PROJECT_DIR", folder.path())
            .env("KEYWAY_RELEASE_URL", url)
            .env("KEYWAY_VERSION", "9.9.9")
            .env("KEYWAY_SHA256", checksum)
            .output()
            .unwrap()
    };
    let wrong = run(&release.url, &"0".repeat(64));
    assert!(!wrong.status.success());
    assert!(!folder.at("keyway.sarif").exists(), "nothing was started");
    let sums = release.folder.read("SHA256SUMS");
    let listed = run(&release.url, "");
    assert_eq!(listed.status.code(), Some(1), "{}", shown(&listed.stderr));
    // The cache has it from now on: the address leads nowhere.
    let pinned = sums.split(' ').next().unwrap();
    let output = run("http://127.0.0.1:9", pinned);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output.stderr));
    assert!(
        shown(&output.stdout).contains(".roo/mcp.json"),
        "{}",
        shown(&output.stdout)
    );
    assert!(folder.read("keyway.sarif").contains("url-missing-type"));
}

/// Runs the action's last step as a runner does, with its inputs in variables.
fn run_action(folder: &Folder, inputs: [&str; 4]) -> Option<Output> {
    let action = yaml("action.yml")?;
    let steps = action.pointer("/runs/steps").unwrap();
    let step = steps.as_array().unwrap().last().unwrap();
    // As in bash 3.2, which runners of macOS have.
    let script = format!(
        "enable -n mapfile readarray\n{}",
        step["run"].as_str().unwrap()
    );
    let names = ["CHECK_PATH", "CHECK_STRICT", "CHECK_SARIF", "CHECK_SINCE"];
    assert_eq!(step["env"].as_object().unwrap().len(), names.len());
    let program = Path::new(env!("CARGO_BIN_EXE_keyway"));
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", path)
        .envs(names.into_iter().zip(inputs));
    Some(bash.output().unwrap())
}

#[test]
fn action_annotates_and_fails_on_errors_only() {
    let warned = r#"{"mcpServers": {"s": {"url": "https://h.example/mcp"}}}"#;
    let folder = Folder::new()
        .file("a b/mcp.json", warned)
        .file("c/.mcp.json", "{}");
    let Some(output) = run_action(&folder, ["a b\nc\n", "false", "", ""]) else {
        return;
    };
    assert!(output.status.success(), "{}", shown(&output.stderr));
    assert!(shown(&output.stdout).starts_with("::warning file=a b/mcp.json,"));
    let strict = run_action(&folder, ["a b", "true", "out.sarif", ""]).unwrap();
    assert_eq!(strict.status.code(), Some(1));
    assert!(shown(&strict.stdout).starts_with("::error file=a b/mcp.json,"));
    assert!(folder.read("out.sarif").contains("url-missing-type"));
    let missing = run_action(&folder, ["none", "false", "", ""]).unwrap();
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn action_shows_what_a_pull_request_introduces() {
    let entry =
        |name: &str| format!(r#""{name}": {{"type": "http", "url": "http://h.example/mcp"}}"#);
    let folder = Folder::new()
        .file(
            ".mcp.json",
            format!("{{\"mcpServers\": {{{}}}}}", entry("old")),
        )
        .repository(&[".mcp.json"]);
    let author = ["-c", "user.name=a", "-c", "user.email=a@h.example"];
    folder.git(&[&author[..], &["commit", "--quiet", "-m", "first"]].concat());
    let Some(same) = run_action(&folder, [".", "false", "", "HEAD"]) else {
        return;
    };
    assert!(same.status.success(), "{}", shown(&same.stderr));
    folder.put(
        ".mcp.json",
        format!("{{\"mcpServers\": {{{}, {}}}}}", entry("old"), entry("new")),
    );
    let more = run_action(&folder, [".", "false", "", "HEAD"]).unwrap();
    assert_eq!(more.status.code(), Some(1), "{}", shown(&more.stderr));
    assert_eq!(
        shown(&more.stdout).matches("::error").count(),
        1,
        "{}",
        shown(&more.stdout)
    );
}

/// The blocks that authors copy, in the order of the page: pre-commit, GitHub, GitLab.
fn blocks() -> Vec<String> {
    let page = std::fs::read_to_string(repository().join("docs/plugin-authors.md")).unwrap();
    let blocks = page.split("```yaml\n").skip(1);
    let blocks: Vec<String> = blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect();
    assert_eq!(blocks.len(), 3, "{blocks:?}");
    blocks
}

fn parsed(block: &str) -> Option<Value> {
    let folder = Folder::new().file("block.yaml", block);
    yaml(folder.at("block.yaml").to_str().unwrap())
}

const AUTHOR: [&str; 4] = ["-c", "user.name=a", "-c", "user.email=a@h.example"];

/// Below `KEYWAY_TOOLS`: the real pre-commit, as a module of this Python.
const PYTHON: &str = "python/bin/python";
const PRE_COMMIT: &str = "python/bin/pre-commit";

/// The real pre-commit runs the block; only the address in it is led to a copy of our repository.
#[test]
fn the_block_for_pre_commit_runs_as_it_stands() {
    let Some(tools) = Tools::find(&[PYTHON, PRE_COMMIT]) else {
        return;
    };
    let files = [
        ".pre-commit-hooks.yaml",
        ".ci/fetch",
        ".ci/pre-commit",
        "Cargo.toml",
    ];
    let text = |file: &str| std::fs::read_to_string(repository().join(file)).unwrap();
    let hooks = files
        .iter()
        .fold(Folder::new(), |all, file| match file.starts_with(".ci/") {
            true => all.executable(file, text(file)),
            false => all.file(file, text(file)),
        })
        .repository(&files);
    hooks.git(&[&AUTHOR[..], &["commit", "--quiet", "-m", "first"]].concat());
    let blocks = blocks();
    let rev = blocks[0].split("rev: ").nth(1).unwrap().lines().next();
    hooks.git(&["tag", rev.unwrap()]);
    let moved = format!(
        "[url \"file://{}\"]\n\tinsteadOf = https://example.com/keyway.git\n",
        hooks.path().display()
    );
    let home = Folder::new().file(".gitconfig", moved);
    let release = Release::new("9.9.9");
    let run = |entry: &str| {
        let folder = Folder::new()
            .file(".cursor/mcp.json", entry)
            .file("src/other.json", "{")
            .file(".pre-commit-config.yaml", &blocks[0])
            .repository(&[".cursor/mcp.json", "src/other.json"]);
        Command::new(tools.at(PYTHON))
            .args(["-m", "pre_commit", "run", "--all-files", "--verbose"])
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .env("PRE_COMMIT_HOME", home.at("pre-commit"))
            .env("KEYWAY_RELEASE_URL", &release.url)
            .env("KEYWAY_VERSION", "9.9.9")
            .output()
            .unwrap()
    };
    let bad = run(r#"{"mcpServers": {"s": {}}}"#);
    let said = shown(&bad.stdout);
    assert_eq!(bad.status.code(), Some(1), "{said}{}", shown(&bad.stderr));
    assert!(said.contains("error[invalid-entry]"), "{said}");
    assert!(said.contains(".cursor/mcp.json:1:"), "{said}");
    let good = run(r#"{"mcpServers": {"s": {"url": "https://h.example/mcp"}}}"#);
    let said = shown(&good.stdout);
    assert_eq!(good.status.code(), Some(0), "{said}{}", shown(&good.stderr));
    assert!(said.contains("Passed"), "{said}");
}

/// Every step of the action runs with the inputs of the block, as a runner would pass them; the
/// release comes from loopback.
#[test]
fn the_block_for_github_runs_as_it_stands() {
    let Some(action) = yaml("action.yml") else {
        return;
    };
    let step = parsed(&blocks()[1]).unwrap();
    let version = step.pointer("/0/with/version").unwrap().as_str().unwrap();
    let release = Release::new(version);
    let folder = Folder::new().file(".roo/mcp.json", r#"{"mcpServers": {"s": {"url": "u"}}}"#);
    let with = step.pointer("/0/with").and_then(Value::as_object).unwrap();
    for key in with.keys() {
        assert!(action["inputs"].get(key).is_some(), "{key}");
    }
    let input = |name: &str| match name {
        "release-url" => release.url.clone(),
        // Not a pull request.
        "since" => String::new(),
        name => {
            let default = &action["inputs"][name]["default"];
            let value = with.get(name).unwrap_or(default);
            value.as_str().unwrap().to_owned()
        }
    };
    let filled = |text: &str| match text.trim_start_matches("${{ ").trim_end_matches(" }}") {
        "github.action_path" => repository().display().to_string(),
        name => input(name.strip_prefix("inputs.").unwrap()),
    };
    let mut path = "/usr/bin:/bin".to_owned();
    let mut codes = Vec::new();
    for step in action.pointer("/runs/steps").unwrap().as_array().unwrap() {
        let variables = step["env"].as_object().unwrap().iter();
        let variables = variables.map(|(name, text)| (name, filled(text.as_str().unwrap())));
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c"])
            .arg(step["run"].as_str().unwrap())
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", &path)
            .env("RUNNER_TEMP", folder.at("temp"))
            .env("GITHUB_PATH", folder.at("path.txt"))
            .envs(variables)
            .output()
            .unwrap();
        codes.push((output.status.code(), shown(&output.stdout)));
        path = format!("{}:{path}", folder.read("path.txt").trim());
    }
    assert_eq!(codes[0].0, Some(0), "{codes:?}");
    assert_eq!(codes[1].0, Some(1), "{codes:?}");
    assert!(
        codes[1].1.contains("::error file=.roo/mcp.json"),
        "{codes:?}"
    );
    assert!(folder.read("keyway.sarif").contains("\"2.1.0\""));
}

/// The block for GitLab includes our template and sets variables that its job reads.
#[test]
fn the_block_for_gitlab_sets_what_the_job_reads() {
    let (Some(block), Some(template)) = (parsed(&blocks()[2]), yaml("packaging/gitlab.yml")) else {
        return;
    };
    let included = block.pointer("/include/0/remote").unwrap();
    assert!(
        included
            .as_str()
            .unwrap()
            .ends_with("/packaging/gitlab.yml")
    );
    for name in block["keyway-check"]["variables"]
        .as_object()
        .unwrap()
        .keys()
    {
        let known = &template["keyway-check"]["variables"][name];
        assert!(known.is_string(), "{name}");
    }
}
