//! Reads `.env` files: `NAME=value` lines as shells and the common loaders understand them.
//!
//! Nothing is expanded and nothing is run. A line that cannot be read is skipped, since a person's
//! env file may hold what only another tool understands.

use std::ops::Range;

use crate::environment::Variables;
use crate::source::BYTE_ORDER_MARK;
use crate::template::is_variable_name;

/// Returns the variables of a file; of a repeated name the last one counts.
#[must_use]
pub fn parse(text: &str) -> Variables {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start_matches(BYTE_ORDER_MARK);
    while !rest.is_empty() {
        if let Some((name, behind)) = assignment(rest) {
            let (value, after) = value(behind);
            pairs.push((name, value));
            rest = after;
        }
        rest = rest.split_once('\n').map_or("", |(_, next)| next);
    }
    Variables::from_pairs(pairs)
}

/// Returns where the lines stand that assign to a variable, from the first byte of each to its line
/// break.
#[must_use]
pub fn lines_of(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches(BYTE_ORDER_MARK);
    while !rest.is_empty() {
        let start = text.len() - rest.len();
        let mut is_wanted = false;
        if let Some((name, behind)) = assignment(rest) {
            is_wanted = name == wanted;
            rest = value(behind).1;
        }
        rest = rest.split_once('\n').map_or("", |(_, next)| next);
        if is_wanted {
            found.push(start..text.len() - rest.len());
        }
    }
    found
}

/// Returns the name that the first line assigns to, and the text from the value on.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let line = text.trim_start_matches([' ', '\t']);
    let line = line
        .strip_prefix("export ")
        .map_or(line, |rest| rest.trim_start_matches(' '));
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([' ', '\t']);
    is_variable_name(name).then_some((name, value.trim_start_matches([' ', '\t'])))
}

/// Reads a value, quoted or not, and returns it with the text behind it.
fn value(text: &str) -> (String, &str) {
    if let Some(quoted) = quoted(text) {
        return quoted;
    }
    let line = text.split('\n').next().unwrap_or_default();
    let plain = line.split(" #").next().unwrap_or_default().trim_end();
    (plain.to_owned(), text.get(line.len()..).unwrap_or_default())
}

/// Reads a value in quotes, which may span lines; escapes count in double quotes only.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((index, c)) = chars.next() {
        match c {
            c if c == quote => return Some((value, text.get(index + 1..)?)),
            '\\' if quote == '"' => value.push(match chars.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    #[test]
    fn lines_are_read_as_shells_read_them() {
        let text = "\u{feff}# note\nA=1\n export B = two words # note\r\nC='a #b\\n'\nD=\"x\\ny\"\n\
                    E=\"two\nlines\" # note\nF=\nnot a line\n1G=x\nH='open\nI=a#b=c\nA=2";
        let variables = parse(text);
        for (name, value) in [
            ("A", "2"),
            ("B", "two words"),
            ("C", "a #b\\n"),
            ("D", "x\ny"),
            ("E", "two\nlines"),
            ("F", ""),
            ("H", "'open"),
            ("I", "a#b=c"),
        ] {
            assert_eq!(variables.get(name).unwrap().expose(), value, "{name}");
        }
        assert_eq!(variables.names(), ["A", "B", "C", "D", "E", "F", "H", "I"]);
    }
}
