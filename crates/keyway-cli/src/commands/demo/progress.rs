//! What is seen while the servers are visited: one line that changes, or one line per server.

use std::io::{self, IsTerminal as _};

use keyway_demo::Row;

use crate::consent::say;
use crate::context::CommandContext;
use crate::report::Verbosity;

/// Progress on the error stream; a line that changes goes away when this is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    way: Way,
    done: usize,
    all: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Silent,
    Lines,
    OneLine,
}

impl Progress {
    pub(super) fn new(context: &CommandContext, all: usize) -> Self {
        let way = match context.verbosity {
            Verbosity::Quiet => Way::Silent,
            _ if io::stderr().is_terminal() => Way::OneLine,
            _ => Way::Lines,
        };
        let progress = Self { way, done: 0, all };
        if way == Way::OneLine {
            progress.draw();
        }
        progress
    }

    /// One more server is done.
    pub(super) fn step(&mut self, row: &Row) {
        self.done += 1;
        match self.way {
            Way::Silent => {}
            Way::OneLine => self.draw(),
            Way::Lines => {
                let (done, all) = (self.done, self.all);
                say(&format!("{done}/{all}  {}: {}\n", row.server, row.standing));
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
        if self.way == Way::OneLine {
            say("\r\u{1b}[K");
        }
    }
}
