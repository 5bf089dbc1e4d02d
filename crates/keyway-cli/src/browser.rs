//! Opening a page in the person's browser.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use keyway_config::names::path_segment;
use keyway_secret::Secret;

use crate::environment::ProcessEnvironment;

/// A program that opens pages.
#[derive(Debug, Clone)]
pub(crate) struct Browser(OsString);

impl Browser {
    /// Finds the program: the one that was named, else the desktop's, where there is a desktop.
    pub(crate) fn find(named: Option<&str>) -> Option<Self> {
        if let Some(named) = named {
            return Some(Self(named.into()));
        }
        ProcessEnvironment::has_desktop().then(|| Self(DESKTOP.into()))
    }

    /// Opens a page; the address is the only argument, and no shell sees it.
    ///
    /// Says whether the program could be started.
    #[expect(
        clippy::disallowed_methods,
        reason = "the person's own browser, not a program of a plugin"
    )]
    pub(crate) fn open(&self, url: &str) -> bool {
        let started = Command::new(&self.0)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = started else { return false };
        // It may stay as long as the browser does; when it ends, it must not stay as a zombie. Where
        // the system refuses a thread it does, until this process ends.
        drop(std::thread::Builder::new().spawn(move || drop(child.wait())));
        true
    }
}

impl Browser {
    /// Opens a page whose address is a secret: every user of this machine can read the arguments of
    /// a process, so the browser gets a private file that redirects there.
    ///
    /// `folder` has to be ours alone, and out of reach of what we start.
    pub(crate) fn open_privately(&self, folder: &Path, link: &Secret<String>) -> bool {
        let file = folder.join("dashboard.html");
        way(&file, link).is_ok() && self.open(&file_url(&file))
    }
}

/// Writes a page that leads on.
fn way(file: &Path, link: &Secret<String>) -> io::Result<()> {
    // What an earlier one led to works no more.
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut page = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    let link = link.expose();
    let text = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Keyway</title>\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n\
         <p><a href=\"{link}\">Continue to the dashboard</a></p>\n"
    );
    page.write_all(text.as_bytes())
}

/// Writes a path as an address.
fn file_url(path: &Path) -> String {
    let parts = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    let parts: Vec<String> = parts.map(path_segment).collect();
    format!("file://{}", parts.join("/"))
}

#[cfg(target_os = "macos")]
const DESKTOP: &str = "open";
#[cfg(not(target_os = "macos"))]
const DESKTOP: &str = "xdg-open";
