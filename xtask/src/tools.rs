//! What the checks need besides Rust: the table [`TOOLS`], how each is found and installed.
//!
//! Everything is installed below `target/tools`, Debian packages and toolchain components excepted;
//! removing `target` removes it. Tests get the absolute path of that directory in the environment
//! variable `KEYWAY_TOOLS` and find there:
//!
//! - `sarif-schema-2.1.0.json`: the schema of SARIF 2.1.0 as published by OASIS
//! - `npm/node_modules`: third-party MCP servers and clients, an authorization server,
//!   the official conformance suite; `npm/node_modules/.bin/node` is a Node.js that runs all of them
//! - `python/bin`: a virtual environment with the official Python SDK, and `uvx`
//! - `rust-sdk`: the official Rust SDK's server and client, built by [`crate::peers`]

mod install;
mod table;

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use crate::child;
use crate::error::XtaskError;
use crate::lanes;
use crate::metadata::Workspace;

use self::table::TOOLS;

pub(crate) use self::install::cargo_install;

/// Makes sure that every tool is there.
///
/// # Errors
///
/// With [`Missing::Report`], [`XtaskError::ToolsMissing`] names all missing tools and nothing was
/// changed.
pub(crate) fn ensure(workspace: &Workspace, missing: Missing) -> Result<(), XtaskError> {
    let absent: Vec<&Tool> = TOOLS
        .iter()
        .filter(|tool| !tool.is_there(workspace))
        .collect();
    if missing == Missing::Report && !absent.is_empty() {
        let missing = absent.iter().map(|tool| tool.described()).collect();
        return Err(XtaskError::ToolsMissing { missing });
    }
    let groups = absent.chunk_by(|one, next| one.source.joins(&next.source));
    // What the machine lacks, such as npm itself, before what is installed with it. The rest waits
    // for the network or compiles: two at a time.
    let (first, rest): (Vec<_>, Vec<_>) =
        groups.partition(|group| group.iter().any(|tool| tool.source.is_of_the_machine()));
    first
        .into_iter()
        .try_for_each(|it| install(workspace, it))?;
    lanes::map(&rest, |together| install(workspace, together))?;
    let names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
    println!("found {}", names.join(", "));
    Ok(())
}

/// Makes sure of what belongs to the whole machine, or of all that is only reported.
pub(crate) fn prepare(workspace: &Workspace, missing: Missing) -> Result<(), XtaskError> {
    if missing == Missing::Report {
        return ensure(workspace, missing);
    }
    let absent: Vec<&Tool> = TOOLS
        .iter()
        .filter(|tool| tool.source.is_of_the_machine() && !tool.is_there(workspace))
        .collect();
    let mut groups = absent.chunk_by(|one, next| one.source.joins(&next.source));
    groups.try_for_each(|together| install(workspace, together))
}

/// Installs tools by one command, and looks whether they are there then.
fn install(workspace: &Workspace, together: &[&Tool]) -> Result<(), XtaskError> {
    for tool in together {
        println!("installing {}", tool.described());
    }
    let sources: Vec<&Source> = together.iter().map(|tool| &tool.source).collect();
    install::all(workspace, &sources)?;
    match together.iter().find(|tool| !tool.is_there(workspace)) {
        None => Ok(()),
        Some(tool) => Err(XtaskError::ToolNotFound { tool: tool.name }),
    }
}

/// Returns the Node.js that the npm packages below `target/tools` run on.
pub(crate) fn node(workspace: &Workspace) -> PathBuf {
    modules(workspace).join(".bin/node")
}

/// Returns where npm packages are installed.
pub(crate) fn modules(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("npm/node_modules")
}

/// What to do about tools that are not there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Missing {
    /// Name them and fail.
    Report,
    /// Install them.
    Install,
}

impl Missing {
    /// Returns what `--setup`, given or not, asks for.
    pub(crate) const fn from_flag(setup: bool) -> Self {
        if setup { Self::Install } else { Self::Report }
    }
}

struct Tool {
    name: &'static str,
    why: &'static str,
    found: Found,
    source: Source,
}

/// How a tool is recognised.
enum Found {
    /// The program and arguments print at least this version.
    Version {
        command: &'static [&'static str],
        at_least: [u32; 3],
    },
    /// One of these files exists; relative ones below `target/tools`.
    File(&'static [&'static str]),
    /// The package of the tool's source is installed, in exactly its version.
    Package,
}

/// Where a tool comes from.
enum Source {
    /// `cargo install` into `target/tools`.
    Cargo {
        package: &'static str,
        version: &'static str,
    },
    /// A component of the Rust toolchain.
    Component(&'static str),
    /// A Debian package.
    Debian(&'static str),
    /// An npm package, installed below `target/tools/npm` without running its scripts.
    Npm {
        package: &'static str,
        version: &'static str,
    },
    /// A Python package, installed into the virtual environment `target/tools/python`.
    Pip {
        package: &'static str,
        version: &'static str,
    },
    /// One file out of a package on crates.io, which is downloaded but never built.
    CrateFile {
        package: &'static str,
        version: &'static str,
        file: &'static str,
        to: &'static str,
    },
}

impl Tool {
    fn described(&self) -> String {
        format!("{} ({}): {}", self.name, self.why, self.source.described())
    }

    fn is_there(&self, workspace: &Workspace) -> bool {
        match self.found {
            Found::Version {
                command: [program, arguments @ ..],
                at_least,
            } => {
                let mut command = child::program(workspace, program);
                child::probe(command.args(arguments))
                    .and_then(|printed| version_in(&printed))
                    .is_some_and(|version| version >= at_least)
            }
            Found::Version { command: [], .. } => false,
            Found::File(files) => files
                .iter()
                .any(|file| workspace.tools().join(file).is_file()),
            Found::Package => self.source.is_installed(workspace),
        }
    }
}

impl Source {
    /// Says whether one command installs both.
    const fn joins(&self, other: &Self) -> bool {
        matches!(
            (self, other),
            (Self::Debian(_), Self::Debian(_))
                | (Self::Npm { .. }, Self::Npm { .. })
                | (Self::Pip { .. }, Self::Pip { .. })
        )
    }

    /// Says whether it is installed for the whole machine, where only one installation may run.
    const fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Debian(_) | Self::Component(_))
    }

