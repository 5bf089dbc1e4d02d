//! The tests of the program, one module for each command or theme.
//!
//! They are one program because linking is most of what building them takes. What `.config/nextest.toml`
//! or a test itself starts by name is a program of its own; `Cargo.toml` lists those.

mod accounts;
mod adoption;
mod bundles;
mod call;
mod canary;
mod check;
mod completion;
mod confidential;
mod control;
mod convert;
mod cost;
mod debug;
mod demo;
mod deploy;
#[path = "doctor/main.rs"]
mod doctor;
mod documented;
mod env;
mod events;
mod examples;
mod explain;
mod grammar;
mod headers;
mod hidden_input;
mod hints;
mod host_files;
mod hostile_repositories;
mod install;
mod isolation;
mod leaks;
#[path = "live/main.rs"]
mod live;
mod login;
mod logout;
mod logs;
#[cfg(target_os = "linux")]
mod many_servers;
mod migrate;
mod moving;
mod mtls;
mod oauth;
mod own_servers;
mod policy;
mod probe;
mod reach;
mod readme;
mod repositories;
mod reproduction;
mod rules;
mod run;
mod sarif;
mod schema;
mod serve;
mod service;
mod settings;
mod stall;
mod status;
mod swap;
mod threats;
mod trust;
#[path = "unsigned/main.rs"]
mod unsigned;
mod vault;

use std::path::Path;

/// With `autotests` off, Cargo does not look for tests: a file that is forgotten here would not run.
#[test]
fn every_file_of_tests_is_part_of_a_program() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap();
    let this = include_str!("commands.rs");
    for entry in std::fs::read_dir(package.join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_program = path.extension().is_some_and(|extension| extension == "rs")
            || path.join("main.rs").exists();
        if is_program && name != "commands" {
            let is_listed = this.contains(&format!("mod {name};\n"))
                || manifest.contains(&format!("name = \"{name}\"\n"));
            assert!(is_listed, "{name}: add it to tests/commands.rs");
        }
    }
}
