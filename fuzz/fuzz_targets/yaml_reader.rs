//! Whatever a file of YAML holds, every value stands inside of it, aliases stay within their budget,
//! and what is written for any host from its entries is read as the same number of entries.

#![no_main]

#[path = "../shared/host_files.rs"]
mod host_files;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let tree = keyway_config::yaml::read(text);
    host_files::check("goose/config.yaml", text, &tree);
    host_files::check(".continue/mcpServers/a.yaml", text, &tree);
});
