//! Reads what must not be seen: nothing that is typed is shown.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::fd::AsFd as _;

use keyway_secret::Secret;
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

/// Asks for one line on the terminal itself; `None` if the person cancelled with Ctrl-C, or ended
/// with Ctrl-D.
///
/// # Errors
///
/// Returns what is wrong with the terminal.
pub(crate) fn ask(question: &str) -> io::Result<Option<Secret<String>>> {
    let terminal = OpenOptions::new().read(true).write(true).open(TERMINAL)?;
    // Without signals, Ctrl-C arrives here instead of ending the process while nothing is shown.
    let unwanted = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    // What was typed ahead was typed for something else, and was seen.
    let mut hidden = Hidden::new(terminal, unwanted, OptionalActions::Flush)?;
    hidden.terminal.write_all(question.as_bytes())?;
    let line = read_line(&mut hidden.terminal);
    hidden.terminal.write_all(b"\n")?;
    line
}

/// Says something to the person who is being asked; without a terminal it is lost.
pub(crate) fn tell(text: &str) {
    if let Ok(mut terminal) = OpenOptions::new().write(true).open(TERMINAL) {
        drop(terminal.write_all(format!("{text}\n").as_bytes()));
    }
}

/// Reads a line of standard input, while others wait for something else; `None` at its end.
///
/// On a terminal it is seen, unless a [`Hidden`] is kept meanwhile.
pub(crate) async fn pasted() -> Option<Secret<String>> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // A thread of its own: nothing waits for one that sits in a read when the command ends.
    drop(std::thread::spawn(move || {
        // Never grows, so that no copy is left behind.
        let mut line = String::with_capacity(LONGEST);
        let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
        let read = io::stdin().lock().take(most).read_line(&mut line);
        let line = Secret::new(line);
        drop(sender.send(match read {
            Ok(1..) => Some(line),
            _ => None,
        }));
    }));
    let line = receiver.await.ok().flatten()?;
    Some(Secret::new(line.expose().trim().to_owned()))
}

/// A terminal that shows nothing of what is typed, until this is dropped.
#[derive(Debug)]
pub(crate) struct Hidden {
    terminal: File,
    before: Termios,
}

impl Hidden {
    /// Hides what is typed into standard input; `None` if it is no terminal, or hides it already.
    pub(crate) fn input() -> Option<Self> {
        let terminal = io::stdin().as_fd().try_clone_to_owned().ok()?;
        let hidden = Self::new(terminal.into(), LocalModes::ECHO, OptionalActions::Now).ok()?;
        let was_shown = hidden.before.local_modes.contains(LocalModes::ECHO);
        was_shown.then_some(hidden)
    }

    fn new(terminal: File, unwanted: LocalModes, when: OptionalActions) -> io::Result<Self> {
        let before = termios::tcgetattr(&terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(unwanted);
        termios::tcsetattr(&terminal, when, &hidden)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _unchanged = termios::tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

fn read_line(input: &mut impl io::Read) -> io::Result<Option<Secret<String>>> {
    // Never grows, so that no copy is left behind.
    let mut line = Vec::with_capacity(LONGEST);
    let done = |line| {
        let text = String::from_utf8(line);
        let text = text.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(Some(Secret::new(text)))
    };
    // Byte by byte: what follows the line is for somebody else, and a buffer would be a copy.
    let mut byte = [0];
    while input.read(&mut byte)? > 0 {
        let [byte] = byte;
        match byte {
            b'\r' | b'\n' => return done(line),
            CANCEL => {
                drop(Secret::new(line));
                return Ok(None);
            }
            END if line.is_empty() => return Ok(None),
            END => return done(line),
            ERASE_LINE => line.clear(),
            BACKSPACE | DELETE => {
                // One character may be several bytes.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            _ if line.len() == LONGEST => return Err(io::ErrorKind::FileTooLarge.into()),
            _ => line.push(byte),
        }
    }
    drop(Secret::new(line));
    Ok(None)
}

const TERMINAL: &str = "/dev/tty";
/// As long as a value of the contract may be.
const LONGEST: usize = 8 * 1024;
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
        assert!(read_line(&mut endless).is_err());
    }
}
