//! Fuzzing on stable Rust: builds `fuzz/` with coverage instrumentation and runs its targets.
//!
//! `fuzz/` is outside of the workspace, because its flags and its C++ part would otherwise reach
//! every build. A target is a file in `fuzz/fuzz_targets`, its seeds are in `fuzz/seeds`. What it
//! learns stays below `target`, so that a second run begins where the first one ended.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::child;
use crate::error::XtaskError;
use crate::lanes;
use crate::metadata::Workspace;

/// What to fuzz, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// A file name in `fuzz/fuzz_targets`, without `.rs`
    target: Option<String>,
    /// How long each target runs
    #[arg(long, conflicts_with = "long")]
    seconds: Option<u32>,
    /// Fuzz each target for ten million executions, at most twenty minutes
    #[arg(long)]
    long: bool,
    /// Build all targets and run none
    #[arg(long, conflicts_with_all = ["target", "seconds"])]
    build: bool,
}

impl Plan {
    /// Builds the targets, and runs those that were chosen.
    pub(crate) fn follow(&self, workspace: &Workspace) -> Result<(), XtaskError> {
        let extent = Extent::new(self.seconds, self.long);
        if self.build {
            return build(workspace, extent).map(drop);
        }
        run(workspace, self.target.as_deref(), extent)
    }
}

/// Runs `only`, or else every target, each for this long.
pub(crate) fn run(
    workspace: &Workspace,
    only: Option<&str>,
    extent: Extent,
) -> Result<(), XtaskError> {
    let mut targets = targets(workspace)?;
    if let Some(name) = only {
        let known = targets.join(", ");
        targets.retain(|target| target == name);
        if targets.is_empty() {
            return Err(XtaskError::FuzzTargetUnknown {
                name: name.to_owned(),
                known,
            });
        }
    }
    let programs = build(workspace, extent)?;
    let output = match targets.as_slice() {
        [_] => Output::AsItComes,
        _ => Output::Whole,
    };
    let found = lanes::map(&targets, |target| {
        fuzz(workspace, &programs, target, (extent, output))
    })?;
    for (target, progress) in targets.iter().zip(found) {
        let Progress {
            executions,
            first_coverage,
            coverage,
        } = progress;
        println!(
            "{target}: {executions} executions, coverage {first_coverage} at first, {coverage} at last"
        );
    }
    Ok(())
}

/// How long a target runs: what it reaches first ends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    seconds: u32,
    executions: Option<u32>,
}

impl Extent {
    /// A few seconds, or ten million executions and at most twenty minutes, unless told otherwise.
    pub(crate) fn new(chosen: Option<u32>, long: bool) -> Self {
        Self {
            seconds: chosen.unwrap_or(if long { 1_200 } else { 8 }),
            executions: long.then_some(10_000_000),
        }
    }
}

/// When the lines of a target are shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Output {
    AsItComes,
    /// When the target has ended, because another one runs beside it.
    Whole,
}

/// The manifest of the fuzz targets, relative to the workspace root.
pub(crate) const MANIFEST: &str = "fuzz/Cargo.toml";

/// What libFuzzer tells about a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Progress {
    executions: u64,
    /// Edges reached by the seeds and by what earlier runs found.
    first_coverage: u64,
    /// Edges reached in the end.
    coverage: u64,
}

impl Progress {
    fn read(&mut self, line: &str) {
        if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions = count.trim().parse().unwrap_or_default();
        }
        let mut words = line.split_ascii_whitespace();
        if line.starts_with('#')
            && words.any(|word| word == "cov:")
            && let Some(coverage) = words.next().and_then(|count| count.parse().ok())
        {
            self.coverage = coverage;
            if self.first_coverage == 0 {
                self.first_coverage = coverage;
            }
        }
    }
}

/// Says whether `line` reports one more input, of which a second can bring hundreds, or proposes a
/// word for a dictionary.
fn is_chatter(line: &str) -> bool {
    let event = line
        .strip_prefix('#')
        .and_then(|rest| rest.split_ascii_whitespace().nth(1));
    matches!(event, Some("NEW" | "REDUCE")) || line.contains("\" # Uses: ")
}

fn targets(workspace: &Workspace) -> Result<Vec<String>, XtaskError> {
    let directory = workspace.root.join("fuzz/fuzz_targets");
    let listed = fs::read_dir(&directory).map_err(XtaskError::file(&directory))?;
    let mut targets: Vec<_> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension() == Some(OsStr::new("rs")))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    targets.sort();
    Ok(targets)
}

