//! Whatever a refusal says, little of it is kept and none of it moves a cursor.
//!
//! Each line of the input is one header.

#![no_main]

use http::HeaderValue;
use keyway_auth::{parse_challenges, token_challenge};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.split(|&byte| byte == b'\n');
    let values: Vec<_> = lines
        .filter_map(|line| HeaderValue::from_bytes(line).ok())
        .collect();
    let challenges = parse_challenges(&values);
    assert!(challenges.len() <= 32);
    let whole = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    for challenge in &challenges {
        let scheme = challenge.scheme();
        assert!(!scheme.is_empty() && whole.contains(scheme));
        assert!(
            scheme
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b',')
        );
        let told = [
            challenge.error(),
            challenge.scope(),
            challenge.error_description(),
        ];
        for text in told.into_iter().flatten() {
            assert!(text.len() <= 1024 && !text.trim().is_empty());
            assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        }
    }
    if let Some(ours) = token_challenge(&challenges) {
        assert!(matches!(ours.scheme(), "bearer" | "dpop"));
    }
    // What follows cannot change what a line has said.
    if let Some(first) = values.first() {
        let alone = parse_challenges(std::slice::from_ref(first));
        assert_eq!(alone, challenges[..alone.len()]);
    }
});
