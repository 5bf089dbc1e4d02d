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

#[test]
fn only_the_words_for_it_agree_to_a_question() {
    for (text, answer) in [
        ("y", Answer::Yes),
        (" Yes\n", Answer::Yes),
        ("c", Answer::Confined),
        ("confined", Answer::Confined),
        ("n", Answer::No),
        ("", Answer::No),
        ("yess", Answer::No),
    ] {
        assert_eq!(Answer::from_text(text), answer, "{text}");
    }
}

#[test]
fn an_entry_names_the_variables_that_it_sends_once_each_and_none_of_the_hosts() {
    let place = Place::new();
    let fields = r#""type": "http", "url": "https://h.example/",
                    "headers": {"X-A": "${A} ${B} ${A} ${HOST_PROJECT_DIR}"}"#;
    let sent = place.ask(fields).facts.into_iter();
    let sent = sent.filter(|fact| fact.kind == FactKind::Sends);
    assert_eq!(sent.map(|fact| fact.name).collect::<Vec<_>>(), ["A", "B"]);
}

#[test]
fn an_address_with_variables_that_are_not_set_is_shown_as_far_as_it_is_known() {
    let place = Place::new();
    for (url, origin) in [
        ("https://h.example:443/${A}?x=1", "https://h.example"),
        ("https://${A}.h.example/x?y=1", "https://${A}.h.example/x"),
    ] {
        let fields = format!(r#""type": "http", "url": "{url}""#);
        let fact = fact(&place, &fields, FactKind::Reaches);
        assert_eq!(fact.value, origin, "{url}");
    }
}

#[test]
fn of_a_sign_in_the_secret_is_masked_and_each_origin_that_varies_is_named() {
    let mut place = Place::new();
    place.person("TENANT", "one");
    let fields = |endpoint: &str| {
        format!(
            r#""type": "http", "url": "https://h.example/mcp",
               "oauth": {{"clientId": "the-client", "clientSecret": "the-secret-of-it",
                         {endpoint}}}"#
        )
    };
    let literal = r#""authorizationUrl": "https://a.example/a", "tokenUrl": "https://b.example/t""#;
    let literal = place.ask(&fields(literal)).to_string();
    assert!(literal.contains("clientId = the-client\n"), "{literal}");
    assert!(!literal.contains("secret-of-it"), "{literal}");
    assert_eq!(literal.matches("  reaches ").count(), 1, "{literal}");
    let varies = fields(r#""authServerMetadataUrl": "https://${TENANT}.a.example/m""#);
    let text = place.ask(&varies).to_string();
    assert!(
        text.contains("  reaches   https://one.a.example ("),
        "{text}"
    );
    // A value of the person's own: one stands beside the other.
    place.approve(&varies);
    place.person("TENANT", "two");
    place.approve(&varies);
    place.person("TENANT", "one");
    assert!(place.is_approved(&varies), "{:?}", place.changes(&varies));
}

#[test]
fn an_approval_says_how_many_files_beside_a_package_it_is_over() {
    let place = Place::new();
    for name in ["one", "two"] {
        place.file(&format!("../data/{name}"), "1");
    }
    for (words, said) in [
        ("", None),
        (
            r#", "${HOST_PLUGIN_DATA}/one""#,
            Some("the file that it names"),
        ),
        (
            r#", "${HOST_PLUGIN_DATA}/one", "${HOST_PLUGIN_DATA}/two""#,
            Some("the 2 files that it names"),
        ),
    ] {
        let fields = format!(r#""command": "npx", "args": ["-y", "server"{words}]"#);
        assert_eq!(place.ask(&fields).files.coverage().as_deref(), said);
    }
}

#[test]
fn the_fingerprint_of_files_is_another_once_one_of_them_is() {
    let place = Place::new();
    let fingerprint = |text: &str| {
        place.file("run.sh", text);
        let question = place.ask(r#""command": "sh", "args": ["run.sh"]"#);
        question.files.fingerprint()
    };
    let first = fingerprint("1");
    assert_ne!(fingerprint("2"), first);
    assert_eq!(fingerprint("1"), first);
}

#[test]
fn a_link_in_the_plugin_to_a_script_outside_is_named_when_that_changes() {
    let place = Place::new();
    let outside = place.folder.path().join("script");
    std::fs::write(&outside, "1").unwrap();
    std::os::unix::fs::symlink(&outside, place.at("run.sh")).unwrap();
    let question = place.ask(r#""command": "sh", "args": ["run.sh"]"#);
    std::fs::write(&outside, "2").unwrap();
    assert_eq!(question.files.verify_named(), Err("run.sh".to_owned()));
}

#[test]
fn a_grant_is_kept_with_where_it_led_when_it_was_asked_about() {
    let mut place = Place::new();
    let all = place.folder.path().canonicalize().unwrap();
    for name in ["one", "two"] {
        std::fs::create_dir(all.join(name)).unwrap();
    }
    let [link, two, none] = ["link", "two", "none"].map(|name| all.join(name));
    std::os::unix::fs::symlink(all.join("one"), &link).unwrap();
    place.confinement.profile = SandboxProfile::Confine;
    place.confinement.grants = vec![link.clone(), none];
    place.confinement.read_only_grants = vec![two.clone()];
    let question = place.ask(r#""command": "node""#);
    std::fs::remove_file(&link).unwrap();
    let confinement = question.confinement().unwrap();
    let seen = confinement.seen_grants().unwrap().iter();
    let seen: Vec<_> = seen.map(|it| (it.path.clone(), it.real.clone())).collect();
    assert_eq!(
        seen,
        [(link.clone(), all.join("one")), (two.clone(), two.clone())]
    );
    assert_eq!(confinement.target(&link), Some(all.join("one")));
    assert_eq!(confinement.target(&two), Some(two));
    assert!(
        place.confinement.seen_grants().is_none(),
        "nothing was asked"
    );
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
    assert_eq!(
        format!("{ledger:?}"),
        r#"Ledger { profile: "default", .. }"#
    );
}

/// It named a plugin by its whole path.
#[test]
fn an_approval_that_an_earlier_version_wrote_is_found_and_taken_back() {
    let place = Place::new();
    let folders = Folders::below(place.folder.path().join("kw"));
    let vault = Vault::open(&folders, KeySources::default()).unwrap();
    let question = place.ask(r#""command": "node""#);
    let before = Ledger::new(&vault, "default", None).unwrap();
    before.approve(&yes(&question)).unwrap();
    let home = place.folder.path().canonicalize().unwrap();
    let now = Ledger::new(&vault, "default", Some(home)).unwrap();
    assert!(now.find(&place.root, "s").unwrap().is_some());
    assert!(now.revoke(&place.root, "s").unwrap());
    assert!(before.find(&place.root, "s").unwrap().is_none());
}
