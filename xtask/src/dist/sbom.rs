//! The bill of materials: what the program consists of, as CycloneDX 1.6.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Map, Value, json};

use crate::dist::project::{self, Project};
use crate::dist::shipped::Checksums;
use crate::error::XtaskError;
use crate::metadata::{Package, Workspace};

/// Returns the document for the program made of `packages`.
pub(super) fn of(
    workspace: &Workspace,
    project: &Project,
    packages: &[&Package],
) -> Result<Value, XtaskError> {
    let checksums = Checksums::read(workspace)?;
    let program = project::program(workspace)?;
    let others = packages.iter().filter(|package| package.id != program.id);
    let mut components: Vec<Value> = others
        .map(|package| component(package, checksums.of(package)))
        .collect();
    let mut edges: Vec<Value> = packages
        .iter()
        .map(|package| edge(workspace, package, packages))
        .collect();
    if let Some(package) = packages.iter().find(|package| package.name == SQLITE_IN) {
        let (sqlite, reference) = sqlite(package)?;
        components.push(sqlite);
        // Its bindings and nothing else use it.
        if let Some(uses) = edges
            .iter_mut()
            .find(|edge| edge.get("ref") == Some(&json!(url(package))))
            .and_then(|edge| edge.get_mut("dependsOn")?.as_array_mut())
        {
            uses.push(json!(reference));
        }
        edges.push(json!({ "ref": reference, "dependsOn": [] }));
    }
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": url(program),
                "name": project::PROGRAM,
                "version": project.version,
                "description": project.description,
                "licenses": [{ "expression": project.licence }],
                "purl": url(program),
            },
        },
        "components": components,
        "dependencies": edges,
    }))
}

/// Counts the components of a document.
///
/// # Errors
///
/// Returns [`XtaskError::Release`] if a package is missing, or something is used that is not listed.
pub(super) fn count(document: &Value, packages: &[&Package]) -> Result<usize, XtaskError> {
    let texts = |pointer: &str, name: &str| -> Vec<&str> {
        let list = document.pointer(pointer).and_then(Value::as_array);
        let list = list.into_iter().flatten();
        list.filter_map(|it| it.get(name)?.as_str()).collect()
    };
    let components = texts("/components", "bom-ref");
    let program = document.pointer("/metadata/component/bom-ref");
    let mut known: BTreeSet<&str> = components.iter().copied().collect();
    known.extend(program.and_then(Value::as_str));
    let uses = document.pointer("/dependencies").and_then(Value::as_array);
    let uses = uses.into_iter().flatten();
    let uses = uses.filter_map(|edge| edge.get("dependsOn")?.as_array());
    let used = uses
        .flatten()
        .filter_map(|it| it.as_str().map(str::to_owned));
    let wanted = packages.iter().map(|package| url(package)).chain(used);
    let missing = wanted.filter(|it| !known.contains(it.as_str()));
    let missing: BTreeSet<String> = missing.collect();
    if missing.is_empty() {
        return Ok(components.len());
    }
    let fault = |it: String| format!("the bill of materials does not list `{it}`");
    Err(XtaskError::Release {
        faults: missing.into_iter().map(fault).collect(),
    })
}

fn component(package: &Package, checksum: Option<&str>) -> Value {
    let mut component = Map::new();
    let mut put = |name: &str, value: Value| component.insert(name.to_owned(), value);
    put("type", json!("library"));
    put("bom-ref", json!(url(package)));
    put("name", json!(package.name));
    put("version", json!(package.version));
    put("purl", json!(url(package)));
    if let Some(licence) = &package.license {
        // Older manifests write `/` for `OR`, which is not an SPDX expression.
        let expression = licence.replace('/', " OR ");
        put("licenses", json!([{ "expression": expression }]));
    }
    if let Some(checksum) = checksum {
        let hash = json!({ "alg": "SHA-256", "content": checksum });
        put("hashes", json!([hash]));
    }
    Value::Object(component)
}

fn edge(workspace: &Workspace, package: &Package, all: &[&Package]) -> Value {
    let used = workspace.uses(package);
    let uses: BTreeSet<_> = all
        .iter()
        .filter(|other| used.contains(&other.id.as_str()))
        .map(|other| url(other))
        .collect();
    json!({ "ref": url(package), "dependsOn": uses })
}

/// Returns the package URL, by which scanners look for known vulnerabilities.
fn url(package: &Package) -> String {
    let Package { name, version, .. } = package;
    // A `+` in a version would be read as a blank.
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// Returns the SQLite that its bindings bring along, under the name that advisories use.
fn sqlite(bindings: &Package) -> Result<(Value, String), XtaskError> {
    let header = bindings.folder().join("sqlite3/sqlite3.h");
    let text = fs::read_to_string(&header).map_err(XtaskError::file(&header))?;
    let version = defined_version(&text).ok_or(XtaskError::Output {
        command: "sqlite3.h".to_owned(),
        what: "it defines no version",
    })?;
    let reference = format!("pkg:generic/sqlite@{version}");
    let component = json!({
        "type": "library",
        "bom-ref": reference,
        "name": "sqlite",
        "version": version,
        "cpe": format!("cpe:2.3:a:sqlite:sqlite:{version}:*:*:*:*:*:*:*"),
        "licenses": [{ "license": { "id": "blessing" } }],
        "purl": reference,
    });
    Ok((component, reference))
}

fn defined_version(header: &str) -> Option<&str> {
    let line = header
        .lines()
        .find_map(|line| line.strip_prefix("#define SQLITE_VERSION "))?;
    Some(line.trim().trim_matches('"'))
}

const SQLITE_IN: &str = "libsqlite3-sys";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_of_sqlite_is_read_from_its_header() {
        let header =
            "#define SQLITE_VERSION_NUMBER 3053001\n#define SQLITE_VERSION        \"3.53.1\"\n";
        assert_eq!(defined_version(header), Some("3.53.1"));
        assert_eq!(defined_version("#define SQLITE_VERSION_NUMBER 1\n"), None);
    }

    #[test]
    fn what_is_used_and_not_listed_is_a_fault() {
        let package: Package = serde_json::from_value(json!({
            "id": "p", "name": "p", "version": "1.0.0", "license": "MIT",
            "manifest_path": "/p/Cargo.toml", "dependencies": [],
        }))
        .unwrap();
        let whole = json!({
            "metadata": { "component": { "bom-ref": "pkg:cargo/program@1.0.0" } },
            "components": [{ "bom-ref": "pkg:cargo/p@1.0.0" }],
            "dependencies": [{ "ref": "pkg:cargo/program@1.0.0", "dependsOn": ["pkg:cargo/p@1.0.0"] }],
        });
        assert_eq!(count(&whole, &[&package]).unwrap(), 1);
        let mut empty = whole;
        empty["components"] = json!([]);
        let fault = count(&empty, &[&package]).unwrap_err().to_string();
        assert!(fault.contains("pkg:cargo/p@1.0.0"), "{fault}");
    }

    #[test]
    fn a_component_has_a_valid_expression_and_its_checksum() {
        let package: Package = serde_json::from_value(json!({
            "id": "p", "name": "p", "version": "1.0.0+wasi-0.2", "license": "MIT/Apache-2.0",
            "manifest_path": "/p/Cargo.toml", "dependencies": [],
        }))
        .unwrap();
        let component = component(&package, Some("ab12"));
        assert_eq!(component["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(component["hashes"][0]["content"], "ab12");
        assert_eq!(component["purl"], "pkg:cargo/p@1.0.0%2Bwasi-0.2");
    }
}
