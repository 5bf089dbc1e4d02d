//! The tools that are measured: how each is installed and called, and how its findings are read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Corpus;
use super::recall::Finding;
use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools::Missing;

/// One tool, ready to search the corpus.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// Makes the command that searches all files and prints what it finds.
    pub(super) command: Box<dyn Fn() -> Command>,
    /// Whether we promise to be many times as fast: of a program that is interpreted.
    pub(super) is_interpreted: bool,
    read: Reader,
}

/// How the output of a tool is read.
enum Reader {
    Json(fn(&Value) -> Vec<(String, u64)>),
    /// Lines of a file, a number and the text, with colons between.
    Lines,
}

impl Contestant {
    /// Runs the tool once and returns where it found something.
    pub(super) fn findings(&self, corpus: &Corpus) -> Result<Vec<Finding>, XtaskError> {
        // A file, since secretlint ends before a pipe has taken all of its output.
        let report = corpus.folder.with_file_name(format!("{}.out", self.name));
        let file = File::create(&report).map_err(XtaskError::file(&report))?;
        let mut command = (self.command)();
        command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(Stdio::null());
        command
            .status()
            .map_err(|source| child::start_error(&command, source))?;
        let text = fs::read(&report).map_err(XtaskError::file(&report))?;
        let places = match self.read {
            Reader::Json(read) => {
                let report = serde_json::from_slice(&text).map_err(|_| XtaskError::Output {
                    command: self.name.to_owned(),
                    what: "it is not JSON",
                })?;
                read(&report)
            }
            Reader::Lines => read_lines(&String::from_utf8_lossy(&text)),
        };
        let places = places.into_iter();
        Ok(places
            .map(|(file, line)| Finding::at(&corpus.folder, &file, line))
            .collect())
    }
}

/// Returns ours first, then the others.
pub(super) fn all(workspace: &Workspace, corpus: &Corpus, keyway: &Path) -> Vec<Contestant> {
    let folder = corpus.folder.clone();
    let keyway = keyway.to_path_buf();
    let ours = move || {
        let mut command = Command::new(&keyway);
        command
            .args(["check", "--format", "json", "."])
            .current_dir(&folder);
        command
    };
    let folder = corpus.folder.clone();
    let program = venv(workspace).join("bin/detect-secrets");
    let detect_secrets = move || {
        let mut command = Command::new(&program);
        command
            .args(["scan", "--all-files", "."])
            .current_dir(&folder);
        command
    };
    let folder = corpus.folder.clone();
    let files = corpus.files.clone();
    let prefix = prefix(workspace);
    let secretlint = move || {
        let mut command = Command::new(prefix.join("node_modules/.bin/secretlint"));
        command
            .args(["--format", "json", "--secretlintrc"])
            .arg(prefix.join("secretlintrc.json"))
            .arg("--no-glob")
            .args(&files)
            .current_dir(&folder);
        command
    };
    let folder = corpus.folder.clone();
    let program = ripsecrets_root(workspace).join("bin/ripsecrets");
    let ripsecrets = move || {
        let mut command = Command::new(&program);
        command.arg(".").current_dir(&folder);
        command
    };
    vec![
        Contestant {
            name: OURS,
            version: env!("CARGO_PKG_VERSION"),
            command: Box::new(ours),
            is_interpreted: false,
            read: Reader::Json(read_ours),
        },
        Contestant {
            name: "detect-secrets",
            version: DETECT_SECRETS,
            command: Box::new(detect_secrets),
            is_interpreted: true,
            read: Reader::Json(read_detect_secrets),
        },
        Contestant {
            name: "secretlint",
            version: SECRETLINT,
            command: Box::new(secretlint),
            is_interpreted: true,
            read: Reader::Json(read_secretlint),
        },
        Contestant {
            name: "ripsecrets",
            version: RIPSECRETS,
            command: Box::new(ripsecrets),
            is_interpreted: false,
            read: Reader::Lines,
        },
    ]
}

/// Returns our program as it is released.
pub(super) fn keyway(workspace: &Workspace) -> PathBuf {
    workspace.target.join("release/keyway")
}

