//! The list of circles that are known: a new one fails, and one that is gone leaves the list.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::error::XtaskError;
use crate::layers::circles::{self, Circle, Found};
use crate::metadata::Workspace;

/// Prints every circle and compares them with the list.
pub(super) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let found = find(workspace)?;
    for Found { circle, rings } in &found {
        println!("circle in {}", line(circle));
        for ring in rings {
            println!("  ring");
            for arrow in ring {
                println!("    {arrow}");
            }
        }
    }
    let mut per_crate: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for Found { circle, rings } in &found {
        let (circles, all_rings) = per_crate.entry(&circle.owner).or_default();
        *circles += 1;
        *all_rings += rings.len();
    }
    for (owner, (circles, rings)) in per_crate {
        println!("{owner}: circles between modules: {circles}, rings in them: {rings}");
    }
    let circles: Vec<_> = found.into_iter().map(|found| found.circle).collect();
    let violations = compare(&circles, &listed(workspace)?);
    if !violations.is_empty() {
        return Err(XtaskError::Layers { violations });
    }
    println!(
        "circles between modules: {}, all of them known",
        circles.len()
    );
    Ok(())
}

/// Replaces the list by what is found.
pub(super) fn write(workspace: &Workspace) -> Result<(), XtaskError> {
    let found = find(workspace)?;
    let lines = found.iter().map(|found| line(&found.circle) + "\n");
    let path = path(workspace);
    let text: String = std::iter::once(HEAD.to_owned()).chain(lines).collect();
    fs::write(&path, text).map_err(XtaskError::file(&path))?;
    println!("wrote {LIST} with {} circles", found.len());
    Ok(())
}

fn find(workspace: &Workspace) -> Result<Vec<Found>, XtaskError> {
    let mut found = Vec::new();
    for package in workspace.crates() {
        let products: Vec<_> = package.targets.iter().filter(|t| t.is_product()).collect();
        for target in &products {
            let owner = match products.as_slice() {
                [_] => package.name.clone(),
                _ => format!("{}/{}", package.name, target.name),
            };
            found.extend(circles::find(&owner, &target.src_path, &workspace.root)?);
        }
    }
    found.sort_by(|a, b| a.circle.cmp(&b.circle));
    Ok(found)
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join(LIST)
}

fn listed(workspace: &Workspace) -> Result<Vec<Circle>, XtaskError> {
    let path = path(workspace);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
    let lines = text.lines().enumerate();
    let circles = lines.filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    circles
        .map(|(index, line)| {
            read_line(line).ok_or_else(|| XtaskError::ListLine {
                path: path.clone(),
                line: index + 1,
            })
        })
        .collect()
}

fn line(circle: &Circle) -> String {
    let modules: Vec<_> = circle.modules.iter().map(String::as_str).collect();
    format!("{} {}: {}", circle.owner, circle.parent, modules.join(" "))
}

fn read_line(line: &str) -> Option<Circle> {
    let (place, modules) = line.split_once(": ")?;
    let (owner, parent) = place.split_once(' ')?;
    Some(Circle {
        owner: owner.to_owned(),
        parent: parent.to_owned(),
        modules: modules.split(' ').map(str::to_owned).collect(),
    })
}

/// Returns what is wrong with `found` in the light of `listed`.
fn compare(found: &[Circle], listed: &[Circle]) -> Vec<String> {
    let mut violations = Vec::new();
    for circle in found.iter().filter(|circle| !listed.contains(circle)) {
        let is_smaller = listed.iter().any(|known| {
            known.owner == circle.owner
                && known.parent == circle.parent
                && known.modules.is_superset(&circle.modules)
        });
        violations.push(match is_smaller {
            true => format!(
                "a circle became smaller ({}); run `cargo xtask layers --write`",
                line(circle)
            ),
            false => format!("new circle between modules: {}", line(circle)),
        });
    }
    for known in listed.iter().filter(|known| !found.contains(known)) {
        let is_named = found
            .iter()
            .any(|circle| circle.owner == known.owner && circle.modules.is_subset(&known.modules));
        if !is_named {
            violations.push(format!(
                "a circle is gone ({}); run `cargo xtask layers --write`",
                line(known)
            ));
        }
    }
    violations
}

const LIST: &str = "xtask/circles.txt";

const HEAD: &str = "\
# Circles between sibling modules that still exist: crate, parent module, members.
# `cargo xtask layers` prints their arrows, and fails if there is another. The aim is an empty list.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(lines: &[&str]) -> Vec<Circle> {
        lines.iter().map(|line| read_line(line).unwrap()).collect()
    }

    #[test]
    fn known_circles_are_accepted() {
        let known = circles(&["keyway crate: a b", "keyway gateway: c d e"]);
        assert_eq!(compare(&known, &known), Vec::<String>::new());
        assert_eq!(compare(&[], &[]), Vec::<String>::new());
    }

    #[test]
    fn new_larger_and_other_circles_fail() {
        let known = circles(&["keyway crate: a b"]);
        for other in [
            "keyway crate: a b c",
            "keyway crate: a c",
            "keyway x: a b",
            "cli crate: a b",
        ] {
            let violations = compare(&circles(&[other]), &known);
            assert!(
                violations
                    .iter()
                    .any(|violation| violation.starts_with("new circle")),
                "{other}: {violations:?}"
            );
        }
    }

    #[test]
    fn a_circle_that_is_gone_or_smaller_leaves_the_list() {
        let known = circles(&["keyway crate: a b c"]);
        let gone = compare(&[], &known);
        assert!(
            gone.len() == 1 && gone.iter().all(|v| v.contains("is gone")),
            "{gone:?}"
        );
        let smaller = compare(&circles(&["keyway crate: a b"]), &known);
        assert!(
            smaller.len() == 1 && smaller.iter().all(|v| v.contains("became smaller")),
            "{smaller:?}"
        );
    }

    #[test]
    fn a_line_is_read_as_it_is_written() {
        for text in ["keyway crate: a b", "keyway-cli/keyway a::b: c d e"] {
            assert_eq!(line(&read_line(text).unwrap()), text);
        }
        assert!(read_line("keyway a b").is_none());
    }
}
