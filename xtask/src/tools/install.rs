//! Installing tools: each package manager in its own words.

use std::fs;
use std::path::{Path, PathBuf};

use super::Source;
use crate::child;
use crate::error::XtaskError;
use crate::metadata::{Metadata, Workspace};

/// Installs tools whose sources [join](Source::joins), all by one command.
pub(super) fn all(workspace: &Workspace, sources: &[&Source]) -> Result<(), XtaskError> {
    match sources {
        [] => Ok(()),
        [Source::Debian(_), ..] => debian(workspace, sources),
        [Source::Npm { .. }, ..] => npm(workspace, sources),
        [Source::Pip { .. }, ..] => pip(workspace, sources),
        others => others
            .iter()
            .try_for_each(|source| single(workspace, source)),
    }
}

fn single(workspace: &Workspace, source: &Source) -> Result<(), XtaskError> {
    match source {
        Source::Cargo { package, version } => cargo_install(workspace, package, version),
        Source::Component(name) => child::run(child::program(workspace, "rustup").args([
            "--quiet",
            "component",
            "add",
            name,
        ])),
        Source::CrateFile {
            package,
            version,
            file,
            to,
        } => {
            let source = download(workspace, package, version)?.join(file);
            let to = workspace.tools().join(to);
            fs::copy(source, &to).map_err(XtaskError::file(&to))?;
            Ok(())
        }
        Source::Debian(_) | Source::Npm { .. } | Source::Pip { .. } => all(workspace, &[source]),
    }
}

/// Builds without optimisation, which takes a third of the time; the tools run for seconds.
pub(crate) fn cargo_install(
    workspace: &Workspace,
    package: &str,
    version: &str,
) -> Result<(), XtaskError> {
    let mut command = child::cargo(workspace, &["install", "--quiet", "--locked", "--force"]);
    command
        .args([package, "--version", version, "--root"])
        .arg(workspace.tools())
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    child::run(&mut command)
}

fn debian(workspace: &Workspace, sources: &[&Source]) -> Result<(), XtaskError> {
    let is_root =
        child::probe(child::program(workspace, "id").arg("-u")).is_some_and(|id| id.trim() == "0");
    let apt_get = || {
        let mut command = child::program(workspace, if is_root { "env" } else { "sudo" });
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]);
        // Another installation may be under way.
        command.args(["-o", "DPkg::Lock::Timeout=600"]);
        command
    };
    child::run(apt_get().arg("update"))?;
    let mut install = apt_get();
    install.args(["install", "--yes", "--no-install-recommends"]);
    install.args(sources.iter().filter_map(|source| match source {
        Source::Debian(package) => Some(package),
        _ => None,
    }));
    child::run(&mut install)
}

/// What is written beside the packages names versions, and no address they came from.
fn npm(workspace: &Workspace, sources: &[&Source]) -> Result<(), XtaskError> {
    let prefix = workspace.tools().join("npm");
    fs::create_dir_all(&prefix).map_err(XtaskError::file(&prefix))?;
    let mut command = child::program(workspace, "npm");
    command
        .args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--save-exact",
            "--omit-lockfile-registry-resolved",
            "--prefix",
        ])
        .arg(prefix)
        .args(sources.iter().filter_map(|source| match source {
            Source::Npm { package, version } => Some(format!("{package}@{version}")),
            _ => None,
        }));
    child::run(&mut command)
}

fn pip(workspace: &Workspace, sources: &[&Source]) -> Result<(), XtaskError> {
    let environment = workspace.tools().join("python");
    let python = environment.join("bin/python");
    if !python.is_file() {
        let mut create = child::program(workspace, "python3");
        child::run(create.args(["-m", "venv"]).arg(&environment))?;
    }
    let mut command = child::program(workspace, &python);
    command
        .args(["-m", "pip", "install", "--quiet"])
        .arg("--disable-pip-version-check")
        .args(sources.iter().filter_map(|source| match source {
            Source::Pip { package, version } => Some(format!("{package}=={version}")),
            _ => None,
        }));
    child::run(&mut command)
}

/// Lets `cargo` download a package for a crate that is never built; returns the package's directory.
fn download(
    workspace: &Workspace,
    package: &'static str,
    version: &str,
) -> Result<PathBuf, XtaskError> {
    let directory = workspace.tools().join("downloads").join(package);
    let manifest = directory.join("Cargo.toml");
    let text = format!(
        "[workspace]\n[package]\nname = \"download\"\nversion = \"0.0.0\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\n{package} = \"={version}\"\n"
    );
    fs::create_dir_all(&directory).map_err(XtaskError::file(&directory))?;
    fs::write(&manifest, text).map_err(XtaskError::file(&manifest))?;
    let metadata = ["metadata", "--format-version=1", "--manifest-path"];
    let mut command = child::cargo(workspace, &metadata);
    let metadata = Metadata::read(command.arg(&manifest).arg("--quiet"))?;
    metadata
        .source_of(package)
        .map(Path::to_owned)
        .ok_or_else(|| XtaskError::Output {
            command: "cargo metadata".to_owned(),
            what: "the downloaded package is not in it",
        })
}
