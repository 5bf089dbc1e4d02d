//! What may be shown on a terminal of text that somebody else wrote.

/// Returns `text` without the characters that move a cursor, hide or reorder what a person reads.
///
/// Removed are control characters, bidirectional overrides and isolates, zero-width characters and
/// the tag block; line breaks and tabs become a blank.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\r' | '\t' => Some(' '),
            c if c.is_control() || is_invisible(c) => None,
            c => Some(c),
        })
        .collect()
}

/// Returns the first four characters of a literal secret followed by an ellipsis: enough to find
/// it in the file, too little to use it.
///
/// Of a value shorter than twelve characters nothing is shown.
#[must_use]
pub fn hint_of(literal: &str) -> String {
    if literal.chars().count() < SHORTEST_TO_HINT {
        return "…".to_owned();
    }
    let start: String = literal.chars().take(HINT_CHARS).collect();
    format!("{}…", printable(&start))
}

const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{feff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

const HINT_CHARS: usize = 4;
const SHORTEST_TO_HINT: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_reordering_are_removed() {
        assert_eq!(
            printable("a\x1b]0;pwn\x07b\u{202e}c\u{200b}d\u{e0041}"),
            "a]0;pwnbcd"
        );
        assert_eq!(printable("two\r\nlines"), "two  lines");
    }

    #[test]
    fn at_most_four_characters_of_a_secret_are_shown() {
        assert_eq!(hint_of("sbp_38db93c4def7414fdb26"), "sbp_…");
        assert_eq!(hint_of("hunter2"), "…");
    }
}
