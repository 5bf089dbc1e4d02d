//! The official TypeScript client, whose session continues while people sign in and out.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Tools, eventually};
use serde_json::{Value, json};

use crate::live::keeping::{Came, Place, came};

const NODE: &str = "npm/node_modules/.bin/node";

/// The client, as a process that calls at each line.
struct Client {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn start(tools: &Tools, major: &str, place: &Place) -> Self {
        let script = format!("{}/tests/live/client.mjs", env!("CARGO_MANIFEST_DIR"));
        let [own, _] = place.paths();
        let mut child = Command::new(tools.at(NODE))
            .args([script, tools.modules(), major.to_owned()])
            .arg(place.gateway.process.url(&own))
            .env("CAPABILITY", &place.gateway.token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Calls; returns the session, the tools, and what came.
    fn call(&mut self) -> (String, Value, Came) {
        writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
        let line = self.lines.next().expect("the client lives").unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let session = said["session"].as_str().unwrap().to_owned();
        (session, said["tools"].clone(), came(said["came"].clone()))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn the_official_client_keeps_its_session_over_sign_out_and_sign_in() {
    let Some(tools) = Tools::find(&[NODE]) else {
        return;
    };
    for major in ["1", "2"] {
        let place = Place::start(Settings::default());
        place.desk.sign_in();
        let mut client = Client::start(&tools, major, &place);
        let (session, ..) = client.call();
        let mut comes = |listed: &Value, expected: Came| {
            eventually(&format!("{expected:?}"), || {
                let (now, tools, came) = client.call();
                assert_eq!(now, session);
                tools == *listed && came == expected
            });
        };
        comes(&json!(["echo"]), Came::Answer);
        for _ in 0..2 {
            place.sign_out();
            let [own, _] = place.paths();
            let late = place.gateway.begin(&own).unwrap();
            let listed = json!(late.tools());
            comes(&listed, Came::SignInWanted);
            place.desk.sign_in();
            comes(&json!(["echo"]), Came::Answer);
        }
    }
}
