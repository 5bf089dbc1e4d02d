//! The gateway of the demo: `keyway serve` over its plugin, as a process of its own that has the
//! variables of this run and ends with it.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use keyway::vault::Folders;
use keyway_demo::Demo;
use keyway_secret::Secret;
use tokio::time::sleep;

use crate::commands::open;
use crate::environment::ProcessEnvironment;
use crate::timeouts::{
    DEMO_GATEWAY_POLL_INTERVAL, DEMO_GATEWAY_START_TIMEOUT, DEMO_GATEWAY_STOP_TIMEOUT,
};

/// The process.
#[derive(Debug)]
pub(super) struct Gateway {
    child: Child,
    folders: Folders,
}

impl Gateway {
    /// Starts it; `None` if it cannot be started.
    #[expect(
        clippy::disallowed_methods,
        reason = "this very binary, not a program of a plugin"
    )]
    pub(super) fn start(demo: &Demo) -> Option<Self> {
        let binary = std::env::current_exe().ok()?;
        let few = ProcessEnvironment::all()
            .into_iter()
            .filter(|(name, _)| name.to_str().is_some_and(|name| KEPT.contains(&name)));
        let mut command = Command::new(binary);
        command
            .arg("serve")
            .arg(demo.plugin())
            .args(["--listen", "127.0.0.1:0", "--quiet", "--while-input"])
            .env_clear()
            .envs(few)
            .env("KEYWAY_HOME", demo.home())
            .env("KEYWAY_KEY_SOURCE", "file");
        for (name, value) in demo.variables() {
            command.env(name, value.expose());
        }
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Some(Self {
            child: child.ok()?,
            folders: Folders::below(demo.home()),
        })
    }

    /// Returns a link to its dashboard, as soon as it has one.
    pub(super) async fn link(&self) -> Option<Secret<String>> {
        let socket = self.folders.runtime.join("gateway.sock");
        let begun = Instant::now();
        while begun.elapsed() < DEMO_GATEWAY_START_TIMEOUT {
            if let Ok(link) = open::link(&socket) {
                return Some(link);
            }
            sleep(DEMO_GATEWAY_POLL_INTERVAL).await;
        }
        None
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.child.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < DEMO_GATEWAY_STOP_TIMEOUT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(DEMO_GATEWAY_POLL_INTERVAL);
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What it needs of the person's environment.
const KEPT: [&str; 4] = ["HOME", "LANG", "PATH", "TMPDIR"];
