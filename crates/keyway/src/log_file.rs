//! The log file of a server's programs: private, bounded, and shared by processes.
//!
//! Several processes may write to one log, each a whole line at a time. Two files at most: the log
//! itself and the one before it.
//!
//! ```text
//! missing ──first line──▶ open ──full, and still the one at its path──▶ renamed, a new one opened
//!                          └─────full, and renamed by another process──▶ the new one opened
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::OFlags;

/// The log of one server.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    /// Open from the first line on. Held while a line is written.
    file: Mutex<Option<File>>,
}

impl LogFile {
    /// Names a log; nothing is opened or made yet.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: Mutex::new(None),
        }
    }

    /// Returns where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line. A log that cannot be written is no reason to fail: its line is dropped.
    ///
    /// Blocks for as long as the system takes to accept a line, which is at most 8 KiB.
    pub fn push(&self, line: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.as_ref().is_none_or(is_full) {
            *file = self.next_file().ok();
        }
        if let Some(file) = file.as_mut() {
            // One call, so that lines of several processes do not mix.
            let _dropped = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Returns the last lines, oldest first; none if nothing was ever logged.
    ///
    /// # Errors
    ///
    /// Returns an [`io::Error`] if there is a log that cannot be read.
    pub fn last_lines(&self, count: usize) -> io::Result<Vec<String>> {
        let mut lines = lines_of(&self.path)?;
        if lines.len() < count {
            let mut earlier = lines_of(&self.previous())?;
            earlier.append(&mut lines);
            lines = earlier;
        }
        let skipped = lines.len().saturating_sub(count);
        Ok(lines.split_off(skipped))
    }

    /// Reads what is added from now on.
    #[must_use]
    pub fn follow(&self) -> LogFollower {
        let mut follower = LogFollower {
            path: self.path.clone(),
            file: None,
            partial: Vec::new(),
        };
        if let Ok(mut file) = File::open(&self.path) {
            let _at_the_start = file.seek(SeekFrom::End(0));
            follower.file = Some(file);
        }
        follower
    }

    /// Opens the log, after putting away one that is full.
    fn next_file(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let mut file = self.open()?;
        if is_full(&file) {
            // Two processes may find it full at once: the second one waits here, and then finds
            // another file at the path.
            file.lock()?;
            if is_at(&file, &self.path) {
                fs::rename(&self.path, self.previous())?;
            }
            file = self.open()?;
        }
        Ok(file)
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&self.path)
    }

    fn previous(&self) -> PathBuf {
        self.path.with_extension("log.1")
    }
}

/// Reads what is added to a log, over the end of one file to the next.
#[derive(Debug)]
pub struct LogFollower {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl LogFollower {
    /// Returns the lines that were added since the last call, oldest first.
    ///
    /// # Errors
    ///
    /// Returns an [`io::Error`] if there is a log that cannot be read.
    pub fn new_lines(&mut self) -> io::Result<Vec<String>> {
        self.read_on()?;
        // Looked at after reading: what was written before the change of files is read by now.
        if !self.file.as_ref().is_some_and(|it| is_at(it, &self.path)) {
            self.read_on()?;
            self.file = match File::open(&self.path) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            self.read_on()?;
        }
        let end = self.partial.iter().rposition(|byte| *byte == b'\n');
        let rest = self.partial.split_off(end.map_or(0, |end| end + 1));
        let whole = std::mem::replace(&mut self.partial, rest);
        Ok(text_lines(&whole))
    }

    fn read_on(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.take(MAX_READ_BYTES).read_to_end(&mut self.partial)?;
        }
        Ok(())
    }
}

/// Reads the end of a file; of one that is missing, nothing.
fn lines_of(path: &Path) -> io::Result<Vec<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let start = file.metadata()?.len().saturating_sub(MAX_READ_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
    let mut lines = text_lines(&bytes);
    // The first line is cut where the file does not begin with it.
    lines.drain(..usize::from(start > 0).min(lines.len()));
    Ok(lines)
}

fn text_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::to_owned).collect()
}

fn is_full(file: &File) -> bool {
    file.metadata().is_ok_and(|it| it.len() >= FULL_BYTES)
}

/// Says whether a path still leads to the file.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(own), Ok(found)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    (own.dev(), own.ino()) == (found.dev(), found.ino())
}

const FULL_BYTES: u64 = 1024 * 1024;
/// How much of a log is read at once.
const MAX_READ_BYTES: u64 = 256 * 1024;

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "files that another program has written"
)]
mod tests {
    use super::*;

    #[test]
    fn log_is_private_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile::new(folder.path().join("logs/p/s.log"));
        assert!(log.last_lines(5).unwrap().is_empty());
        for at in 0..10 {
            log.push(&format!("line {at}"));
        }
        assert_eq!(log.last_lines(2).unwrap(), ["line 8", "line 9"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(log.path()), 0o600);
        assert_eq!(mode(&folder.path().join("logs/p")), 0o700);
    }

    #[test]
    fn two_writers_keep_a_log_bounded_and_lose_no_line_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.log");
        let (one, other) = (LogFile::new(path.clone()), LogFile::new(path.clone()));
        let mut follower = one.follow();
        let (mut written, mut read) = (0, 0);
        for _ in 0..40 {
            for log in [&one, &other] {
                for _ in 0..40 {
                    log.push(&format!("{written} {}", "x".repeat(1000)));
                    written += 1;
                }
            }
            read += follower.new_lines().unwrap().len();
        }
        assert_eq!(read, written, "over every change of files");
        let bytes: u64 = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(bytes <= 2 * FULL_BYTES + 4096, "{bytes}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let last = one.last_lines(1).unwrap();
        assert!(last[0].starts_with(&format!("{} ", written - 1)));
    }

    #[test]
    fn line_is_read_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile::new(folder.path().join("s.log"));
        let mut follower = log.follow();
        assert!(follower.new_lines().unwrap().is_empty());
        fs::write(log.path(), "one\ntw").unwrap();
        assert_eq!(follower.new_lines().unwrap(), ["one"]);
        let mut file = OpenOptions::new().append(true).open(log.path()).unwrap();
        file.write_all(b"o\n").unwrap();
        assert_eq!(follower.new_lines().unwrap(), ["two"]);
    }

    #[test]
    fn link_in_the_place_of_a_log_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("other"), "kept").unwrap();
        let path = folder.path().join("s.log");
        std::os::unix::fs::symlink(folder.path().join("other"), &path).unwrap();
        LogFile::new(path).push("line");
        let kept = fs::read_to_string(folder.path().join("other")).unwrap();
        assert_eq!(kept, "kept");
    }
}
