//! What the tests start: the launcher, a stdio server and a headers helper.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::zombie_processes,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    clippy::disallowed_methods,
    reason = "a child for tests: it fails loudly, prints, and reads the environment it was given"
)]

mod helper;
mod host;

mod probes;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    keyway_transport::take_over();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["server"] => server::run(),
        ["helper", rest @ ..] => helper::run(rest),
        ["host", profile, end, script] => host::run(profile, end, script),
        ["true"] => {}
        other => panic!("unknown mode {other:?}"),
    }
    ExitCode::SUCCESS
}
