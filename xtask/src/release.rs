//! `cargo xtask release --dry-run`: what a release would publish, and what keeps it from being one.
//!
//! Nothing here publishes. Version, changelog, schema and packages move together: [`check`] compares
//! them, and is a step of `cargo xtask test`.

mod elsewhere;
mod msrv;

use std::collections::BTreeSet;
use std::fs;

use crate::child;
use crate::dist::project::{self, Project};
use crate::error::XtaskError;
use crate::metadata::{Package, Workspace};

/// Fails if the parts of a release do not fit together.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let project = Project::read(workspace)?;
    let mut faults = manifests(workspace, &project.version);
    faults.extend(documents(workspace, &project.version)?);
    faults.extend(msrv::faults(workspace)?);
    if !faults.is_empty() {
        return Err(XtaskError::Release { faults });
    }
    println!(
        "version {}: manifests, changelog and schema agree",
        project.version
    );
    Ok(())
}

/// Packs every crate and lists what would be published, in order.
pub(crate) fn dry_run(workspace: &Workspace, verify: Verify) -> Result<(), XtaskError> {
    check(workspace)?;
    let project = Project::read(workspace)?;
    let crates = in_order(workspace);
    package(workspace, &crates, verify)?;
    println!("\nto crates.io, in this order:");
    let folder = workspace.target.join("package");
    for package in &crates {
        let file = folder.join(format!("{}-{}.crate", package.name, package.version));
        let size = fs::metadata(&file).map_err(XtaskError::file(&file))?.len();
        println!(
            "{:>6} KiB  {} {}",
            size / 1024,
            package.name,
            package.version
        );
    }
    println!("\nto npm, PyPI and the page of the release:");
    let dist = project::folder(workspace);
    match fs::read_dir(&dist) {
        Err(_) => println!("nothing: run `cargo xtask dist` first"),
        Ok(entries) => {
            let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            files.sort();
            for file in files {
                let size = fs::metadata(&file).map_err(XtaskError::file(&file))?.len();
                println!("{:>6} KiB  {}", size / 1024, project::name_of(&file));
            }
        }
    }
    if verify == Verify::Build {
        elsewhere::check(workspace, &crates)?;
    }
    match &project.address {
        Some(address) => println!("\nthe project's address is {address}"),
        None => {
            println!(
                "\nbefore publishing: set the project's address, `repository` in `Cargo.toml`"
            );
        }
    }
    Ok(())
}

/// Whether packages are built after they were packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verify {
    /// Only packed.
    Skip,
    /// Each is built by cargo, then all of them elsewhere without this workspace's configuration.
    Build,
}

impl Verify {
    /// Returns what the flag, given or not, asks for.
    pub(crate) const fn from_flag(given: bool) -> Self {
        if given { Self::Build } else { Self::Skip }
    }
}

fn package(workspace: &Workspace, crates: &[&Package], verify: Verify) -> Result<(), XtaskError> {
    let mut cargo = child::cargo(
        workspace,
        &["package", "--quiet", "--locked", "--allow-dirty"],
    );
    if verify == Verify::Skip {
        cargo.arg("--no-verify");
    }
    for package in crates {
        cargo.args(["--package", &package.name]);
    }
    child::run(&mut cargo)
}

/// Returns the crates that are published, each after those that it depends on.
fn in_order(workspace: &Workspace) -> Vec<&Package> {
    let mut left = published(workspace);
    let mut order: Vec<&Package> = Vec::new();
    while !left.is_empty() {
        let names: BTreeSet<_> = left.iter().map(|package| &package.name).collect();
        let (ready, waiting): (Vec<_>, Vec<_>) = left.iter().partition(|package| {
            let mut needs = package.dependencies.iter();
            !needs.any(|needed| needed.kind.is_none() && names.contains(&needed.name))
        });
        // Cargo refuses circles, so that there is always one that is ready.
        order.extend(ready);
        left = waiting;
    }
    order
}

fn published(workspace: &Workspace) -> Vec<&Package> {
    let crates = workspace.crates().into_iter();
    crates.filter(|package| package.is_published()).collect()
}

/// Returns what is wrong with the manifests of the crates.
fn manifests(workspace: &Workspace, version: &str) -> Vec<String> {
    let published = published(workspace);
    let names: BTreeSet<_> = published.iter().map(|package| &package.name).collect();
    let mut faults = Vec::new();
    for package in workspace.crates() {
        if package.version != version {
            faults.push(format!(
                "`{}` has version {}",
                package.name, package.version
            ));
        }
    }
    for package in &published {
        let name = &package.name;
        if package.description.is_none() || package.license.is_none() {
            faults.push(format!("`{name}` lacks a description or a licence"));
        }
        for needed in &package.dependencies {
            let ours = names.contains(&needed.name);
            // Parts of one release fit together, and no others were tested.
            if ours && needed.req != format!("={version}") {
                faults.push(format!(
                    "`{name}` asks for `{}` {}",
                    needed.name, needed.req
                ));
            }
            let is_left_out = needed.kind.as_deref() == Some("dev");
            if needed.req == "*" && !is_left_out {
                faults.push(format!("`{name}` asks for no version of `{}`", needed.name));
            }
        }
    }
    faults
}

