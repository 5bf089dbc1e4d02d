//! Starting other programs from the workspace root, with our own tools first on the path.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

use crate::metadata::Workspace;
pub(crate) use crate::process::{
    capture, cargo_program, follow_stderr, probe, run, start_error, succeeded,
};

/// Returns `program`, to be run in the workspace root.
///
/// Programs in `target/tools/bin` win over those installed elsewhere; `cargo` looks for its
/// subcommands in the same order.
pub(crate) fn program(workspace: &Workspace, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(&workspace.root)
        .env("PATH", path(workspace));
    if workspace.is_first_build {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Returns the `cargo` that runs this task, with `arguments`.
pub(crate) fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    as_cargo(program(workspace, cargo_program()), arguments)
}

/// Returns the same at the lowest priority: it compiles beside tests, and a test comes first.
pub(crate) fn gentle_cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = program(workspace, "nice");
    command.args(["-n", "19"]).arg(cargo_program());
    as_cargo(command, arguments)
}

fn as_cargo(mut command: Command, arguments: &[&str]) -> Command {
    command.args(arguments);
    // Builds must not see the variables that `cargo run` sets for this task: a build script that
    // reads them would run again, and everything above it, whenever the caller changes.
    for (name, _) in env::vars_os() {
        let is_ours = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if is_ours {
            command.env_remove(name);
        }
    }
    command
}

fn path(workspace: &Workspace) -> OsString {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let ours = workspace.tools().join("bin");
    let all = std::iter::once(ours).chain(env::split_paths(&inherited));
    // Joining fails only if our own directory contains the separator; then the tools there cannot
    // be found by any path.
    env::join_paths(all).unwrap_or(inherited)
}
