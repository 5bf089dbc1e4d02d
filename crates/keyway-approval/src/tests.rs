#![expect(
    clippy::disallowed_methods,
    reason = "files of a fresh temporary folder, written as any program would"
)]

mod covered;
mod decisions;
mod paths;
mod shared;

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Mutex;
use std::time::Duration;

use keyway_config::document::{Document, DocumentKind};
use keyway_config::environment::{Environment, Origin, Variables};
use keyway_config::source::Source;
use keyway_secret::Secret;
use keyway_store::StoreError;
use keyway_vault::{Folders, KeySources, Vault};

use crate::confinement::SandboxProfile;
use crate::*;

/// A plugin on disk, what surrounds it, and what was approved of it.
struct Place {
    folder: tempfile::TempDir,
    root: PathBuf,
    home: Option<PathBuf>,
    person: Vec<(String, String)>,
    plugin: Vec<(String, String)>,
    /// What the plugin's files say where the person gave no value.
    defaults: BTreeMap<String, String>,
    project: PathBuf,
    confinement: Confinement,
    store: MemoryStore,
    now: SystemTime,
}

/// The person's variables above those of the plugin's own file.
struct Sources2(Variables, Variables);

impl Environment for Sources2 {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        self.0.get(name).or_else(|| self.1.get(name))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn origin_of(&self, name: &str) -> Option<Origin> {
        let of_plugin = || self.1.get(name).map(|_| Origin::Plugin);
        self.0.get(name).map(|_| Origin::Process).or_else(of_plugin)
    }
}

#[derive(Debug, Default)]
struct MemoryStore {
    approvals: Mutex<HashMap<String, Approval>>,
    files: Mutex<HashMap<String, Manifest>>,
}

/// Answers as a person does who agrees.
fn yes(question: &Question) -> Agreement {
    question.dangerous_answer(Answer::Yes).unwrap()
}

impl ApprovalStore for MemoryStore {
    fn find(&self, _: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        Ok(self.approvals.lock().unwrap().get(server).cloned())
    }

    fn approve(&self, agreement: &Agreement) -> Result<(), StoreError> {
        let question = agreement.question();
        let mut all = self.approvals.lock().unwrap();
        let before = all.remove(&question.server);
        // Through the bytes, as every store does.
        let approval = Approval::beside(question, before);
        let read = Approval::from_bytes(&approval.to_bytes()).unwrap();
        assert_eq!(read.to_bytes(), approval.to_bytes());
        all.insert(question.server.clone(), read);
        if let Some(manifest) = question.files.manifest() {
            let read = Manifest::from_bytes(&manifest.to_bytes()).unwrap();
            let mut files = self.files.lock().unwrap();
            files.insert(question.server.clone(), read);
        }
        Ok(())
    }

    fn find_files(&self, _: &Path, server: &str) -> Result<Option<Manifest>, StoreError> {
        Ok(self.files.lock().unwrap().get(server).cloned())
    }
}

