//! `keyway explain`: the page of every code, from the program itself.

use keyway_testkit::{Folder, Keyway, Outcome};

fn explain(arguments: &[&str]) -> Outcome {
    let folder = Folder::new();
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).args(["explain"]);
    call.args(arguments.iter().copied()).run()
}

#[test]
fn every_code_that_is_listed_has_its_page() {
    let listed = explain(&[]);
    assert_eq!(listed.code, 0, "{}", listed.everything());
    let codes: Vec<&str> = listed.stdout.lines().collect();
    assert!(codes.contains(&"auth-rejected"), "{codes:?}");
    assert!(codes.contains(&"literal-secret"), "{codes:?}");
    for code in codes {
        let page = explain(&[code]);
        assert_eq!(page.code, 0, "{code}");
        assert!(page.stdout.starts_with(&format!("# {code}\n")), "{code}");
    }
}

#[test]
fn a_misspelled_code_is_wrong_usage_and_the_right_one_is_named() {
    let outcome = explain(&["auth-rejectd"]);
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
    assert!(outcome.stdout.is_empty());
    assert!(
        outcome.stderr.contains("did you mean `auth-rejected`?"),
        "{}",
        outcome.stderr
    );
    let outcome = explain(&["qqqqqqqq"]);
    assert_eq!(outcome.code, 2);
    assert!(
        !outcome.stderr.contains("did you mean"),
        "{}",
        outcome.stderr
    );
}

/// Asked for it ends well; given because nothing was said it is wrong usage.
#[test]
fn help_shows_ten_commands_and_the_rest_in_groups_when_asked_for_all() {
    let folder = Folder::new();
    let keyway = || Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
    let asked = keyway().args(["--help"]).run();
    let given = keyway().run();
    assert_eq!((asked.code, asked.stderr.as_str()), (0, ""));
    assert_eq!((given.code, given.stdout.as_str()), (2, ""));
    for text in [asked.stdout, given.stderr] {
        assert!(text.contains("\nCommands:\n  add "), "{text}");
        assert!(!text.contains("client-metadata"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    }
    let all = keyway().args(["help", "--all"]).run();
    assert_eq!((all.code, all.stderr.as_str()), (0, ""));
    let (all, groups) = (all.stdout, "\nConnect clients:\n  run ");
    assert!(
        all.contains(groups) && all.contains("client-metadata"),
        "{all}"
    );
    assert!(all.lines().all(|line| line.len() <= 100), "{all}");
    let one = keyway().args(["help", "trust", "grant"]).run();
    let same = keyway().args(["trust", "grant", "--help"]).run();
    assert_eq!((one.code, &one.stdout), (0, &same.stdout));
    assert!(
        one.stdout.contains("Examples:\n  keyway trust grant"),
        "{}",
        one.stdout
    );
    let own = keyway().args(["install", "--help"]).run().stdout;
    let (own, everywhere) = own.split_once("\nGlobal options:\n").unwrap();
    assert!(own.contains("--replace") && everywhere.contains("--debug-file"));
    assert!(!own.contains("--debug-file") && !everywhere.contains("--replace"));
}
