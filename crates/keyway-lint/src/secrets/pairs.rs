//! Names with a value beside them: `"key": "value"`, `name=value`, `Name: value`.

use std::ops::Range;

use super::Reason;
use super::judge::{Hit, Scrutiny, judge, judge_named};
use super::limits::{Budget, LONGEST_KEY, LONGEST_VALUE, MOST_FIELDS, window};
use super::literal::{self, NamedPlace};
use super::name::{self, Promise};

/// `"key": "value"` pairs, also where the quotes are escaped once or more.
pub(super) fn json(text: &str, scrutiny: Scrutiny, hits: &mut Vec<Hit>) {
    let mut budget = Budget::new();
    let mut at = 0;
    while let Some((key, next)) = quoted(text, at, LONGEST_KEY) {
        let Some(value) = value_after(text, next) else {
            // Perhaps this was a closing quote: begin again right behind it.
            at = key.start;
            continue;
        };
        let field = text.get(key).unwrap_or_default();
        if is_field_name(field) && name::is_credential_name(field) && budget.take(value.0.len()) {
            let how = (scrutiny, Reason::JsonArgument);
            judge_named(text, value.0.clone(), field, how, hits);
        }
        let nested = text
            .get(value.0.clone())
            .is_some_and(|inner| inner.contains(['"', '\'']));
        at = if nested { value.0.start } else { value.1 };
    }
}

/// The next quoted run at or after `from`: its content, and where the text continues.
fn quoted(text: &str, from: usize, longest: usize) -> Option<(Range<usize>, usize)> {
    let mut search = from;
    loop {
        let open = search + text.get(search..)?.find(['"', '\''])?;
        let mark = mark_at(text, open);
        let start = open + 1;
        match closing(text, start, mark, longest) {
            Some(end) => return Some((start..end, end + mark.len())),
            None => search = start,
        }
    }
}

/// The quote at `open` with the backslashes before it.
fn mark_at(text: &str, open: usize) -> &str {
    let head = text.as_bytes().get(..open).unwrap_or_default();
    let slashes = head.iter().rev().take_while(|b| **b == b'\\').count();
    text.get(open - slashes..=open).unwrap_or_default()
}

/// Where a run that began with `mark` ends.
fn closing(text: &str, start: usize, mark: &str, longest: usize) -> Option<usize> {
    let text = text.get(..start + window(text, start, longest).len())?;
    let mut search = start;
    while let Some(found) = text.get(search..)?.find(mark) {
        let end = search + found;
        let before = text.as_bytes().get(..end)?.iter().rev();
        if before.take_while(|b| **b == b'\\').count() % 2 == 0 || mark.len() > 1 {
            return Some(end);
        }
        search = end + mark.len();
    }
    None
}

/// The quoted value after a colon at `from`, or after the sign that TOML has instead.
fn value_after(text: &str, from: usize) -> Option<(Range<usize>, usize)> {
    let rest = text.get(from..)?;
    let colon = rest.trim_start().strip_prefix([':', '='])?.trim_start();
    let open = rest.len() - colon.len();
    if !colon.trim_start_matches('\\').starts_with(['"', '\'']) {
        return None;
    }
    quoted(text, from + open, LONGEST_VALUE)
}

/// `name=value`, in shell words, connection strings and lists.
pub(super) fn assignments(text: &str, scrutiny: Scrutiny, hits: &mut Vec<Hit>) {
    let listed = is_connection_list(text);
    let reason = if listed {
        Reason::ConnectionString
    } else {
        Reason::Assignment
    };
    let mut budget = Budget::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('=')) {
        let mark = at + found;
        let before_mark = name_before(text, mark, listed);
        at = mark + 1;
        let field = text
            .get(before_mark)
            .unwrap_or_default()
            .trim()
            .trim_start_matches('-');
        // Alone, `PWD` is a folder; among the fields of a connection it is not.
        let field = if listed && field.eq_ignore_ascii_case("pwd") {
            "password"
        } else {
            field
        };
        if is_field_name(field) && name::is_credential_name(field) {
            let end = end_of_value(text, at, listed);
            if !budget.take(end - at) {
                break;
            }
            let before = hits.len();
            judge_named(text, at..end, field, (scrutiny, reason), hits);
            if hits.len() > before {
                at = end;
            }
        }
    }
}