/// Builds all targets and returns the directory with their programs.
///
/// Ten million executions are worth a build that is optimised; a few seconds are not.
fn build(workspace: &Workspace, extent: Extent) -> Result<PathBuf, XtaskError> {
    let version = child::capture(child::program(workspace, "rustc").arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or_else(|| XtaskError::Output {
            command: "rustc -vV".to_owned(),
            what: "it names no host",
        })?;
    let directory = workspace.target.join("fuzz");
    // Naming the target keeps the flags away from build scripts and procedural macros.
    let build = [
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        MANIFEST,
        "--target",
        host,
    ];
    let mut command = child::gentle_cargo(workspace, &build);
    command
        .arg("--target-dir")
        .arg(&directory)
        .env("RUSTFLAGS", INSTRUMENTATION.join(" "));
    if extent.executions.is_some() {
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3");
    }
    child::run(&mut command)?;
    Ok(directory.join(host).join("release"))
}

fn fuzz(
    workspace: &Workspace,
    programs: &Path,
    target: &str,
    (extent, output): (Extent, Output),
) -> Result<Progress, XtaskError> {
    let corpus = workspace.target.join("fuzz-corpus").join(target);
    let artifacts = workspace
        .target
        .join("fuzz-artifacts")
        .join(target)
        .join("");
    let seeds = workspace.root.join("fuzz/seeds").join(target);
    if !seeds.is_dir() {
        return Err(XtaskError::FuzzSeedsMissing {
            target: target.to_owned(),
        });
    }
    for directory in [&corpus, &artifacts] {
        fs::create_dir_all(directory).map_err(XtaskError::file(directory))?;
    }
    let prefix = artifacts.to_string_lossy().into_owned();
    let mut command = child::program(workspace, programs.join(target));
    command
        .args([
            format!("-max_total_time={}", extent.seconds),
            format!("-artifact_prefix={prefix}"),
        ])
        .args(extent.executions.map(|most| format!("-runs={most}")))
        .args(["-rss_limit_mb=512", "-timeout=5", "-print_final_stats=1"])
        // New inputs go to the first directory; the others are only read.
        .args([&corpus, &seeds]);
    let mut progress = Progress::default();
    let mut said = format!("{target}:\n");
    let status = child::follow_stderr(&mut command, |line| {
        progress.read(line);
        let is_kept = !is_chatter(line);
        if is_kept && output == Output::Whole {
            said.push_str(line);
            said.push('\n');
        }
        is_kept && output == Output::AsItComes
    })?;
    if output == Output::Whole {
        eprint!("{said}");
    }
    if !status.success() {
        return Err(XtaskError::FuzzFailed {
            target: target.to_owned(),
            artifacts: prefix,
        });
    }
    if progress.coverage == 0 || progress.executions == 0 {
        return Err(XtaskError::FuzzBlind {
            target: target.to_owned(),
        });
    }
    Ok(progress)
}

/// What `cargo fuzz` passes on nightly, as far as stable Rust knows it: no address sanitizer, which
/// code without `unsafe` needs least.
const INSTRUMENTATION: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "--cfg=fuzzing",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_from_what_libfuzzer_prints() {
        let mut progress = Progress::default();
        for line in [
            "INFO: seed corpus: files: 3 min: 1b max: 30b total: 60b rss: 30Mb",
            "#4\tINITED cov: 31 ft: 60 corp: 3/60b exec/s: 0 rss: 31Mb",
            "#90\tNEW    cov: 44 ft: 71 corp: 4/70b lim: 4 exec/s: 0 rss: 31Mb L: 10/30 MS: 1",
            "Done 90210 runs in 20 second(s)",
            "stat::number_of_executed_units: 90210",
        ] {
            progress.read(line);
        }
        let expected = Progress {
            executions: 90210,
            first_coverage: 31,
            coverage: 44,
        };
        assert_eq!(progress, expected);
    }

    #[test]
    fn only_reports_of_single_inputs_and_words_are_left_out() {
        for line in [
            "#90\tNEW    cov: 44 ft: 71",
            "#91\tREDUCE cov: 44",
            "\"\\377r\" # Uses: 4634",
        ] {
            assert!(is_chatter(line), "{line}");
        }
        for line in [
            "#4\tINITED cov: 31",
            "#99\tDONE   cov: 44",
            "==7== ERROR: libFuzzer",
            "# NEW",
        ] {
            assert!(!is_chatter(line), "{line}");
        }
    }

    #[test]
    fn run_without_instrumentation_shows_no_coverage() {
        let mut progress = Progress::default();
        progress.read("#2\tINITED exec/s: 0 rss: 31Mb");
        assert_eq!(progress.coverage, 0);
    }
}
