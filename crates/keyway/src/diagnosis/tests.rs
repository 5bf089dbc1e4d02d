//! The table against the folders of pages and against every code in the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(repository().join("docs").join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| Some(name.strip_suffix(".md")?.to_owned()))
        .collect()
}

fn codes(pages: &[Page]) -> BTreeSet<String> {
    pages.iter().map(|page| page.code.to_owned()).collect()
}

#[test]
fn no_page_is_without_a_code_and_every_rule_has_one() {
    assert_eq!(files("errors"), codes(ERRORS));
    let rules: BTreeSet<_> = RULES.iter().map(|rule| rule.id.to_owned()).collect();
    assert_eq!(files("rules"), rules);
    let twice: Vec<_> = codes(ERRORS).intersection(&rules).cloned().collect();
    assert!(twice.is_empty(), "one vocabulary: {twice:?}");
}

#[test]
fn every_page_of_a_fault_says_what_why_and_what_to_do() {
    for page in ERRORS {
        let begins = format!("# {}\n\n", page.code);
        assert!(page.text.starts_with(&begins), "{}", page.code);
        for heading in ["\n## Why\n", "\n## What to do\n", "\n## Example\n"] {
            assert!(page.text.contains(heading), "{}: {heading}", page.code);
        }
    }
    for page in pages() {
        assert!(page.why().len() > 15, "{}: {}", page.code, page.why());
    }
}

#[test]
fn every_page_of_a_fault_names_the_command_that_comes_next() {
    for page in ERRORS {
        let (_, rest) = page.text.split_once("\n## What to do\n").unwrap();
        let (advice, _) = rest.split_once("\n## Example\n").unwrap();
        assert!(advice.contains("`keyway "), "{}: {advice}", page.code);
        assert!(!advice.contains("keyway explain"), "{}", page.code);
    }
}

/// Every function `code` of an error, and every code that is written down in a finding.
#[test]
fn no_code_in_the_sources_is_without_a_page() {
    let mut found = BTreeSet::new();
    for file in SOURCES {
        let text = fs::read_to_string(repository().join("crates").join(file)).unwrap();
        let before = found.len();
        for body in text.split("fn code(").skip(1) {
            let body = body.split("\n    }\n").next().unwrap();
            found.extend(literals(body));
        }
        for mark in ["code: \"", "Diagnostic::new(\""] {
            let named = text.split(mark).skip(1);
            found.extend(named.filter_map(|rest| rest.split('"').next().map(str::to_owned)));
        }
        if file.ends_with("refine.rs") {
            let is_code = |text: &String| {
                let is_kebab = |c: char| c.is_ascii_lowercase() || c == '-';
                text.contains('-') && text.chars().all(is_kebab)
            };
            found.extend(literals(&text).into_iter().filter(is_code));
        }
        assert!(found.len() > before, "no code in {file}");
    }
    assert!(found.len() > 50, "{found:?}");
    let missing: Vec<_> = found.iter().filter(|code| page(code).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn literals(body: &str) -> Vec<String> {
    let strings = body.split('"').skip(1).step_by(2);
    strings.map(str::to_owned).collect()
}

const SOURCES: &[&str] = &[
    "keyway-auth/src/error.rs",
    "keyway-auth/src/oauth/error.rs",
    "keyway-cli/src/commands/doctor/offline.rs",
    "keyway-cli/src/commands/doctor/online.rs",
    "keyway-cli/src/commands/status/explain.rs",
    "keyway-cli/src/error.rs",
    "keyway-transport/src/error.rs",
    "keyway/src/diagnosis/refine.rs",
    "keyway/src/diagnosis/talk.rs",
    "keyway/src/session/error.rs",
    "keyway/src/states.rs",
];
