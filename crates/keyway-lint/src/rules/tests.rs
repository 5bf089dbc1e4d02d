//! The table of rules against the files and pages beside it, and the seed's rules one by one.

mod seed;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use keyway_code::Kind;

use super::*;

fn names(folder: &str, ending: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| Some(name.strip_suffix(ending)?.to_owned()))
        .collect()
}

fn ids() -> BTreeSet<String> {
    RULES.iter().map(|rule| rule.id.to_string()).collect()
}

#[test]
fn rules_are_listed_by_id_and_each_once() {
    let ids: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(ids, sorted);
}

#[test]
fn every_file_of_a_rule_is_in_the_table() {
    let mut files = names("src/rules", ".rs");
    for other in ["fixture", "tests", "walk"] {
        assert!(files.remove(other), "no file `{other}`");
    }
    let files: BTreeSet<_> = files.iter().map(|name| name.replace('_', "-")).collect();
    assert_eq!(files, ids());
}

#[test]
fn every_page_belongs_to_a_rule_and_begins_with_its_id() {
    let codes = Code::ALL.iter().map(|code| code.facts());
    let codes = codes.filter(|facts| facts.kind == Kind::Rule);
    let codes: BTreeSet<_> = codes.map(|facts| facts.text.to_owned()).collect();
    assert_eq!(codes, ids(), "codes of the kind `Rule` and rules");
    for rule in RULES {
        let (id, page) = (rule.id, rule.id.page());
        assert!(page.starts_with(&format!("# {id}\n\n")), "{id}");
        for heading in ["\n## Why it matters\n", "\n## How to fix"] {
            assert!(page.contains(heading), "{id}: {heading}");
        }
    }
}
