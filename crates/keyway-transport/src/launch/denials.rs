//! What a confined program was kept from, collected while it runs and told when it fails.
//!
//! The kernel does not say what a program looked for and did not find. So this compares what is there
//! with what the program speaks of: paths in its lines, and the settings in the person's home of the
//! programs that it calls.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_auth::{ConfinementNote, Denied};
use keyway_secret::Secret;
use rustix::fs::{Mode, OFlags};

use super::denied;
use super::{Isolation, IsolationLevel, IsolationProfile, Program};

/// What one confined program was kept from.
#[derive(Debug)]
pub(crate) struct Denials {
    isolation: Isolation,
    level: IsolationLevel,
    /// The command and its arguments.
    words: Vec<Secret<String>>,
    /// Where the program starts.
    folder: PathBuf,
    /// Its `PATH`.
    path: Option<OsString>,
    /// Held for one line or one report.
    found: Mutex<Vec<Denied>>,
}

impl Denials {
    /// Begins to collect; `None` for a program that is not confined.
    pub(crate) fn of(program: &Program, level: IsolationLevel) -> Option<Arc<Self>> {
        let is_confined = level.profile() == IsolationProfile::Confine && level.hides_files();
        if !is_confined {
            return None;
        }
        let mut isolation = program.isolation.clone();
        isolation.offline = level.is_offline();
        let words = std::iter::once(&program.command).chain(&program.args);
        Some(Arc::new(Self {
            isolation,
            level,
            words: words.cloned().collect(),
            folder: program.folder.clone(),
            path: denied::path_of(program).map(OsStr::to_owned),
            found: Mutex::default(),
        }))
    }

    /// Looks at a line; returns what it says that was not known yet, in words.
    pub(crate) fn in_line(&self, line: &str) -> Option<String> {
        let denied = denied::in_line(&self.isolation, line)?;
        let mut found = self.lock();
        if found.len() >= MAX_DENIED || found.contains(&denied) {
            return None;
        }
        let words = format!("keyway: {denied}");
        found.push(denied);
        Some(words)
    }

    /// Says what it was kept from, after it failed.
    pub(crate) fn note(&self) -> ConfinementNote {
        let mut found = self.lock().clone();
        found.truncate(MAX_TOLD);
        let misses_network = found.contains(&Denied::Network);
        found.retain(|denied| *denied != Denied::Network);
        if found.is_empty() && !misses_network {
            let unseen = |path| Denied::Unseen {
                path,
                writes: false,
            };
            found.extend(self.unseen_settings().into_iter().map(unseen));
        }
        let facts: Vec<String> = found.iter().map(Denied::fact).collect();
        let mut hints: Vec<String> = found.iter().map(Denied::remedy).collect();
        let mut what = "it ran confined".to_owned();
        if self.isolation.offline {
            what.push_str(", without a network (`network = false`)");
        }
        if !facts.is_empty() {
            what = format!("{what}: {}", facts.join(", "));
        } else if !misses_network {
            what.push_str(match self.has_empty_home() {
                true => ", with an empty home",
                false => ", and saw nothing of yours that was not granted",
            });
            hints.push(FILES.to_owned());
        }
        if self.isolation.offline {
            let remedy = Denied::Network.remedy();
            hints.push(match misses_network {
                true => remedy,
                false => format!("if it needs a network, {remedy}"),
            });
        }
        ConfinementNote::new(what, hints.join("; "))
    }

    fn has_empty_home(&self) -> bool {
        let isolation = &self.isolation;
        let mut given = isolation.granted.iter().chain(&isolation.read_only);
        let is_given = |home: &PathBuf| given.any(|given| home.starts_with(given));
        self.level.is_confined() && !isolation.home.as_ref().is_some_and(is_given)
    }

    /// Returns what is in the person's home for programs that this one calls, and was not granted.
    fn unseen_settings(&self) -> Vec<PathBuf> {
        let Some(home) = &self.isolation.home else {
            return Vec::new();
        };
        let is_called = |name: &&String| {
            let is_shell = SHELLS.contains(&name.as_str());
            !is_shell && denied::find_program(self.path.as_deref(), name).is_some()
        };
        let names = self.names();
        let places = names.iter().flat_map(|name| {
            let other = RENAMED.iter().find(|(program, _)| program == name);
            let usual = [
                format!(".{name}"),
                format!(".{name}rc"),
                format!(".{name}config"),
                format!(".config/{name}"),
            ];
            let places = usual.into_iter().map(move |place| (name, place));
            places.chain(other.map(|(_, place)| (name, (*place).to_owned())))
        });
        let found = places.filter_map(|(name, place)| {
            let path = home.join(place);
            let is_denied = denied::is_denied(&self.isolation, &path);
            (is_denied && is_called(&name)).then_some(path)
        });
        found.take(MAX_TOLD).collect()
    }

    /// Returns the words of the command and of the scripts that it names.
    fn names(&self) -> BTreeSet<String> {
        let words = self.words.iter().map(|word| word.expose().as_str());
        let words: Vec<&str> = words.collect();
        let paths = words.iter().flat_map(|word| word.split_whitespace());
        let paths = paths.map(|word| self.folder.join(word));
        let scripts = paths.filter_map(|path| read_script(&path));
        let scripts: Vec<String> = scripts.take(MAX_SCRIPTS).collect();
        let texts = words.iter().copied();
        let texts = texts.chain(scripts.iter().map(String::as_str));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let names = texts.flat_map(|text| text.split(move |c| !is_part(c)));
        let names = names.filter(|name| (2..=MAX_NAME).contains(&name.len()));
        names.take(MAX_NAMES).map(str::to_owned).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Denied>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the beginning of a file that may be a script.
fn read_script(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    // It may be a pipe by now.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    file.take(MAX_SCRIPT).read_to_end(&mut bytes).ok()?;
    // A program that is no script says nothing in words.
    let text = !bytes.contains(&0);
    text.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// What to do about files if none of them is known.
const FILES: &str = "if it works by hand, it misses files of yours: add them to `read_only_grants` \
                     of `[sandbox]` in config.toml, or to `grants` if it has to write there";

/// Programs whose settings have another name than they have.
const RENAMED: [(&str, &str); 3] = [("az", ".azure"), ("gpg", ".gnupg"), ("kubectl", ".kube")];

/// Programs that every script names, and whose files are for people at a terminal.
const SHELLS: [&str; 7] = ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// How much one program can have named.
const MAX_DENIED: usize = 16;
/// How much of that is told with a failure.
const MAX_TOLD: usize = 3;
const MAX_NAME: usize = 32;
const MAX_NAMES: usize = 4096;
const MAX_SCRIPTS: usize = 4;
const MAX_SCRIPT: u64 = 64 * 1024;
