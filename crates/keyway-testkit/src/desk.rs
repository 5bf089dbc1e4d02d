//! Where a person works: a plugin with one server, a home, a browser, and a person in front of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::rig::{Rig, Settings};
use crate::{Canary, ChaosProxy, Folder, Keyway, eventually, visit};

/// A plugin whose server `s` is a [`Rig`]. Every method panics on failure: it is for tests.
#[derive(Debug)]
pub struct Desk {
    /// The server.
    pub rig: Rig,
    /// The plugin, with the person's home in it.
    pub folder: Folder,
    program: String,
}

impl Desk {
    /// Sets up a desk; `program` is `env!("CARGO_BIN_EXE_keyway")` of the calling test.
    #[must_use]
    pub fn new(program: &str, settings: Settings) -> Self {
        Self::with_entry(program, settings, "")
    }

    /// Sets up a desk whose entry has more members, each with a comma before it.
    #[must_use]
    pub fn with_entry(program: &str, settings: Settings, more: &str) -> Self {
        Self::at(program, Rig::start(settings), more)
    }

    /// Sets up a desk whose server is reached through a proxy.
    #[must_use]
    pub fn behind_proxy(program: &str, settings: Settings) -> (Self, ChaosProxy) {
        let (proxy, listener) = ChaosProxy::bind();
        let rig = Rig::start_behind(settings, |port| {
            proxy.lead_to(listener, port);
            proxy.port()
        });
        (Self::at(program, rig, ""), proxy)
    }

    fn at(program: &str, rig: Rig, more: &str) -> Self {
        let url = rig.mcp();
        let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}"{more}}}}}"#);
        // It finds its folder by its own name, so that nothing has to be handed to it. What it was
        // handed nevertheless stands in a file that is searched for tokens.
        let browser = "#!/bin/sh\nprintf '%s %s\\n' \"$#\" \"$1\" >> \"${0%/*}/windows\"\nenv >> \"${0%/*}/environment\"\n";
        let folder = Folder::with_entries(&entry)
            .executable("home/browser", browser)
            .file("home/windows", "")
            .file("home/tmp/here", "");
        Self {
            rig,
            folder,
            program: program.to_owned(),
        }
    }

    /// Prepares a call where a browser can be opened.
    #[must_use]
    pub fn keyway(&self, arguments: &[&str]) -> Keyway {
        self.without_browser(arguments)
            .env("BROWSER", self.folder.at("home/browser"))
    }

    /// Prepares a call where none can.
    #[must_use]
    pub fn without_browser(&self, arguments: &[&str]) -> Keyway {
        Keyway::new(&self.program, self.folder.path())
            .args(arguments.iter().copied())
            .env("HOME", self.folder.at("home"))
            .env("KEYWAY_HOME", self.folder.at("home/keyway"))
            .env("TMPDIR", self.folder.at("home/tmp"))
    }

    /// Calls the tool and says whether it worked.
    #[must_use]
    pub fn call(&self) -> Keyway {
        self.keyway(&["call", "s", "echo", "message=hello"])
    }

    /// Signs in, with a person who agrees.
    pub fn sign_in(&self) {
        let _person = self.person();
        let outcome = self.keyway(&["login", "s", "--force"]).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }

    /// Removes everything that Keyway keeps, as on a machine where it was never used.
    pub fn start_over(&self) {
        drop(fs::remove_dir_all(self.folder.at("home/keyway")));
    }

    /// Returns the addresses of all windows that were opened.
    #[must_use]
    pub fn windows(&self) -> Vec<String> {
        windows(&self.folder.at("home/windows"))
    }

    /// Waits for so many windows and returns the last.
    #[must_use]
    pub fn window(&self, count: usize) -> String {
        let mut last = None;
        eventually(&format!("{count} windows"), || {
            last = self.windows().into_iter().nth(count.saturating_sub(1));
            last.is_some()
        });
        last.unwrap_or_default()
    }

    /// Returns a person who visits the page of every window until the value is dropped.
    #[must_use]
    pub fn person(&self) -> Person {
        let path = self.folder.at("home/windows");
        let mut visited = windows(&path).len();
        let gone = Arc::new(AtomicBool::new(false));
        let is_gone = Arc::clone(&gone);
        let thread = std::thread::spawn(move || {
            while !is_gone.load(Ordering::Relaxed) {
                for window in windows(&path).iter().skip(visited) {
                    drop(visit(window));
                    visited += 1;
                }
                // Between two looks at what another process does.
                std::thread::sleep(POLL);
            }
        });
        Person {
            gone,
            thread: Some(thread),
        }
    }

    /// Looks for every code and token that the rig ever issued, and for `more`, in text and in all
    /// files below the folder; returns where one was found.
    #[must_use]
    pub fn leaks(&self, printed: &str, more: &[&str]) -> BTreeMap<String, &'static str> {
        let issued = self.rig.secrets();
        let secrets = issued
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied());
        let canaries: Vec<Canary> = secrets.map(Canary::hidden).collect();
        let mut found = BTreeMap::new();
        let mut look = |name: &str, bytes: &[u8]| {
            let leak = canaries.iter().find_map(|canary| canary.whole_in(bytes));
            if let Some(encoding) = leak {
                found.insert(name.to_owned(), encoding);
            }
        };
        look("what was printed", printed.as_bytes());
        for file in self.folder.files() {
            // What a window was opened with is the person's own, and the state in it is not a
            // token.
            look(&file, &fs::read(self.folder.at(&file)).unwrap_or_default());
        }
        found
    }
}

/// A person in front of the screen.
#[derive(Debug)]
pub struct Person {
    gone: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Person {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Reads the windows; one that was not opened with the address as its only argument begins with
/// how many there were.
fn windows(path: &Path) -> Vec<String> {
    let path: PathBuf = path.into();
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines();
    lines
        .map(|line| line.strip_prefix("1 ").unwrap_or(line).to_owned())
        .collect()
}

const POLL: Duration = Duration::from_millis(10);
