//! Whatever a damaged vault holds, reading its pages ends, and its rows hold no more than the file.

#![no_main]

use keyway_vault::{PageValue, rows_of_pages};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let rows = rows_of_pages(input);
    let held = |value: &PageValue| match value {
        PageValue::Text(text) => text.len(),
        PageValue::Blob(bytes) => bytes.len(),
        _ => 0,
    };
    let held: usize = rows.iter().flat_map(|row| &row.values).map(held).sum();
    assert!(held <= input.len());
});
