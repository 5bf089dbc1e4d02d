//! `cargo xtask dist`: the packages of a release, built and tried from local files.
//!
//! ```text
//! targets → build → elf (examined) → archive, debian, npm, wheel → container, homebrew → checksums
//!           shipped → notices, sbom ↗                              trials (`--test`)
//! ```
//!
//! Everything is written to `target/dist`. One binary is in all packages of a target.

mod archive;
mod build;
mod checksums;
mod container;
mod debian;
mod elf;
mod homebrew;
mod notices;
mod npm;
pub(crate) mod project;
mod reproduce;
mod sbom;
mod shipped;
mod targets;
mod tree;
pub(crate) mod trials;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use self::build::Place;
use self::elf::Elf;
use self::project::Project;
use self::targets::{TARGETS, Target};
use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools::Missing;

/// Builds every target that can be built here, examines the binaries and packs them.
///
/// If binaries are `given`, these are packed instead and nothing is built.
///
/// # Errors
///
/// Returns [`XtaskError::Release`] if a binary is not fit for release.
pub(crate) fn run(
    workspace: &Workspace,
    missing: Missing,
    repeat: Repeat,
    given: &[Given],
) -> Result<(), XtaskError> {
    for Given { triple, .. } in given {
        targets::find(triple)?;
    }
    if given.is_empty() || repeat == Repeat::Twice {
        build::ensure_tools(workspace, missing)?;
    }
    let project = Project::read(workspace)?;
    let place = Place::here(workspace);
    let sysroot = targets::sysroot(workspace)?;
    let mut built = Vec::new();
    let mut lines = Vec::new();
    for target in TARGETS {
        let path = match (given.iter().find(|one| one.triple == target.triple), given) {
            (Some(one), _) => one.path.clone(),
            (None, []) => match target.obstacle(&sysroot) {
                None => build::binary(workspace, &project, target, &place)?,
                Some(obstacle) => {
                    lines.push(format!("{:28} {obstacle}", target.triple));
                    continue;
                }
            },
            (None, _) => {
                lines.push(format!("{:28} not given", target.triple));
                continue;
            }
        };
        let secrets = place.secrets(&sysroot);
        lines.push(examine(target, &path, Purpose::Release(&secrets))?);
        if repeat == Repeat::Twice {
            let hash = reproduce::check(workspace, &project, target, &path)?;
            lines.push(format!("{:28} two builds, one hash: {hash}", target.triple));
        }
        built.push((target, path));
    }
    tree::empty(&project::folder(workspace))?;
    pack(workspace, &project, &built)?;
    println!("\n{}", lines.join("\n"));
    Ok(())
}

/// Tries what [`run`] has packed for this machine.
pub(crate) fn test(workspace: &Workspace, extent: trials::Extent) -> Result<(), XtaskError> {
    let project = Project::read(workspace)?;
    let target = targets::find(targets::HOST)?;
    trials::run(workspace, &project, target, extent)
}

/// Packs one wheel from the unoptimised program that the tests have built, and starts it.
pub(crate) fn smoke(workspace: &Workspace) -> Result<(), XtaskError> {
    let mut project = Project::read(workspace)?;
    // A version of its own, so that it can be mistaken for no release.
    project.version.push_str("+unoptimised");
    let target = targets::find(targets::HOST)?;
    let built = workspace.target.join("debug").join(project::PROGRAM);
    let binary = workspace.target.join("dist-stripped");
    let mut strip = child::program(workspace, "strip");
    child::run(strip.arg("-o").args([&binary, &built]))?;
    println!("{}", examine(target, &binary, Purpose::Trial)?);
    let folder = project::folder(workspace);
    fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    let packages = shipped::packages(workspace, target.triple)?;
    let notices = notices::of(&packages)?;
    let sbom = sbom::of(workspace, &project, &packages)?;
    println!(
        "bill of materials: {} components",
        sbom::count(&sbom, &packages)?
    );
    let wheel = wheel::pack(workspace, &project, target, &binary, &notices)?;
    trials::uvx(workspace, &wheel)?;
    for left in [&wheel, &binary] {
        fs::remove_file(left).map_err(XtaskError::file(left))?;
    }
    Ok(())
}