    /// Looks for what a package manager leaves behind; others are not recognised by that.
    fn is_installed(&self, workspace: &Workspace) -> bool {
        match self {
            Self::Npm { package, version } => {
                let manifest = modules(workspace).join(package).join("package.json");
                let text = fs::read_to_string(manifest).unwrap_or_default();
                serde_json::from_str::<NpmManifest>(&text)
                    .is_ok_and(|manifest| manifest.version == *version)
            }
            Self::Pip { package, version } => {
                let record = format!("site-packages/{package}-{version}.dist-info/RECORD");
                fs::read_dir(workspace.tools().join("python/lib"))
                    .into_iter()
                    .flatten()
                    .flatten()
                    .any(|python| python.path().join(&record).is_file())
            }
            _ => false,
        }
    }

    fn described(&self) -> String {
        match self {
            Self::Cargo { package, version } => format!("`{package}` {version} from crates.io"),
            Self::Component(name) => format!("`rustup component add {name}`"),
            Self::Debian(package) => format!("Debian package `{package}`"),
            Self::Npm { package, version } => format!("`{package}` {version} from npm"),
            Self::Pip { package, version } => format!("`{package}` {version} from PyPI"),
            Self::CrateFile {
                package,
                version,
                file,
                ..
            } => {
                format!("`{file}` of `{package}` {version} on crates.io")
            }
        }
    }
}

/// What every installed npm package says of itself.
#[derive(Deserialize)]
struct NpmManifest {
    version: String,
}

/// Returns the first word of the form `1`, `1.2` or `1.2.3`, with what is absent as zero.
fn version_in(text: &str) -> Option<[u32; 3]> {
    let word = text
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let release = word.split(['-', '+']).next()?;
    let mut version = [0; 3];
    for (place, part) in version.iter_mut().zip(release.split('.')) {
        *place = part.parse().ok()?;
    }
    Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_found_in_what_tools_print() {
        for (printed, version) in [
            ("git version 2.39.5", [2, 39, 5]),
            (
                "cargo-nextest 0.9.143 (60fa45f63 2026-08-04)\nrelease: 0.9.143",
                [0, 9, 143],
            ),
            ("rustfmt 1.8.0-stable (59807616e1 2026-04-14)", [1, 8, 0]),
            ("12\n", [12, 0, 0]),
        ] {
            assert_eq!(version_in(printed), Some(version), "{printed}");
        }
        assert_eq!(version_in("error: no such command"), None);
    }

    #[test]
    fn older_version_counts_as_missing() {
        let newest = version_in("cargo-deny 0.20.2").unwrap();
        let older = version_in("cargo-deny 0.9.99").unwrap();
        assert!(newest >= [0, 20, 0]);
        assert!(older < [0, 20, 0]);
    }

    #[test]
    fn tools_that_one_command_installs_stand_together() {
        let runs = TOOLS.chunk_by(|one, next| one.source.joins(&next.source));
        for kind in [
            Source::Debian(""),
            Source::Npm {
                package: "",
                version: "",
            },
            Source::Pip {
                package: "",
                version: "",
            },
        ] {
            let of_kind = runs
                .clone()
                .filter(|run| run.first().is_some_and(|first| first.source.joins(&kind)));
            assert_eq!(of_kind.count(), 1, "{}", kind.described());
        }
    }

    #[test]
    fn package_of_another_version_counts_as_missing() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = serde_json::json!({
            "workspace_root": folder.path(), "target_directory": folder.path(),
            "workspace_members": [], "packages": [], "resolve": {"nodes": []}
        });
        let workspace = Workspace::new(serde_json::from_value(metadata).unwrap());
        let npm = |version| Source::Npm {
            package: "@scope/package",
            version,
        };
        let pip = |version| Source::Pip {
            package: "mcp",
            version,
        };
        assert!(!npm("1.2.3").is_installed(&workspace));
        assert!(!pip("1.2.3").is_installed(&workspace));
        let installed = modules(&workspace).join("@scope/package");
        fs::create_dir_all(&installed).unwrap();
        fs::write(installed.join("package.json"), r#"{"version": "1.2.3"}"#).unwrap();
        let record = "tools/python/lib/python3.11/site-packages/mcp-1.2.3.dist-info";
        fs::create_dir_all(folder.path().join(record)).unwrap();
        fs::write(folder.path().join(record).join("RECORD"), "").unwrap();
        assert!(npm("1.2.3").is_installed(&workspace));
        assert!(pip("1.2.3").is_installed(&workspace));
        assert!(!npm("1.2.4").is_installed(&workspace));
        assert!(!pip("1.2").is_installed(&workspace));
    }
}
