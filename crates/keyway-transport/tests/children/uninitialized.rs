//! A host that does not call `take_over`: it appends its process id to a file in its working
//! directory, tries to start a stdio server through itself, and prints the error code.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for tests: it fails loudly and prints"
)]

use std::fs::File;
use std::io::Write as _;

use keyway_transport::{ChildEnv, LaunchError, Launcher, Program, StdioServer};

fn main() {
    let mut started = File::options()
        .create(true)
        .append(true)
        .open("started")
        .unwrap();
    writeln!(started, "{}", std::process::id()).unwrap();
    let refused = Launcher::current();
    assert!(matches!(refused, Err(LaunchError::NotInitialized)));
    let program = Program::new("/bin/true".to_owned().into(), ChildEnv::default(), "/");
    let server = StdioServer::new("true", program);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // By its path as well, however that is spelt.
    let launcher = Launcher::new(std::env::current_exe().unwrap());
    let error = runtime.block_on(server.open(&launcher)).unwrap_err();
    println!("{}", error.code());
}
