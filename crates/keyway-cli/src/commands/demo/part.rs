//! The binary as a part of its own demo: the headers helper, the stdio server.

use std::ffi::OsStr;
use std::io::{self, Write as _};

use keyway_code::Exit;
use keyway_demo::{DemoError, SIGN_WORD, STDIO_WORD, serve_stdio, signed_headers};

use super::now;
use crate::environment::ProcessEnvironment;

/// Plays the part that the first argument names; `None` if it names none.
pub(crate) fn play(word: &OsStr) -> Option<Exit> {
    let played = if word == SIGN_WORD {
        sign()
    } else if word == STDIO_WORD {
        let folder = ProcessEnvironment::current_folder();
        let (input, output) = (io::stdin().lock(), io::stdout().lock());
        serve_stdio(&ProcessEnvironment, &folder, input, output)
    } else {
        return None;
    };
    Some(match played {
        Ok(()) => Exit::Done,
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error}"));
            Exit::Failed
        }
    })
}

fn sign() -> Result<(), DemoError> {
    let headers = signed_headers(&ProcessEnvironment, now())?;
    let written = writeln!(io::stdout(), "{}", headers.expose());
    written.map_err(|source| DemoError::Stdio { source })
}
