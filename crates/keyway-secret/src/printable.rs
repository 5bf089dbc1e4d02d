//! What may be shown on a terminal of text from another source.

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

/// Returns `text` with everything that a person could not see, or that would move or reorder the
/// rest, written as an escape: `\n`, `\u{200b}`. Unlike [`printable`], nothing is left out.
///
/// A backslash is doubled in a text that has such an escape, so that two texts never look alike.
#[must_use]
pub fn escaped(text: &str) -> String {
    if !text.chars().any(is_hidden) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Says whether a character cannot be seen, moves others, or joins the one before it.
fn is_hidden(c: char) -> bool {
    // Rust escapes what has no glyph and what extends a grapheme; quotes it escapes for its own sake.
    let is_plain = matches!(c, '\'' | '"' | '\\') || c.escape_debug().len() == 1;
    !is_plain || is_invisible(c) || is_blank_letter(c)
}

/// Letters and symbols that are drawn as nothing, or stand for something that is not text.
const fn is_blank_letter(c: char) -> bool {
    matches!(
        c,
        '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{fffc}'
            | '\u{11a3f}'
            | '\u{1d159}'
            | '\u{1da7f}'
            | '\u{1da80}'
    )
}

/// Returns the first four characters of a literal secret followed by an ellipsis: enough to find
/// it in the file, too little to use it.
///
/// Shows nothing of a value shorter than twelve characters.
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

    /// Threat E7: what hides a part of an approval is shown as an escape.
    #[test]
    fn e07_what_cannot_be_seen_is_written_as_an_escape() {
        for (text, shown) in [
            (
                "plain 'text' \"x\" C:\\dir ä 日本",
                "plain 'text' \"x\" C:\\dir ä 日本",
            ),
            ("a # note\nrm -rf", "a # note\\nrm -rf"),
            ("a\\n\n", "a\\\\n\\n"),
            ("\u{1b}[2K", "\\u{1b}[2K"),
            ("a\u{200b}b\u{202e}c", "a\\u{200b}b\\u{202e}c"),
            (
                "\u{3164}\u{2800}\u{fe0f}\u{34f}",
                "\\u{3164}\\u{2800}\\u{fe0f}\\u{34f}",
            ),
            ("a\u{a0}b\u{3000}c", "a\\u{a0}b\\u{3000}c"),
            ("\u{e0041}", "\\u{e0041}"),
            (
                "\u{fffc}\u{1d159}\u{11a3f}",
                "\\u{fffc}\\u{1d159}\\u{11a3f}",
            ),
        ] {
            assert_eq!(escaped(text), shown, "{text:?}");
        }
    }

    /// The same for every character that there is, by what Unicode says of it.
    #[test]
    fn e07_no_character_that_unicode_calls_invisible_is_shown_as_it_is() {
        use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
        use icu_properties::{CodePointMapData, CodePointSetData};

        let categories = CodePointMapData::<GeneralCategory>::new();
        let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
        let invisible = [
            GeneralCategory::Control,
            GeneralCategory::Format,
            GeneralCategory::LineSeparator,
            GeneralCategory::ParagraphSeparator,
            GeneralCategory::PrivateUse,
            GeneralCategory::SpaceSeparator,
            GeneralCategory::Surrogate,
            GeneralCategory::Unassigned,
        ];
        let mut shown = 0;
        for c in ('\u{0}'..=char::MAX).filter(|c| *c != ' ') {
            let is_invisible = ignorable.contains(c) || invisible.contains(&categories.get(c));
            let text = escaped(c.encode_utf8(&mut [0; 4]));
            let is_escaped = text.starts_with('\\') && text != "\\" && text.is_ascii();
            assert!(is_escaped || !is_invisible, "U+{:04X}", u32::from(c));
            shown += usize::from(!is_escaped);
        }
        assert!(shown > 100_000, "letters are shown: {shown}");
    }

    #[test]
    fn at_most_four_characters_of_a_secret_are_shown() {
        assert_eq!(hint_of("sbp_38db93c4def7414fdb26"), "sbp_…");
        assert_eq!(hint_of("hunter2"), "…");
    }
}
