//! Finding and starting what the tests talk to.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use keyway_testkit::{Folder, Keyway, eventually, free_port};

pub(crate) use keyway_testkit::Tools;

/// Below `KEYWAY_TOOLS`: the Node.js of the npm packages.
pub(crate) const NODE: &str = "npm/node_modules/.bin/node";
/// Below `KEYWAY_TOOLS`: the Python of the virtual environment.
pub(crate) const PYTHON: &str = "python/bin/python";
/// Below `KEYWAY_TOOLS`: the server and client on the official Rust SDK.
pub(crate) const RUST_PEER: &str = "rust-sdk/debug/rust-peer";

/// Below `KEYWAY_TOOLS`: clients of agents.
pub(crate) const CLAUDE: &str = "npm/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs";
pub(crate) const CODEX: &str = "npm/node_modules/@openai/codex/bin/codex.js";
pub(crate) const GEMINI: &str = "npm/node_modules/@google/gemini-cli/bundle/gemini.js";

pub(crate) const CONTINUE: &str = "npm/node_modules/@continuedev/cli/dist/cn.js";
pub(crate) const COPILOT: &str = if cfg!(target_arch = "aarch64") {
    "npm/node_modules/@github/copilot-linux-arm64/copilot"
} else {
    "npm/node_modules/@github/copilot-linux-x64/copilot"
};
pub(crate) const OPENCODE: &str = if cfg!(target_arch = "aarch64") {
    "npm/node_modules/opencode-linux-arm64/bin/opencode"
} else {
    "npm/node_modules/opencode-linux-x64/bin/opencode"
};

/// Prepares a call of a client of agents, by its script; nothing but its home is its own.
pub(crate) fn client(tools: &Tools, script: &str, home: &Path) -> Command {
    let mut command = program(tools, NODE, home);
    command.arg(tools.at(script));
    command
}

/// Prepares a call of a client that is a program of its own.
pub(crate) fn program(tools: &Tools, file: &str, home: &Path) -> Command {
    let node = tools.at(NODE);
    let beside = Path::new(&node).parent().unwrap();
    let mut command = Command::new(tools.at(file));
    command
        .env_clear()
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("XDG_DATA_HOME", home.join(".local/share"))
        .env("XDG_CACHE_HOME", home.join(".cache"))
        .env("PATH", format!("{}:/usr/bin:/bin", beside.display()))
        .env("DISABLE_AUTOUPDATER", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .stdin(Stdio::null());
    command
}

/// A call with the usual folders of the home: clients drop variables from what they start.
pub(crate) fn plain(call: Keyway) -> Keyway {
    call.started_by(["/usr/bin/env", "-u", "KEYWAY_HOME"])
}

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
