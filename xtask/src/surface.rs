//! The public surface of our libraries: committed under `docs/surface`, so that a change is seen.
//!
//! `rustdoc` writes each library as JSON, `public-api` makes one line of each public item. Methods
//! of trait implementations are left out (the trait says what they are), as are automatic and
//! blanket implementations. [`foreign`] looks at which other crates the lines name, and
//! [`public_fields`] at structs to which no field can be added.

mod foreign;
mod public_fields;
mod rustdoc;

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use public_api::{Builder, PublicItem};

use crate::error::XtaskError;
use crate::metadata::{Package, Workspace};

/// Compares the surface of each library with the committed one.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let surfaces = surfaces(workspace)?;
    let mut differences = Vec::new();
    for surface in &surfaces {
        let path = surface.path(workspace);
        let committed = match path.exists() {
            true => fs::read_to_string(&path).map_err(XtaskError::file(&path))?,
            false => String::new(),
        };
        differences.extend(compare(&surface.name, &committed, &surface.lines));
        println!("{:>6} lines of {}", surface.lines.len(), surface.name);
    }
    for file in left_over(workspace, &surfaces)? {
        differences.push(format!("`{}` belongs to no library", file.display()));
    }
    differences.extend(foreign::check(&surfaces));
    differences.extend(public_fields::check(&surfaces));
    match differences.is_empty() {
        true => Ok(()),
        false => Err(XtaskError::Surface { differences }),
    }
}

/// Makes the committed surface equal to that of the code.
pub(crate) fn write(workspace: &Workspace) -> Result<(), XtaskError> {
    let surfaces = surfaces(workspace)?;
    let folder = workspace.root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    for file in left_over(workspace, &surfaces)? {
        fs::remove_file(&file).map_err(XtaskError::file(&file))?;
    }
    for surface in &surfaces {
        let path = surface.path(workspace);
        let mut text = surface.lines.join("\n");
        text.push('\n');
        fs::write(&path, text).map_err(XtaskError::file(&path))?;
    }
    println!("wrote {} surfaces to {FOLDER}", surfaces.len());
    Ok(())
}

/// The public items of one library, one per line.
#[derive(Debug)]
struct Surface {
    name: String,
    lines: Vec<String>,
}

impl Surface {
    fn path(&self, workspace: &Workspace) -> PathBuf {
        workspace
            .root
            .join(FOLDER)
            .join(format!("{}.txt", self.name))
    }
}

fn surfaces(workspace: &Workspace) -> Result<Vec<Surface>, XtaskError> {
    let libraries: Vec<_> = workspace
        .crates()
        .into_iter()
        .filter(|package| is_library(package))
        .collect();
    let folder = rustdoc::document(workspace, &libraries)?;
    let mut surfaces = Vec::new();
    for package in libraries {
        let file = folder.join(format!("{}.json", package.name.replace('-', "_")));
        surfaces.push(Surface {
            name: package.name.clone(),
            lines: lines(&file)?,
        });
    }
    Ok(surfaces)
}

/// Says whether others can build on it: examples and what only our own programs use are not for that.
fn is_library(package: &Package) -> bool {
    let name = package.name.as_str();
    package.has_library() && !name.starts_with("example-") && !INTERNAL.contains(&name)
}

fn lines(json: &Path) -> Result<Vec<String>, XtaskError> {
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .map_err(|source| XtaskError::RustdocJson {
            path: json.to_owned(),
            source,
        })?;
    let items: Vec<&PublicItem> = api.items().collect();
    let implementations: HashSet<_> = items
        .iter()
        .filter(|item| is_implementation_of_a_trait(&item.to_string()))
        .map(|item| item.id())
        .collect();
    let is_shown = |item: &&&PublicItem| {
        let is_part = item
            .parent_id()
            .is_some_and(|parent| implementations.contains(&parent));
        !is_part || !item.to_string().contains("fn ")
    };
    Ok(items
        .iter()
        .filter(is_shown)
        .map(ToString::to_string)
        .collect())
}

fn is_implementation_of_a_trait(line: &str) -> bool {
    line.starts_with("impl") && line.contains(" for ")
}

/// Returns a line for each item that came or went.
fn compare(name: &str, committed: &str, lines: &[String]) -> Vec<String> {
    let committed: BTreeSet<&str> = committed.lines().collect();
    let current: BTreeSet<&str> = lines.iter().map(String::as_str).collect();
    let gone = committed.difference(&current).map(|line| ('-', line));
    let new = current.difference(&committed).map(|line| ('+', line));
    gone.chain(new)
        .map(|(sign, line)| format!("{name}: {sign} {line}"))
        .collect()
}

fn left_over(workspace: &Workspace, surfaces: &[Surface]) -> Result<Vec<PathBuf>, XtaskError> {
    let folder = workspace.root.join(FOLDER);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(XtaskError::file(&folder))? {
        let path = entry.map_err(XtaskError::file(&folder))?.path();
        let is_known = surfaces
            .iter()
            .any(|surface| surface.path(workspace) == path);
        if !is_known {
            files.push(path);
        }
    }
    Ok(files)
}

const FOLDER: &str = "docs/surface";

/// Libraries that only our own programs and tests use.
const INTERNAL: &[&str] = &[
    "keyway-cli",
    "keyway-demo",
    "keyway-storm",
    "keyway-testkit",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_equal_surface_has_no_differences() {
        let text = "pub struct a::A\npub fn a::b()\n";
        assert_eq!(compare("a", text, &lines(text)), Vec::<String>::new());
    }

    #[test]
    fn what_came_and_what_went_is_named() {
        let differences = compare(
            "a",
            "pub fn a::b()\npub fn a::c()\n",
            &lines("pub fn a::c()\npub fn a::b(u8)"),
        );
        assert_eq!(differences, ["a: - pub fn a::b()", "a: + pub fn a::b(u8)"]);
    }

    #[test]
    fn a_library_without_a_committed_surface_differs() {
        assert_eq!(compare("a", "", &lines("pub mod a")), ["a: + pub mod a"]);
    }

    #[test]
    fn implementations_of_traits_are_told_from_inherent_ones() {
        for line in [
            "impl core::fmt::Debug for a::B",
            "impl<T> core::convert::From<T> for a::B<T> where T: X",
        ] {
            assert!(is_implementation_of_a_trait(line), "{line}");
        }
        for line in ["impl a::B", "impl<T> a::B<T>", "pub fn a::implied() for "] {
            assert!(!is_implementation_of_a_trait(line), "{line}");
        }
    }
}
