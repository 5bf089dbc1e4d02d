//! The container file: put beside the Debian package, checked, and built where there is a builder.

use std::fs;
use std::path::Path;

use crate::child;
use crate::dist::{project, tree};
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Puts the file beside the packages and returns what became of it.
pub(super) fn prepare(workspace: &Workspace) -> Result<String, XtaskError> {
    let from = workspace.root.join("packaging/container/Containerfile");
    let folder = project::folder(workspace);
    let to = folder.join("Containerfile");
    tree::copy(&from, &to, tree::PLAIN)?;
    let text = fs::read_to_string(&to).map_err(XtaskError::file(&to))?;
    let names: Vec<_> = tree::files(&folder)?
        .iter()
        .map(|file| project::name_of(file))
        .collect();
    let faults = faults(&text, &names);
    if !faults.is_empty() {
        return Err(XtaskError::Release { faults });
    }
    let Some(builder) = builder(workspace) else {
        return Ok("checked, not built: no container builder runs here".to_owned());
    };
    build(workspace, builder, &folder)?;
    Ok(format!("built and started by {builder}"))
}

/// Returns a builder that works here: a client without its engine does not.
fn builder(workspace: &Workspace) -> Option<&'static str> {
    ["podman", "docker"].into_iter().find(|builder| {
        let mut info = child::program(workspace, builder);
        child::probe(info.arg("info")).is_some()
    })
}

fn build(workspace: &Workspace, builder: &str, folder: &Path) -> Result<(), XtaskError> {
    let mut build = child::program(workspace, builder);
    build.args(["build", "--tag", IMAGE, "--file"]);
    child::run(build.arg(folder.join("Containerfile")).arg(folder))?;
    let mut start = child::program(workspace, builder);
    child::run(start.args(["run", "--rm", "--network=none", IMAGE, "demo", "--check"]))
}

/// Returns what is wrong with a container file whose context holds `files`.
fn faults(text: &str, files: &[String]) -> Vec<String> {
    let instructions: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| !line.starts_with([' ', '#']))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let of = |name: &str| {
        let found = instructions.iter().filter(move |(found, _)| *found == name);
        found.map(|(_, arguments)| *arguments).collect::<Vec<_>>()
    };
    let mut faults = Vec::new();
    for image in of("FROM") {
        let tag = image.split_once(':').map_or("latest", |(_, tag)| tag);
        if tag.starts_with("latest") {
            faults.push(format!("the base `{image}` has no fixed tag"));
        }
    }
    for copy in of("COPY") {
        let pattern = copy.split(' ').next().unwrap_or_default();
        let found = files.iter().filter(|file| matches(pattern, file)).count();
        if found != 1 {
            faults.push(format!("`{pattern}` is {found} files instead of one"));
        }
    }
    if of("USER")
        .last()
        .is_none_or(|user| matches!(*user, "root" | "0"))
    {
        faults.push("it runs as root".to_owned());
    }
    if of("ENTRYPOINT") != ["[\"/usr/bin/keyway\"]"] {
        faults.push("it does not start the program of the Debian package".to_owned());
    }
    faults
}

/// Says whether `name` fits a pattern with at most one `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

const IMAGE: &str = "keyway";

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../../packaging/container/Containerfile");

    fn debian() -> Vec<String> {
        vec![
            "keyway_0.1.0-1_amd64.deb".to_owned(),
            "SHA256SUMS".to_owned(),
        ]
    }

    #[test]
    fn our_container_file_is_sound() {
        assert_eq!(faults(FILE, &debian()), Vec::<String>::new());
    }

    #[test]
    fn an_absent_package_root_and_a_moving_base_are_faults() {
        for (text, files, fault) in [
            (
                FILE.to_owned(),
                vec![],
                "`keyway_*_amd64.deb` is 0 files instead of one",
            ),
            (
                FILE.replace("USER keyway", "USER root"),
                debian(),
                "it runs as root",
            ),
            (
                FILE.replace(":12-slim", ""),
                debian(),
                "the base `debian` has no fixed tag",
            ),
        ] {
            assert_eq!(faults(&text, &files), [fault]);
        }
    }
}
