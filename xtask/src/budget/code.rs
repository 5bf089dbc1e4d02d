//! Lines of code: without blank lines, comments and tests, counted from the tokens of each module.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::source;

/// The code of one module.
pub(super) struct ModuleSize {
    owner: String,
    /// Names from the root of the crate.
    path: Vec<String>,
    lines: usize,
}

/// Measures all libraries and programs of the workspace.
pub(super) fn measure(workspace: &Workspace) -> Result<Vec<ModuleSize>, XtaskError> {
    let mut sizes = Vec::new();
    for package in workspace.crates() {
        // A file that a library and a program share counts once.
        let mut seen = BTreeSet::new();
        for target in package.targets.iter().filter(|t| t.is_product()) {
            for module in source::modules(&target.src_path)? {
                let lines = source::code_lines(&module.tokens).into_iter();
                let new = lines.filter(|line| seen.insert((module.file.clone(), *line)));
                sizes.push(ModuleSize {
                    owner: package.name.clone(),
                    lines: new.count(),
                    path: module.path,
                });
            }
        }
    }
    Ok(sizes)
}

/// Adds up lines of code by crate.
pub(super) fn per_crate(modules: &[ModuleSize]) -> BTreeMap<&str, usize> {
    let mut crates = BTreeMap::new();
    for module in modules {
        *crates.entry(module.owner.as_str()).or_default() += module.lines;
    }
    crates
}

/// Counts what the cli has beside the declaration, the printing and the commands themselves.
pub(super) fn cli_without_commands(modules: &[ModuleSize]) -> usize {
    let is_counted = |module: &&ModuleSize| {
        module.owner == "keyway-cli"
            && !module
                .path
                .first()
                .is_some_and(|first| ["arguments", "report", "commands"].contains(&first.as_str()))
    };
    let counted = modules.iter().filter(is_counted);
    counted.map(|module| module.lines).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(sizes: &[(&str, &str, usize)]) -> Vec<ModuleSize> {
        sizes
            .iter()
            .map(|(owner, path, lines)| ModuleSize {
                owner: (*owner).to_owned(),
                path: path
                    .split("::")
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
                lines: *lines,
            })
            .collect()
    }

    #[test]
    fn lines_are_added_up_by_crate() {
        let modules = modules(&[("keyway", "", 1), ("keyway", "b::c", 2), ("xtask", "", 4)]);
        let crates = per_crate(&modules);
        assert_eq!(crates, BTreeMap::from([("keyway", 3), ("xtask", 4)]));
    }

    #[test]
    fn arguments_report_and_commands_of_the_cli_do_not_count() {
        let modules = modules(&[
            ("keyway-cli", "", 1),
            ("keyway-cli", "commands", 2),
            ("keyway-cli", "commands::run", 4),
            ("keyway-cli", "arguments::color", 8),
            ("keyway-cli", "report", 16),
            ("keyway-cli", "reports", 32),
            ("keyway", "load", 64),
        ]);
        assert_eq!(cli_without_commands(&modules), 33);
    }
}
