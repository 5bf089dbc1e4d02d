//! Entries as YAML.

use super::super::value::HostValue;
use crate::json::quote;

/// Writes block style; every string that could be taken for something else is quoted as in JSON,
/// which is YAML as well.
pub(super) fn write(value: &HostValue, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        HostValue::Members(members) => {
            for (key, value) in members {
                text.push_str(&format!("{indent}{}:", text_of(key)));
                below(value, depth + 1, text);
            }
        }
        HostValue::List(items) => {
            for item in items {
                match item {
                    HostValue::Members(_) => {
                        let mut inner = String::new();
                        write(item, depth + 1, &mut inner);
                        let first = inner.trim_start();
                        text.push_str(&format!("{indent}- {first}"));
                    }
                    item => {
                        text.push_str(&format!("{indent}-"));
                        below(item, depth + 1, text);
                    }
                }
            }
        }
        scalar => text.push_str(&format!("{indent}{}\n", scalar_of(scalar))),
    }
}

fn below(value: &HostValue, depth: usize, text: &mut String) {
    match value {
        HostValue::List(items) if items.is_empty() => text.push_str(" []\n"),
        HostValue::Members(members) if members.is_empty() => text.push_str(" {}\n"),
        HostValue::List(_) | HostValue::Members(_) => {
            text.push('\n');
            write(value, depth, text);
        }
        scalar => text.push_str(&format!(" {}\n", scalar_of(scalar))),
    }
}

fn scalar_of(value: &HostValue) -> String {
    match value {
        HostValue::Number(number) => number.to_string(),
        HostValue::Flag(flag) => flag.to_string(),
        HostValue::Text(text) => text_of(text),
        HostValue::List(_) | HostValue::Members(_) => String::new(),
    }
}

fn text_of(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_./-".contains(&b));
    let lower = text.to_ascii_lowercase();
    if is_word && !WORDS.contains(&lower.as_str()) {
        text.to_owned()
    } else {
        quote(text)
    }
}

/// Words that some reader of YAML takes for something else than a string.
const WORDS: &[&str] = &[
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
];
