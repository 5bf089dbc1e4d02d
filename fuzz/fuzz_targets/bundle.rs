//! Whatever an archive holds, its manifest is found or refused, and never more than a file of entries.

#![no_main]

use std::io::Cursor;

use keyway_config::bundle::manifest;
use keyway_config::source::MAX_BYTES;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(manifest) = manifest(Cursor::new(bytes)) {
        assert!(manifest.len() <= MAX_BYTES);
    }
});
