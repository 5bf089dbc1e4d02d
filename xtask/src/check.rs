//! `cargo xtask check`: the inner loop, for what changed since the work left `main`.
//!
//! Format, layers and budget look at everything, because that takes seconds. Lints and unit tests
//! are those of the crates with changed files; what depends on them is left to `cargo xtask test`.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::{budget, child, layers};

/// Checks `chosen` crates, or those that changed.
pub(crate) fn run(workspace: &Workspace, chosen: &[String]) -> Result<(), XtaskError> {
    let crates = match chosen {
        [] => changed(workspace)?,
        chosen => known(workspace, chosen)?,
    };
    let packages: Vec<_> = crates.iter().flat_map(|name| ["--package", name]).collect();
    let cargo = |before: &[&str], after: &[&str]| {
        let arguments = [before, &packages, after].concat();
        child::run(&mut child::cargo(workspace, &arguments))
    };

    step("format", || {
        child::run(&mut child::cargo(workspace, &["fmt", "--all", "--check"]))
    })?;
    step("layers", || layers::check(workspace))?;
    step("size budget", || budget::check(workspace))?;
    if crates.is_empty() {
        println!("\nno crate changed: no lints, no tests");
        return Ok(());
    }
    let names: Vec<_> = crates.iter().map(String::as_str).collect();
    let names = names.join(", ");
    step(&format!("clippy of {names}"), || {
        cargo(
            &["clippy", "--all-targets", "--locked"],
            &["--", "-Dwarnings"],
        )
    })?;
    step(&format!("unit tests of {names}"), || {
        let mut run = vec!["nextest", "run", "--bins", "--locked"];
        // Cargo refuses this for programs alone.
        run.extend(has_library(workspace, &crates).then_some("--lib"));
        cargo(&run, &["--no-tests=pass", "--status-level=fail"])
    })
}

fn step(name: &str, step: impl FnOnce() -> Result<(), XtaskError>) -> Result<(), XtaskError> {
    println!("\n{name}");
    let begin = Instant::now();
    let result = step();
    let outcome = if result.is_ok() { "ok" } else { "FAILED" };
    println!(
        "{name}: {outcome} after {:.1} s",
        begin.elapsed().as_secs_f32()
    );
    result
}

fn has_library(workspace: &Workspace, crates: &BTreeSet<String>) -> bool {
    let packages = workspace.crates().into_iter();
    packages
        .filter(|package| crates.contains(&package.name))
        .any(|package| package.has_library())
}

fn known(workspace: &Workspace, chosen: &[String]) -> Result<BTreeSet<String>, XtaskError> {
    let unknown = chosen.iter().find(|name| !workspace.has_crate(name));
    match unknown {
        Some(name) => Err(XtaskError::CrateUnknown { name: name.clone() }),
        None => Ok(chosen.iter().cloned().collect()),
    }
}

/// Returns the crates with files that differ from where this work left `main`, or from the last
/// commit where there is no `main`.
fn changed(workspace: &Workspace) -> Result<BTreeSet<String>, XtaskError> {
    let git = |arguments: &[&str]| {
        let mut git = child::program(workspace, "git");
        git.args(arguments);
        git
    };
    let base = child::probe(&mut git(&["merge-base", "HEAD", "main"]));
    let base = base.as_deref().map_or("HEAD", str::trim);
    let differing = child::capture(&mut git(&["diff", "--name-only", "-z", base]))?;
    let new = child::capture(&mut git(&[
        "ls-files",
        "-z",
        "--others",
        "--exclude-standard",
    ]))?;
    let files: Vec<_> = differing.split('\0').chain(new.split('\0')).collect();
    Ok(crates_of(&files)
        .into_iter()
        .filter(|name| workspace.has_crate(name))
        .collect())
}

fn crates_of(files: &[&str]) -> BTreeSet<String> {
    files
        .iter()
        .filter_map(|file| {
            let mut parts = file.split('/');
            match parts.next()? {
                "crates" => parts.next(),
                "xtask" => Some("xtask"),
                _ => None,
            }
        })
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_changed_if_one_of_its_files_did() {
        let files = [
            "crates/keyway/src/host.rs",
            "crates/keyway/Cargo.toml",
            "xtask/src/main.rs",
            "docs/cli.md",
            "Cargo.lock",
            "",
        ];
        assert_eq!(
            crates_of(&files),
            BTreeSet::from(["keyway".to_owned(), "xtask".to_owned()])
        );
    }
}
