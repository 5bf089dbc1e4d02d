//! A gateway with a dashboard, and ways to look at it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyway_testkit::{Answer, Folder, Gateway, Keyway, Outcome, Tools, Upstream, appears};
use serde_json::Value;

/// How every secret of a demo begins.
pub(crate) const SECRET: &str = "demosecret_";

/// How many complaints of the browser are known: the page at the end is refused.
#[derive(Clone, Copy)]
pub(crate) enum Complaints {
    None,
    Known(usize),
}

/// Lets a browser do steps, list by list; returns what it prints.
pub(crate) fn browse(steps: &[Value], expected: Complaints) -> Vec<Value> {
    let modules = modules().unwrap();
    let script =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../keyway-testkit/servers/dashboard.mjs");
    let complaints = match expected {
        Complaints::None => 0,
        Complaints::Known(count) => count,
    };
    let mut child = Command::new(modules.join(".bin/node"))
        .arg(script)
        .arg(&modules)
        .env("DASHBOARD_COMPLAINTS", complaints.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let steps = steps.iter().flat_map(|list| list.as_array().unwrap());
    let steps = Value::from_iter(steps.cloned());
    stdin.write_all(steps.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines = printed.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the npm packages, if the tools are installed.
pub(crate) fn modules() -> Option<PathBuf> {
    let axe = "npm/node_modules/axe-core/package.json";
    let tools = Tools::find(&[axe, "/usr/bin/chromium"])?;
    Some(tools.modules().into())
}

/// `keyway demo`, whose dashboard is looked at.
pub(crate) struct Demo {
    child: Child,
    folder: Folder,
    lines: Arc<Mutex<Vec<String>>>,
    home: String,
    link: String,
}

impl Demo {
    pub(crate) fn start() -> Self {
        let folder = Folder::new();
        let mut child = Command::new(env!("CARGO_BIN_EXE_keyway"))
            .args(["demo", "--format", "json"])
            .current_dir(folder.path())
            .env("TMPDIR", folder.path())
            .env("HOME", folder.path())
            .env_remove("DISPLAY")
            .env_remove("BROWSER")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = collect(child.stderr.take().unwrap());
        let mut demo = Self {
            child,
            folder,
            lines,
            home: String::new(),
            link: String::new(),
        };
        demo.link = demo.saw("/dashboard/enter/").trim().to_owned();
        let home = demo.saw("export KEYWAY_HOME=");
        demo.home = home.trim().rsplit_once('=').unwrap().1.to_owned();
        demo
    }

    /// Returns the link that it printed.
    pub(crate) fn link(&self) -> String {
        self.link.clone()
    }

    pub(crate) fn origin(&self) -> String {
        self.link.split_once("/dashboard").unwrap().0.to_owned()
    }

    /// Waits for a line that contains something.
    pub(crate) fn saw(&self, text: &str) -> String {
        wait_for(text, || {
            let lines = self.lines.lock().unwrap();
            lines.iter().find(|line| line.contains(text)).cloned()
        })
    }

    pub(crate) fn keyway(&self, words: &[&str]) -> Outcome {
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), self.folder.path())
            .env("KEYWAY_HOME", &self.home)
            .args(words.iter().copied())
            .run()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        drop(self.child.wait());
    }
}

/// `keyway serve` over a server that refuses every request and a local one, neither approved.
pub(crate) struct House {
    pub(crate) gateway: Gateway,
    pub(crate) folder: Folder,
}

/// What a browser has after it was let in.
pub(crate) struct Pass {
    pub(crate) cookie: String,
    pub(crate) base: String,
}

impl Pass {
    /// Returns the address of a page of the session; files are where they are.
    fn at(&self, path: &str) -> String {
        if path.starts_with("/dashboard/") {
            return path.to_owned();
        }
        format!("{}{path}", self.base)
    }
}

impl House {
    /// Starts it with a token in its environment.
    pub(crate) fn start(token: &str) -> Self {
        let refusing = Upstream::start(|_| {
            let told = r#"Bearer error="invalid_token""#;
            Answer::empty(401).with("www-authenticate", told)
        });
        let refusing = refusing.url("/mcp");
        let entries = format!(
            r#"{{"refusing": {{"type": "http", "url": "{refusing}",
                  "headers": {{"Authorization": "Bearer ${{API_TOKEN}}"}}}},
                "local": {{"command": "/bin/sh", "args": ["-c", "echo $API_TOKEN >&2; exit 3"],
                  "env": {{"API_TOKEN": "${{API_TOKEN}}"}}}}}}"#
        );
        let folder = Folder::new().file("p/.mcp.json", entries);
        Self::over(folder, &[("API_TOKEN", token)], &[])
    }

    /// Starts it over the plugin `p` of a folder, whose entries are not approved unless `words` say so.
    pub(crate) fn over(folder: Folder, variables: &[(&str, &str)], words: &[&str]) -> Self {
        let folder = folder.executable(
            "browser",
            "#!/bin/sh\necho \"$1\" > \"$0.new\" && mv \"$0.new\" \"$0.link\"\n",
        );
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .env("KEYWAY_HOME", folder.at("home"));
        let call = variables
            .iter()
            .fold(call, |call, (name, value)| call.env(name, *value));
        let gateway = Gateway::start(call, &[&["p"], words].concat());
        let house = Self { gateway, folder };
        // It prints a link of its own.
        wait_for("a link", || {
            house.said().contains("/dashboard/enter/").then(String::new)
        });
        house
    }

    /// Looks at a gateway that runs already.
    pub(crate) fn of(gateway: Gateway) -> Self {
        let folder = Folder::new();
        Self { gateway, folder }
    }

    /// Returns a link of `keyway open`.
    pub(crate) fn open(&self) -> String {
        let opened = self.keyway(&["open", "--print"]);
        assert_eq!(opened.code, 0, "{}", opened.everything());
        opened.stdout.trim().to_owned()
    }

    pub(crate) fn keyway(&self, words: &[&str]) -> Outcome {
        self.keyway_with(words, &[])
    }

    /// The same with variables.
    pub(crate) fn keyway_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Outcome {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), self.folder.path())
            .env("KEYWAY_HOME", self.folder.at("home"))
            .args(words.iter().copied());
        let mut call = variables
            .iter()
            .fold(call, |call, (name, value)| call.env(name, *value));
        if words.last() == Some(&"--browser") {
            call = call.args([self.folder.at("browser")]);
        }
        call.run()
    }

    /// Returns what a browser was given, and the link in the file that this leads to.
    pub(crate) fn shown_link(&self) -> (String, String) {
        let file = self.folder.at("browser.link");
        let text = wait_for("a browser", || std::fs::read_to_string(&file).ok());
        let shown = text.trim().to_owned();
        let path = shown.strip_prefix("file://").unwrap();
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let page = std::fs::read_to_string(path).unwrap();
        let (_, link) = page.split_once("href=\"").unwrap();
        let link = link.split_once('"').unwrap().0.to_owned();
        (shown, link)
    }

    /// Returns what the gateway printed beside its result.
    pub(crate) fn said(&self) -> String {
        self.gateway.said()
    }

    pub(crate) fn follow(&self, link: &str) -> String {
        let path = link
            .split_once(&format!(":{}", self.gateway.port()))
            .unwrap()
            .1;
        self.gateway.request("GET", path, "", "")
    }

    /// Follows a link; returns what it gives.
    pub(crate) fn enter(&self, link: &str) -> Pass {
        let answer = self.follow(link);
        let mut lines = answer.lines();
        let line = lines.find_map(|it| it.strip_prefix("set-cookie: "));
        let (cookie, rest) = line.expect(&answer).split_once(';').unwrap();
        let (_, path) = rest.split_once("Path=").unwrap();
        Pass {
            cookie: cookie.to_owned(),
            base: path.split_once("/;").unwrap().0.to_owned(),
        }
    }

    pub(crate) fn mark(&self, pass: &Pass) -> String {
        let page = self.get("/", pass);
        let (_, rest) = page.split_once("name=\"_mark\" value=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }

    pub(crate) fn get(&self, path: &str, pass: &Pass) -> String {
        let headers = format!("cookie: {}\r\n", pass.cookie);
        self.gateway.request("GET", &pass.at(path), &headers, "")
    }

    /// The same as a user who is neither us nor the superuser; `None` where we cannot be that.
    pub(crate) fn get_as_other_user(&self, path: &str, pass: &Pass) -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let (port, path, cookie) = (self.gateway.port(), pass.at(path), &pass.cookie);
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET {path} HTTP/1.1\\r\\nhost: 127.0.0.1:{port}\\r\\n\
             cookie: {cookie}\\r\\nconnection: close\\r\\n\\r\\n' >&3; cat <&3"
        );
        let output = Command::new("/bin/bash")
            .args(["-c", &script])
            .uid(65_534)
            .current_dir("/")
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(crate) fn post(&self, path: &str, pass: &Pass, body: &str) -> String {
        let origin = self.gateway.url("");
        let headers = format!("cookie: {}\r\norigin: {origin}\r\n", pass.cookie);
        self.gateway.request("POST", &pass.at(path), &headers, body)
    }

    /// Returns the beginning of the events of a page.
    pub(crate) fn stream(&self, page: &str, pass: &Pass) -> String {
        let path = pass.at(&format!("/events?page={page}"));
        let cookie = format!("cookie: {}\r\n", pass.cookie);
        let mut stream = self.gateway.send("GET", &path, &cookie, "");
        let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
        // It never ends by itself: when the first has come, the rest follows at once.
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            bytes.extend(piece.iter().take(read));
            if String::from_utf8_lossy(&bytes).contains("event: region") {
                let soon = Duration::from_millis(700);
                stream.set_read_timeout(Some(soon)).unwrap();
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(text.contains("event: region"), "{text}");
        text
    }
}

fn collect(stream: impl std::io::Read + Send + 'static) -> Arc<Mutex<Vec<String>>> {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let all = Arc::clone(&lines);
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            all.lock().unwrap().push(line);
        }
    });
    lines
}

pub(crate) fn wait_for(what: &str, look: impl Fn() -> Option<String>) -> String {
    appears(what, look)
}
