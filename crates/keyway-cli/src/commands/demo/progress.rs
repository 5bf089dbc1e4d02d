//! What is seen while the servers are visited: one line that changes, or one line per server.

use std::io::{self, IsTerminal as _};

use keyway_demo::Row;

use crate::consent::say;
use crate::context::CommandContext;
use crate::report::Verbosity;

/// Progress on the error stream; a line that changes goes away when this is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    way: ProgressStyle,
    done: usize,
    all: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressStyle {
    Silent,
    Lines,
    OneLine,
}

impl Progress {
    pub(super) fn new(context: &CommandContext, all: usize) -> Self {
        let way = match context.verbosity {
            Verbosity::Quiet => ProgressStyle::Silent,
            _ if io::stderr().is_terminal() => ProgressStyle::OneLine,
            _ => ProgressStyle::Lines,
        };
        let progress = Self { way, done: 0, all };
        if way == ProgressStyle::OneLine {
            progress.draw();
        }
        progress
    }

    /// One more server is done.
    pub(super) fn step(&mut self, row: &Row) {
        self.done += 1;
        match self.way {
            ProgressStyle::Silent => {}
            ProgressStyle::OneLine => self.draw(),
            ProgressStyle::Lines => {
                let (done, all) = (self.done, self.all);
                say(&format!("{done}/{all}  {}: {}\n", row.server, row.state));
            }
        }
    }

    fn draw(&self) {
        let (done, all) = (self.done, self.all);
        say(&format!("\r{done} of {all} servers visited …\u{1b}[K"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.way == ProgressStyle::OneLine {
            say("\r\u{1b}[K");
        }
    }
}
