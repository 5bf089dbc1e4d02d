//! Reads what must not be seen: nothing that is typed is shown.
//!
//! Every question of this kind goes through here, so that the terminal shows again what is typed
//! however the process ends: [`Hidden`] by being dropped, a signal by [`signals::watch`], and a
//! panic by [`show_again`].

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write as _};
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_secret::Secret;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{self, LocalModes, OptionalActions, QueueSelector, Termios};
use thiserror::Error;

use crate::signals::{self, Told};

/// Why nothing was read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// The terminal cannot be used.
    #[error("cannot ask on the terminal")]
    Terminal(#[from] io::Error),
    /// It is longer than anything a person types.
    #[error("the input is longer than {LONGEST} bytes; nothing was stored")]
    TooLong,
    /// It is not UTF-8 text.
    #[error("the input is not UTF-8; nothing was stored")]
    NotText,
}

/// Asks for one line on the terminal itself; `None` if the person cancelled with Ctrl-C or ended
/// with Ctrl-D, or if a signal tells the process to end.
///
/// # Errors
///
/// Returns what is wrong with the terminal or with the line.
pub fn ask(question: &str) -> Result<Option<Secret<String>>, AskError> {
    let terminal = OpenOptions::new().read(true).write(true).open(TERMINAL)?;
    // Without signals, Ctrl-C arrives here instead of ending the process while nothing is shown.
    let unwanted = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    // What was typed ahead was typed for something else, and was seen.
    let hidden = Hidden::new(terminal, unwanted, OptionalActions::Flush)?;
    hidden.terminal().write_all(question.as_bytes())?;
    let line = read_line(&mut &hidden);
    hidden.terminal().write_all(b"\n")?;
    if line.is_err() {
        // Nothing of it may reach the next reader.
        let _unread = termios::tcflush(hidden.terminal(), QueueSelector::IFlush);
    }
    line
}

/// Says something to the person who is being asked; without a terminal it is lost.
pub fn tell(text: &str) {
    if let Ok(mut terminal) = OpenOptions::new().write(true).open(TERMINAL) {
        drop(terminal.write_all(format!("{text}\n").as_bytes()));
    }
}

/// Reads a line of standard input, while others wait for something else; `None` at its end.
///
/// On a terminal it is seen, unless a [`Hidden`] is kept meanwhile.
///
/// # Errors
///
/// Returns [`AskError::TooLong`] for a line that is; the next call reads what follows it.
///
/// Cancel safety: a line that is read after the future was dropped is lost.
pub async fn pasted() -> Result<Option<Secret<String>>, AskError> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // A thread of its own: nothing waits for one that sits in a read when the command ends.
    drop(std::thread::Builder::new().spawn(move || {
        drop(sender.send(read_pasted(&mut io::stdin().lock())));
    })?);
    receiver.await.unwrap_or(Ok(None))
}

fn read_pasted(input: &mut impl BufRead) -> Result<Option<Secret<String>>, AskError> {
    // Never grows, so that no copy is left behind.
    let most = LONGEST.saturating_add(2);
    let mut line = Vec::with_capacity(most);
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    let read = input.by_ref().take(limit).read_until(b'\n', &mut line);
    let line = Secret::new(line);
    if read? == 0 {
        return Ok(None);
    }
    let is_whole = line.expose().ends_with(b"\n");
    let text = std::str::from_utf8(line.expose()).map(str::trim);
    if !is_whole && line.expose().len() == most {
        input.skip_until(b'\n')?;
    }
    match text {
        _ if line.expose().trim_ascii().len() > LONGEST => Err(AskError::TooLong),
        Ok(text) => Ok(Some(Secret::new(text.to_owned()))),
        Err(_) => Err(AskError::NotText),
    }
}

/// A terminal that shows nothing of what is typed, until this is dropped.
#[derive(Debug)]
pub struct Hidden {
    screen: Arc<Screen>,
    /// Closed from the other side when another part of the process handles a signal.
    told: UnixStream,
}

#[derive(Debug)]
struct Screen {
    terminal: File,
    before: Termios,
    telling: UnixStream,
}

impl Hidden {
    /// Hides what is typed into standard input; `None` if it is not a terminal, or hides it
    /// already.
    pub fn input() -> Option<Self> {
        let terminal = io::stdin().as_fd().try_clone_to_owned().ok()?;
        let hidden = Self::new(terminal.into(), LocalModes::ECHO, OptionalActions::Now).ok()?;
        let was_shown = hidden.screen.before.local_modes.contains(LocalModes::ECHO);
        was_shown.then_some(hidden)
    }

    fn new(terminal: File, unwanted: LocalModes, when: OptionalActions) -> io::Result<Self> {
        let before = termios::tcgetattr(&terminal)?;
        let mut modes = before.clone();
        modes.local_modes.remove(unwanted);
        let (telling, told) = UnixStream::pair()?;
        let screen = Arc::new(Screen {
            terminal,
            before,
            telling,
        });
        signals::watch(on_signal)?;
        // A signal that comes now waits for the lock, or finds the screen.
        let mut screens = lock();
        termios::tcsetattr(&screen.terminal, when, &modes)?;
        screens.push(Arc::clone(&screen));
        Ok(Self { screen, told })
    }

    fn terminal(&self) -> &File {
        &self.screen.terminal
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let mut screens = lock();
        screens.retain(|screen| !Arc::ptr_eq(screen, &self.screen));
        self.screen.show();
    }
}

/// Returns the end of input when another part of the process handles a signal.
impl Read for &Hidden {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = [
                PollFd::new(&self.told, PollFlags::IN),
                PollFd::new(self.terminal(), PollFlags::IN),
            ];
            match poll(&mut ready, None) {
                Err(Errno::INTR) => continue,
                polled => polled?,
            };
            let [told, _] = ready;
            return if told.revents().is_empty() {
                self.terminal().read(into)
            } else {
                Ok(0)
            };
        }
    }
}

