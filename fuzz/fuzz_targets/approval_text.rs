//! Whatever a plugin wrote, the text of an approval hides nothing and adds no line of its own.

#![no_main]

use keyway_approval::Question;
use keyway_config::environment::Variables;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let variables = Variables::from_pairs([("A", "value"), ("PATH", "/usr/bin")]);
    for question in Question::preview(text.as_bytes(), &variables) {
        let shown = question.to_string();
        let hidden = |c: char| c != '\n' && (c.is_control() || INVISIBLE.contains(c));
        assert!(!shown.contains(hidden), "{shown:?}");
        let cautions = question.facts.iter().filter(|fact| fact.caution.is_some());
        let lines = 2 + question.facts.len() + cautions.count();
        assert_eq!(shown.lines().count(), lines, "{shown}");
        assert!(
            shown.lines().skip(1).all(|line| line.starts_with("  ")),
            "{shown}"
        );
    }
});

/// A sample of what must be written as an escape, kept apart from the list in the product.
const INVISIBLE: &str = "\u{ad}\u{61c}\u{200b}\u{200d}\u{202e}\u{2060}\u{2069}\u{feff}\u{34f}\u{fe0f}\
                         \u{2800}\u{3164}\u{115f}\u{ffa0}\u{e0041}\u{a0}\u{3000}";
