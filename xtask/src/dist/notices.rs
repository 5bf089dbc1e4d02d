//! The licences of the foreign code in the program, word for word, as they ask for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::XtaskError;
use crate::metadata::Package;

/// Returns the notices of all foreign `packages`; a text that several have stands there once.
///
/// # Errors
///
/// Returns [`XtaskError::Release`] if a package neither holds a licence nor is under one that
/// another package spells out.
pub(super) fn of(packages: &[&Package]) -> Result<String, XtaskError> {
    let mut texts: BTreeMap<String, Vec<&Package>> = BTreeMap::new();
    let mut bare = Vec::new();
    for package in packages.iter().filter(|package| package.source.is_some()) {
        let found = licences(package.folder())?;
        if found.is_empty() {
            bare.push(*package);
        }
        for text in found {
            texts.entry(text).or_default().push(package);
        }
    }
    let mut notices = String::from(HEAD);
    for package in &bare {
        let licence = package.license.as_deref().unwrap_or_default();
        let is_spelt_out = texts.values().flatten().any(|other| {
            let other = other.license.as_deref().unwrap_or_default();
            alternatives(licence).any(|one| alternatives(other).any(|known| known == one))
        });
        if !is_spelt_out {
            return Err(XtaskError::Release {
                faults: vec![format!("no text of the licence of `{}`", package.name)],
            });
        }
        let name = described(package);
        notices += &format!("{name}: {licence}, as below; its package holds no text\n");
    }
    for (text, users) in texts {
        let names: Vec<_> = users.into_iter().map(described).collect();
        notices += &format!("\n{RULE}\n{}\n{RULE}\n\n{text}\n", names.join(", "));
    }
    Ok(notices)
}

fn described(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

/// Returns each licence that may be chosen.
fn alternatives(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split([' ', '/', '(', ')']);
    words.filter(|word| !matches!(*word, "" | "OR" | "AND" | "WITH"))
}

/// Returns the texts of the files that are called like a licence, in a folder of sources.
fn licences(folder: &Path) -> Result<Vec<String>, XtaskError> {
    let entries = fs::read_dir(folder).map_err(XtaskError::file(folder))?;
    let mut paths: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && is_licence(path))
        .collect();
    paths.sort();
    let mut texts = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).map_err(XtaskError::file(&path))?;
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        texts.push(text.trim_end().to_owned());
    }
    Ok(texts)
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_ascii_uppercase();
    let starts = [
        "LICENSE",
        "LICENCE",
        "COPYING",
        "COPYRIGHT",
        "NOTICE",
        "UNLICENSE",
    ];
    starts.iter().any(|start| name.starts_with(start))
}

const RULE: &str =
    "================================================================================";
const HEAD: &str = "\
Keyway contains the packages below. SQLite, in libsqlite3-sys, is in the public domain.

";

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &Path, name: &str, licence: &str, text: Option<&str>) -> Package {
        let own = folder.join(name);
        fs::create_dir_all(&own).unwrap();
        if let Some(text) = text {
            fs::write(own.join("LICENSE-MIT"), text).unwrap();
        }
        let manifest = own.join("Cargo.toml");
        serde_json::from_value(serde_json::json!({
            "id": name, "name": name, "version": "1.0.0", "license": licence, "source": "registry",
            "manifest_path": manifest, "dependencies": [],
        }))
        .unwrap()
    }

    #[test]
    fn one_text_of_two_packages_stands_there_once() {
        let folder = tempfile::tempdir().unwrap();
        let one = package(folder.path(), "one", "MIT", Some("Permission is granted"));
        let two = package(
            folder.path(),
            "two",
            "MIT",
            Some("Permission is granted\r\n"),
        );
        let notices = of(&[&one, &two]).unwrap();
        assert_eq!(
            notices.matches("Permission is granted").count(),
            1,
            "{notices}"
        );
        assert!(notices.contains("one 1.0.0, two 1.0.0"), "{notices}");
    }

    #[test]
    fn a_package_without_a_text_needs_another_with_its_licence() {
        let folder = tempfile::tempdir().unwrap();
        let with = package(folder.path(), "with", "MIT OR Apache-2.0", Some("text"));
        let same = package(folder.path(), "same", "Apache-2.0/MIT", None);
        let other = package(folder.path(), "other", "ISC", None);
        assert!(
            of(&[&with, &same])
                .unwrap()
                .contains("same 1.0.0: Apache-2.0/MIT")
        );
        let error = of(&[&with, &other]).unwrap_err().to_string();
        assert!(error.contains("`other`"), "{error}");
    }
}
