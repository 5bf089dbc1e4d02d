//! The table against its pages and against itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pages")
}

fn files(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(pages().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| Some(name.strip_suffix(".md")?.to_owned()))
        .collect()
}

fn codes(kind: Kind) -> impl Iterator<Item = Code> {
    let all = Code::ALL.iter().copied();
    all.filter(move |code| code.facts().kind == kind)
}

fn texts(kind: Kind) -> BTreeSet<String> {
    codes(kind).map(|code| code.to_string()).collect()
}

#[test]
fn no_page_is_without_a_code_and_no_text_stands_twice() {
    assert_eq!(files("errors"), texts(Kind::Error));
    assert_eq!(files("rules"), texts(Kind::Rule));
    let all: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(all.len(), Code::ALL.len(), "one vocabulary");
}

/// The copies in `docs` are for readers of the repository; `cargo xtask docs` writes them.
#[test]
fn every_page_has_its_copy_in_the_documentation() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for code in Code::ALL {
        let copy = docs.join(code.document());
        assert!(
            fs::read_to_string(&copy).is_ok_and(|text| text == code.page()),
            "{} is not the page in `crates/keyway-code/pages`: run `cargo xtask docs`",
            copy.display()
        );
    }
}

#[test]
fn a_code_is_found_by_its_text_and_its_variant_spells_it() {
    for code in Code::ALL {
        assert_eq!(Code::from_text(code.as_str()), Some(*code));
        let mut spelt = String::new();
        for letter in format!("{code:?}").chars() {
            if letter.is_ascii_uppercase() && !spelt.is_empty() {
                spelt.push('-');
            }
            spelt.push(letter.to_ascii_lowercase());
        }
        assert_eq!(spelt, code.as_str());
    }
    assert_eq!(Code::from_text("no-such-code"), None);
}

#[test]
fn each_kind_stands_in_the_order_of_its_texts() {
    for kind in [Kind::Error, Kind::Rule] {
        let listed: Vec<&str> = codes(kind).map(Code::as_str).collect();
        assert!(listed.is_sorted(), "{listed:?}");
    }
}

#[test]
fn every_page_of_an_error_says_what_why_and_what_to_do() {
    for code in codes(Kind::Error) {
        let begins = format!("# {code}\n\n");
        assert!(code.page().starts_with(&begins), "{code}");
        for heading in ["\n## Why\n", "\n## What to do\n", "\n## Example\n"] {
            assert!(code.page().contains(heading), "{code}: {heading}");
        }
    }
    for code in Code::ALL {
        assert!(code.why().len() > 15, "{code}: {}", code.why());
    }
}

#[test]
fn every_page_of_an_error_names_the_command_that_comes_next() {
    for code in codes(Kind::Error) {
        let (_, rest) = code.page().split_once("\n## What to do\n").unwrap();
        let (advice, _) = rest.split_once("\n## Example\n").unwrap();
        assert!(advice.contains("keyway "), "{code}: {advice}");
        assert!(!advice.contains("keyway explain"), "{code}");
    }
}

/// Commands are shown as `keyway VERB [SERVER] [--config PLUGIN]`; `--server` is accepted only.
/// Of a token it says what the token is for, and of entries in files which of them are taken.
#[test]
fn no_page_and_no_hint_names_the_server_of_a_command_by_a_flag() {
    for code in Code::ALL {
        for text in [code.page(), code.hint()] {
            let mut lines = text.lines().filter(|line| line.contains("--server"));
            let shown = lines.find(|line| !line.contains("keyway token new"));
            assert!(shown.is_none(), "{code}: {shown:?}");
        }
    }
}

#[test]
fn every_code_has_a_hint_and_an_exit_status_that_fits_its_state() {
    for code in Code::ALL {
        let facts = code.facts();
        assert!(facts.hint.len() > 15, "{code}");
        assert!(!facts.hint.ends_with('.'), "{code}");
        let exit = match facts.state.reason {
            Some(Reason::PendingTrust) => Some(Exit::NotTrusted),
            Some(Reason::ReauthRequired | Reason::InsufficientScope) => Some(Exit::SignInNeeded),
            _ => None,
        };
        assert!(exit.is_none_or(|exit| exit == facts.exit), "{code}");
    }
}
