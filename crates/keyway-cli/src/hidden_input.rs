//! Asks on the terminal itself for something that must not be seen: nothing typed is echoed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};

use keyway_secret::Secret;
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

/// Asks for one line; `None` if the person cancelled with Ctrl-C, or ended with Ctrl-D.
///
/// # Errors
///
/// Returns what is wrong with the terminal.
pub(crate) fn ask(question: &str) -> io::Result<Option<Secret<String>>> {
    let terminal = OpenOptions::new().read(true).write(true).open(TERMINAL)?;
    let mut quiet = Quiet::new(terminal)?;
    quiet.terminal.write_all(question.as_bytes())?;
    let line = read_line(&mut quiet.terminal);
    quiet.terminal.write_all(b"\n")?;
    line
}

/// Says something to the person who is being asked; without a terminal it is lost.
pub(crate) fn tell(text: &str) {
    if let Ok(mut terminal) = OpenOptions::new().write(true).open(TERMINAL) {
        drop(terminal.write_all(format!("{text}\n").as_bytes()));
    }
}

/// A terminal that shows nothing and sends no signals, until this is dropped.
///
/// Without signals, Ctrl-C arrives here instead of ending the process while the echo is off.
struct Quiet {
    terminal: File,
    before: Termios,
}

impl Quiet {
    fn new(terminal: File) -> io::Result<Self> {
        let before = termios::tcgetattr(&terminal)?;
        let mut quiet = before.clone();
        quiet
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        // What was typed ahead was typed for something else, and was seen.
        termios::tcsetattr(&terminal, OptionalActions::Flush, &quiet)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Quiet {
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
