//! The Homebrew formula, from its template.

use std::collections::BTreeMap;
use std::fs;

use crate::dist::project::{self, PROGRAM, Project};
use crate::dist::{checksums, tree};
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Writes the formula and returns what became of it.
pub(super) fn prepare(workspace: &Workspace, project: &Project) -> Result<String, XtaskError> {
    let folder = project::folder(workspace);
    let mut values = BTreeMap::new();
    for triple in ["aarch64-apple-darwin", "x86_64-apple-darwin"] {
        let archive = folder.join(format!("{PROGRAM}-{}-{triple}.tar.xz", project.version));
        if !archive.is_file() {
            return Ok(format!("not made: no archive for {triple}"));
        }
        values.insert(format!("sha256 {triple}"), checksums::of(&archive)?);
    }
    let Some(address) = &project.address else {
        return Ok("not made: the project has no address".to_owned());
    };
    values.insert("address".to_owned(), address.clone());
    values.insert("description".to_owned(), project.description.clone());
    values.insert("version".to_owned(), project.version.clone());
    let template = workspace.root.join("packaging/homebrew/keyway.rb");
    let text = fs::read_to_string(&template).map_err(XtaskError::file(&template))?;
    let formula = filled_in(&text, &values).map_err(|faults| XtaskError::Release { faults })?;
    tree::write(&folder.join("keyway.rb"), &formula)?;
    Ok("made".to_owned())
}

/// Replaces each `{{name}}`; names without a value are faults.
fn filled_in(template: &str, values: &BTreeMap<String, String>) -> Result<String, Vec<String>> {
    let mut pieces = template.split("{{");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    let mut faults = Vec::new();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        match values.get(name) {
            Some(value) => text.push_str(value),
            None => faults.push(format!("the formula asks for `{name}`")),
        }
        text.push_str(rest);
    }
    match faults.is_empty() {
        true => Ok(text),
        false => Err(faults),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_asks_for_nothing_that_is_not_given() {
        let names = [
            "address",
            "description",
            "version",
            "sha256 aarch64-apple-darwin",
            "sha256 x86_64-apple-darwin",
        ];
        let template = include_str!("../../../packaging/homebrew/keyway.rb");
        let mut values: BTreeMap<_, _> = names
            .map(|name| (name.to_owned(), "VALUE".to_owned()))
            .into();
        let formula = filled_in(template, &values).unwrap();
        assert!(!formula.contains("{{"), "{formula}");
        values.remove("version");
        assert!(filled_in(template, &values).is_err());
    }
}
