//! What a helper prints is headers that may be sent, or nothing at all.

#![no_main]

use std::collections::HashSet;

use keyway_auth::parse_helper_output;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

fuzz_target!(|output: &[u8]| {
    let Ok(headers) = parse_helper_output(output) else {
        return;
    };
    assert!((1..=64).contains(&headers.len()));
    let object: Map<String, Value> = serde_json::from_slice(output).expect("one object");
    assert_eq!(object.len(), headers.len(), "a key stands twice");
    let mut seen = HashSet::new();
    for (name, value) in headers {
        assert!(seen.insert(name.clone()), "{name}");
        assert!(
            !OWNED.contains(&name.as_str()) && !name.as_str().starts_with("mcp-"),
            "{name}"
        );
        let value = value.to_str().expect("visible characters");
        assert!(!value.is_empty() && value.trim() == value);
        assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        assert!(object.values().any(|given| given == value));
    }
});

/// A sample of what only the transport may write, kept apart from the list in the product.
const OWNED: &[&str] = &[
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
];