/// A binary that was built before, here or on another machine.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    triple: String,
    path: PathBuf,
}

impl FromStr for Given {
    type Err = &'static str;

    /// Reads `TARGET=PATH`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (triple, path) = text.split_once('=').ok_or("write it as TARGET=PATH")?;
        Ok(Self {
            triple: triple.to_owned(),
            path: path.into(),
        })
    }
}

/// How often each binary is built.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Repeat {
    Once,
    /// Once more elsewhere, to compare.
    Twice,
}

impl Repeat {
    /// Returns what the flag, given or not, asks for.
    pub(crate) const fn from_flag(given: bool) -> Self {
        if given { Self::Twice } else { Self::Once }
    }
}

/// What a binary is examined for.
#[derive(Clone, Copy, Debug)]
enum Purpose<'a> {
    /// To be released, without any of these paths of its builder's.
    Release(&'a [PathBuf]),
    /// To be tried here: without optimisation it is larger and names its sources, and it may need the
    /// libc of this machine.
    Trial,
}

/// Returns a line about the binary for `target`.
fn examine(target: &Target, path: &Path, purpose: Purpose<'_>) -> Result<String, XtaskError> {
    let hash = checksums::of(path)?;
    if !target.is_linux() {
        return Ok(format!("{:28} built: {hash}", target.triple));
    }
    let (elf, faults) = match purpose {
        Purpose::Release(secrets) => {
            let elf = Elf::read(path, secrets)?;
            let faults = elf.faults(target.glibc);
            (elf, faults)
        }
        Purpose::Trial => {
            let elf = Elf::read(path, &[])?;
            let faults = elf.unprotected();
            (elf, faults)
        }
    };
    if !faults.is_empty() {
        return Err(XtaskError::Release { faults });
    }
    let glibc = match elf.glibc {
        Some([major, minor]) => format!("glibc {major}.{minor}"),
        None => "no glibc".to_owned(),
    };
    let size = mebibytes(elf.size);
    Ok(format!(
        "{:28} {size} MiB, {glibc}, PIE, full RELRO, stack not executable, sha256 {hash}",
        target.triple
    ))
}

fn pack(
    workspace: &Workspace,
    project: &Project,
    built: &[(&Target, PathBuf)],
) -> Result<(), XtaskError> {
    let folder = project::folder(workspace);
    let mut files = Vec::new();
    for (target, binary) in built {
        let packages = shipped::packages(workspace, target.triple)?;
        let notices = notices::of(&packages)?;
        let sbom = sbom::of(workspace, project, &packages)?;
        let name = format!(
            "{}-{}-{}.cdx.json",
            project::PROGRAM,
            project.version,
            target.triple
        );
        let path = folder.join(name);
        tree::write(&path, &format!("{sbom:#}\n"))?;
        files.push(path);
        let triple = target.triple;
        files.push(archive::pack(workspace, project, triple, binary, &notices)?);
        files.extend(debian::pack(workspace, project, target, binary, &notices)?);
        files.push(wheel::pack(workspace, project, target, binary, &notices)?);
        files.push(npm::pack_platform(
            workspace, project, target, binary, &notices,
        )?);
    }
    let platforms: Vec<_> = built.iter().map(|(target, _)| *target).collect();
    files.push(npm::pack_root(workspace, project, &platforms)?);
    for file in &files {
        let length = fs::metadata(file).map_err(XtaskError::file(file))?.len();
        println!("{:>6} MiB  {}", mebibytes(length), project::name_of(file));
    }
    checksums::write(&folder, &files)?;
    println!("container file: {}", container::prepare(workspace)?);
    println!(
        "Homebrew formula: {}",
        homebrew::prepare(workspace, project)?
    );
    Ok(())
}

/// Returns a size for people, with two digits after the point.
fn mebibytes(bytes: u64) -> String {
    let hundredths = bytes * 100 / (1024 * 1024);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
