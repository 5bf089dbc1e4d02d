//! The npm packages: one that people name, and one for each platform with the binary in it.
//!
//! npm installs the platform package that fits, by `os`, `cpu` and `libc`; nothing is downloaded or
//! run at installation.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::child;
use crate::dist::project::{AUTHORS, PACKAGE, PROGRAM, Project};
use crate::dist::targets::Target;
use crate::dist::{project, tree};
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Packs the package of one platform.
pub(super) fn pack_platform(
    workspace: &Workspace,
    project: &Project,
    target: &Target,
    binary: &Path,
    notices: &str,
) -> Result<PathBuf, XtaskError> {
    let stage = stage(workspace)?;
    tree::copy(binary, &stage.join("bin").join(PROGRAM), tree::EXECUTABLE)?;
    tree::write(&stage.join("THIRD-PARTY"), notices)?;
    pack(
        workspace,
        project,
        &stage,
        platform_manifest(project, target),
    )
}

/// Packs the package that people name, for the platforms `targets`.
pub(super) fn pack_root(
    workspace: &Workspace,
    project: &Project,
    targets: &[&Target],
) -> Result<PathBuf, XtaskError> {
    let stage = stage(workspace)?;
    let from = workspace.root.join("packaging/npm");
    tree::copy(&from.join(SHIM), &stage.join(SHIM), tree::EXECUTABLE)?;
    tree::copy(
        &from.join("README.md"),
        &stage.join("README.md"),
        tree::PLAIN,
    )?;
    pack(workspace, project, &stage, root_manifest(project, targets))
}

fn stage(workspace: &Workspace) -> Result<PathBuf, XtaskError> {
    let stage = workspace.target.join("dist-stage");
    tree::empty(&stage)?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree::copy(
            &workspace.root.join(licence),
            &stage.join(licence),
            tree::PLAIN,
        )?;
    }
    Ok(stage)
}

fn pack(
    workspace: &Workspace,
    project: &Project,
    stage: &Path,
    mut manifest: Value,
) -> Result<PathBuf, XtaskError> {
    if let (Some(fields), Some(address)) = (manifest.as_object_mut(), &project.address) {
        let repository = json!({ "type": "git", "url": format!("git+{address}.git") });
        fields.insert("repository".to_owned(), repository);
        fields.insert("homepage".to_owned(), json!(address));
    }
    let name = manifest.get("name").and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let text = format!("{manifest:#}\n");
    tree::write(&stage.join("package.json"), &text)?;
    let folder = project::folder(workspace);
    let mut npm = child::program(workspace, "npm");
    npm.args(["pack", "--silent", "--offline", "--ignore-scripts"])
        .arg("--pack-destination")
        .arg(&folder)
        .current_dir(stage)
        .stdout(std::process::Stdio::null());
    child::run(&mut npm)?;
    let path = folder.join(format!("{name}-{}.tgz", project.version));
    fs::metadata(&path).map_err(XtaskError::file(&path))?;
    Ok(path)
}

fn platform_manifest(project: &Project, target: &Target) -> Value {
    let mut manifest = common(project, &platform_name(target));
    let npm = &target.npm;
    manifest.insert(
        "description".to_owned(),
        json!(format!("{PROGRAM} for {}", npm.suffix)),
    );
    manifest.insert("os".to_owned(), json!([npm.os]));
    manifest.insert("cpu".to_owned(), json!([npm.cpu]));
    if let Some(libc) = npm.libc {
        manifest.insert("libc".to_owned(), json!([libc]));
    }
    manifest.insert("preferUnplugged".to_owned(), json!(true));
    Value::Object(manifest)
}

fn root_manifest(project: &Project, targets: &[&Target]) -> Value {
    let mut manifest = common(project, PACKAGE);
    manifest.insert("description".to_owned(), json!(project.description));
    manifest.insert(
        "keywords".to_owned(),
        json!(["mcp", "oauth", "authentication"]),
    );
    manifest.insert("bin".to_owned(), json!({ PACKAGE: SHIM, PROGRAM: SHIM }));
    manifest.insert("engines".to_owned(), json!({ "node": ">=18" }));
    let platforms: Map<_, _> = targets
        .iter()
        .map(|target| (platform_name(target), json!(project.version)))
        .collect();
    manifest.insert("optionalDependencies".to_owned(), Value::Object(platforms));
    Value::Object(manifest)
}

fn common(project: &Project, name: &str) -> Map<String, Value> {
    let fields = [
        ("name", name),
        ("version", &project.version),
        ("license", &project.licence),
        ("author", AUTHORS),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}

fn platform_name(target: &Target) -> String {
    format!("{PACKAGE}-{}", target.npm.suffix)
}

const SHIM: &str = "keyway.js";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::targets::TARGETS;

    fn project() -> Project {
        Project {
            version: "1.2.3".to_owned(),
            description: "Signs in".to_owned(),
            licence: "MIT".to_owned(),
            address: None,
            epoch: "0".to_owned(),
        }
    }

    #[test]
    fn the_named_package_asks_for_each_platform_in_its_own_version_and_runs_nothing() {
        let targets: Vec<_> = TARGETS.iter().collect();
        let manifest = root_manifest(&project(), &targets);
        let platforms = manifest["optionalDependencies"].as_object().unwrap();
        assert_eq!(platforms.len(), TARGETS.len());
        assert!(platforms.values().all(|version| version == "1.2.3"));
        assert!(manifest.get("scripts").is_none());
        assert_eq!(manifest["bin"]["keyway-mcp"], "keyway.js");
    }

    #[test]
    fn the_shim_knows_every_platform_package() {
        let shim = include_str!("../../../packaging/npm/keyway.js");
        for target in TARGETS {
            let (os, cpu) = (target.npm.os, target.npm.cpu);
            let musl = if target.npm.libc == Some("musl") {
                "-musl"
            } else {
                ""
            };
            assert_eq!(target.npm.suffix, format!("{os}-{cpu}{musl}"));
            assert!(
                platform_manifest(&project(), target)
                    .get("scripts")
                    .is_none()
            );
        }
        assert!(shim.contains("`keyway-mcp-${process.platform}-${process.arch}${musl}`"));
    }
}