impl Place {
    fn new() -> Self {
        // Beside the test itself, which is on a disk where the folder of temporary files may not be.
        let test = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(test.parent().unwrap()).unwrap();
        // Like the folder of temporary files: what is beside the plugin can change, also for root.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let root = folder.path().canonicalize().unwrap().join("plugin");
        std::fs::create_dir(&root).unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 33);
        Self {
            root,
            folder,
            home: None,
            person: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            plugin: Vec::new(),
            defaults: BTreeMap::new(),
            project: "/project".into(),
            confinement: Confinement::default(),
            store: MemoryStore::default(),
            now,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        drop(std::fs::remove_file(&path));
        let mut create = std::fs::OpenOptions::new();
        let create = create.write(true).create_new(true).mode(0o755);
        create
            .open(&path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    /// A folder of programs beside the plugin.
    fn programs(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("bin")
    }

    /// Installs the program `prog`, as another file.
    fn program_outside(&self, text: &str) {
        let folder = self.programs();
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("prog");
        drop(std::fs::remove_file(&program));
        std::fs::write(&program, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
    }

    fn person(&mut self, name: &str, value: &str) {
        self.person.retain(|(own, _)| own != name);
        self.person.push((name.to_owned(), value.to_owned()));
    }

    fn plugin(&mut self, name: &str, value: &str) {
        self.plugin.retain(|(own, _)| own != name);
        self.plugin.push((name.to_owned(), value.to_owned()));
    }

    fn try_ask(&self, fields: &str) -> Option<Question> {
        let text = format!("{{\"mcpServers\": {{\"s\": {{{fields}}}}}}}");
        let source = Source::new(".mcp.json", text.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let host = HostVariables {
            plugin_root: self.root.clone(),
            plugin_data: self.folder.path().canonicalize().unwrap().join("data"),
            project_dir: self.project.clone(),
            program_folders: self.folder.path().canonicalize().unwrap().join("programs"),
            defaults: self.defaults.clone(),
            ..HostVariables::default()
        };
        let pairs = |pairs: &[(String, String)]| Variables::from_pairs(pairs.iter().cloned());
        let variables = Sources2(pairs(&self.person), pairs(&self.plugin));
        let context = EntryContext {
            plugin: "p",
            root: &self.root,
            unpacked: None,
            host: &host,
            home: self.home.as_deref(),
            skipped: &[self.at("keyway")],
            confinement: &self.confinement,
            store: Some(&self.store),
            now: self.now,
        };
        let server = document.servers().next().unwrap();
        Question::about(server, context, &Scope::new(&host, &variables))
    }

    fn ask(&self, fields: &str) -> Question {
        self.try_ask(fields).unwrap()
    }

    fn approve(&self, fields: &str) {
        self.store.approve(&yes(&self.ask(fields))).unwrap();
        assert!(self.is_approved(fields), "{fields}");
    }

    fn is_approved(&self, fields: &str) -> bool {
        let question = self.ask(fields);
        let approval = self.store.find(&self.root, "s").unwrap();
        approval.is_some_and(|approval| approval.covers(&question.digest))
    }

    fn changes(&self, fields: &str) -> Vec<String> {
        let question = self.ask(fields).compared_with(&self.store);
        question.changes.unwrap().lines()
    }
}

#[test]
fn an_entry_that_runs_nothing_and_sends_no_variable_needs_no_approval() {
    let place = Place::new();
    for fields in [
        r#""type": "http", "url": "https://h.example/mcp""#,
        r#""type": "http", "url": "https://h.example/mcp", "headers": {"X-A": "1"}"#,
        r#""type": "http", "url": "https://h.example/mcp", "oauth": {"clientId": "c",
           "authorizationUrl": "https://a.example/a", "tokenUrl": "https://a.example/t"}"#,
    ] {
        assert!(place.try_ask(fields).is_none(), "{fields}");
    }
}

/// Threat E5, one row per line: what runs changes after the approval.
#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one row for each line of the threat, no nesting"
)]
fn e05_whatever_decides_what_runs_asks_again() {
    type Change = fn(&mut Place);
    let rows: &[(&str, Change, Change)] = &[
        (
            r#""command": "sh", "args": ["${SCRIPT:-server.sh}"]"#,
            |place| place.file("server.sh", "1"),
            |place| place.file("server.sh", "2"),
        ),
        (
            r#""command": "${RUNNER}", "args": ["${SCRIPT}"], "envFile": "cfg.env""#,
            |place| {
                place.plugin("RUNNER", "sh");
                place.plugin("SCRIPT", "x");
            },
            |place| place.plugin("RUNNER", "./evil.sh"),
        ),
        (
            r#""command": "prog", "args": ["--mode", "${MODE}"], "envFile": "cfg.env""#,
            |place| place.plugin("MODE", "safe"),
            |place| place.plugin("MODE", "--eval=evil"),
        ),
        (
            r#""command": "./run""#,
            |place| {
                let outside = place.folder.path().join("one");
                std::fs::write(&outside, "1").unwrap();
                std::os::unix::fs::symlink(outside, place.at("run")).unwrap();
            },
            |place| {
                let outside = place.folder.path().join("other");
                std::fs::write(&outside, "1").unwrap();
                std::fs::remove_file(place.at("run")).unwrap();
                std::os::unix::fs::symlink(outside, place.at("run")).unwrap();
            },
        ),
        (
            r#""command": "./run""#,
            |place| {
                let outside = place.folder.path().join("one");
                std::fs::write(&outside, "1").unwrap();
                std::os::unix::fs::symlink(outside, place.at("run")).unwrap();
            },
            |place| std::fs::write(place.folder.path().join("one"), "2").unwrap(),
        ),
        (
            r#""command": "node", "args": ["."]"#,
            |place| place.file("lib/inner.js", "1"),
            |place| place.file("lib/inner.js", "2"),
        ),
        (
            r#""command": "python3", "args": ["-m", "pkg"]"#,
            |place| place.file("pkg/__main__.py", "1"),
            |place| place.file("pkg/__main__.py", "2"),
        ),
        (
            r#""command": "git", "env": {"PATH": "${HOST_PLUGIN_ROOT}/bin:${PATH}"}"#,
            |place| place.file("bin/git", "1"),
            |place| place.file("bin/git", "2"),
        ),
        (
            r#""command": "npx", "args": ["-y", "server"], "cwd": ".""#,
            |place| place.file("package.json", "{}"),
            |place| place.file(".npmrc", "registry=http://127.0.0.1:9/"),
        ),
        (
            r#""command": "bunx", "args": ["server"], "cwd": ".""#,
            |_| {},
            |place| place.file("bunfig.toml", "preload = [\"./evil.ts\"]"),
        ),
        (
            r#""command": "uvx", "args": ["server"], "cwd": ".""#,
            |_| {},
            |place| place.file("uv.toml", "index-url = \"http://127.0.0.1:9/\""),
        ),
        (
            r#""command": "uv", "args": ["run", "server"]"#,
            |place| place.file("pyproject.toml", "[project]\nname = \"p\""),
            |place| place.file("pyproject.toml", "[project]\nname = \"p\"\n[tool.uv]"),
        ),
        (
            r#""command": "python3", "args": ["-m", "pip", "install", "server"]"#,
            |_| {},
            |place| place.file("pip.conf", "[global]\nindex-url = http://127.0.0.1:9/"),
        ),
        (
            r#""command": "npm", "args": ["start"]"#,
            |place| place.file("package.json", r#"{"scripts": {"start": "node ."}}"#),
            |place| place.file("package.json", r#"{"scripts": {"start": "evil"}}"#),
        ),
        // The entry says where programs are looked for: so their content is its own affair.
        (
            r#""command": "prog", "env": {"PATH": "${PROGRAMS}:/usr/bin"}"#,
            |place| {
                place.person("PROGRAMS", place.programs().to_str().unwrap());
                place.program_outside("1");
            },
            |place| place.program_outside("2"),
        ),
        (
            r#""command": "sh", "args": ["run.sh"]"#,
            |place| place.file("run.sh", "1"),
            |place| place.file("imported.sh", "1"),
        ),
        (
            r#""command": "sh", "args": ["run.sh"]"#,
            |place| {
                place.file("run.sh", "1");
                let outside = place.folder.path().join("library");
                std::fs::create_dir(&outside).unwrap();
                std::os::unix::fs::symlink(outside, place.at("library")).unwrap();
            },
            |place| std::fs::write(place.folder.path().join("library/a.sh"), "1").unwrap(),
        ),
        (
            r#""type": "http", "url": "https://h.example", "headersHelper": "./helper.sh""#,
            |place| place.file("helper.sh", "1"),
            |place| place.file("library.sh", "1"),
        ),
        // A package's own folder is no plugin's; what configures its runner there counts.
        (
            r#""command": "npx", "args": ["-y", "server"]"#,
            |_| {},
            |place| place.file("../programs/.npmrc", "registry=http://127.0.0.1:9/"),
        ),
        (
            r#""command": "sh", "args": ["run.sh"]"#,
            |place| place.file("lib/tool", "1"),
            |place| {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
                std::fs::set_permissions(place.at("lib/tool"), mode).unwrap();
            },
        ),
        // A link into what is left out of the tree.
        (
            r#""command": "sh", "args": ["run.sh"]"#,
            |place| {
                place.file("keyway/x.sh", "1");
                std::os::unix::fs::symlink("keyway/x.sh", place.at("x.sh")).unwrap();
            },
            |place| place.file("keyway/x.sh", "2"),
        ),
        (
            r#""command": "sh", "args": ["run.sh"]"#,
            |_| {},
            |place| place.confinement.profile = SandboxProfile::Off,
        ),
    ];
    for (fields, before, after) in rows {
        let mut place = Place::new();
        before(&mut place);
        place.approve(fields);
        after(&mut place);
        assert!(!place.is_approved(fields), "{fields}");
        assert!(!place.changes(fields).is_empty());
    }
}

/// A program outside of the plugin counts by its content where the entry decides which one it is, and
/// by its name alone where it does not: then an upgraded interpreter needs no new approval.
#[test]
fn e05_a_program_outside_that_changed_is_named_where_it_counts() {
    let place = Place::new();
    let outside = place.folder.path().canonicalize().unwrap().join("outside");
    let tool = outside.join("tool");
    let write = |text: &str| {
        std::fs::create_dir_all(&outside).unwrap();
        drop(std::fs::remove_file(&tool));
        let mut create = std::fs::OpenOptions::new();
        let create = create.write(true).create_new(true).mode(0o755);
        let mut file = create.open(&tool).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    write("1");
    place.file("../data/settings.json", "{}");
    let entry = format!(
        r#""command": "tool", "args": ["${{HOST_PLUGIN_DATA}}/settings.json"],
           "env": {{"PATH": "{}:/usr/bin"}}"#,
        outside.display()
    );
    place.approve(&entry);
    write("2");
    assert!(!place.is_approved(&entry));
    let line = format!("~ {} (changed)", tool.display());
    assert_eq!(place.changes(&entry), [line]);

    let mut place = Place::new();
    place.person("PATH", &format!("{}:/usr/bin", outside.display()));
    let entry = r#""command": "tool""#;
    place.approve(entry);
    write("3");
    assert!(place.is_approved(entry));
}

/// What stands first may have left the screen when the question is asked.
#[test]
fn e07_a_page_that_fills_the_screen_says_how_much_there_is_to_read() {
    let place = Place::new();
    let short = place.ask(r#""command": "sh", "args": ["-c", "evil"]"#);
    let one = std::slice::from_ref(&short);
    assert_eq!(Question::page(one), short.to_string());
    let filler = "x".repeat(9000);
    let long = place.ask(&format!(r#""command": "true", "args": ["{filler}"]"#));
    let page = Question::page(&[short.clone(), long]);
    assert!(page.starts_with(&short.to_string()), "{page}");
    let last = page.lines().last().unwrap();
    assert!(
        last.contains("rows, and 1 lines of it are marked"),
        "{last}"
    );
    let rows = |values: &[String]| {
        let mut question = short.clone();
        question.source = "/plugin".into();
        let facts = values.iter();
        question.facts = facts
            .map(|it| Fact::new(FactKind::Files, "", it.as_str()))
            .collect();
        let page = Question::page(&[question]);
        let (_, note) = page.split_once("The above takes ")?;
        note.split(' ').next()?.parse::<usize>().ok()
    };
    let mut values = vec!["x".to_owned(); 98];
    assert_eq!(rows(&values), None, "with its heading and the digest 100");
    values.push("x".repeat(200));
    assert_eq!(rows(&values), Some(103), "a long line takes several");
}

/// A terminal shows twenty files and says how the others are listed; nothing is left out there.
#[test]
fn every_file_that_changed_is_listed_for_programs() {
    let place = Place::new();
    let fields = r#""command": "sh", "args": ["run.sh"]"#;
    place.file("run.sh", "1");
    place.approve(fields);
    for number in 0..30 {
        place.file(&format!("new/{number:02}"), "1");
    }
    let question = place.ask(fields).compared_with(&place.store);
    let text = question.to_string();
    assert!(text.contains("    ~ new/19 (new)\n"), "{text}");
    assert!(!text.contains("new/20"), "{text}");
    let rest = "    ~ and 10 more files (`keyway status --format json` lists all)\n";
    assert!(text.contains(rest), "{text}");
    let listed = question.to_json()["changes"].to_string();
    assert!(
        listed.contains("new/20") && listed.contains("new/29"),
        "{listed}"
    );
    assert!(!listed.contains("more files"), "{listed}");
}

/// The answer `confined` approves the same entry with confined programs, and nothing else.
#[test]
fn a_confined_answer_approves_confined_programs_alone_and_stays() {
    let mut place = Place::new();
    let fields = r#""command": "node", "args": ["server.js"]"#;
    place.file("server.js", "1");
    let question = place.ask(fields);
    assert!(question.dangerous_answer(Answer::No).is_none());
    let agreed = question.dangerous_answer(Answer::Confined).unwrap();
    assert_ne!(agreed.question().digest, question.digest);
    let again = agreed.question().confined();
    assert!(again.is_none(), "it is confined already");
    place.store.approve(&agreed).unwrap();
    assert!(!place.is_approved(fields), "only confined");
    place.confinement.profile = SandboxProfile::Confine;
    assert!(place.is_approved(fields), "{:?}", place.changes(fields));
    let is_confined = |place: &Place| {
        place
            .store
            .find(&place.root, "s")
            .unwrap()
            .unwrap()
            .confined
    };
    assert!(is_confined(&place));
    place.file("server.js", "2");
    place.approve(fields);
    assert!(is_confined(&place), "asked again, it stays confined");
    // Confined by the settings alone: another default later is another question.
    let other = Place::new();
    other.approve(fields);
    assert!(!is_confined(&other));
}

#[test]
fn an_entry_without_a_program_has_nothing_to_confine() {
    let place = Place::new();
    let fields = r#""type": "http", "url": "https://h.example/", "headers": {"X-A": "${A}"}"#;
    let question = place.ask(fields);
    assert!(question.confined().is_none());
    let agreed = question.dangerous_answer(Answer::Confined).unwrap();
    let agreed = agreed.question();
    assert_eq!(agreed.digest, question.digest);
    assert!(!Approval::of(agreed).confined);
}

/// What is in force is shown beside what is approved, and is no part of it.
#[test]
fn e13_missing_isolation_is_shown_with_a_mark_and_not_counted() {
    let place = Place::new();
    let question = place.ask(r#""command": "node""#);
    let digest = question.digest;
    let complete = question
        .clone()
        .protected_by(Some(Protection::new("all of it", true)));
    assert!(
        complete
            .to_string()
            .contains("            here: all of it\n")
    );
    let reduced = question.protected_by(Some(Protection::new("not isolated", false)));
    assert!(
        reduced
            .to_string()
            .contains("            !! here: not isolated\n")
    );
    let text = complete.to_string();
    assert_eq!(text.matches("here:").count(), 1, "{text}");
    let (before, _) = text.split_once("\n            here:").unwrap();
    let above = before.lines().last().unwrap();
    assert!(above.starts_with("  isolation "), "{text}");
    assert_eq!([complete.digest, reduced.digest], [digest; 2]);
}

/// A change of what is the person's own, or the system's, needs no new approval.
#[test]
fn e05_rotation_another_path_order_and_a_second_client_need_no_new_approval() {
    type Change = fn(&mut Place);
    let run = r#""command": "node", "args": ["server.js", "--token", "${API_TOKEN}"],
                 "env": {"KEY": "${API_KEY}", "PATH": "${PATH}"}, "cwd": "${HOST_PROJECT_DIR}",
                 "envFile": ".env""#;
    let found = r#""command": "prog", "args": ["server.js"]"#;
    let header = r#""type": "http", "url": "https://h.example/${WORKSPACE}",
                    "headers": {"Authorization": "Bearer ${API_TOKEN}", "X-Tenant": "${TENANT}"},
                    "envFile": ".env""#;
    let rows: &[(&str, Change)] = &[
        (run, |place| place.person("API_TOKEN", "another")),
        (run, |place| place.person("API_KEY", "another")),
        (run, |place| place.person("PATH", "/bin:/usr/bin:/opt/bin")),
        (run, |place| place.file(".git/config", "fetched")),
        (run, |place| place.file("keyway/vault.db", "ours")),
        (run, |place| place.file(".env", "API_TOKEN=rotated")),
        // An interpreter that was upgraded.
        (found, |place| place.program_outside("2")),
        (header, |place| place.person("API_TOKEN", "another")),
        (header, |place| place.person("TENANT", "second")),
        (header, |place| place.person("WORKSPACE", "second")),
        // As `keyway rotate` writes it into the plugin's own file.
        (header, |place| place.plugin("API_TOKEN", "rotated")),
    ];
    for (fields, change) in rows {
        let mut place = Place::new();
        place.program_outside("1");
        let programs = place.programs().display().to_string();
        place.person("PATH", &format!("{programs}:/usr/bin:/bin"));
        place.file("server.js", "1");
        place.file(".env", "API_TOKEN=first");
        place.file(".git/HEAD", "ref: refs/heads/main");
        for name in ["API_KEY", "TENANT", "WORKSPACE"] {
            place.person(name, "first");
        }
        place.plugin("API_TOKEN", "first");
        place.approve(fields);
        change(&mut place);
        assert!(
            place.is_approved(fields),
            "{fields}: {:?}",
            place.changes(fields)
        );
    }
}

#[test]
fn e05_a_moved_home_needs_no_new_approval() {
    let mut place = Place::new();
    let fields = r#""command": "sh", "args": ["${HOST_PLUGIN_ROOT}/run.sh"]"#;
    let home = place.folder.path().canonicalize().unwrap().join("old");
    place.root = home.join("plugin");
    place.home = Some(home.clone());
    place.file("run.sh", "1");
    place.approve(fields);
    let moved = place.folder.path().canonicalize().unwrap().join("new");
    std::fs::rename(home, &moved).unwrap();
    place.root = moved.join("plugin");
    place.home = Some(moved);
    assert!(place.is_approved(fields), "{:?}", place.changes(fields));
    let folders = Folders::below(place.folder.path().join("kw"));
    let vault = Vault::open(&folders, KeySources::default()).unwrap();
    let before = Ledger::new(&vault, "default", Some("/old".into())).unwrap();
    let mut question = place.ask(fields);
    question.source = "/old/plugin".into();
    before.approve(&yes(&question)).unwrap();
    let after = Ledger::new(&vault, "default", Some("/new".into())).unwrap();
    assert!(after.find(Path::new("/new/plugin"), "s").unwrap().is_some());
    assert!(after.find(Path::new("/old/plugin"), "s").unwrap().is_none());
    assert_eq!(after.revoke_all().unwrap(), 1);
    assert!(after.find(Path::new("/new/plugin"), "s").unwrap().is_none());
}

/// Threat E6: the plugin's own file moves a token to another origin.
#[test]
fn e06_an_origin_out_of_the_plugins_own_file_asks_again_and_replaces_the_old() {
    let mut place = Place::new();
    let fields = r#""type": "http", "url": "${API_BASE_URL}/x", "envFile": ".env",
                    "headers": {"Authorization": "Bearer ${CORP_TOKEN}"}"#;
    place.person("CORP_TOKEN", "secret");
    place.plugin("API_BASE_URL", "https://one.example");
    place.approve(fields);
    place.plugin("API_BASE_URL", "https://two.example");
    assert!(!place.is_approved(fields));
    let changes = place.changes(fields).join("\n");
    assert!(
        changes.contains("- reaches   https://one.example"),
        "{changes}"
    );
    assert!(
        changes.contains("+ reaches   https://two.example"),
        "{changes}"
    );
    place.approve(fields);
    place.plugin("API_BASE_URL", "https://one.example");
    assert!(!place.is_approved(fields), "the old one went with the new");
}

#[test]
fn e06_origins_of_the_persons_own_stand_side_by_side() {
    let mut place = Place::new();
    let fields = r#""type": "http", "url": "https://${TENANT}.h.example/x",
                    "headers": {"Authorization": "Bearer ${CORP_TOKEN}"}"#;
    for tenant in ["one", "two"] {
        place.person("TENANT", tenant);
        assert!(!place.is_approved(fields));
        place.approve(fields);
    }
    for tenant in ["one", "two"] {
        place.person("TENANT", tenant);
        assert!(place.is_approved(fields), "{tenant}");
    }
    // A changed entry of the plugin replaces all of them.
    let changed = fields.replace("/x", "/y");
    place.approve(&changed);
    assert!(!place.is_approved(fields));
}

#[test]
fn e06_authorization_servers_of_the_persons_own_stand_side_by_side() {
    let mut place = Place::new();
    let fields = r#""type": "http", "url": "https://h.example/x",
                    "oauth": {"clientId": "c", "clientSecret": "${SECRET}", "scopes": "${SCOPE}",
                              "authorizationUrl": "https://${TENANT}.as.example/authorize",
                              "tokenUrl": "https://${TENANT}.tokens.example/token"}"#;
    place.person("SECRET", "x");
    place.person("SCOPE", "read");
    for tenant in ["one", "two"] {
        place.person("TENANT", tenant);
        assert!(!place.is_approved(fields));
        place.approve(fields);
    }
    for tenant in ["one", "two"] {
        place.person("TENANT", tenant);
        assert!(place.is_approved(fields), "{tenant}");
    }
    place.approve(&fields.replace("/token", "/other"));
    assert!(!place.is_approved(fields));
}

/// Threat E7: nothing that decides is hidden.
#[test]
fn e07_everything_that_decides_is_shown_and_code_is_marked() {
    let mut place = Place::new();
    place.file("bin/git", "#!/bin/sh");
    let text = place
        .ask(
            r#""command": "git", "args": ["--version", "a # b\nrm -rf ~", "x\u200by"],
               "env": {"PATH": "${HOST_PLUGIN_ROOT}/bin:/usr/bin", "LD_PRELOAD": "./evil.so",
                       "NODE_OPTIONS": "--require ./evil.js", "REGION": "eu", "DB_URL": "${DB_URL}"},
               "cwd": "/somewhere", "envFile": "/etc/other.env""#,
        )
        .to_string();
    let text = text.replace(place.root.to_str().unwrap(), "[ROOT]");
    let digest = text.lines().last().unwrap().to_owned();
    let expected = r#"`p:s` in [ROOT]
  runs      git --version $'a # b\nrm -rf ~' $'x\u{200b}y'
  program   git is ${HOST_PLUGIN_ROOT}/bin/git
            !! the plugin's own program
  in        /somewhere
            !! outside of the plugin: what it loads from there can change without a question
  env       PATH=${HOST_PLUGIN_ROOT}/bin:/usr/bin
            !! decides which code runs
  env       LD_PRELOAD=./evil.so
            !! decides which code runs
  env       NODE_OPTIONS='--require ./evil.js'
            !! decides which code runs
  env       REGION=eu
  env       DB_URL=${DB_URL}
  env file  /etc/other.env
            !! outside of the plugin: a file of yours feeds this entry
  isolation hide: it cannot read Keyway's own files and sockets
  files     the one file of the plugin
"#;
    assert_eq!(text, format!("{expected}{digest}\n"));
    place.confinement.profile = SandboxProfile::Off;
    place.confinement.dangerous_inherit_environment = true;
    let text = place
        .ask(r#""command": "sh", "args": ["-ec", "x"]"#)
        .to_string();
    assert!(
        text.contains("isolation unconfined: it can read everything of yours"),
        "{text}"
    );
    assert!(text.contains("gets your whole environment"), "{text}");
    assert!(
        text.contains("!! what follows `sh -ec` is a program itself"),
        "{text}"
    );
    for (command, flag) in [("node", "--import=data:text/javascript,x"), ("perl", "-ne")] {
        let text = place.ask(&format!(
            r#""command": "{command}", "args": ["{flag}", "x"]"#
        ));
        assert!(
            text.to_string().contains("is a program itself"),
            "{command} {flag}"
        );
    }
    let text = place
        .ask(r#""command": "node", "args": ["--version"]"#)
        .to_string();
    assert!(!text.contains("is a program itself"), "{text}");
}

#[test]
fn what_programs_read_holds_every_fact_its_digest_and_what_changed() {
    let place = Place::new();
    let fields = r#""command": "sh", "args": ["-c", "true"]"#;
    let asked = place.ask(fields);
    let json = asked.to_json();
    assert_eq!(json["digest"], asked.digest.to_string());
    assert!(json["changes"].is_null(), "{json}");
    let facts = json["facts"].as_array().unwrap();
    assert_eq!(facts.len(), asked.facts.len());
    for (fact, own) in facts.iter().zip(&asked.facts) {
        assert_eq!(fact["text"], own.text());
        // Members that do not apply are there all the same.
        assert_eq!(fact["caution"].is_null(), own.caution.is_none(), "{fact}");
        assert_eq!(fact.as_object().unwrap().len(), 3, "{fact}");
    }
    place.approve(fields);
    let other = place.ask(r#""command": "sh", "args": ["-c", "false"]"#);
    let other = other.compared_with(&place.store);
    let changes = other.to_json()["changes"].clone();
    assert_eq!(changes, serde_json::json!(other.changes.unwrap().lines()));
    assert_ne!(changes, serde_json::json!([]));
}

#[test]
fn e07_a_literal_credential_is_masked_and_still_counts() {
    let place = Place::new();
    let literal = ["kT8vQ2mX9w", "Lz4Rb7Yc3N"].concat();
    let fields = format!(r#""command": "prog", "env": {{"API_KEY": "{literal}"}}"#);
    let text = place.ask(&fields).to_string();
    assert!(text.contains("env       API_KEY='kT8v…'"), "{text}");
    assert!(!text.contains(&literal), "{text}");
    place.approve(&fields);
    assert!(!place.is_approved(&fields.replace("Yc3N", "Yc3M")));
}

/// Threat E8.
#[test]
fn e08_two_origins_of_a_sign_in_are_named_and_need_an_approval() {
    let place = Place::new();
    let fields = r#""type": "http", "url": "https://h.example/mcp", "oauth": {"clientId": "c",
                    "authorizationUrl": "https://honest.example/a", "tokenUrl": "https://evil.example/t"}"#;
    let text = place.ask(fields).to_string();
    assert!(
        text.contains("weakens   the sign-in: you agree at https://honest.example, and https://evil.example gets the code for it"),
        "{text}"
    );
    place.approve(fields);
    assert!(!place.is_approved(&fields.replace("evil", "worse")));
}

/// Threat E14.
#[test]
fn e14_the_destination_of_a_client_secret_is_named_and_counts() {
    let place = Place::new();
    for (oauth, to) in [
        (
            r#""authorizationUrl": "https://a.example/a", "tokenUrl": "https://a.example/t""#,
            "to https://a.example\n",
        ),
        (
            r#""authServerMetadataUrl": "https://m.example/x""#,
            "to the authorization server that https://m.example names\n",
        ),
        (
            r#""scopes": ["a"]"#,
            "to the authorization server that https://h.example names\n",
        ),
    ] {
        let fields = format!(
            r#""type": "http", "url": "https://h.example/mcp",
               "oauth": {{"clientId": "c", "clientSecret": "${{STRIPE_SECRET_KEY}}", {oauth}}}"#
        );
        let text = place.ask(&fields).to_string();
        let line = format!("sends     ${{STRIPE_SECRET_KEY}} as OAuth `clientSecret` {to}");
        assert!(text.contains(&line), "{text}");
        place.approve(&fields);
        assert!(
            !place.is_approved(
                &fields
                    .replace("a.example", "b.example")
                    .replace("m.example", "n.example")
                    .replace("\"a\"", "\"b\"")
            )
        );
    }
}

/// Threat D11: what runs is looked at again right before and right after its start.
#[test]
fn d11_a_file_that_changes_appears_or_goes_away_is_named() {
    let place = Place::new();
    place.file("run.sh", "echo 1");
    std::fs::create_dir(place.at("sub")).unwrap();
    let fields =
        r#""command": "sh", "args": ["run.sh", "--file=other.sh", "inner.sh"], "cwd": "sub""#;
    let question = place.ask(fields);
    let verify = || question.files.verify();
    assert_eq!(verify(), Ok(()));
    for file in ["other.sh", "sub/inner.sh"] {
        place.file(file, "x");
        assert_eq!(verify(), Err(file.to_owned()), "appeared");
        assert_ne!(place.ask(fields).digest, question.digest, "{file}");
        std::fs::remove_file(place.at(file)).unwrap();
        assert_eq!(verify(), Ok(()));
    }
    place.file("imported.sh", "x");
    assert_eq!(
        verify(),
        Err("imported.sh".to_owned()),
        "appeared beside it"
    );
    assert_eq!(
        question.files.verify_named(),
        Ok(()),
        "what the program may have written"
    );
    std::fs::remove_file(place.at("imported.sh")).unwrap();
    place.file("run.sh", "echo 2");
    assert_eq!(verify(), Err("run.sh".to_owned()), "changed");
    assert_eq!(question.files.verify_named(), Err("run.sh".to_owned()));
    std::fs::remove_file(place.at("run.sh")).unwrap();
    assert_eq!(verify(), Err("run.sh".to_owned()), "gone");
}

#[test]
fn an_unchanged_tree_is_not_read_again_and_a_changed_file_is_named() {
    let mut place = Place::new();
    let fields = r#""command": "node", "args": ["."]"#;
    for name in ["index.js", "lib/a.js", "lib/b.js"] {
        place.file(name, "1");
    }
    place.approve(fields);
    assert!(
        place.ask(fields).files.manifest().is_none(),
        "its stamp said enough"
    );
    place.file("lib/a.js", "2");
    place.file("lib/c.js", "1");
    std::fs::remove_file(place.at("lib/b.js")).unwrap();
    let changes = place.changes(fields);
    assert_eq!(
        changes,
        [
            "~ lib/a.js (changed)",
            "~ lib/b.js (removed)",
            "~ lib/c.js (new)"
        ]
    );
    // Rewritten with the same content, it is the same.
    place.file("lib/b.js", "1");
    std::fs::remove_file(place.at("lib/c.js")).unwrap();
    place.file("lib/a.js", "1");
    assert!(place.is_approved(fields));
    let question = place.ask(fields);
    let approval = place.store.find(&place.root, "s").unwrap().unwrap();
    assert!(approval.is_outdated_for(&question), "its stamp is another");
    // What changed in the tick of the clock in which it was read may change once more unnoticed.
    place.now = SystemTime::UNIX_EPOCH;
    let hasty = place.ask(fields);
    assert!(hasty.files.known_tree().is_none());
    assert!(!approval.is_outdated_for(&hasty));
}

#[test]
fn what_is_too_large_is_said_and_not_read() {
    let place = Place::new();
    place.file("run.sh", "echo 1");
    place.file("large", "");
    let large = std::fs::File::options()
        .write(true)
        .open(place.at("large"))
        .unwrap();
    let fields = r#""command": "sh", "args": ["run.sh", "large"]"#;
    let small = place.ask(fields);
    large.set_len(1 << 40).unwrap();
    let question = place.ask(fields);
    assert!(question.files.is_partial() && !small.files.is_partial());
    assert_ne!(question.digest, small.digest);
    let text = question.to_string();
    assert!(
        text.contains("files     more than 100,000, or more than 1 GiB"),
        "{text}"
    );
    assert!(
        text.contains("!! not covered: `large`, which it names and which is too large"),
        "{text}"
    );
    let others = place
        .ask(r#""command": "sh", "args": ["run.sh"]"#)
        .to_string();
    assert!(
        others.contains("!! files can change without a question"),
        "{others}"
    );
    place.approve(fields);
    place.file("run.sh", "echo 2");
    assert!(
        !place.is_approved(fields),
        "what the command line names still counts"
    );
}

#[test]
fn a_plugin_in_the_home_folder_covers_what_it_names() {
    let mut place = Place::new();
    place.file("run.sh", "1");
    place.home = Some(place.root.clone());
    let fields = r#""command": "sh", "args": ["run.sh"]"#;
    place.approve(fields);
    place.file("unrelated", "1");
    assert!(place.is_approved(fields));
    assert!(
        place
            .ask(fields)
            .to_string()
            .contains("the plugin is your home folder")
    );
    place.file("run.sh", "2");
    assert!(!place.is_approved(fields));
    assert_eq!(place.changes(fields), ["~ run.sh (changed)"]);
}

#[test]
fn a_package_that_is_known_by_its_name_does_not_count_the_plugins_files() {
    let place = Place::new();
    for fields in [
        r#""command": "npx", "args": ["-y", "server", "--verbose"]"#,
        r#""command": "uvx", "args": ["mcp-server-git"]"#,
    ] {
        place.approve(fields);
        place.file("README.md", fields);
        assert!(place.is_approved(fields), "{fields}");
    }
    // The code of the plugin that a package is told to run counts.
    let fields = r#""command": "npx", "args": ["-y", "tsx", "${HOST_PLUGIN_ROOT}/server.ts"]"#;
    place.file("server.ts", "1");
    place.approve(fields);
    place.file("imported.ts", "1");
    assert!(!place.is_approved(fields));
    let text = place
        .ask(r#""command": "npx", "args": ["-y", "server"]"#)
        .to_string();
    let own = "  in        ${HOST_PROGRAM_FOLDER}\n";
    assert!(text.contains(own), "{text}");
    // A `cwd` that is written like it is another folder: one in the plugin.
    let text = place
        .ask(r#""command": "npx", "args": ["-y", "server"], "cwd": "${HOST_PROGRAM_FOLDER}""#)
        .to_string();
    assert!(!text.contains(own), "{text}");
}

#[test]
fn an_approval_of_an_earlier_version_is_asked_again_with_that_reason() {
    let place = Place::new();
    let fields = r#""command": "node""#;
    let old = br#"{"plugin":"p","server":"s","source":"/x","digest":"00","grants":["X"]}"#;
    let old = Approval::from_bytes(old).unwrap();
    let question = place.ask(fields);
    assert!(!old.covers(&question.digest));
    place
        .store
        .approvals
        .lock()
        .unwrap()
        .insert("s".to_owned(), old);
    let changes = place.changes(fields);
    assert!(matches!(changes.as_slice(), [line] if line.contains("earlier version of Keyway")));
    place.approve(fields);
    let approval = place.store.find(&place.root, "s").unwrap().unwrap();
    assert_eq!(approval.grants, ["X"], "variables that were granted stay");
}

#[test]
fn an_approval_is_found_until_it_is_revoked() {
    let place = Place::new();
    let folders = Folders::below(place.folder.path().join("kw"));
    let vault = Vault::open(&folders, KeySources::default()).unwrap();
    let ledger = Ledger::new(&vault, "default", None).unwrap();
    place.file("index.js", "1");
    let question = place.ask(r#""command": "node""#);
    ledger.approve(&yes(&question)).unwrap();
    assert!(ledger.find_files(&place.root, "s").unwrap().is_some());
    let changed = place.ask(r#""command": "deno""#);
    let found = ledger.find(&place.root, "s").unwrap().unwrap();
    assert!(found.covers(&question.digest) && !found.covers(&changed.digest));
    ledger.approve(&yes(&changed)).unwrap();
    let found = ledger.find(&place.root, "s").unwrap().unwrap();
    assert!(found.covers(&changed.digest) && !found.covers(&question.digest));
    assert_eq!(ledger.list().unwrap().len(), 1);
    assert!(ledger.revoke(&place.root, "s").unwrap());
    assert!(ledger.find(&place.root, "s").unwrap().is_none());
    assert!(ledger.find_files(&place.root, "s").unwrap().is_none());
}

/// What is shown is what is hashed, a variable that the person grants included.
#[test]
fn e07_a_granted_variable_is_shown_and_asked_for_by_its_own_digest() {
    let place = Place::new();
    let fields = r#""command": "node""#;
    let question = place.ask(fields);
    let granting = question.granting(["B", "A", "B"]);
    assert_ne!(granting.digest, question.digest);
    assert_eq!(granting.digest, question.granting(["A", "B"]).digest);
    assert_ne!(granting.digest, question.granting(["A"]).digest);
    let text = granting.to_string();
    for line in [
        "  gets      ${A} of your own",
        "  gets      ${B} of your own",
    ] {
        assert!(text.contains(line), "{text}");
    }
    place.store.approve(&yes(&granting)).unwrap();
    let approval = place.store.find(&place.root, "s").unwrap().unwrap();
    assert_eq!(approval.grants, ["A", "B"]);
    assert!(!approval.covers(&question.digest));
    assert!(place.is_approved(fields), "the next look finds them");
    // Asked again for another reason, the person sees them, and agrees to them again.
    let changed = place.ask(r#""command": "deno""#);
    assert_eq!(changed.grants().collect::<Vec<_>>(), ["A", "B"]);
    assert!(changed.to_string().contains("${A} of your own"));
    place.store.approve(&yes(&changed)).unwrap();
    let approval = place.store.find(&place.root, "s").unwrap().unwrap();
    assert_eq!(approval.grants, ["A", "B"]);
}

#[test]
fn a_grant_of_an_earlier_version_stays_approved_and_is_shown_with_the_next_question() {
    let place = Place::new();
    let fields = r#""command": "node""#;
    place.approve(fields);
    {
        let mut approvals = place.store.approvals.lock().unwrap();
        approvals.get_mut("s").unwrap().grants.push("X".to_owned());
    }
    assert!(place.is_approved(fields));
    let again = place.ask(fields);
    assert_eq!(again.grants().count(), 0);
    // Files were rewritten with what they held: stored again, the grant stays.
    place.store.approve(&yes(&again)).unwrap();
    let approval = place.store.find(&place.root, "s").unwrap().unwrap();
    assert_eq!(approval.grants, ["X"]);
    let changed = place.ask(r#""command": "deno""#);
    assert_eq!(changed.grants().collect::<Vec<_>>(), ["X"]);
}

/// By flag: `cargo test --release -p keyway-approval --lib --all-features -- --ignored a_tree_of_50_000_files --nocapture`.
#[test]
#[ignore = "a measurement; a busy machine decides nothing"]
#[expect(clippy::disallowed_methods, reason = "it is compared with `find`")]
fn a_tree_of_50_000_files_that_is_unchanged_costs_at_most_twice_a_find() {
    let place = Place::new();
    for folder in 0..500 {
        let folder = place.at(&format!("node_modules/p{folder}/lib"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..100 {
            std::fs::write(folder.join(format!("{file}.js")), "x").unwrap();
        }
    }
    let fields = r#""command": "node", "args": ["."]"#;
    place.approve(fields);
    let fastest = |work: &dyn Fn()| {
        let timed = |_| {
            let begun = std::time::Instant::now();
            work();
            begun.elapsed()
        };
        (0..7).map(timed).min().unwrap()
    };
    let find = fastest(&|| {
        let mut find = std::process::Command::new("find");
        // It looks at what the stamp is of.
        find.arg(&place.root).args(["-printf", "%i %s %C@\\n"]);
        let found = find.output().unwrap();
        assert!(found.status.success());
    });
    let asked = fastest(&|| assert!(place.is_approved(fields)));
    println!("find {find:?}, the question {asked:?}");
    assert!(asked <= find * 2, "find {find:?}, the question {asked:?}");
}
