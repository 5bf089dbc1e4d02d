//! What the checks need besides Rust: the table [`TOOLS`], how each is found and installed.
//!
//! Everything is installed below `target/tools`, Debian packages and toolchain components excepted;
//! removing `target` removes it. Tests get the absolute path of that directory in the environment
//! variable `KEYWAY_TOOLS` and find there:
//!
//! - `sarif-schema-2.1.0.json`: the schema of SARIF 2.1.0 as published by OASIS
//! - `npm/node_modules`: MCP servers and clients that nobody here wrote

use std::fs;
use std::path::{Path, PathBuf};

use crate::child;
use crate::error::XtaskError;
use crate::metadata::{Metadata, Workspace};

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
    for tool in absent {
        println!("installing {}", tool.described());
        tool.install(workspace)?;
        if !tool.is_there(workspace) {
            return Err(XtaskError::ToolNotFound { tool: tool.name });
        }
    }
    let names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
    println!("found {}", names.join(", "));
    Ok(())
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
    /// The file exists below `target/tools`.
    File(&'static str),
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
            Found::File(file) => workspace.tools().join(file).is_file(),
        }
    }

    fn install(&self, workspace: &Workspace) -> Result<(), XtaskError> {
        match self.source {
            Source::Cargo { package, version } => cargo_install(workspace, package, version),
            Source::Component(name) => child::run(child::program(workspace, "rustup").args([
                "--quiet",
                "component",
                "add",
                name,
            ])),
            Source::Debian(package) => debian_install(workspace, package),
            Source::Npm { package, version } => npm_install(workspace, package, version),
            Source::CrateFile {
                package,
                version,
                file,
                to,
            } => {
                let source = download(workspace, package, version)?.join(file);
                let to = workspace.tools().join(to);
                fs::copy(source, &to).map_err(XtaskError::file(&to))?;
                Ok(())
            }
        }
    }
}

impl Source {
    fn described(&self) -> String {
        match self {
            Self::Cargo { package, version } => format!("`{package}` {version} from crates.io"),
            Self::Component(name) => format!("`rustup component add {name}`"),
            Self::Debian(package) => format!("Debian package `{package}`"),
            Self::Npm { package, version } => format!("`{package}` {version} from npm"),
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

/// Builds without optimisation, which takes a third of the time; the tools run for seconds.
fn cargo_install(workspace: &Workspace, package: &str, version: &str) -> Result<(), XtaskError> {
    let mut command = child::cargo(workspace, &["install", "--quiet", "--locked", "--force"]);
    command
        .args([package, "--version", version, "--root"])
        .arg(workspace.tools())
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    child::run(&mut command)
}

fn debian_install(workspace: &Workspace, package: &str) -> Result<(), XtaskError> {
    let is_root =
        child::probe(child::program(workspace, "id").arg("-u")).is_some_and(|id| id.trim() == "0");
    let apt_get = || {
        let mut command = child::program(workspace, if is_root { "apt-get" } else { "sudo" });
        if !is_root {
            command.arg("apt-get");
        }
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        command
    };
    child::run(apt_get().arg("update"))?;
    child::run(apt_get().args(["install", "--yes", "--no-install-recommends", package]))
}

fn npm_install(workspace: &Workspace, package: &str, version: &str) -> Result<(), XtaskError> {
    let prefix = workspace.tools().join("npm");
    fs::create_dir_all(&prefix).map_err(XtaskError::file(&prefix))?;
    let mut command = child::program(workspace, "npm");
    command
        .args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--prefix",
        ])
        .arg(prefix)
        .arg(format!("{package}@{version}"));
    child::run(&mut command)
}

/// Lets `cargo` download a package for a crate that is never built; returns the package's directory.
fn download(
    workspace: &Workspace,
    package: &'static str,
    version: &str,
) -> Result<PathBuf, XtaskError> {
    let directory = workspace.tools().join("downloads").join(package);
    let manifest = directory.join("Cargo.toml");
    let text = format!(
        "[workspace]\n[package]\nname = \"download\"\nversion = \"0.0.0\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\n{package} = \"={version}\"\n"
    );
    fs::create_dir_all(&directory).map_err(XtaskError::file(&directory))?;
    fs::write(&manifest, text).map_err(XtaskError::file(&manifest))?;
    let metadata = ["metadata", "--format-version=1", "--manifest-path"];
    let mut command = child::cargo(workspace, &metadata);
    let metadata = Metadata::read(command.arg(&manifest).arg("--quiet"))?;
    metadata
        .source_of(package)
        .map(Path::to_owned)
        .ok_or_else(|| XtaskError::Output {
            command: "cargo metadata".to_owned(),
            what: "the downloaded package is not in it",
        })
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

/// Everything that `cargo xtask test` needs.
const TOOLS: &[Tool] = &[
    Tool {
        name: "git",
        why: "lists the files of the size budget",
        found: Found::Version {
            command: &["git", "--version"],
            at_least: [2, 0, 0],
        },
        source: Source::Debian("git"),
    },
    Tool {
        name: "g++",
        why: "compiles libFuzzer",
        found: Found::Version {
            command: &["g++", "-dumpfullversion"],
            at_least: [9, 0, 0],
        },
        source: Source::Debian("g++"),
    },
    Tool {
        name: "rustfmt",
        why: "checks the format",
        found: Found::Version {
            command: &["cargo", "fmt", "--version"],
            at_least: [1, 0, 0],
        },
        source: Source::Component("rustfmt"),
    },
    Tool {
        name: "clippy",
        why: "checks the laws in `Cargo.toml` and `clippy.toml`",
        found: Found::Version {
            command: &["cargo", "clippy", "--version"],
            at_least: [0, 1, 0],
        },
        source: Source::Component("clippy"),
    },
    Tool {
        name: "cargo-nextest",
        why: "runs the tests",
        found: Found::Version {
            command: &["cargo", "nextest", "--version"],
            at_least: [0, 9, 100],
        },
        source: Source::Cargo {
            package: "cargo-nextest",
            version: "0.9.143",
        },
    },
    Tool {
        name: "cargo-deny",
        why: "checks dependencies against `deny.toml`",
        found: Found::Version {
            command: &["cargo", "deny", "--version"],
            at_least: [0, 20, 0],
        },
        source: Source::Cargo {
            package: "cargo-deny",
            version: "0.20.2",
        },
    },
    Tool {
        name: "npm",
        why: "installs the MCP servers and clients that tests talk to",
        found: Found::Version {
            command: &["npm", "--version"],
            at_least: [8, 0, 0],
        },
        source: Source::Debian("npm"),
    },
    Tool {
        name: "server-everything",
        why: "the reference MCP server, with the official TypeScript client beside it",
        found: Found::File(
            "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        ),
        source: Source::Npm {
            package: "@modelcontextprotocol/server-everything",
            version: "2026.8.31",
        },
    },
    Tool {
        name: "SARIF schema",
        why: "validates the output of `keyway check --format sarif`",
        found: Found::File("sarif-schema-2.1.0.json"),
        source: Source::CrateFile {
            package: "serde-sarif",
            version: "0.8.0",
            file: "src/schema.json",
            to: "sarif-schema-2.1.0.json",
        },
    },
];

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
}
