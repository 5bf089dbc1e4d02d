//! The rig as a program: prints its addresses as one line of JSON and serves until its input ends.

#![expect(
    clippy::print_stdout,
    reason = "its addresses are what it is started for"
)]

use std::io::{self, Read as _};

use keyway_testkit::rig::{Rig, Settings};

fn main() {
    let rig = Rig::start(Settings::default());
    let (mcp, control, elsewhere) = (rig.mcp(), rig.origin(), rig.elsewhere());
    println!(r#"{{"mcp":"{mcp}","control":"{control}","elsewhere":"{elsewhere}"}}"#);
    drop(io::stdin().read_to_end(&mut Vec::new()));
}
