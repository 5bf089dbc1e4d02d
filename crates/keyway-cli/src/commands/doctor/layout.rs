//! How a fault is laid out for a person: what happened, why, and what comes next, step by step.

use anstyle::Style;
use keyway_code::Code;
use keyway_secret::printable;
use unicode_width::UnicodeWidthStr as _;

/// Where it is printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Columns; `None` without a limit.
    pub(super) width: Option<usize>,
    /// How names look.
    pub(super) name: Style,
}

impl Layout {
    /// Writes the server, the message and the code.
    pub(super) fn heading(&self, name: &str, message: &str, code: Code) -> String {
        let style = self.name;
        let text = format!("{name}: {} [{code}]", printable(message));
        let mut lines = self.wrapped(&text, INDENT.len()).into_iter();
        let first = lines.next().unwrap_or_default();
        let rest = first.strip_prefix(name);
        let first = rest.map(|rest| format!("{style}{name}{style:#}{rest}"));
        let mut written = format!("\n{}\n", first.unwrap_or(text));
        for line in lines {
            written.push_str(&format!("{INDENT}{line}\n"));
        }
        written
    }

    /// Writes a text behind its label.
    pub(super) fn labelled(&self, label: &str, text: &str) -> String {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        below(label, self.wrapped(&printable(&text), COLUMN))
    }

    /// Writes what comes next, a line for each step; a command stays in one piece, so that it can
    /// be copied.
    pub(super) fn steps(&self, hint: &str) -> String {
        let hint = printable(hint);
        let steps = hint.split("; ").flat_map(|step| self.step(step));
        below("next", steps.collect())
    }

    fn step(&self, step: &str) -> Vec<String> {
        let is_narrow = |text: &str| self.room(COLUMN).is_some_and(|room| text.width() > room);
        let is_command = COMMANDS.iter().any(|word| step.contains(word));
        if !is_command {
            return self.wrapped(step, COLUMN);
        }
        match step.rsplit_once(": ") {
            Some((before, command)) if is_narrow(step) => {
                let mut lines = self.wrapped(&format!("{before}:"), COLUMN);
                lines.push(command.to_owned());
                lines
            }
            _ => vec![step.to_owned()],
        }
    }

    /// Breaks a text between words, so that no line is longer than the width.
    fn wrapped(&self, text: &str, indent: usize) -> Vec<String> {
        let Some(room) = self.room(indent) else {
            return vec![text.to_owned()];
        };
        let mut lines: Vec<String> = Vec::new();
        for word in text.split(' ') {
            match lines.last_mut() {
                Some(line) if line.width() + 1 + word.width() <= room => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }

    fn room(&self, indent: usize) -> Option<usize> {
        let width = self.width?.clamp(NARROWEST, WIDEST);
        Some(width.saturating_sub(indent))
    }
}

fn below(label: &str, lines: Vec<String>) -> String {
    let mut written = String::new();
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        written.push_str(&format!("{INDENT}{label:<4}  {line}\n"));
    }
    written
}

/// What begins something that may be copied.
const COMMANDS: &[&str] = &[
    "keyway ",
    "export ",
    "sleep ",
    "curl ",
    "timedatectl ",
    "chmod ",
];

const INDENT: &str = "  ";
/// Where the text behind a label begins.
const COLUMN: usize = 8;
/// Longer lines are hard to read.
const WIDEST: usize = 100;
const NARROWEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        width: Some(44),
        name: Style::new(),
    };

    #[test]
    fn a_fault_fits_the_screen_and_its_commands_stay_in_one_piece() {
        let text = [
            LAYOUT.heading("s", "no answer within 8 seconds, however long one waits", Code::Timeout),
            LAYOUT.labelled("why", "The server hangs,\nor a firewall swallows the packets."),
            LAYOUT.steps(
                "give it more time: keyway doctor s --timeout 120; if it stays silent, ask its operator",
            ),
        ];
        let expected = "
s: no answer within 8 seconds, however
  long one waits [timeout]
  why   The server hangs, or a firewall
        swallows the packets.
  next  give it more time:
        keyway doctor s --timeout 120
        if it stays silent, ask its operator
";
        assert_eq!(text.concat(), expected);
    }

    #[test]
    fn without_a_limit_nothing_is_broken() {
        let layout = Layout {
            width: None,
            ..LAYOUT
        };
        let text = layout.labelled("why", &"word ".repeat(60));
        assert_eq!(text.lines().count(), 1);
    }
}
