//! Finding and starting what the tests talk to.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use keyway_testkit::{Folder, Keyway, eventually, free_port};

pub(crate) use keyway_testkit::Tools;

/// Below `KEYWAY_TOOLS`: the Node.js of the npm packages.
pub(crate) const NODE: &str = "npm/node_modules/.bin/node";
/// Below `KEYWAY_TOOLS`: the Python of the virtual environment.
pub(crate) const PYTHON: &str = "python/bin/python";
/// Below `KEYWAY_TOOLS`: the server and client on the official Rust SDK.
pub(crate) const RUST_PEER: &str = "rust-sdk/debug/rust-peer";

/// Returns the path of one of the scripts beside this file.
pub(crate) fn script(name: &str) -> String {
    format!("{}/tests/peers/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A server on a port of its own.
pub(crate) struct Listening {
    child: Child,
    pub(crate) port: u16,
}

impl Listening {
    /// Starts a server; `PORT` among its words is replaced.
    pub(crate) fn start(words: &[String]) -> Self {
        let port = free_port();
        let number = port.to_string();
        let mut words = words
            .iter()
            .map(|word| if word == "PORT" { &number } else { word });
        let child = Command::new(words.next().unwrap())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port };
        eventually("the server listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        server
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Prepares a call of the program with this process's path and trusted authorities.
pub(crate) fn keyway(folder: &Folder) -> Keyway {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"));
    ["PATH", "SSL_CERT_FILE"]
        .into_iter()
        .fold(call, |call, name| match std::env::var_os(name) {
            Some(value) => call.env(name, value),
            None => call,
        })
}
