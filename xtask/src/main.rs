//! What contributors and CI run: `cargo xtask test`, and each of its steps alone.
//!
//! One file per step; [`suite`] puts them in order. Steps start other programs through [`child`],
//! know the workspace through [`metadata`] and fail as [`XtaskError`]. Nothing here is part of the
//! product.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a development tool: it reports to a terminal and starts other programs"
)]

mod bench;
mod beside;
mod budget;
mod check;
mod child;
mod conformance;
mod deny;
mod dist;
mod docs;
mod error;
mod features;
mod fuzz;
mod instructions;
mod integrations;
mod lanes;
mod layers;
mod metadata;
mod mutants;
mod nextest;
mod peers;
mod process;
mod programs;
mod release;
mod reliability;
mod reproduce;
mod rivals;
mod scratch;
mod source;
mod storm;
mod suite;
mod surface;
mod tools;

use std::error::Error as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::conformance::gateway;
use crate::dist::trials::Extent;
use crate::error::XtaskError;
use crate::metadata::Workspace;

fn main() -> ExitCode {
    match dispatch(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(task: Task) -> Result<(), XtaskError> {
    let workspace = Workspace::load()?;
    match task {
        Task::Test { setup, long } => {
            let missing = tools::Missing::from_flag(setup);
            let workspace = workspace.building_whole();
            suite::run(&workspace, missing, suite::Extent::from_flag(long))
        }
        Task::Check { crates } => check::run(&workspace, &crates),
        Task::Tools { setup } => tools::ensure(&workspace, tools::Missing::from_flag(setup)),
        Task::Bench { what } => measure(&workspace, what),
        Task::Conformance {
            only,
            dev,
            through,
            server: false,
            ..
        } => conformance::run(&workspace, &conformance::Plan { only, dev, through }),
        Task::Conformance { dev, aggregate, .. } => {
            gateway::run(&workspace, dev, gateway::Endpoint::from_flag(aggregate))
        }
        Task::Instructions { dev, write } => {
            let profile = match dev {
                true => instructions::Profile::Dev,
                false => instructions::Profile::Release,
            };
            match write {
                true => instructions::write(&workspace, profile),
                false => instructions::check(&workspace, profile),
            }
        }
        Task::Peers => peers::build(&workspace),
        Task::Rivals { setup, plan } => {
            rivals::run(&workspace, tools::Missing::from_flag(setup), &plan)
        }
        Task::Reproduce { binary, only } => reproduce::run(&workspace, &binary, only.as_deref()),
        Task::Storm { setup, plan } => {
            storm::run(&workspace, tools::Missing::from_flag(setup), &plan)
        }
        Task::Layers { write: false } => layers::check(&workspace),
        Task::Layers { write: true } => layers::write(&workspace),
        Task::Surface { write: false } => surface::check(&workspace),
        Task::Surface { write: true } => surface::write(&workspace),
        Task::Budget => budget::check(&workspace),
        Task::Features => features::check(&workspace),
        Task::Integrations => integrations::check(&workspace),
        Task::Deny { advisories: false } => deny::check(&workspace),
        Task::Deny { advisories: true } => deny::check_advisories(&workspace),
        Task::Docs { check: false } => docs::write(&workspace),
        Task::Docs { check: true } => docs::check(&workspace),
        Task::Dist { smoke: true, .. } => dist::smoke(&workspace),
        Task::Dist {
            test: true, roots, ..
        } => dist::test(&workspace, Extent::from_flag(roots)),
        Task::Dist {
            setup,
            twice,
            binary,
            ..
        } => {
            let missing = tools::Missing::from_flag(setup);
            dist::run(&workspace, missing, dist::Repeat::from_flag(twice), &binary)
        }
        Task::Release { verify, .. } => {
            release::dry_run(&workspace, release::Verify::from_flag(verify))
        }
        Task::Reliability { promise } => reliability::run(&workspace, promise.as_deref()),
        Task::Fuzz(plan) => plan.follow(&workspace),
        Task::Mutants {
            setup,
            minutes,
            seed,
        } => {
            let plan = mutants::Plan { minutes, seed };
            mutants::run(&workspace, tools::Missing::from_flag(setup), plan)
        }
    }
}

fn measure(workspace: &Workspace, what: Benchmark) -> Result<(), XtaskError> {
    match what {
        Benchmark::Check {
            setup,
            runs,
            keyway,
        } => bench::check(workspace, tools::Missing::from_flag(setup), runs, keyway),
        Benchmark::Vault { setup, runs } => {
            bench::vault::measure(workspace, tools::Missing::from_flag(setup), runs)
        }
        Benchmark::Memory => bench::memory::measure(workspace),
        Benchmark::Flows {
            setup,
            runs,
            keyway,
            only,
        } => {
            let missing = tools::Missing::from_flag(setup);
            bench::flows::measure(workspace, missing, keyway, (runs, &only))
        }
        Benchmark::Start {
            runs,
            keyway,
            against,
        } => bench::start::measure(workspace, runs, keyway, against),
        Benchmark::Team { setup, plan } => {
            bench::team::measure(workspace, tools::Missing::from_flag(setup), &plan)
        }
        Benchmark::Tree { dev, runs } => {
            bench::tree::measure(workspace, bench::tree::Profile::from_flag(dev), runs)
        }
    }
}

fn report(error: &XtaskError) {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        eprintln!("  caused by: {inner}");
        cause = inner.source();
    }
}

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "What contributors and CI run")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every check in order and stop at the first that fails
    Test {
        /// Install missing tools first
        #[arg(long)]
        setup: bool,
        /// Count instructions of an optimised build, and fuzz each target for ten minutes
        #[arg(long)]
        long: bool,
    },
    /// Check what changed since `main`: format, layers, budget, lints and unit tests
    Check {
        /// Only this crate, changed or not; may be repeated
        #[arg(short = 'p', long = "package", value_name = "CRATE")]
        crates: Vec<String>,
    },
    /// Look for the tools that the checks need
    Tools {
        /// Install those that are missing
        #[arg(long)]
        setup: bool,
    },
    /// Measure, on an idle machine
    Bench {
        #[command(subcommand)]
        what: Benchmark,
    },
    /// Run ours and another client through the same attacks and races; prints a table for the README
    Rivals {
        /// Install the other client first
        #[arg(long)]
        setup: bool,
        #[command(flatten)]
        plan: rivals::Plan,
    },
    /// Play threats E1 to E16 against built programs; prints a table for `docs/security-testing.md`
    Reproduce {
        /// A program `keyway` of any version, and how to call it in the table; may be repeated
        #[arg(long, value_name = "[LABEL=]PROGRAM", required = true)]
        binary: Vec<String>,
        /// Only this threat, such as `E5`
        #[arg(long, value_name = "THREAT")]
        only: Option<String>,
    },
    /// Let everything fail around three replicas with many people, and check that no sign-in is lost
    Storm {
        /// Install other gateways that are missing into `target/tools`, for `--rivals`
        #[arg(long)]
        setup: bool,
        #[command(flatten)]
        plan: storm::Plan,
    },
    /// Let the official conformance suite test our client, one scenario after the other
    Conformance {
        /// Only scenarios whose name contains this
        #[arg(long, value_name = "PATTERN", conflicts_with = "server")]
        only: Option<String>,
        /// Build what is tested without optimisation
        #[arg(long)]
        dev: bool,
        /// What the client scenarios test
        #[arg(long, value_enum, default_value_t, conflicts_with = "server")]
        through: conformance::Through,
        /// Test the gateway instead, in front of a conformance server on the official Rust SDK
        #[arg(long)]
        server: bool,
        /// Test the endpoint of all servers together
        #[arg(long, requires = "server")]
        aggregate: bool,
    },
    /// Count the instructions of a call through `keyway run` and `keyway serve`, by callgrind
    Instructions {
        /// Build without optimisation
        #[arg(long)]
        dev: bool,
        /// Record the numbers in `bench/instructions.txt`
        #[arg(long)]
        write: bool,
    },
    /// Build the peers that tests talk to
    Peers,
    /// Compare the arrows between crates with the layers, and look for circles between modules
    Layers {
        /// Write the arrows to `ARCHITECTURE.md` and the circles to `xtask/circles.txt`
        #[arg(long)]
        write: bool,
    },
    /// Compare the public surface of each library with the committed one
    Surface {
        /// Commit to the surface as it is now: write it to `docs/surface`
        #[arg(long)]
        write: bool,
    },
    /// Compare file sizes and dependency counts with their limits
    Budget,
    /// Build `keyway` with each of its features alone and with none
    Features,
    /// Lint and test the adapters to other projects' libraries
    Integrations,
    /// Check dependencies: bans, licences and sources
    Deny {
        /// Check known vulnerabilities instead; fetches the advisory database
        #[arg(long)]
        advisories: bool,
    },
    /// Write the generated documents into the repository
    Docs {
        /// Only compare
        #[arg(long)]
        check: bool,
    },
    /// Build the packages of a release into `target/dist`, or try them
    Dist {
        /// Try the packages that are there: install each where nothing is and run `demo --check`
        #[arg(long)]
        test: bool,
        /// Pack the unoptimised binary that was built last as a wheel and try it, as CI does
        #[arg(long, conflicts_with_all = ["test", "twice", "binary", "setup"])]
        smoke: bool,
        /// Try them in Debian systems as well; needs `mmdebstrap`
        #[arg(long, requires = "test")]
        roots: bool,
        /// Build once more in another folder and with another cargo home, and compare
        #[arg(long, conflicts_with = "test")]
        twice: bool,
        /// Pack this binary instead of building; may be repeated
        #[arg(long, value_name = "TARGET=PATH", conflicts_with = "test")]
        binary: Vec<dist::Given>,
        /// Install zig and `cargo zigbuild` first, below target/
        #[arg(long, conflicts_with = "test")]
        setup: bool,
    },
    /// Show what a release would publish, and check that its parts fit together
    Release {
        /// Publish nothing; there is no other way to run this
        #[arg(long, required = true)]
        dry_run: bool,
        /// Build every packed crate, then all of them elsewhere, and run `demo --check`
        #[arg(long)]
        verify: bool,
    },
    /// Run the tests of one promise of `docs/reliability.md`, or of all
    Reliability {
        /// The number of its row
        #[arg(value_name = "ROW")]
        promise: Option<String>,
    },
    /// Fuzz all targets, or one
    Fuzz(fuzz::Plan),
    /// Change the code that decides about security, and see whether unit tests notice
    Mutants {
        /// Install `cargo-mutants` first, below target/
        #[arg(long)]
        setup: bool,
        /// Begin no other change after this time
        #[arg(long, default_value_t = 120)]
        minutes: u64,
        /// Decides which changes are tried first
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// `keyway check` against three scanners on the corpus, and against `node -e 0` on one file
    Check {
        /// Install the scanners first, below target/
        #[arg(long)]
        setup: bool,
        /// How often each is run
        #[arg(long, default_value_t = 11)]
        runs: usize,
        /// This optimised program, instead of building one
        #[arg(long, value_name = "PROGRAM")]
        keyway: Option<std::path::PathBuf>,
    },
    /// Opening the vault and reading a token, against what `mcp-remote` takes to start
    Vault {
        /// Install the other client first, below target/
        #[arg(long)]
        setup: bool,
        /// How often each is run
        #[arg(long, default_value_t = 15)]
        runs: usize,
    },
    /// What `keyway run` takes while it is idle, with one server and with ten
    Memory,
    /// Steps and seconds to the first authenticated call, beside `mcp-remote`, `mcporter` and Codex
    Flows {
        /// Install the other clients first, below target/
        #[arg(long)]
        setup: bool,
        /// How often each is run
        #[arg(long, default_value_t = 5)]
        runs: usize,
        /// This optimised program, instead of building one
        #[arg(long, value_name = "PROGRAM")]
        keyway: Option<std::path::PathBuf>,
        /// Only these flows, such as `a`
        #[arg(value_name = "FLOW")]
        only: Vec<String>,
    },
    /// Starting a local server directly and through `keyway run` under each profile
    Start {
        /// How often each is started
        #[arg(long, default_value_t = 60)]
        runs: usize,
        /// This optimised program, instead of building one
        #[arg(long, value_name = "PROGRAM")]
        keyway: Option<std::path::PathBuf>,
        /// A program `keyway` of an earlier version, which starts at most 1.3 times as fast
        #[arg(long, value_name = "PROGRAM")]
        against: Option<std::path::PathBuf>,
    },
    /// The gateway of a team, beside `pgbench`, a gateway token and other gateways
    Team {
        /// Install the other gateways first, below target/
        #[arg(long)]
        setup: bool,
        #[command(flatten)]
        plan: bench::team::Plan,
    },
    /// Looking at a plugin of 50,000 files that did not change, against `find`
    Tree {
        /// Build ours without optimisation
        #[arg(long)]
        dev: bool,
        /// How often each is run
        #[arg(long, default_value_t = 7)]
        runs: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_crates_can_be_chosen_for_a_check() {
        let arguments = ["xtask", "check", "-p", "keyway", "-p", "keyway-auth"];
        let Task::Check { crates } = Arguments::try_parse_from(arguments).unwrap().task else {
            panic!("not a check");
        };
        assert_eq!(crates, ["keyway", "keyway-auth"]);
    }
}
