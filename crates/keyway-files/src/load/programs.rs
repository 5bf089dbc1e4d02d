//! The programs that headers helpers name: whether they are there, may be run, and what they say.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_config::declared::{Endpoint, HelperCommand};
use keyway_config::plugin::{Plugin, Program, ProgramState};
use keyway_config::source::Source;
use keyway_config::template::Template;

use super::Root;
use super::prose::{MAX_FILE_BYTES, is_script};
use crate::read::{self, shown};

/// The programs by the text in the entry, and where their scripts are.
type Found = (BTreeMap<String, Program>, Vec<(Arc<str>, PathBuf)>);

/// Looks up every program that a helper names by a path; nothing is run.
pub(super) fn find(root: &Root, plugin: &Plugin, home: Option<&Path>) -> Found {
    let mut programs = BTreeMap::new();
    let mut paths = Vec::new();
    for (_, server) in plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let Some(template) = remote.helper.as_ref().and_then(|h| named_by(&h.command)) else {
            continue;
        };
        if let Some(path) = locate(root, template, home) {
            let program = describe(root, &path);
            paths.extend(program.script.as_ref().map(|s| (s.shared_path(), path)));
            programs.insert(template.as_str().to_owned(), program);
        }
    }
    (programs, paths)
}

/// Returns the text that names a file; a bare word is looked up by the shell or in `PATH`.
fn named_by(command: &HelperCommand) -> Option<&Template> {
    match command {
        HelperCommand::Program(field) => Some(&field.template),
        HelperCommand::Words(words) => {
            let template = &words.first()?.template;
            template.as_str().contains('/').then_some(template)
        }
        _ => None,
    }
}

/// Returns the whole text as a path if there is such a file, else its first word.
fn locate(root: &Root, template: &Template, home: Option<&Path>) -> Option<PathBuf> {
    let whole = resolve(root, template, home)?;
    if whole.exists() {
        return Some(whole);
    }
    let first = template.as_str().split_whitespace().next()?;
    resolve(root, &Template::parse(first), home)
}

fn resolve(root: &Root, template: &Template, home: Option<&Path>) -> Option<PathBuf> {
    match template.as_str().strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => root.resolve(template),
    }
}

fn describe(root: &Root, path: &Path) -> Program {
    let metadata = fs::metadata(path).ok();
    let canonical = fs::canonicalize(path);
    let inside_root = canonical
        .as_deref()
        .unwrap_or(path)
        .starts_with(&root.canonical);
    let state = match &metadata {
        None => ProgramState::Missing,
        Some(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => {
            ProgramState::Executable
        }
        Some(_) => ProgramState::NotExecutable,
    };
    // Files outside of the plugin are not read, whatever an entry says.
    let script = if inside_root {
        script(root, path)
    } else {
        None
    };
    Program::new(state, inside_root, script)
}

fn script(root: &Root, path: &Path) -> Option<Source> {
    let bytes = read::optional(path, MAX_FILE_BYTES)?;
    let name = path.file_name()?.to_string_lossy();
    if !bytes.starts_with(b"#!") && !is_script(&name) {
        return None;
    }
    let below = path.strip_prefix(&root.canonical);
    let given = below.map_or_else(|_| path.to_path_buf(), |below| root.given.join(below));
    Some(Source::new(&shown(&given), &bytes))
}
