//! Progress: one line per server on a terminal, and nothing anywhere else.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyway::diagnosis::Diagnosis;
use keyway::examination::Candidate;
use keyway_code::{Stage, State};
use keyway_secret::printable;

use crate::context::CommandContext;
use crate::report::Verbosity;

/// What every server is doing.
#[derive(Debug)]
pub(super) struct ProgressTable {
    is_shown: bool,
    width: usize,
    /// Held while a change is drawn, so that two servers never draw into each other's lines; never
    /// across an await.
    lines: Mutex<Lines>,
}

#[derive(Debug)]
struct Lines {
    servers: Vec<Line>,
    drawn: usize,
}

#[derive(Debug)]
struct Line {
    name: String,
    stage: Stage,
    end: Option<&'static str>,
}

impl Line {
    fn new(server: &str) -> Self {
        Self {
            name: printable(server),
            stage: Stage::Trust,
            end: None,
        }
    }
}

impl ProgressTable {
    /// Prepares a table, which is shown if standard error is a terminal that is large enough.
    pub(super) fn new(context: &CommandContext, candidates: &[Candidate]) -> Self {
        let size = terminal_size::terminal_size_of(io::stderr());
        let (width, height) = size.map_or((80, 24), |(w, h)| (usize::from(w.0), usize::from(h.0)));
        let is_shown = io::stderr().is_terminal()
            && context.verbosity != Verbosity::Quiet
            && candidates.len() < height;
        let servers = candidates
            .iter()
            .map(|candidate| Line::new(&candidate.diagnosis.server));
        let servers = servers.collect();
        let lines = Mutex::new(Lines { servers, drawn: 0 });
        Self {
            is_shown,
            width,
            lines,
        }
    }

    /// Notes that a server has come to a stage.
    pub(super) fn enter(&self, at: usize, stage: Stage) {
        let mut lines = self.lock();
        if let Some(line) = lines.servers.get_mut(at) {
            line.stage = stage;
        }
        self.draw(&mut lines);
    }

    /// Notes how it ended for a server.
    pub(super) fn end(&self, at: usize, found: &Diagnosis) {
        let mut lines = self.lock();
        if let Some(line) = lines.servers.get_mut(at) {
            line.end = Some(match (found.state.state, found.code) {
                (State::Disabled, _) => "disabled",
                (_, None) => "ok",
                (_, Some(code)) => {
                    line.stage = found.stage;
                    code.as_str()
                }
            });
        }
        self.draw(&mut lines);
    }

    /// Removes the table; the result says it all.
    pub(super) fn wipe(&self) {
        let lines = self.lock();
        if self.is_shown && lines.drawn > 0 {
            let text = format!("\x1b[{}A\x1b[J", lines.drawn);
            drop(io::stderr().lock().write_all(text.as_bytes()));
        }
    }

    fn draw(&self, lines: &mut Lines) {
        if !self.is_shown {
            return;
        }
        let mut text = String::new();
        if lines.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", lines.drawn));
        }
        for line in &lines.servers {
            let end = line.end.unwrap_or("…");
            let row = format!("{}  {} {end}", line.name, line.stage.as_str());
            let row: String = row.chars().take(self.width.saturating_sub(1)).collect();
            text.push_str(&format!("{row}\x1b[K\n"));
        }
        lines.drawn = lines.servers.len();
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }

    // Held while a frame is drawn, so that two servers do not write into one another's lines.
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
