//! `cargo xtask bench tree`: what a plugin of 50,000 files that did not change costs at each start.
//!
//! Measured is `keyway status` of that plugin, less the same of a plugin with one file, beside a
//! `find` that looks at the same of each file: inode, size and change time. Runs are interleaved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::{medians, milliseconds, ratio};
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
    // A file that changed less than a minute ago is read, since its time does not tell everything yet.
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
        approve(|words| ours(plugin, words))?;
    }
    let status = |plugin: &Path| ours(plugin, &["status"]);
    let find = |words: &[&str]| {
        let mut command = Command::new("find");
        command.arg(&many).args(words);
        command
    };
    let commands: [&dyn Fn() -> Command; 4] = [
        &|| status(&many),
        &|| status(&one),
        &|| find(&["-printf", "%i %s %C@\\n"]),
        &|| find(&[]),
    ];
    let medians = medians(&commands, runs)?;
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

/// Approves the server, by the digest of what is shown, as a script has to.
fn approve(command: impl Fn(&[&str]) -> Command) -> Result<(), XtaskError> {
    let mut look = command(&["trust", "grant", "s"]);
    let shown = look.output();
    let shown = shown.map_err(|source| child::start_error(&look, source))?;
    let shown = String::from_utf8_lossy(&shown.stderr);
    let digest = shown
        .lines()
        .find_map(|line| line.strip_prefix("  digest    "));
    let digest = digest.ok_or_else(|| XtaskError::Output {
        command: "keyway trust grant".to_owned(),
        what: "it shows no digest",
    })?;
    child::run(&mut command(&["trust", "grant", "s", "--digest", digest]))
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
const SETTLED: std::time::Duration = std::time::Duration::from_secs(61);
/// As the promise has it.
const MOST: f64 = 2.0;