impl Screen {
    fn show(&self) {
        let _unchanged = termios::tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// Shows again what is typed, because the process ends here.
pub fn show_again() {
    // The thread that panicked may hold the lock.
    if let Ok(screens) = SCREENS.try_lock() {
        screens.iter().rev().for_each(|screen| screen.show());
    }
}

fn on_signal(told: Told) {
    // Kept, so that nothing is hidden after this.
    let screens = lock();
    for screen in screens.iter().rev() {
        match told {
            Told::ByOthers => drop(screen.telling.shutdown(Shutdown::Both)),
            Told::ToEndNow => screen.show(),
        }
    }
    if told == Told::ToEndNow {
        std::mem::forget(screens);
    }
}

fn lock() -> MutexGuard<'static, Vec<Arc<Screen>>> {
    SCREENS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What shows nothing now, in the order in which it was hidden.
static SCREENS: Mutex<Vec<Arc<Screen>>> = Mutex::new(Vec::new());

fn read_line(input: &mut impl Read) -> Result<Option<Secret<String>>, AskError> {
    // Never grows, so that no copy is left behind.
    let mut line = Vec::with_capacity(LONGEST);
    // How much was typed that is too much.
    let mut beyond: usize = 0;
    // Byte by byte: the next reader gets what follows the line, and a buffer would be a copy.
    let mut byte = [0];
    while input.read(&mut byte)? > 0 {
        let [byte] = byte;
        match byte {
            CANCEL => {
                drop(Secret::new(line));
                return Ok(None);
            }
            b'\r' | b'\n' | END if beyond > 0 => break,
            END if line.is_empty() => return Ok(None),
            b'\r' | b'\n' | END => return text(line).map(Some),
            ERASE_LINE => {
                line.clear();
                beyond = 0;
            }
            BACKSPACE | DELETE if beyond == 0 => {
                // One character may be several bytes.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            // What is too long is read to its end, lest the shell reads the rest.
            _ if beyond > ENDLESS => break,
            _ if beyond > 0 || line.len() == LONGEST => beyond = beyond.saturating_add(1),
            _ => line.push(byte),
        }
    }
    drop(Secret::new(line));
    if beyond > 0 {
        return Err(AskError::TooLong);
    }
    Ok(None)
}

fn text(line: Vec<u8>) -> Result<Secret<String>, AskError> {
    match String::from_utf8(line) {
        Ok(text) => Ok(Secret::new(text)),
        Err(error) => {
            drop(Secret::new(error.into_bytes()));
            Err(AskError::NotText)
        }
    }
}

const TERMINAL: &str = "/dev/tty";
/// As long as a value of the contract may be.
const LONGEST: usize = 8 * 1024;
/// No real line is this long; reading stops here.
const ENDLESS: usize = 1024 * 1024;
const CANCEL: u8 = 3;
const END: u8 = 4;
const BACKSPACE: u8 = 8;
const ERASE_LINE: u8 = 21;
const DELETE: u8 = 127;

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Option<String> {
        let mut bytes = bytes;
        let line = read_line(&mut bytes).unwrap();
        line.map(|line| line.expose().clone())
    }

    #[test]
    fn line_is_edited_as_it_is_typed() {
        assert_eq!(typed(b"secret\nrest").as_deref(), Some("secret"));
        assert_eq!(
            typed("sü\u{7f}ecret\r".as_bytes()).as_deref(),
            Some("secret")
        );
        assert_eq!(typed(b"wrong\x15right\n").as_deref(), Some("right"));
        assert_eq!(typed(b"\x7f\x7fa\n").as_deref(), Some("a"));
        assert_eq!(typed(b"abc\x04").as_deref(), Some("abc"));
    }

    #[test]
    fn cancelled_and_ended_input_is_none() {
        for bytes in [&b"secret\x03\n"[..], b"\x04", b"", b"half"] {
            assert_eq!(typed(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn endless_line_is_refused() {
        let mut endless = io::repeat(b'x');
        let refused = read_line(&mut endless);
        assert!(matches!(refused, Err(AskError::TooLong)), "{refused:?}");
    }

    #[test]
    fn line_that_is_too_long_is_read_to_its_end_and_refused() {
        let most = "x".repeat(LONGEST);
        let line = format!("{most}\nrest");
        assert_eq!(typed(line.as_bytes()), Some(most.clone()));
        let line = format!("{most}xyz\nrest");
        let mut left = line.as_bytes();
        let refused = read_line(&mut left);
        assert!(matches!(refused, Err(AskError::TooLong)), "{refused:?}");
        assert_eq!(left, b"rest");
        let line = format!("{most}xyz\x15right\n");
        assert_eq!(typed(line.as_bytes()).as_deref(), Some("right"));
        let line = format!("{most}\x7fy\n");
        assert!(typed(line.as_bytes()).is_some_and(|line| line.ends_with("xy")));
    }

    #[test]
    fn pasted_line_that_is_too_long_is_refused_and_the_next_is_whole() {
        let most = "x".repeat(LONGEST);
        let lines = format!("{most}\r\n{most}yyy\nnext\n\u{fc}");
        let mut left = lines.as_bytes();
        let mut next = || read_pasted(&mut left).map(|line| line.map(|it| it.expose().clone()));
        assert_eq!(next().unwrap(), Some(most));
        assert!(matches!(next(), Err(AskError::TooLong)));
        assert_eq!(next().unwrap().as_deref(), Some("next"));
        assert_eq!(next().unwrap().as_deref(), Some("\u{fc}"));
        assert_eq!(next().unwrap(), None);
    }
}
