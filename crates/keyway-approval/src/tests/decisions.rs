//! Single decisions about facts, records and the ledger: each is false in one way when the code that
//! takes it is changed.

use super::*;
use crate::fact::FactKind;

fn fact(place: &Place, fields: &str, kind: FactKind) -> Fact {
    let facts = place.ask(fields).facts;
    facts.into_iter().find(|fact| fact.kind == kind).unwrap()
}

#[test]
fn what_is_not_sent_and_what_the_host_sets_needs_no_approval() {
    let place = Place::new();
    for fields in [
        r#""type": "http", "url": "https://h.example/", "headers": {"X-A": "${HOST_PROJECT_DIR}"}"#,
        r#""type": "http", "url": "https://h.example/", "env": {"A": "${A}"}"#,
    ] {
        assert!(place.try_ask(fields).is_none(), "{fields}");
    }
    for fields in [
        r#""type": "http", "url": "https://h.example/${A}""#,
        r#""type": "http", "url": "https://h.example/", "oauth": {"clientId": "${A}"}"#,
        r#""type": "http", "url": "https://h.example/", "headersHelper": "./x""#,
        r#""command": "x""#,
    ] {
        assert!(place.try_ask(fields).is_some(), "{fields}");
    }
}

#[test]
fn an_entry_runs_a_program_of_its_own_or_a_helper() {
    for (fields, runs) in [
        (r#""command": "x""#, true),
        (r#""type": "http", "url": "https://h.example/""#, false),
        (
            r#""type": "http", "url": "https://h.example/", "headersHelper": "./x""#,
            true,
        ),
    ] {
        let text = format!("{{\"mcpServers\": {{\"s\": {{{fields}}}}}}}");
        let source = Source::new(".mcp.json", text.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let server = document.servers().next().unwrap();
        assert_eq!(runs_program(server), runs, "{fields}");
    }
}

/// A value that the person fills in stands beside others of it; what the plugin fills in does not.
#[test]
fn a_folder_or_file_is_the_persons_only_where_the_person_sets_a_part_of_it() {
    let mut place = Place::new();
    place.person("MINE", "mine");
    place.plugin("THEIRS", "theirs");
    for (text, is_persons) in [
        ("settings", false),
        ("${HOST_PLUGIN_ROOT}/x", false),
        ("${THEIRS}/x", false),
        ("${MINE}/x", true),
        ("${THEIRS}/${MINE}", true),
        ("${HOST_PLUGIN_ROOT}/${MINE}", true),
    ] {
        let fields = format!(r#""command": "x", "cwd": "{text}", "envFile": "{text}""#);
        for kind in [FactKind::Folder, FactKind::EnvFile] {
            let found = fact(&place, &fields, kind).is_persons;
            assert_eq!(found, is_persons, "{kind:?} {text}");
        }
    }
}

#[test]
fn an_env_file_is_shown_as_written_unless_it_lies_outside() {
    let mut place = Place::new();
    place.home = Some(place.folder.path().canonicalize().unwrap());
    for (written, shown, is_marked) in [
        (".env", ".env", false),
        ("sub/../.env", "sub/../.env", false),
        ("../other/x.env", "${HOST_PLUGIN_ROOT}/../other/x.env", true),
        ("/etc/x.env", "/etc/x.env", true),
        ("${UNSET}/.env", "${UNSET}/.env", false),
    ] {
        let fields = format!(r#""command": "x", "envFile": "{written}""#);
        let fact = fact(&place, &fields, FactKind::EnvFile);
        assert_eq!(fact.value, shown, "{written}");
        assert_eq!(fact.caution.is_some(), is_marked, "{written}");
    }
}

#[test]
fn a_folder_is_marked_only_outside_of_the_plugin() {
    let place = Place::new();
    for (fields, is_marked) in [
        (r#""command": "x""#, false),
        (r#""command": "x", "cwd": "sub""#, false),
        (r#""command": "x", "cwd": ".." "#, true),
        (r#""command": "x", "cwd": "/etc""#, true),
    ] {
        let fact = fact(&place, fields, FactKind::Folder);
        assert_eq!(fact.caution.is_some(), is_marked, "{fields}");
    }
}

#[test]
fn e06_a_value_of_the_plugins_own_file_is_shown_once_and_whole_where_it_runs() {
    let mut place = Place::new();
    place.plugin("X_VALUE", "run-me");
    let fields = r#""command": "${X_VALUE}", "args": ["--a", "${X_VALUE}"]"#;
    let text = place.ask(fields).to_string();
    assert_eq!(text.matches("${X_VALUE} is run-me,").count(), 1, "{text}");
    let values = place.ask(fields).facts.into_iter();
    assert_eq!(
        values.filter(|fact| fact.kind == FactKind::Value).count(),
        1
    );
}

#[test]
fn e06_values_of_the_plugins_own_file_count_in_a_sign_in_but_not_as_its_secret() {
    let http = r#""type": "http", "url": "https://h.example/""#;
    for (fields, counts) in [
        (
            format!(r#"{http}, "oauth": {{"clientId": "${{V}}"}}"#),
            true,
        ),
        (
            format!(r#"{http}, "oauth": {{"clientId": "c", "clientSecret": "${{V}}"}}"#),
            false,
        ),
        (format!(r#"{http}, "headers": {{"X-A": "${{V}}"}}"#), false),
        (r#""command": "x", "cwd": "${V}""#.to_owned(), true),
        (r#""command": "x", "envFile": "${V}""#.to_owned(), true),
    ] {
        let mut place = Place::new();
        place.plugin("V", "first");
        place.approve(&fields);
        place.plugin("V", "second");
        assert_eq!(place.is_approved(&fields), !counts, "{fields}");
    }
}

/// Confined by the settings is not confined by an answer, however often it is asked.
#[test]
fn only_an_answer_makes_an_approval_a_confined_one() {
    let mut place = Place::new();
    place.confinement.profile = SandboxProfile::Confine;
    let fields = r#""command": "node", "args": ["server.js"]"#;
    for text in ["1", "2"] {
        place.file("server.js", text);
        place.approve(fields);
        let approval = place.store.find(&place.root, "s").unwrap().unwrap();
        assert!(!approval.confined, "{text}");
    }
    // Of one that was, nothing is left once its programs are not confined any more.
    let agreed = place.ask(fields);
    place.confinement.profile = SandboxProfile::Hide;
    let question = place.ask(fields);
    let confined = question.dangerous_answer(Answer::Confined).unwrap();
    let before = Approval::beside(confined.question(), Some(Approval::of(&agreed)));
    assert!(before.confined);
    assert!(!Approval::beside(&question, Some(before.clone())).confined);
    assert!(Approval::beside(&agreed, Some(before)).confined);
}

#[test]
fn the_oldest_of_more_than_32_states_goes() {
    let mut place = Place::new();
    let fields = r#""type": "http", "url": "https://${TENANT}.h.example/x""#;
    for tenant in 0..40 {
        place.person("TENANT", &format!("t{tenant}"));
        place.approve(fields);
    }
    for tenant in 0..40 {
        place.person("TENANT", &format!("t{tenant}"));
        assert_eq!(place.is_approved(fields), tenant >= 8, "{tenant}");
    }
}

#[test]
fn what_was_approved_is_kept_in_the_record() {
    let place = Place::new();
    place.file("server.js", "1");
    let question = place.ask(r#""command": "node""#);
    let approval = Approval::of(&question);
    let read = Approval::from_bytes(&approval.to_bytes()).unwrap();
    let facts = read.last_facts().unwrap();
    assert_eq!(facts.len(), question.facts.len());
    assert_eq!(facts[0].value, "node");
    assert!(!read.is_outdated_for(&question), "its stamp is the same");
    assert!(Approval::from_bytes(b"{}").is_none());
    let text = String::from_utf8(approval.to_bytes()).unwrap();
    let other = text.replace(r#""kind":"runs""#, r#""kind":"other""#);
    assert!(Approval::from_bytes(other.as_bytes()).is_none(), "{other}");
}

/// What was read in the tick of the clock in which it changed is read again the next time.
#[test]
fn the_stamp_of_a_file_is_kept_only_once_it_is_settled() {
    let mut place = Place::new();
    place.file("a.js", "1");
    let fields = r#""command": "node""#;
    let stamp = |place: &Place| {
        let question = place.ask(fields);
        question
            .files
            .manifest()
            .unwrap()
            .find(b"a.js")
            .unwrap()
            .stamp
    };
    assert_ne!(stamp(&place), [0; 32]);
    place.now = SystemTime::UNIX_EPOCH;
    assert_eq!(stamp(&place), [0; 32]);
}

#[test]
fn questions_about_two_servers_whose_names_hold_colons_have_two_headings() {
    let heading = |plugin: &str, server: &str| {
        let mut question = Place::new().ask(r#""command": "node""#);
        question.plugin = plugin.to_owned();
        question.server = server.to_owned();
        question.source = "/plugin".into();
        question.to_string().lines().next().unwrap().to_owned()
    };
    assert_eq!(heading("a", "b:c"), "`a:b:c` in /plugin");
    assert_eq!(heading("a:b", "c"), "`a%3Ab:c` in /plugin");
}

#[test]
fn what_was_never_approved_cannot_be_taken_back() {
    let place = Place::new();
    let folders = Folders::below(place.folder.path().join("kw"));
    let vault = Vault::open(&folders, KeySources::default()).unwrap();
    let ledger = Ledger::new(&vault, "default", None).unwrap();
    assert!(!ledger.revoke(&place.root, "s").unwrap());
    assert!(ledger.list().unwrap().is_empty());
    let question = place.ask(r#""command": "node""#);
    ledger.approve(&yes(&question)).unwrap();
    for (root, server) in [(&*place.root, "t"), (Path::new("/other"), "s")] {
        assert!(ledger.find(root, server).unwrap().is_none());
        assert!(!ledger.revoke(root, server).unwrap());
    }
    let other = Ledger::new(&vault, "work", None).unwrap();
    assert!(other.find(&place.root, "s").unwrap().is_none());
    assert!(other.list().unwrap().is_empty());
    assert_eq!(other.revoke_all().unwrap(), 0, "it is of another profile");
    assert!(ledger.revoke(&place.root, "s").unwrap());
    assert!(!ledger.revoke(&place.root, "s").unwrap(), "it is gone");
}