/// `Server=…;Password=…`: several fields between semicolons.
fn is_connection_list(text: &str) -> bool {
    text.contains(';') && text.split(';').filter(|part| part.contains('=')).count() >= 2
}

fn name_before(text: &str, mark: usize, listed: bool) -> Range<usize> {
    let head = text.get(..mark).unwrap_or_default();
    // `os.environ['API_KEY'] = …`, as programs name a variable.
    let subscript = head.trim_end();
    let subscript = subscript
        .strip_suffix("']")
        .or_else(|| subscript.strip_suffix("\"]"));
    let (head, mark) = subscript.map_or((head, mark), |head| (head, head.len()));
    let belongs =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') || (listed && c == ' ');
    let length = head.len() - head.trim_end_matches(belongs).len();
    mark - length..mark
}

fn end_of_value(text: &str, from: usize, listed: bool) -> usize {
    let rest = window(text, from, LONGEST_VALUE);
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\''))
        && let Some(length) = rest.get(1..).and_then(|inner| inner.find(quote))
    {
        return from + length + 2;
    }
    let spoken = rest.split_once(' ').is_some_and(|(scheme, _)| {
        ["bearer", "basic", "token"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    });
    let skip = if spoken {
        rest.find(' ').map_or(0, |blank| blank + 1)
    } else {
        0
    };
    let tail = rest.get(skip..).unwrap_or_default();
    let stop = |c: char| {
        if listed {
            c == ';'
        } else {
            c.is_whitespace() || matches!(c, '&' | ';' | '"')
        }
    };
    from + skip + tail.find(stop).unwrap_or(tail.len())
}

/// The cookies of `text` that look random.
pub(super) fn cookies(text: &str, hits: &mut Vec<Hit>) {
    let mut at = 0;
    for pair in text.split(';').take(MOST_FIELDS) {
        if let Some((field, value)) = pair.split_once('=') {
            let start = at + field.len() + 1;
            let place = NamedPlace {
                promise: Promise::WEAK,
                name: Some("cookie"),
            };
            judge(
                text,
                start..start + value.len(),
                place,
                Reason::Header,
                hits,
            );
        }
        at += pair.len() + 1;
    }
}

/// `Name: value`, one to a line.
pub(super) fn header_lines(text: &str, scrutiny: Scrutiny, hits: &mut Vec<Hit>) {
    let mut budget = Budget::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(':')) {
        let mark = at + found;
        at = mark + 1;
        let before_mark = name_before(text, mark, false);
        let first = before_mark
            .start
            .checked_sub(1)
            .and_then(|i| text.as_bytes().get(i));
        let begins = first.is_none_or(|b| b.is_ascii_whitespace() || b"\"'`,;{(*".contains(b));
        let rest = window(text, at, LONGEST_VALUE);
        let before = text.get(..before_mark.start).unwrap_or_default();
        let field = text.get(before_mark).unwrap_or_default();
        let named = is_field_name(field) && name::is_credential_name(field);
        if !begins || !named || is_called_public(before) || rest.starts_with("//") {
            continue;
        }
        let end = at + end_of_line_value(rest);
        if !budget.take(end - at) {
            break;
        }
        let scheme = literal::has_scheme(rest.trim_start());
        let sure = rest.starts_with(' ') || scheme;
        let scrutiny = if sure { scrutiny } else { Scrutiny::Strict };
        judge_named(text, at..end, field, (scrutiny, Reason::Header), hits);
    }
}

/// `minisign public key:` in a sentence, where the name is of several words.
fn is_called_public(before: &str) -> bool {
    let word = before
        .trim_end()
        .rsplit(|c: char| !c.is_ascii_alphabetic())
        .next();
    word.is_some_and(|word| word.eq_ignore_ascii_case("public"))
}

/// Up to the end of the line, or of the quoted run that begins here.
fn end_of_line_value(rest: &str) -> usize {
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    let body = rest.get(blanks..).unwrap_or_default();
    if let Some(quote) = body
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))
        && let Some(length) = body.get(1..).and_then(|inner| inner.find(quote))
    {
        return blanks + length + 2;
    }
    let stop = |c: char| matches!(c, '\n' | '\r' | '"' | '\'' | '`');
    rest.find(stop).unwrap_or(rest.len())
}

fn is_field_name(field: &str) -> bool {
    !field.is_empty()
        && field.len() <= 80
        && field
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' '))
}
