//! Whatever a file of TOML holds, every value stands inside of it, and what is written for any host
//! from its entries is read as the same number of entries.

#![no_main]

#[path = "../shared/host_files.rs"]
mod host_files;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    host_files::check(".codex/config.toml", text, &keyway_config::toml::read(text));
});
