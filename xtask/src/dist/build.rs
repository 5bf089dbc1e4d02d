//! Building the program for a target, such that where it was built cannot be seen.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::dist::project::{self, Project};
use crate::dist::targets::{self, Builder, Target};
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools::Missing;

/// Where a build takes place: two builds of one source in two places must not differ.
#[derive(Debug)]
pub(super) struct Place {
    /// The sources.
    pub(super) source: PathBuf,
    pub(super) cargo_home: PathBuf,
    /// Below `source`, so that one prefix covers what build scripts write.
    pub(super) target: PathBuf,
    /// Where zig keeps what it compiled.
    pub(super) zig_cache: PathBuf,
}

impl Place {
    /// The workspace itself, with the person's own cargo home.
    pub(super) fn here(workspace: &Workspace) -> Self {
        let home = env::home_dir().unwrap_or_default();
        let cargo_home = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), Into::into);
        Self {
            source: workspace.root.clone(),
            cargo_home,
            target: workspace.target.join("dist-build"),
            zig_cache: workspace.target.join("dist-build/zig"),
        }
    }

    /// Returns each prefix that names this place, and what stands in the binary instead.
    fn prefixes(&self, sysroot: &Path) -> [(PathBuf, &'static str); 3] {
        [
            (self.cargo_home.clone(), "/cargo"),
            (sysroot.to_owned(), "/rust"),
            (self.source.clone(), "/keyway"),
        ]
    }

    /// Returns what must not be found in a binary that was built here.
    pub(super) fn secrets(&self, sysroot: &Path) -> Vec<PathBuf> {
        let home = env::home_dir().filter(|home| home.components().count() > 1);
        let prefixes = self.prefixes(sysroot).map(|(path, _)| path);
        prefixes.into_iter().chain(home).collect()
    }
}

/// Builds the program for `target` in `place` and returns its path.
pub(super) fn binary(
    workspace: &Workspace,
    project: &Project,
    target: &Target,
    place: &Place,
) -> Result<PathBuf, XtaskError> {
    let sysroot = targets::sysroot(workspace)?;
    let command = match target.builder {
        Builder::Zig => "zigbuild",
        Builder::Native => "build",
    };
    let triple = match (target.builder, target.glibc) {
        (Builder::Zig, Some([major, minor])) => format!("{}.{major}.{minor}", target.triple),
        _ => target.triple.to_owned(),
    };
    let mut cargo = child::cargo(workspace, &[command, "--release", "--locked"]);
    cargo
        .args(["--package", project::CRATE, "--target", &triple])
        .args(["--features", project::FEATURES])
        .arg("--target-dir")
        .arg(&place.target)
        .current_dir(&place.source);
    remap(&mut cargo, &place.prefixes(&sysroot), target);
    // The folders of zig's caches are in no binary; their content depends on the flags.
    cargo
        .env("CARGO_HOME", &place.cargo_home)
        .env("CARGO_ZIGBUILD_PYTHON_PATH", python(workspace))
        .env("ZIG_GLOBAL_CACHE_DIR", &place.zig_cache)
        .env("SOURCE_DATE_EPOCH", &project.epoch)
        .env("PATH", with_zig(workspace));
    child::run(&mut cargo)?;
    let folder = place.target.join(target.triple).join("release");
    Ok(folder.join(project::PROGRAM))
}

/// Tells both compilers what to write instead of each prefix.
fn remap(cargo: &mut Command, prefixes: &[(PathBuf, &str)], target: &Target) {
    let rust = prefixes
        .iter()
        .map(|(path, to)| format!("--remap-path-prefix={}={to}", path.display()));
    // No C is compiled from the toolchain's folder.
    let c = prefixes
        .iter()
        .filter(|(_, to)| *to != "/rust")
        .map(|(path, to)| format!("-ffile-prefix-map={}={to}", path.display()));
    // Whatever the person's own environment says would change the binary.
    cargo
        .env_remove("RUSTFLAGS")
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            rust.collect::<Vec<_>>().join("\x1f"),
        )
        .env_remove("CFLAGS")
        .env(
            format!("CFLAGS_{}", target.triple.replace('-', "_")),
            c.collect::<Vec<_>>().join(" "),
        );
}

/// Makes sure that `cargo zigbuild` and zig are there.
///
/// # Errors
///
/// Returns [`XtaskError::ToolsMissing`] if they are not and `missing` does not say to install them.
pub(super) fn ensure_tools(workspace: &Workspace, missing: Missing) -> Result<(), XtaskError> {
    let is_there = tools(workspace).join("bin/cargo-zigbuild").is_file();
    if is_there {
        return Ok(());
    }
    if missing == Missing::Report {
        let missing =
            PACKAGES.map(|package| format!("{package} from PyPI, to build for old systems"));
        return Err(XtaskError::ToolsMissing {
            missing: missing.into(),
        });
    }
    let mut venv = child::program(workspace, "python3");
    child::run(venv.args(["-m", "venv", "--clear"]).arg(tools(workspace)))?;
    let mut pip = child::program(workspace, python(workspace));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    child::run(pip.args(PACKAGES))
}

fn python(workspace: &Workspace) -> PathBuf {
    tools(workspace).join("bin/python")
}

fn tools(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("zig")
}

/// `cargo` looks for its subcommands on the path.
fn with_zig(workspace: &Workspace) -> std::ffi::OsString {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let ours = tools(workspace).join("bin");
    let all = std::iter::once(ours).chain(env::split_paths(&inherited));
    env::join_paths(all).unwrap_or(inherited)
}

const PACKAGES: [&str; 2] = ["cargo-zigbuild==0.24.0", "ziglang==0.17.0"];
