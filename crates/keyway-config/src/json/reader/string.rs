//! Strings and their escapes.

use super::Reader;
use crate::json::FaultKind;

/// Returns how long the inside of a written string is; its closing quote may be missing.
pub(in crate::json) fn inner_length(string: &str) -> usize {
    let Some(quote) = string.chars().next() else {
        return 0;
    };
    let mut characters = string.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            c if c == quote => return at - quote.len_utf8(),
            _ => {}
        }
    }
    string.len() - quote.len_utf8()
}

/// Returns, for each character of a string's raw inside, its offset decoded and raw.
pub(in crate::json) fn decoded_offsets(inner: &str) -> Vec<(usize, usize)> {
    let mut reader = Reader {
        text: inner,
        at: 0,
        faults: Vec::new(),
        open: Vec::new(),
    };
    let mut decoded = String::new();
    let mut offsets = Vec::with_capacity(inner.len());
    while let Some(c) = reader.peek_char() {
        offsets.push((decoded.len(), reader.at));
        reader.at += c.len_utf8();
        decoded.push(if c == '\\' {
            reader.escape(reader.at - 1)
        } else {
            c
        });
    }
    offsets
}

impl Reader<'_> {
    /// Reads a string up to its closing quote, or to the end of the line if there is none.
    pub(super) fn string(&mut self, quote: u8) -> String {
        let start = self.at;
        let mut decoded = String::new();
        self.at += 1;
        loop {
            let Some(c) = self.peek_char().filter(|&c| c != '\n') else {
                self.fault(FaultKind::UnclosedString, start, self.at);
                return decoded;
            };
            let at = self.at;
            self.at += c.len_utf8();
            match c {
                c if c == char::from(quote) => break,
                '\\' => decoded.push(self.escape(at)),
                c => {
                    if c < ' ' {
                        self.fault(FaultKind::ControlCharacter, at, self.at);
                    }
                    decoded.push(c);
                }
            }
        }
        if quote == b'\'' {
            self.fault(FaultKind::SingleQuotes, start, self.at);
        }
        decoded
    }

    /// Resolves the escape whose backslash stands at `start`.
    fn escape(&mut self, start: usize) -> char {
        let Some(c) = self.peek_char().filter(|&c| c != '\n') else {
            self.fault(FaultKind::BadEscape, start, self.at);
            return char::REPLACEMENT_CHARACTER;
        };
        self.at += c.len_utf8();
        match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unicode_escape(start),
            other => {
                self.fault(FaultKind::BadEscape, start, self.at);
                other
            }
        }
    }

    fn unicode_escape(&mut self, start: usize) -> char {
        let Some(unit) = self.hex4() else {
            self.fault(FaultKind::BadEscape, start, self.at);
            return char::REPLACEMENT_CHARACTER;
        };
        if let Some(c) = char::from_u32(unit) {
            return c;
        }
        let after_first = self.at;
        if (0xd800..0xdc00).contains(&unit) && self.take("\\u") {
            if let Some(low @ 0xdc00..0xe000) = self.hex4() {
                let scalar = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.at = after_first;
        }
        self.fault(FaultKind::LoneSurrogate, start, self.at);
        char::REPLACEMENT_CHARACTER
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
