//! `cargo xtask bench tree`: what a plugin of 50,000 files that did not change costs at each start.
//!
//! Measured is `keyway status` of that plugin, less the same of a plugin with one file, beside a
//! `find` that looks at the same of each file: inode, size and change time. Runs are interleaved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::{median, milliseconds, ratio, time};
use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// How ours is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Release,
    Dev,
}

impl Profile {
    /// Returns what `--dev`, given or not, asks for.
    pub(crate) const fn from_flag(dev: bool) -> Self {
        if dev { Self::Dev } else { Self::Release }
    }

    const fn folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

/// Measures and prints.
///
/// # Errors
///
/// Returns [`XtaskError::TooSlow`] if ours takes more than twice as long.
pub(crate) fn measure(
    workspace: &Workspace,
    profile: Profile,
    runs: usize,
) -> Result<(), XtaskError> {
    let mut build = child::cargo(workspace, &["build", "--locked", "--package", "keyway-cli"]);
    if profile == Profile::Release {
        build.arg("--release");
    }
    child::run(&mut build)?;
    let keyway = workspace.target.join(profile.folder()).join("keyway");
    let folder = workspace.target.join("bench-tree");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    }
    let (many, one) = (folder.join("many"), folder.join("one"));
    let home = folder.join("home");
    plugin(&many, FOLDERS)?;
    plugin(&one, 0)?;
    // A file that changed a moment ago could change again within the same tick of the clock.
    thread::sleep(SETTLED);
    let ours = |plugin: &Path, words: &[&str]| {
        let mut command = Command::new(&keyway);
        command.args(words).arg("--config").arg(plugin);
        command
            .env("KEYWAY_HOME", &home)
            .env_remove("XDG_RUNTIME_DIR");
        command
    };
    for plugin in [&many, &one] {
        child::run(&mut ours(plugin, &["status", "--trust"]))?;
    }
    let status = |plugin: &Path| ours(plugin, &["status"]);
    let find = |words: &[&str]| {
        let mut command = Command::new("find");
        command.arg(&many).args(words);
        command
    };
    let mut times = vec![Vec::with_capacity(runs); 4];
    for round in 0..=runs {
        let commands = [
            status(&many),
            status(&one),
            find(&["-printf", "%i %s %C@\\n"]),
            find(&[]),
        ];
        for (mut command, times) in commands.into_iter().zip(&mut times) {
            let elapsed = time(&mut command)?;
            if round > 0 {
                times.push(elapsed);
            }
        }
    }
    let medians: Vec<_> = times.iter_mut().map(|times| median(times)).collect();
    let [many, one, look, names] = medians.as_slice() else {
        return Ok(());
    };
    let tree = many.saturating_sub(*one);
    println!(
        "{} files, {} build, median of {runs} runs",
        FOLDERS * FILES,
        profile.folder()
    );
    for (what, took) in [
        ("keyway status, one file", *one),
        ("keyway status, all files", *many),
        ("the difference", tree),
        ("find -printf inode, size, time", *look),
        ("find", *names),
    ] {
        println!(
            "{what:<34}{:>8.1} ms{:>7.2}×",
            milliseconds(took),
            ratio(took, *look)
        );
    }
    let cost = ratio(tree, *look);
    if cost > MOST {
        let broken = vec![format!("a tree costs {cost:.2} times a `find`, not {MOST}")];
        return Err(XtaskError::TooSlow { broken });
    }
    Ok(())
}

/// A plugin whose program decides by its folder what runs, so that all files count.
fn plugin(root: &PathBuf, folders: usize) -> Result<(), XtaskError> {
    let put = |path: PathBuf, text: &str| fs::write(&path, text).map_err(XtaskError::file(&path));
    fs::create_dir_all(root).map_err(XtaskError::file(root))?;
    put(
        root.join(".mcp.json"),
        r#"{"mcpServers": {"s": {"command": "node", "args": ["."]}}}"#,
    )?;
    put(root.join("index.js"), "")?;
    for number in 0..folders {
        let folder = root.join(format!("node_modules/package-{number}"));
        fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
        for file in 0..FILES {
            put(
                folder.join(format!("file-{file}.js")),
                "module.exports = 1;\n",
            )?;
        }
    }
    Ok(())
}

const FOLDERS: usize = 500;
const FILES: usize = 100;
const SETTLED: std::time::Duration = std::time::Duration::from_secs(5);
/// As the promise has it.
const MOST: f64 = 2.0;
