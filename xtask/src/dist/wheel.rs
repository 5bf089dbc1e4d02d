//! The Python wheel: the program as a script, for `uvx`, `pipx` and `pip`.
//!
//! maturin makes such wheels as well, but only from a build of its own. The binary of all packages
//! is the same one here, which was built and examined once; a zip of five files remains.

use std::fs;
use std::path::{Path, PathBuf};

use crate::child;
use crate::dist::project::{PACKAGE, Project};
use crate::dist::targets::Target;
use crate::dist::{project, tree};
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Packs the program for `target`.
pub(super) fn pack(
    workspace: &Workspace,
    project: &Project,
    target: &Target,
    binary: &Path,
    notices: &str,
) -> Result<PathBuf, XtaskError> {
    let stage = workspace.target.join("dist-stage");
    tree::empty(&stage)?;
    let distribution = format!("{}-{}", PACKAGE.replace('-', "_"), project.version);
    let scripts = stage.join(format!("{distribution}.data/scripts"));
    tree::copy(binary, &scripts.join(project::PROGRAM), tree::EXECUTABLE)?;
    let packaging = workspace.root.join("packaging/pypi");
    tree::copy(
        &packaging.join(PACKAGE),
        &scripts.join(PACKAGE),
        tree::EXECUTABLE,
    )?;
    let info = stage.join(format!("{distribution}.dist-info"));
    let readme = packaging.join("README.md");
    let readme = fs::read_to_string(&readme).map_err(XtaskError::file(&readme))?;
    tree::write(&info.join("METADATA"), &metadata(project, &readme))?;
    tree::write(&info.join("WHEEL"), &wheel(target))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let to = info.join("licenses").join(licence);
        tree::copy(&workspace.root.join(licence), &to, tree::PLAIN)?;
    }
    tree::write(&info.join("licenses/THIRD-PARTY"), notices)?;

    let name = format!("{distribution}-py3-none-{}.whl", target.wheel);
    let path = project::folder(workspace).join(name);
    let mut python = child::program(workspace, "python3");
    python
        .arg("packaging/pypi/pack.py")
        .args([&stage, &path])
        .arg(&project.epoch);
    child::run(&mut python)?;
    Ok(path)
}

fn metadata(project: &Project, readme: &str) -> String {
    let Project {
        version,
        description,
        licence,
        ..
    } = project;
    let address = project
        .address
        .as_ref()
        .map(|address| format!("Project-URL: Repository, {address}\n"))
        .unwrap_or_default();
    format!(
        "Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {version}\nSummary: {description}\n\
         License-Expression: {licence}\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         License-File: THIRD-PARTY\n{address}\
         Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{readme}"
    )
}

/// One line for each tag; the name of the file joins them by dots.
fn wheel(target: &Target) -> String {
    let tags = target.wheel.split('.');
    let tags: String = tags.map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    format!("Wheel-Version: 1.0\nGenerator: keyway\nRoot-Is-Purelib: false\n{tags}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::targets;

    #[test]
    fn each_tag_of_the_file_name_has_its_line() {
        let wheel = wheel(targets::find(targets::HOST).unwrap());
        assert!(
            wheel.contains("\nTag: py3-none-manylinux_2_17_x86_64\n"),
            "{wheel}"
        );
        assert!(
            wheel.ends_with("\nTag: py3-none-manylinux2014_x86_64\n"),
            "{wheel}"
        );
    }
}
