//! Why a task failed, in words that say what to do next.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use thiserror::Error;

/// Why a task failed.
#[derive(Debug, Error)]
pub(crate) enum XtaskError {
    /// A program could not be started at all.
    #[error("cannot start `{command}`")]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    /// A program ran and said no; its own output stands above.
    #[error("`{command}` failed with {status}")]
    Child { command: String, status: ExitStatus },
    /// A program's output was not what it documents.
    #[error("cannot read the output of `{command}`: {what}")]
    Output { command: String, what: &'static str },
    /// `cargo metadata` printed something else than its format, version 1.
    #[error("cannot read the output of `cargo metadata`")]
    Metadata {
        #[source]
        source: serde_json::Error,
    },
    /// A file could not be read or written.
    #[error("cannot access `{path}`")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The workspace has no crate of this name.
    #[error("no crate `{name}` in the workspace")]
    CrateUnknown { name: String },
    /// The tests of a crate fail before anything is changed.
    #[error("the unit tests of `{package}` fail without any change")]
    MutantsBaseline { package: String },
    /// Too many changes of the code were noticed by no test.
    #[error("too many changes that no test notices:{}", listed(missed))]
    MutantsMissed { missed: Vec<String> },
    /// A source file is not Rust.
    #[error("cannot split `{path}` into Rust tokens")]
    Tokens { path: PathBuf },
    /// A committed list has a line that is not in its format.
    #[error("cannot read line {line} of `{path}`")]
    ListLine { path: PathBuf, line: usize },
    /// Tools are missing, and `--setup` was not given.
    #[error("missing tools:{}\n\nhint: `--setup` installs them", listed(missing))]
    ToolsMissing { missing: Vec<String> },
    /// A tool is still not found after its installation.
    #[error("`{tool}` was installed but is not found")]
    ToolNotFound { tool: &'static str },
    /// Crates depend on each other against the drawn direction.
    #[error("the layers are broken:{}", listed(violations))]
    Layers { violations: Vec<String> },
    /// A file or a dependency tree outgrew its limit.
    #[error("over budget:{}", listed(excesses))]
    Budget { excesses: Vec<String> },
    /// The public surface of a library is not the committed one.
    #[error(
        "the public surface is not as committed:{}\n\nhint: if this is meant, run `cargo xtask \
         surface --write` and commit what it writes",
        listed(differences)
    )]
    Surface { differences: Vec<String> },
    /// `rustdoc` wrote another format than `public-api` reads.
    #[error(
        "cannot read `{path}`\n\nhint: the version of `public-api` in `Cargo.toml` reads what Rust \
         1.95 writes; another toolchain needs another version"
    )]
    RustdocJson {
        path: PathBuf,
        #[source]
        source: public_api::Error,
    },
    /// A document lacks the markers between which a generated part belongs.
    #[error("`{document}` lacks the lines `{begin}` and `{end}`, in this order")]
    MarkersMissing {
        document: &'static str,
        begin: &'static str,
        end: &'static str,
    },
    /// A benchmark breaks a promise.
    #[error("too slow:{}", listed(broken))]
    TooSlow { broken: Vec<String> },
    /// A call takes more instructions than recorded.
    #[error(
        "more instructions than recorded:{}\n\nhint: if this is meant, run `cargo xtask \
         instructions --write`",
        listed(broken)
    )]
    Instructions { broken: Vec<String> },
    /// The program ended or failed while its instructions were counted.
    #[error("cannot count the instructions of `keyway {command}`; see `{log}`")]
    Measure {
        command: &'static str,
        log: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Runs of the conformance suite ended otherwise than expected.
    #[error("not as expected:{}", listed(surprises))]
    Conformance { surprises: Vec<String> },
    /// No scenario has such a name.
    #[error("no scenario contains `{pattern}`")]
    ConformanceUnknown { pattern: String },
    /// Generated files in the repository differ from what the code generates.
    #[error(
        "generated files are out of date:{}\n\nhint: run `cargo xtask docs`",
        listed(files)
    )]
    DocsStale { files: Vec<String> },
    /// No target of that name is in the table of releases.
    #[error("no target `{triple}` in the table of `xtask/src/dist/targets.rs`")]
    TargetUnknown { triple: String },
    /// A binary is not one that the system could start.
    #[error("cannot read `{path}` as an ELF binary")]
    Elf {
        path: PathBuf,
        #[source]
        source: object::Error,
    },
    /// Something keeps this from being released.
    #[error("not fit for release:{}", listed(faults))]
    Release { faults: Vec<String> },
    /// The page has no such row.
    #[error("`docs/reliability.md` has no such promise")]
    PromiseUnknown,
    /// The named fuzz target has no file.
    #[error("no fuzz target `{name}`; there are: {known}")]
    FuzzTargetUnknown { name: String, known: String },
    /// A fuzz target would begin from nothing.
    #[error(
        "fuzz target `{target}` has no directory `fuzz/seeds/{target}` with inputs to begin from"
    )]
    FuzzSeedsMissing { target: String },
    /// A fuzz target crashed, hung or used too much memory.
    #[error(
        "fuzz target `{target}` found a failing input and saved it in `{artifacts}`\n\nhint: copy it \
         to `fuzz/seeds/{target}`, where every later run tries it first"
    )]
    FuzzFailed { target: String, artifacts: String },
    /// A fuzz target ran without measuring what its inputs reach.
    #[error("fuzz target `{target}` ran blind: no coverage was reported")]
    FuzzBlind { target: String },
}

impl XtaskError {
    /// Returns what turns an I/O error into one that names `path`.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  - {line}")).collect()
}
