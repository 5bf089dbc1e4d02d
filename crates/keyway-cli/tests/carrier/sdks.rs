//! The official clients' `close()`: they close the input of the bridge, and end it seconds later.

use std::time::Duration;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Tools, eventually};

use crate::{Caller, KEYWAY, still_signed_in};

/// Lets a client close in the middle of renewals whose answers take up to twice as long as it waits;
/// `KEYWAY_SLOW_ANSWERS=1` adds one that takes 30 seconds. Side by side: they mostly wait.
fn closes(client: &[String]) {
    let mut delays = vec![3, 8];
    if std::env::var_os("KEYWAY_SLOW_ANSWERS").is_some() {
        delays.push(30);
    }
    let close = |seconds: u64| {
        let desk = Desk::new(KEYWAY, Settings::default());
        desk.sign_in();
        let caller = Caller::start(&desk, client);
        desk.rig
            .set(|settings| settings.token_delay = Duration::from_secs(seconds));
        desk.rig.reset();
        eventually("the token is renewed", || desk.rig.refreshes() == 1);
        caller.close();
        still_signed_in(&desk, &format!("{seconds} s, {}", client.join(" ")));
    };
    std::thread::scope(|all| {
        for seconds in delays {
            let close = &close;
            all.spawn(move || close(seconds));
        }
    });
}

#[test]
fn renewal_survives_the_close_of_the_typescript_client() {
    let Some(tools) = Tools::find(&[NODE]) else {
        return;
    };
    let modules = tools.at("npm/node_modules");
    closes(&[tools.at(NODE), script("client.mjs"), modules]);
}

#[test]
fn renewal_survives_the_close_of_the_python_client() {
    let Some(tools) = Tools::find(&[PYTHON]) else {
        return;
    };
    closes(&[tools.at(PYTHON), script("client.py")]);
}

fn script(name: &str) -> String {
    format!("{}/tests/carrier/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Below `KEYWAY_TOOLS`: the Node.js of the npm packages.
const NODE: &str = "npm/node_modules/.bin/node";
/// Below `KEYWAY_TOOLS`: the Python of the virtual environment.
const PYTHON: &str = "python/bin/python";
