use keyway_config::document::DocumentKind;
use keyway_config::environment::Variables;
use keyway_config::source::Source;
use keyway_vault::{Folders, KeySources, Vault};

use super::*;

struct Place {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("plugin");
        std::fs::create_dir(&root).unwrap();
        let root = root.canonicalize().unwrap();
        Self { folder, root }
    }

    fn file(&self, name: &str, text: &str) {
        crate::write::create(&self.root.join(name), text.as_bytes(), 0o755).unwrap();
    }

    fn ask(&self, fields: &str) -> Option<Question> {
        let text = format!("{{\"mcpServers\": {{\"s\": {{{fields}}}}}}}");
        let document = Document::parse(
            Source::new(".mcp.json", text.as_bytes()),
            DocumentKind::Entries,
        );
        let host = HostVariables {
            plugin_root: self.root.clone(),
            ..HostVariables::default()
        };
        let variables = Variables::from_pairs([("BASE", "https://own.example/v1")]);
        let around = EntryContext {
            plugin: "p",
            root: &self.root,
            document: &document,
            host: &host,
        };
        let server = document.servers().next().unwrap();
        Question::about(server, around, &Scope::new(&host, &variables))
    }
}

#[test]
fn an_entry_that_runs_nothing_and_sends_no_variable_needs_no_approval() {
    let place = Place::new();
    assert!(
        place
            .ask(r#""type": "http", "url": "https://h.example/mcp""#)
            .is_none()
    );
    assert!(
        place
            .ask(r#""type": "http", "url": "https://h.example/mcp", "headers": {"X-A": "1"}"#)
            .is_none()
    );
}

#[test]
fn the_question_shows_the_whole_command_and_where_each_variable_goes() {
    let place = Place::new();
    let question = place
        .ask(r#""command": "${HOST_PLUGIN_ROOT}/run", "args": ["--to", "a b", "${A}"], "env": {"B": "${C}"}"#)
        .unwrap();
    let root = place.root.display();
    assert_eq!(
        question.runs.unwrap(),
        format!("{root}/run --to 'a b' ${{A}}")
    );
    let sends: Vec<_> = question
        .sends
        .iter()
        .map(|s| (s.variable.as_str(), s.to.as_str()))
        .collect();
    assert_eq!(
        sends,
        [("A", "the server process"), ("C", "the server process")]
    );
    let remote = place
        .ask(r#""type": "http", "url": "${BASE}/mcp", "headers": {"Authorization": "Bearer ${T}"}"#)
        .unwrap();
    let sends: Vec<_> = remote
        .sends
        .iter()
        .map(|s| (s.variable.as_str(), s.to.as_str()))
        .collect();
    assert_eq!(
        sends,
        [
            ("BASE", "https://own.example"),
            ("T", "https://own.example")
        ]
    );
}

#[test]
fn a_setting_that_weakens_a_default_is_named() {
    let place = Place::new();
    let fields =
        r#""type": "http", "url": "https://h.example/mcp", "oauth": {"pkce": "assume-s256"}"#;
    assert_eq!(place.ask(fields).unwrap().weakens, ["pkce = assume-s256"]);
}

/// Threat D10: the approval is bound to content, not to a name.
#[test]
fn d10_one_changed_argument_or_script_byte_asks_again() {
    let place = Place::new();
    place.file("run.sh", "echo 1");
    let fields = r#""command": "sh", "args": ["run.sh", "x"]"#;
    let first = place.ask(fields).unwrap().digest;
    assert_eq!(place.ask(fields).unwrap().digest, first);
    assert_ne!(
        place
            .ask(r#""command": "sh", "args": ["run.sh", "y"]"#)
            .unwrap()
            .digest,
        first
    );
    std::fs::remove_file(place.root.join("run.sh")).unwrap();
    place.file("run.sh", "echo 2");
    assert_ne!(place.ask(fields).unwrap().digest, first);
}

/// Threat D11: what runs is looked at again and again.
#[test]
fn d11_a_file_that_changes_appears_or_goes_away_is_named() {
    let place = Place::new();
    place.file("run.sh", "echo 1");
    std::fs::create_dir(place.root.join("sub")).unwrap();
    let fields =
        r#""command": "sh", "args": ["run.sh", "--file=other.sh", "inner.sh"], "cwd": "sub""#;
    let question = place.ask(fields).unwrap();
    let verify = || question.files.verify();
    assert_eq!(verify(), Ok(()));
    for file in ["other.sh", "sub/inner.sh"] {
        place.file(file, "x");
        assert_eq!(verify(), Err(file.to_owned()), "appeared");
        assert_ne!(place.ask(fields).unwrap().digest, question.digest, "{file}");
        std::fs::remove_file(place.root.join(file)).unwrap();
        assert_eq!(verify(), Ok(()));
    }
    std::fs::remove_file(place.root.join("run.sh")).unwrap();
    assert_eq!(verify(), Err("run.sh".to_owned()), "gone");
    place.file("run.sh", "echo 2");
    assert_eq!(verify(), Err("run.sh".to_owned()), "changed");
    std::fs::remove_file(place.root.join("run.sh")).unwrap();
    place.file("run.sh", "echo 1");
    assert_eq!(verify(), Ok(()));
}

/// Nobody has agreed to it when its files are read.
#[test]
fn what_is_too_large_is_not_read_and_cannot_be_approved() {
    let place = Place::new();
    place.file("run.sh", "echo 1");
    place.file("large", "");
    let large = std::fs::File::options()
        .write(true)
        .open(place.root.join("large"))
        .unwrap();
    let fields = r#""command": "sh", "args": ["run.sh", "large"]"#;
    let small = place.ask(fields).unwrap();
    assert!(!small.files.are_too_large());
    large.set_len(1 << 40).unwrap();
    let question = place.ask(fields).unwrap();
    assert!(question.files.are_too_large());
    assert_ne!(question.digest, small.digest);
    assert_eq!(question.files.paths().count(), 2);
    assert_eq!(question.files.verify(), Ok(()));
    assert!(small.files.verify().is_err());
    let folders = Folders::below(place.folder.path().join("kw"));
    let vault = Vault::open(&folders, KeySources::default()).unwrap();
    let ledger = Ledger::new(&vault, "default").unwrap();
    assert!(!ledger.approve(&question).unwrap());
    assert!(ledger.find(&place.root, "s").unwrap().is_none());
    assert!(ledger.approve(&small).unwrap());
}

#[test]
fn an_approval_is_found_until_it_is_revoked_and_grants_survive_a_new_one() {
    let place = Place::new();
    let vault = Vault::open(
        &Folders::below(place.folder.path().join("kw")),
        KeySources::default(),
    )
    .unwrap();
    let ledger = Ledger::new(&vault, "default").unwrap();
    let question = place.ask(r#""command": "node""#).unwrap();
    assert!(!ledger.grant(&place.root, "s", "X").unwrap());
    assert!(ledger.approve(&question).unwrap());
    assert!(ledger.grant(&place.root, "s", "X").unwrap());
    let changed = place.ask(r#""command": "deno""#).unwrap();
    let found = ledger.find(&place.root, "s").unwrap().unwrap();
    assert!(found.covers(&question.digest) && !found.covers(&changed.digest));
    assert!(ledger.approve(&changed).unwrap());
    let found = ledger.find(&place.root, "s").unwrap().unwrap();
    assert!(found.covers(&changed.digest));
    assert_eq!(found.grants, ["X"]);
    assert_eq!(ledger.list().unwrap().len(), 1);
    assert!(ledger.revoke(&place.root, "s").unwrap());
    assert!(ledger.find(&place.root, "s").unwrap().is_none());
}
