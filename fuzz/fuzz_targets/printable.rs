//! Whatever the input, [`printable`] leaves nothing that moves a cursor or hides itself.

#![no_main]

use keyway_secret::printable;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let shown = printable(text);
    let hidden = |c: char| c.is_control() || INVISIBLE.contains(c);
    assert!(!shown.contains(hidden), "{shown:?}");
    assert_eq!(printable(&shown), shown, "cleaning twice changes it");
});

/// A sample of what must never reach a terminal, kept apart from the list in the product.
const INVISIBLE: &str = "\u{ad}\u{61c}\u{200b}\u{200d}\u{200e}\u{202a}\u{202e}\u{2060}\u{2066}\
                         \u{2069}\u{feff}\u{fffb}\u{e0041}\u{e007f}";
