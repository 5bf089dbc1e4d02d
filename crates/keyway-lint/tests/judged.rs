//! The findings that were judged by hand, and what the documentation says of them.

#![expect(
    clippy::indexing_slicing,
    reason = "a test whose fixture is broken must stop"
)]

use std::collections::BTreeMap;
use std::path::Path;

/// Verdicts by rule: right, pedantic, wrong.
fn verdicts() -> BTreeMap<String, [usize; 3]> {
    let list = include_str!("judged-diagnostics.tsv");
    let rows = list.lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut verdicts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('\t').collect();
        let at = ["right", "pedantic", "wrong"]
            .iter()
            .position(|word| *word == cells[5]);
        let of_rule = verdicts.entry(cells[4].to_owned()).or_default();
        of_rule[at.unwrap_or_else(|| panic!("{row}"))] += 1;
    }
    verdicts
}

#[test]
fn of_a_hundred_findings_at_most_ten_are_wrong_or_pedantic_and_the_page_says_which() {
    let verdicts = verdicts();
    let total = |at: usize| -> usize { verdicts.values().map(|it| it[at]).sum() };
    assert_eq!(total(0) + total(1) + total(2), 100);
    assert!(total(1) + total(2) <= 10);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut table = String::from("| rule | right | pedantic | wrong |\n|---|---|---|---|\n");
    for (rule, [right, pedantic, wrong]) in &verdicts {
        let row = format!("| [`{rule}`](rules/{rule}.md) | {right} | {pedantic} | {wrong} |\n");
        table.push_str(&row);
    }
    let sums = format!("| all | {} | {} | {} |\n", total(0), total(1), total(2));
    table.push_str(&sums);
    assert!(page.contains(&table), "docs/check.md should have\n{table}");
}
