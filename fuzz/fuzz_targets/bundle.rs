//! Whatever an archive holds, its manifest is found or refused, and never more than a file of entries;
//! and what is unpacked of it has names that stay inside, each once, and no more bytes than allowed.

#![no_main]

use std::collections::BTreeSet;
use std::io::{self, Cursor, Write};

use keyway_config::bundle::{UnpackTarget, manifest, unpack};
use keyway_config::source::MAX_BYTES;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(manifest) = manifest(Cursor::new(bytes)) {
        assert!(manifest.len() <= MAX_BYTES);
    }
    let mut target = Counted::default();
    let unpacked = unpack(Cursor::new(bytes), &mut target);
    // What is small may grow up to a bound, and what is large by a factor.
    assert!(target.written <= (bytes.len() * 100).max(1 << 20));
    if unpacked.is_ok() {
        assert!(target.files.contains("manifest.json"));
    }
});

#[derive(Default)]
struct Counted {
    files: BTreeSet<String>,
    written: usize,
}

impl Counted {
    fn look(path: &str) {
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        assert!(path.split('/').all(is_plain), "{path:?}");
        assert!(!path.contains(['\\', '\0']), "{path:?}");
    }
}

impl UnpackTarget for Counted {
    fn folder(&mut self, path: &str) -> io::Result<()> {
        Self::look(path);
        Ok(())
    }

    fn file(&mut self, path: &str, _: bool) -> io::Result<impl Write> {
        Self::look(path);
        assert!(self.files.insert(path.to_lowercase()), "{path:?}");
        Ok(Counter(&mut self.written))
    }
}

struct Counter<'a>(&'a mut usize);

impl Write for Counter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
