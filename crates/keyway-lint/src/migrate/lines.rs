//! Lines added to the small files around a configuration: `.env`, `.env.example`, `.gitignore`.

use keyway_config::env_file::{lines_of, parse};
use keyway_config::environment::Environment as _;
use keyway_secret::{Secret, printable};

/// Returns `text` with `lines` behind it, ended as its own lines are.
pub(super) fn append(text: Option<&str>, lines: &[String]) -> String {
    let mut text = text.unwrap_or_default().to_owned();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(newline);
    }
    for line in lines {
        text.push_str(line);
        text.push_str(newline);
    }
    text
}

/// Returns the line that gives `name` its value, for shells and for our reader alike.
///
/// `None` for a value that no shell can hold.
pub(super) fn assignment(name: &str, value: &Secret<String>) -> Option<Secret<String>> {
    let text = value.expose();
    if text.contains('\0') {
        return None;
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+=:@%,".contains(&byte);
    let line = if text.bytes().all(is_plain) {
        format!("{name}={text}")
    } else if !text.contains('\'') {
        format!("{name}='{text}'")
    } else {
        let mut line = format!("{name}=\"");
        for c in text.chars() {
            if matches!(c, '"' | '\\' | '$' | '`') {
                line.push('\\');
            }
            line.push(c);
        }
        line.push('"');
        line
    };
    Some(Secret::new(line))
}

/// Adds an assignment to the text of an env file.
///
/// `None` if it could not be read back, or would change what the other lines say: a quote that is
/// never closed swallows what follows.
#[must_use]
pub fn with_assignment(
    before: Option<&Secret<String>>,
    (name, value): (&str, &Secret<String>),
) -> Option<Secret<String>> {
    let line = assignment(name, value)?;
    let old = before.map(|text| text.expose().as_str());
    let after = Secret::new(append(old, &[line.expose().clone()]));
    let (was, is) = (parse(old.unwrap_or_default()), parse(after.expose()));
    let mut others = was.names().into_iter().filter(|other| other != name);
    let others_stay = others.all(|other| match (was.get(&other), is.get(&other)) {
        (Some(was), Some(is)) => was.is_same_as(&is),
        _ => false,
    });
    let is_there = is.get(name).is_some_and(|found| found.is_same_as(value));
    (others_stay && is_there).then_some(after)
}

/// Puts another value in the place of a variable's, everywhere in the text of an env file; the last
/// line that assigns to it gets the new one, earlier ones go.
///
/// `None` if there is none, or if it could not be read back or would change what other lines say.
#[must_use]
pub fn with_replacement(
    before: &Secret<String>,
    (name, value): (&str, &Secret<String>),
) -> Option<Secret<String>> {
    let (line, text) = (assignment(name, value)?, before.expose());
    let ranges = lines_of(text, name);
    let (last, earlier) = ranges.split_last()?;
    let mut after = String::with_capacity(text.len() + line.expose().len());
    let mut from = 0;
    for range in earlier {
        after.push_str(text.get(from..range.start)?);
        from = range.end;
    }
    after.push_str(text.get(from..last.start)?);
    let old = text.get(last.clone())?;
    let export = if old.trim_start().starts_with("export ") {
        "export "
    } else {
        ""
    };
    after.push_str(&format!("{export}{}", line.expose()));
    if old.ends_with('\n') {
        after.push('\n');
    }
    after.push_str(text.get(last.end..)?);
    let after = Secret::new(after);
    let (was, is) = (parse(text), parse(after.expose()));
    let same = |name: &String| match (was.get(name), is.get(name)) {
        (Some(was), Some(is)) => was.is_same_as(&is),
        _ => false,
    };
    let others_stay = was.names().iter().all(|other| other == name || same(other));
    let is_there = is.get(name).is_some_and(|found| found.is_same_as(value));
    (others_stay && is_there).then_some(after)
}

/// Adds a line without value for each variable, unless there is one; the comment says what it is.
pub(super) fn with_examples(
    before: Option<&str>,
    variables: &[(String, String)],
) -> Option<String> {
    let known = parse(before.unwrap_or_default()).names();
    let mut lines = Vec::new();
    for (name, comment) in variables {
        if !known.contains(name) {
            lines.push(format!("# {}", printable(comment)));
            lines.push(format!("{name}="));
        }
    }
    (!lines.is_empty()).then(|| append(before, &lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn a_value_is_replaced_in_its_place_and_the_old_one_is_gone() {
        for (before, after) in [
            ("A=old\n", "A=new\n"),
            (
                "# x\nB=1\n export A='old' # note\nC=2",
                "# x\nB=1\nexport A=new\nC=2",
            ),
            ("A=old\nB=1\nA=\"older\nold\"\n", "B=1\nA=new\n"),
            ("A=", "A=new"),
        ] {
            let found = with_replacement(&secret(before), ("A", &secret("new")));
            assert_eq!(found.unwrap().expose(), after, "{before}");
        }
        assert!(with_replacement(&secret("B=1\n"), ("A", &secret("new"))).is_none());
        let value = secret("it's $5 \"and\" more\n");
        let found = with_replacement(&secret("A=1\n"), ("A", &value)).unwrap();
        assert!(parse(found.expose()).get("A").unwrap().is_same_as(&value));
    }

    #[test]
    fn every_value_is_read_back_as_it_was() {
        for value in [
            "plain-value.1",
            "two words # no comment",
            "a'b",
            "a\"b'c\\d$e`f",
            "$HOME ${X} $(id)",
            "line\nbreak",
            "it's\r\nmore",
            " edge ",
            "ü",
        ] {
            let after = with_assignment(None, ("A", &secret(value))).unwrap();
            let found = parse(after.expose()).get("A").unwrap();
            assert_eq!(found.expose(), value);
        }
        assert!(with_assignment(None, ("A", &secret("a\0b"))).is_none());
    }

    #[test]
    fn line_ends_are_kept_and_a_missing_one_is_added() {
        for (before, after) in [
            ("B=1", "B=1\nA=x\n"),
            ("B=1\n", "B=1\nA=x\n"),
            ("# é\r\nB=1\r\n", "# é\r\nB=1\r\nA=x\r\n"),
            ("\u{feff}B=1\n", "\u{feff}B=1\nA=x\n"),
        ] {
            let changed = with_assignment(Some(&secret(before)), ("A", &secret("x")));
            assert_eq!(changed.unwrap().expose(), after);
        }
    }

    #[test]
    fn an_open_quote_that_would_swallow_the_line_is_noticed() {
        let before = secret("B='open\nC=1\n");
        assert!(with_assignment(Some(&before), ("A", &secret("two words"))).is_none());
        assert!(with_assignment(Some(&before), ("A", &secret("plain"))).is_some());
    }

    #[test]
    fn an_example_has_names_and_no_values() {
        let variables = [("A".to_owned(), "search: header `X`".to_owned())];
        let after = with_examples(Some("B=\n"), &variables).unwrap();
        assert_eq!(after, "B=\n# search: header `X`\nA=\n");
        assert_eq!(with_examples(Some(&after), &variables), None);
    }
}
