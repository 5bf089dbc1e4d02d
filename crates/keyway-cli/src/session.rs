//! What a command has to talk to: the two output streams, and how much the person wants to read.

use std::error::Error;
use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use keyway_secret::printable;

use crate::arguments::{Color, Global};
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::exit::Exit;

/// The terminal as one command sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    /// How much to print.
    pub(crate) verbosity: Verbosity,
    color: Color,
}

/// How much to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Errors only.
    Quiet,
    /// Errors, warnings and a summary.
    Normal,
    /// Notes as well.
    Verbose,
}

impl Session {
    /// Looks at the flags; streams and environment are looked at when something is printed.
    pub(crate) const fn open(global: &Global) -> Self {
        let verbosity = match (global.quiet, global.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        };
        let color = global.color;
        Self { verbosity, color }
    }

    /// Says whether standard output gets colours.
    pub(crate) fn colors_output(&self) -> bool {
        self.colors(&io::stdout())
    }

    /// Returns how many columns there are to print a table in; `None` if nobody set a limit.
    pub(crate) fn width(&self) -> Option<usize> {
        let terminal = || terminal_size::terminal_size_of(io::stdout());
        ProcessEnvironment::columns().or_else(|| Some(usize::from(terminal()?.0.0)))
    }

    /// Prints a command's result. A reader who went away ends the command with `exit`.
    pub(crate) fn print(&self, text: &str, exit: Exit) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(CliError::ReaderGone { exit })
            }
            Err(source) => Err(CliError::Output { source }),
        }
    }

    /// Prints an error with what lies behind it and what to do next.
    pub(crate) fn print_error(&self, error: &dyn Error, hint: Option<&str>) {
        let style = self.error_style();
        let mut text = format!("{style}error{style:#}: {}\n", printable(&error.to_string()));
        let mut cause = error.source();
        while let Some(below) = cause {
            text.push_str(&format!("  caused by: {}\n", printable(&below.to_string())));
            cause = below.source();
        }
        if let Some(hint) = hint {
            text.push_str(&format!("\nhint: {}\n", printable(hint)));
        }
        self.print_aside(&text);
    }

    /// Prints something besides the result; without a reader it is lost, which is no failure.
    pub(crate) fn print_aside(&self, text: &str) {
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }

    /// Returns how the head of a table looks.
    pub(crate) fn head_style(&self) -> Style {
        if self.colors_output() {
            Style::new().bold()
        } else {
            Style::new()
        }
    }

    fn error_style(&self) -> Style {
        if self.colors(&io::stderr()) {
            AnsiColor::BrightRed.on_default().bold()
        } else {
            Style::new()
        }
    }

    fn colors(&self, stream: &impl io::IsTerminal) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                stream.is_terminal()
                    && !ProcessEnvironment::is_set("NO_COLOR")
                    && !ProcessEnvironment::has_dumb_terminal()
            }
        }
    }
}