/// Makes sure that the others are there, below `target/tools`.
pub(super) fn ensure(workspace: &Workspace, missing: Missing) -> Result<(), XtaskError> {
    let has_detect_secrets = venv(workspace).join("bin/detect-secrets").is_file();
    let has_secretlint = prefix(workspace).join("secretlintrc.json").is_file();
    let has_ripsecrets = ripsecrets_root(workspace).join("bin/ripsecrets").is_file();
    let mut absent = Vec::new();
    if !has_detect_secrets {
        absent.push(format!(
            "detect-secrets {DETECT_SECRETS} from PyPI, needs python3"
        ));
    }
    if !has_secretlint {
        absent.push(format!(
            "secretlint {SECRETLINT} from npm, needs node and npm"
        ));
    }
    if !has_ripsecrets {
        absent.push(format!("ripsecrets {RIPSECRETS} from crates.io"));
    }
    if missing == Missing::Report && !absent.is_empty() {
        return Err(XtaskError::ToolsMissing { missing: absent });
    }
    if !has_detect_secrets {
        install_detect_secrets(workspace)?;
    }
    if !has_secretlint {
        install_secretlint(workspace)?;
    }
    if !has_ripsecrets {
        install_ripsecrets(workspace)?;
    }
    Ok(())
}

fn install_detect_secrets(workspace: &Workspace) -> Result<(), XtaskError> {
    let venv = venv(workspace);
    let mut make = child::program(workspace, "python3");
    child::run(make.args(["-m", "venv", "--clear"]).arg(&venv))?;
    let mut pip = child::program(workspace, venv.join("bin/pip"));
    let package = format!("detect-secrets=={DETECT_SECRETS}");
    child::run(pip.args(["install", "--quiet", &package]))
}

fn install_secretlint(workspace: &Workspace) -> Result<(), XtaskError> {
    let prefix = prefix(workspace);
    fs::create_dir_all(&prefix).map_err(XtaskError::file(&prefix))?;
    let mut npm = child::program(workspace, "npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
        .arg(&prefix);
    for package in ["secretlint", RULES] {
        npm.arg(format!("{package}@{SECRETLINT}"));
    }
    child::run(&mut npm)?;
    let settings = serde_json::json!({ "rules": [{ "id": RULES }] });
    let file = prefix.join("secretlintrc.json");
    fs::write(&file, settings.to_string()).map_err(XtaskError::file(&file))
}

/// Optimised, since it is measured.
fn install_ripsecrets(workspace: &Workspace) -> Result<(), XtaskError> {
    let mut install = child::cargo(workspace, &["install", "--quiet", "--locked", "ripsecrets"]);
    install
        .args(["--version", RIPSECRETS, "--root"])
        .arg(ripsecrets_root(workspace));
    child::run(&mut install)
}

fn ripsecrets_root(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("ripsecrets")
}

fn venv(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("detect-secrets")
}

fn prefix(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("secretlint")
}

fn read_ours(report: &Value) -> Vec<(String, u64)> {
    let is_secret = |found: &&Value| {
        let code = found.get("code").and_then(Value::as_str);
        matches!(code, Some("literal-secret" | "literal-default"))
    };
    items(report.get("diagnostics"))
        .filter(is_secret)
        .filter_map(|found| place(found.pointer("/source/file"), found.pointer("/source/line")))
        .collect()
}

fn read_detect_secrets(report: &Value) -> Vec<(String, u64)> {
    let files = report.get("results").and_then(Value::as_object);
    let found = files.into_iter().flatten();
    found
        .flat_map(|(_, found)| items(Some(found)))
        .filter_map(|found| place(found.get("filename"), found.get("line_number")))
        .collect()
}

fn read_secretlint(report: &Value) -> Vec<(String, u64)> {
    let found = items(Some(report))
        .flat_map(|file| items(file.get("messages")).map(move |found| (file, found)));
    found
        .filter_map(|(file, found)| place(file.get("filePath"), found.pointer("/loc/start/line")))
        .collect()
}

fn read_lines(report: &str) -> Vec<(String, u64)> {
    let lines = report.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (file, line) = (parts.next()?, parts.next()?);
        Some((file.to_owned(), line.parse().ok()?))
    });
    lines.collect()
}

fn place(file: Option<&Value>, line: Option<&Value>) -> Option<(String, u64)> {
    Some((file?.as_str()?.to_owned(), line?.as_u64()?))
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

/// The name under which we are measured.
pub(super) const OURS: &str = "keyway";

const DETECT_SECRETS: &str = "1.5.0";
/// The last that runs on Node 20.
const SECRETLINT: &str = "11.7.1";
const RULES: &str = "@secretlint/secretlint-rule-preset-recommend";
const RIPSECRETS: &str = "0.1.11";
