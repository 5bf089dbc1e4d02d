//! Columns of text for people: as wide as needed, and folded where the terminal is narrower.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A table; a cell may hold several lines.
#[derive(Debug)]
pub struct Table<const N: usize> {
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// Makes an empty table.
    pub const fn new(head: [&'static str; N]) -> Self {
        let rows = Vec::new();
        Self { head, rows }
    }

    /// Adds a row.
    pub fn push(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// Renders the table, each line of its head changed by `head`; with a `width`, so that no line
    /// is longer if that can be done.
    pub fn render(&self, width: Option<usize>, head: impl Fn(&str) -> String) -> String {
        let widths = self.widths(width);
        let titles = self.head.map(str::to_owned);
        let mut text = String::new();
        for line in fold(&titles, &widths) {
            text.push_str(&head(&line));
            text.push('\n');
        }
        for row in &self.rows {
            for line in fold(row, &widths) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }

    /// Gives each column what it needs, then takes from the widest until all fit.
    fn widths(&self, limit: Option<usize>) -> [usize; N] {
        let mut widths = self.head.map(str::width);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                let longest = cell.lines().map(str::width).max();
                *width = longest.unwrap_or_default().max(*width);
            }
        }
        let gaps = GAP.saturating_mul(N.saturating_sub(1));
        let room = limit.map(|limit| limit.saturating_sub(gaps));
        while room.is_some_and(|room| widths.iter().sum::<usize>() > room) {
            match widths.iter_mut().max() {
                Some(widest) if *widest > NARROWEST => *widest -= 1,
                _ => break,
            }
        }
        widths
    }
}

/// Returns the lines of one row.
fn fold<const N: usize>(row: &[String; N], widths: &[usize; N]) -> Vec<String> {
    let cells: Vec<Vec<String>> = row
        .iter()
        .zip(widths)
        .map(|(cell, &width)| cell.lines().flat_map(|line| folded(line, width)).collect())
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    (0..height)
        .map(|at| {
            let mut line = String::new();
            for (cell, &width) in cells.iter().zip(widths) {
                let part = cell.get(at).map_or("", String::as_str);
                let padding = width.saturating_sub(part.width()).saturating_add(GAP);
                line.push_str(part);
                line.push_str(&" ".repeat(padding));
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// Breaks a line after a blank or a hyphen where possible, else between characters.
fn folded(line: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in line.split_inclusive([' ', '-']) {
        let needed = current.width().saturating_add(word.trim_end().width());
        if needed > width && !current.is_empty() {
            lines.push(std::mem::take(&mut current));
        }
        for c in word.chars() {
            let wider = current
                .width()
                .saturating_add(c.width().unwrap_or_default());
            if c != ' ' && wider > width && !current.is_empty() {
                lines.push(std::mem::take(&mut current));
            }
            current.push(c);
        }
    }
    lines.push(current);
    lines
}

/// Blanks between columns.
const GAP: usize = 2;

/// A column is not folded to less than this.
const NARROWEST: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 3]]) -> Table<3> {
        let mut table = Table::new(["NAME", "KIND", "VARIABLES"]);
        for row in rows {
            table.push(row.map(str::to_owned));
        }
        table
    }

    #[test]
    fn columns_line_up_by_what_is_seen_and_cells_may_have_several_lines() {
        let table = table(&[["größe", "http", "A set\nB missing"], ["検索", "ws", ""]]);
        let expected = "\
NAME   KIND  VARIABLES
größe  http  A set
             B missing
検索   ws
";
        assert_eq!(table.render(None, str::to_owned), expected);
    }

    #[test]
    fn long_words_are_broken_and_nothing_is_lost() {
        let name = "a-server-with-a-name-that-nobody-types";
        let table = table(&[[name, "http", "SOME_LONG_VARIABLE_NAME set, OTHER missing"]]);
        let expected = "\
NAME              KIND  VARIABLES
a-server-with-a-  http  SOME_LONG_VARIAB
name-that-              LE_NAME set,
nobody-types            OTHER missing
";
        assert_eq!(table.render(Some(40), str::to_owned), expected);
    }

    #[test]
    fn a_terminal_too_narrow_for_any_table_still_gets_one() {
        let table = table(&[["name", "http", "A_LONG_VARIABLE"]]);
        let text = table.render(Some(3), str::to_owned);
        assert!(text.contains("A_LONG_VA\n"), "{text}");
    }
}
