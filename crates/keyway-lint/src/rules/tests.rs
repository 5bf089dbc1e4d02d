//! Every rule against its fixture. A fixture is a folder `fixtures/<rule>/`; see `fixture.rs`.

mod seed;

use super::*;

#[test]
fn rules_are_listed_by_id_and_each_once() {
    let ids: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(ids, sorted);
}
