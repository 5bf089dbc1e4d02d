//! Generated documents: what `keyway docs` writes, compared with the repository or copied into it.
//!
//! The hidden command `keyway docs --out DIR` writes every generated file into `DIR` under the
//! path that it has in the repository. This file knows none of them by name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::child;
use crate::error::XtaskError;
use crate::layers;
use crate::metadata::Workspace;
use crate::programs;

/// Fails if a generated file in the repository is missing, different, or no longer generated.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let Some(generated) = Generated::create(workspace)? else {
        return Ok(());
    };
    let mut files = generated.differing(&workspace.root)?;
    files.extend(
        generated
            .orphans(&workspace.root)?
            .iter()
            .map(|file| shown(file)),
    );
    if !files.is_empty() {
        return Err(XtaskError::DocsStale { files });
    }
    println!("{} generated files are up to date", generated.files.len());
    Ok(())
}

/// Makes the repository equal to what the code generates.
pub(crate) fn write(workspace: &Workspace) -> Result<(), XtaskError> {
    layers::draw(workspace)?;
    let Some(generated) = Generated::create(workspace)? else {
        return Ok(());
    };
    for file in generated.differing(&workspace.root)? {
        let to = workspace.root.join(&file);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(XtaskError::file(parent))?;
        }
        fs::copy(generated.directory.join(&file), &to).map_err(XtaskError::file(&to))?;
        println!("wrote {file}");
    }
    for file in generated.orphans(&workspace.root)? {
        let orphan = workspace.root.join(&file);
        fs::remove_file(&orphan).map_err(XtaskError::file(&orphan))?;
        println!("removed {}", shown(&file));
    }
    Ok(())
}

/// A directory of generated files.
struct Generated {
    directory: PathBuf,
    /// Relative to `directory`, sorted.
    files: Vec<PathBuf>,
}

impl Generated {
    /// Generates everything; `None`, and a line saying so, as long as there is no generator.
    fn create(workspace: &Workspace) -> Result<Option<Self>, XtaskError> {
        if !workspace.has_crate(CRATE) {
            println!("skipped: there is no crate {CRATE} yet to generate documents");
            return Ok(None);
        }
        let directory = workspace.target.join("generated-docs");
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(XtaskError::file(&directory))?;
        }
        let generator = programs::build(workspace, &[GENERATOR])?.join(GENERATOR);
        let mut command = child::program(workspace, generator);
        child::run(command.args(["docs", "--out"]).arg(&directory))?;
        let files = files_below(&directory)?;
        if files.is_empty() {
            return Err(XtaskError::Output {
                command: "keyway docs".to_owned(),
                what: "it generated no file",
            });
        }
        Ok(Some(Self { directory, files }))
    }

    /// Returns the files that `root` lacks or has with other content.
    fn differing(&self, root: &Path) -> Result<Vec<String>, XtaskError> {
        let mut differing = Vec::new();
        for file in &self.files {
            let new = self.directory.join(file);
            let content = fs::read(&new).map_err(XtaskError::file(&new))?;
            let old = root.join(file);
            if !old.exists() || fs::read(&old).map_err(XtaskError::file(&old))? != content {
                differing.push(shown(file));
            }
        }
        Ok(differing)
    }

    /// Returns files that `root` has in a directory of generated files, and that are not generated.
    fn orphans(&self, root: &Path) -> Result<Vec<PathBuf>, XtaskError> {
        let mut orphans = Vec::new();
        for owned in WHOLLY_GENERATED {
            for file in files_below(&root.join(owned))? {
                let file = Path::new(owned).join(file);
                if !self.files.contains(&file) {
                    orphans.push(file);
                }
            }
        }
        Ok(orphans)
    }
}

/// Returns all files below `directory`, relative to it and sorted; none if it does not exist.
fn files_below(directory: &Path) -> Result<Vec<PathBuf>, XtaskError> {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let here = directory.join(&below);
        if !here.exists() {
            continue;
        }
        for entry in fs::read_dir(&here).map_err(XtaskError::file(&here))? {
            let entry = entry.map_err(XtaskError::file(&here))?;
            let kind = entry.file_type().map_err(XtaskError::file(&here))?;
            let found = below.join(entry.file_name());
            if kind.is_dir() {
                open.push(found);
            } else {
                files.push(found);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn shown(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

const CRATE: &str = "keyway-cli";
const GENERATOR: &str = "keyway";

/// Directories in which nothing is written by hand, so that what is left over can be removed.
const WHOLLY_GENERATED: &[&str] = &["completions", "docs/errors", "docs/rules", "man", "schema"];

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, file: &str, content: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn generated(files: &[(&str, &str)]) -> (tempfile::TempDir, Generated) {
        let directory = tempfile::tempdir().unwrap();
        for (file, content) in files {
            put(directory.path(), file, content);
        }
        let files = files_below(directory.path()).unwrap();
        let generated = Generated {
            directory: directory.path().to_owned(),
            files,
        };
        (directory, generated)
    }

    #[test]
    fn changed_and_absent_files_are_named() {
        let (_directory, generated) = generated(&[
            ("docs/cli.md", "new"),
            ("docs/rules.md", "same"),
            ("man/a.1", "a"),
        ]);
        let repository = tempfile::tempdir().unwrap();
        put(repository.path(), "docs/cli.md", "old");
        put(repository.path(), "docs/rules.md", "same");
        let differing = generated.differing(repository.path()).unwrap();
        assert_eq!(differing, ["docs/cli.md", "man/a.1"]);
    }

    #[test]
    fn left_over_file_is_named_only_where_nothing_is_written_by_hand() {
        let (_directory, generated) = generated(&[("man/a.1", "a"), ("docs/cli.md", "c")]);
        let repository = tempfile::tempdir().unwrap();
        for file in ["man/a.1", "man/gone.1", "docs/by-hand.md"] {
            put(repository.path(), file, "");
        }
        let orphans = generated.orphans(repository.path()).unwrap();
        assert_eq!(orphans, [Path::new("man/gone.1")]);
    }
}