/// Returns what is wrong with the changelog and the schema.
fn documents(workspace: &Workspace, version: &str) -> Result<Vec<String>, XtaskError> {
    let read = |name: &str| {
        let path = workspace.root.join(name);
        fs::read_to_string(&path).map_err(XtaskError::file(&path))
    };
    let mut faults: Vec<_> = changelog(&read("CHANGELOG.md")?, version)
        .into_iter()
        .collect();
    let schema = read("schema/mcp.schema.json")?;
    let declared = read("crates/keyway-config/src/schema_id.rs")?;
    faults.extend(schema_id(&schema, &declared));
    Ok(faults)
}

/// The newest section is the version's, or the one that becomes it.
fn changelog(text: &str, version: &str) -> Option<String> {
    let newest = text.lines().find_map(|line| line.strip_prefix("## "));
    match newest {
        Some("Unreleased") => None,
        Some(section) if section.split(' ').next() == Some(version) => None,
        Some(section) => Some(format!("the changelog begins with `{section}`")),
        None => Some("the changelog has no section".to_owned()),
    }
}

/// The schema that editors read has the identifier that the program knows.
fn schema_id(schema: &str, declared: &str) -> Option<String> {
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap_or_default();
    let id = schema.get("$id").and_then(|id| id.as_str());
    let id = id.unwrap_or("no identifier");
    let constant = format!("SCHEMA_ID: &str = \"{id}\";");
    (!declared.contains(&constant)).then(|| format!("the schema has `{id}`, the program another"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace(crates: &serde_json::Value) -> Workspace {
        let packages: Vec<_> = crates.as_array().unwrap().clone();
        let ids: Vec<_> = packages
            .iter()
            .map(|package| package["id"].clone())
            .collect();
        let metadata = json!({
            "workspace_root": "/nowhere", "target_directory": "/nowhere/target",
            "workspace_members": ids, "packages": packages,
        });
        Workspace::new(serde_json::from_value(metadata).unwrap())
    }

    fn package(name: &str, needs: &[(&str, &str, Option<&str>)]) -> serde_json::Value {
        let needs: Vec<_> = needs
            .iter()
            .map(|(name, req, kind)| json!({ "name": name, "req": req, "kind": kind }))
            .collect();
        json!({
            "id": name, "name": name, "version": "1.0.0", "license": "MIT", "description": "d",
            "manifest_path": format!("/nowhere/{name}/Cargo.toml"), "dependencies": needs,
        })
    }

    #[test]
    fn a_crate_comes_after_those_that_it_needs() {
        let crates = json!([
            package("a", &[("c", "=1.0.0", None)]),
            package("b", &[]),
            package("c", &[("b", "=1.0.0", None), ("a", "*", Some("dev"))]),
        ]);
        let workspace = workspace(&crates);
        let order = in_order(&workspace);
        let names: Vec<_> = order.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["b", "c", "a"]);
    }

    #[test]
    fn crates_that_do_not_fit_together_are_named() {
        let mut other = package("b", &[]);
        other["version"] = json!("1.0.1");
        let crates = json!([
            package("a", &[("b", "^1.0.0", None), ("x", "*", None)]),
            other
        ]);
        let faults = manifests(&workspace(&crates), "1.0.0");
        assert_eq!(
            faults,
            [
                "`b` has version 1.0.1",
                "`a` asks for `b` ^1.0.0",
                "`a` asks for no version of `x`",
            ]
        );
    }

    #[test]
    fn the_changelog_begins_with_the_version_or_with_what_becomes_it() {
        assert_eq!(changelog("# Changelog\n\n## Unreleased\n", "1.0.0"), None);
        assert_eq!(
            changelog("## 1.0.0 (2026-11-17)\n## 0.9.0\n", "1.0.0"),
            None
        );
        assert!(changelog("## 1.0.0\n## Unreleased\n", "1.1.0").is_some());
        assert!(changelog("# Changelog\n", "1.0.0").is_some());
    }

    #[test]
    fn a_schema_of_another_version_is_a_fault() {
        let declared = "pub const SCHEMA_ID: &str = \"urn:keyway:mcp:1\";";
        assert_eq!(schema_id(r#"{"$id": "urn:keyway:mcp:1"}"#, declared), None);
        assert!(schema_id(r#"{"$id": "urn:keyway:mcp:2"}"#, declared).is_some());
        assert!(schema_id("{}", declared).is_some());
    }
}
