//! Opening a page in the person's browser.

use std::ffi::OsString;
use std::process::{Command, Stdio};

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
        // It may stay as long as the browser does; when it ends, it must not stay as a zombie.
        drop(std::thread::spawn(move || drop(child.wait())));
        true
    }
}

#[cfg(target_os = "macos")]
const DESKTOP: &str = "open";
#[cfg(not(target_os = "macos"))]
const DESKTOP: &str = "xdg-open";
