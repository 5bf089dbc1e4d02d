//! Text inside of a command that a person may copy into a shell.

use crate::{escaped, printable};

/// Writes `text` so that a POSIX shell reads it as one word, without what a terminal would not show.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let text = printable(text);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Writes the name of a server as the argument of a command of Keyway: as a word, or as the flag
/// `--server` where the word alone would be taken for the path of a plugin.
#[must_use]
pub fn server_argument(name: &str) -> String {
    let word = shell_word(name);
    let is_path = name.contains('/')
        || [".json", ".toml"].iter().any(|end| name.ends_with(end))
        || [".", "..", "-"].contains(&name);
    if is_path {
        return format!("--server {word}");
    }
    word
}

/// Writes `text` as one word in which everything can be seen: as it is, in quotes, or in the form
/// `$'…'` if something in it is [escaped].
#[must_use]
pub fn escaped_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:=@${}+,%".contains(c);
    let shown = escaped(text);
    if shown != text {
        return format!("$'{}'", shown.replace('\'', r"\'"));
    }
    if !text.is_empty() && text.chars().all(is_plain) {
        return shown;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_one_word_and_runs_nothing() {
        for (text, word) in [
            ("/tmp/demo-1", "/tmp/demo-1"),
            ("plugin:server", "plugin:server"),
            ("/tmp/sp ace", "'/tmp/sp ace'"),
            ("/tmp/it's me", r"'/tmp/it'\''s me'"),
            ("a;b", "'a;b'"),
            ("$(b)", "'$(b)'"),
            ("~", "'~'"),
            ("", "''"),
            ("a\nb", "'a b'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }

    #[test]
    fn a_server_is_named_by_a_flag_only_where_its_name_looks_like_a_path() {
        for (name, argument) in [
            ("docs", "docs"),
            ("my docs", "'my docs'"),
            ("plugin:docs", "plugin:docs"),
            ("team/docs", "--server team/docs"),
            ("docs.json", "--server docs.json"),
            (".", "--server ."),
        ] {
            assert_eq!(server_argument(name), argument);
        }
    }

    #[test]
    fn e07_a_word_shows_its_ends_and_everything_in_it() {
        for (text, word) in [
            ("${HOST_PLUGIN_ROOT}/run", "${HOST_PLUGIN_ROOT}/run"),
            ("a b", "'a b'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("x # y\ntouch it's", r"$'x # y\ntouch it\'s'"),
            ("a\u{200b}", r"$'a\u{200b}'"),
        ] {
            assert_eq!(escaped_word(text), word);
        }
    }
}
