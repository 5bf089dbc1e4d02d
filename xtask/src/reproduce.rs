//! `cargo xtask reproduce`: the attacks of E1 to E16 against built programs, side by side.
//!
//! Not part of `cargo xtask test`, which plays the same against the program that it built. The plays
//! are in `keyway-testkit`, and know a program by nothing but its path.

use std::path::{self, Path};

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Prints the table; fails if one of the attacks could not be played.
pub(crate) fn run(
    workspace: &Workspace,
    binaries: &[String],
    only: Option<&str>,
) -> Result<(), XtaskError> {
    let words = [
        "run",
        "--quiet",
        "--locked",
        "--package=keyway-testkit",
        "--no-default-features",
        "--features=rig",
        "--bin=reproduce",
        "--",
    ];
    let mut command = child::cargo(workspace, &words);
    command.args(only.map(|threat| format!("--only={threat}")));
    for binary in binaries {
        let (label, path) = match binary.split_once('=') {
            Some((label, path)) => (format!("{label}="), path),
            None => (String::new(), binary.as_str()),
        };
        let whole = path::absolute(path).map_err(XtaskError::file(Path::new(path)))?;
        command.arg(format!("{label}{}", whole.display()));
    }
    child::run(&mut command)
}
