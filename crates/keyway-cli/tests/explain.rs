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
