//! What `BROWSER` may be in tests: takes an address as its only argument and goes where it leads.

use std::process::ExitCode;

use keyway_testkit::visit;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), None) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(2);
    };
    match visit(&url) {
        Ok(page) if page.status < 400 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
