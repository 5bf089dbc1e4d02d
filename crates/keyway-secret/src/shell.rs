//! Text inside of a command that a person may copy into a shell.

use crate::printable;

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
}
