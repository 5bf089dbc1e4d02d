//! The digest of an approval: the same for the same, another for whatever is shown differently, and
//! an approval that was stored covers it and nothing else.

#![no_main]

use keyway_approval::{Approval, Question};
use keyway_config::environment::Variables;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let variables = Variables::from_pairs([("A", "value"), ("PATH", "/usr/bin")]);
    let rotated = Variables::from_pairs([("A", "another"), ("PATH", "/usr/bin")]);
    let questions = Question::preview(text.as_bytes(), &variables);
    let again = Question::preview(text.as_bytes(), &rotated);
    assert_eq!(questions.len(), again.len());
    for (one, same) in questions.iter().zip(&again) {
        // What a value changes without being shown must not ask again, and the other way round.
        assert_eq!(
            one.digest == same.digest,
            one.facts == same.facts,
            "{one}\n{same}"
        );
        let stored = Approval::of(one).to_bytes();
        let stored = Approval::from_bytes(&stored).expect("what was just written");
        assert_eq!(stored.last_facts().map(<[_]>::len), Some(one.facts.len()));
        for other in &questions {
            let is_same = one.server == other.server && one.facts == other.facts;
            assert_eq!(stored.covers(&other.digest), is_same, "{one}\n{other}");
        }
    }
});
