//! `--bundle FILE`: what a bug report needs, in one archive, and never a value.
//!
//! Every part comes from a renderer that masks already. Over all of them the person's home becomes
//! `~`; whose accounts they are is left out.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use keyway::Plugin;
use keyway::events::{Event, Listener, Topic, rfc3339};
use keyway::load::Loaded;
use keyway::settings;
use keyway_secret::{Clock as _, SystemClock, printable};
use serde_json::{Value, json};

use crate::archive::Archive;
use crate::commands::status;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::failure;
use keyway_lint::mask::{Mask, in_words};

/// An archive to be written when the examination is over.
#[derive(Debug)]
pub(super) struct Bundle {
    path: PathBuf,
    journal: Arc<Journal>,
}

impl Bundle {
    /// Begins to collect; what is there already is not overwritten.
    pub(super) fn begin(path: &Path) -> Result<Self, CliError> {
        if path.symlink_metadata().is_ok() {
            return Err(failed(path, io::ErrorKind::AlreadyExists.into()));
        }
        Ok(Self {
            path: path.to_owned(),
            journal: Arc::default(),
        })
    }

    /// Returns the listener that records events.
    pub(super) fn listener(&self) -> Arc<dyn Listener> {
        Arc::clone(&self.journal) as _
    }

    /// Writes the archive; returns what is in it, for the person to read.
    pub(super) fn write(
        &self,
        plugin: &Plugin,
        context: &CommandContext,
        report: &str,
    ) -> Result<String, CliError> {
        // What cannot be looked at is a part of the report as well.
        let loaded = plugin.loaded();
        let status = status::as_json(loaded, plugin.host(), context);
        let status = status.unwrap_or_else(|error| failure::object(&error));
        let mut parts = vec![
            ("README.txt".to_owned(), README.to_owned()),
            ("version.json".to_owned(), version()),
            ("report.json".to_owned(), report.to_owned()),
            ("status.json".to_owned(), nameless(&status)),
            ("settings.json".to_owned(), settings_names()),
        ];
        parts.extend(documents(loaded));
        let (events, notes) = self.journal.texts();
        parts.push(("events.jsonl".to_owned(), events));
        parts.push(("debug.log".to_owned(), notes));
        let home = ProcessEnvironment::home();
        let (mut archive, now) = (Archive::default(), now());
        let mut listed = String::new();
        for (name, text) in parts {
            let text = homeless(&text, home.as_deref());
            archive.add(&format!("{FOLDER}/{name}"), text.as_bytes(), now);
            listed.push_str(&format!("  {:>7}  {FOLDER}/{name}\n", text.len()));
        }
        let mut file = create(&self.path).map_err(|source| failed(&self.path, source))?;
        let written = file.write_all(&archive.finish());
        written.map_err(|source| failed(&self.path, source))?;
        let path = printable(&self.path.to_string_lossy());
        Ok(format!(
            "wrote {path}, which holds no credential; read it before you share it:\n{listed}"
        ))
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

fn failed(path: &Path, source: io::Error) -> CliError {
    let path = path.to_owned();
    CliError::Generate { path, source }
}

/// Every configuration file, literals masked.
fn documents(loaded: &Loaded) -> Vec<(String, String)> {
    let documents = loaded.plugin.documents.iter().enumerate();
    let masked = documents.map(|(at, document)| {
        let (source, text) = (&document.source, document.source.text());
        let mask = Mask::new(source, Some(&document.tree), &[]);
        let file = Path::new(source.path()).file_name().unwrap_or_default();
        let name = in_words(&printable(&file.to_string_lossy()));
        (
            format!("config/{at}-{name}"),
            mask.apply(text, 0..text.len()),
        )
    });
    masked.collect()
}

fn version() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let object = json!({
        "keyway": env!("CARGO_PKG_VERSION"),
        "os": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "kernel": kernel.trim(),
        "at": rfc3339(i64::try_from(now()).unwrap_or_default()),
    });
    format!("{object:#}\n")
}

/// Which keys `config.toml` has, and which of Keyway's own variables are set.
fn settings_names() -> String {
    let folders = ProcessEnvironment::folders();
    let file = folders.map(|folders| folders.config.join(settings::FILE_NAME));
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
    let keys = settings::names(&text.unwrap_or_default());
    let keys: Vec<String> = keys.iter().map(|key| in_words(&printable(key))).collect();
    let variables = ProcessEnvironment::all().into_iter();
    let names = variables.filter_map(|(name, _)| name.into_string().ok());
    let is_ours = |name: &String| {
        let upper = name.to_ascii_uppercase();
        name.starts_with("KEYWAY_") || OTHERS.contains(&upper.as_str())
    };
    let mut variables: Vec<String> = names.filter(is_ours).collect();
    variables.sort_unstable();
    let object = json!({ "config.toml": keys, "environment": variables });
    format!("{object:#}\n")
}

/// Leaves out whose accounts they are.
fn nameless(status: &str) -> String {
    let Ok(mut object) = serde_json::from_str::<Value>(status) else {
        return String::new();
    };
    let servers = object.get_mut("servers").and_then(Value::as_array_mut);
    for server in servers.into_iter().flatten() {
        if let Some(account) = server.get_mut("account").filter(|it| !it.is_null()) {
            *account = Value::from("…");
        }
    }
    format!("{object:#}\n")
}

fn homeless(text: &str, home: Option<&Path>) -> String {
    match home.and_then(Path::to_str).filter(|home| home.len() > 1) {
        Some(home) => text.replace(home, "~"),
        None => text.to_owned(),
    }
}

fn now() -> u64 {
    let since = SystemClock.wall().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// Writes down what happens, up to a limit.
#[derive(Debug, Default)]
struct Journal {
    /// Events, and lines of debugging. Held for one line; events come from several threads.
    lines: Mutex<(Vec<String>, Vec<String>)>,
}

impl Journal {
    fn texts(&self) -> (String, String) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect();
        (text(&lines.0), text(&lines.1))
    }
}

impl Listener for Journal {
    fn event(&self, event: &Event) {
        let line = event.to_json();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.0.len() < MOST {
            lines.0.push(line);
        }
    }

    fn wants(&self, _: Topic) -> bool {
        true
    }

    fn note(&self, topic: Topic, server: Option<&str>, line: &str) {
        let server = server.map(|name| format!(" {name}")).unwrap_or_default();
        let line = format!("{}{server}: {}", topic.as_str(), in_words(line));
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.1.len() < MOST {
            lines.1.push(line);
        }
    }
}

const FOLDER: &str = "keyway-report";
/// Variables of others that decide what Keyway does.
const OTHERS: &[&str] = &[
    "ALL_PROXY",
    "BROWSER",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
];
const MOST: usize = 10_000;
const README: &str = "\
What `keyway doctor --bundle` found, for a bug report.

report.json    what is wrong with each server
status.json    each server with its state, and which variables are set
version.json   Keyway and the system
settings.json  the names of the keys in config.toml, and of variables that count
config/        the configuration files, literals masked
events.jsonl   what happened during the run
debug.log      the same, in detail

There is no credential in it. Names of servers, hosts, variables and files are.
";
