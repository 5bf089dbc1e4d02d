//! The recovering reader behind [`read`]: one pass, one byte of lookahead, bounded recursion.

use super::{Fault, FaultKind, MAX_FAULTS, Member, Node, Object, Tree, Value};
use crate::source::{BYTE_ORDER_MARK, Span};

/// Reads `text`, which may begin with a byte order mark.
#[must_use]
pub fn read(text: &str) -> Tree {
    let start = if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len_utf8()
    } else {
        0
    };
    let mut reader = Reader {
        text,
        at: start,
        faults: Vec::new(),
        open: Vec::new(),
    };
    reader.skip_blank();
    if reader.peek().is_none() {
        reader.fault(FaultKind::Empty, start, start);
        return Tree {
            root: None,
            faults: reader.faults,
        };
    }
    let root = reader.value();
    reader.skip_blank();
    if reader.peek().is_some() {
        let at = reader.at;
        reader.fault(FaultKind::TrailingText, at, at + 1);
    }
    Tree {
        root: Some(root),
        faults: reader.faults,
    }
}

/// Returns how long the inside of a written string is; its closing quote may be missing.
pub(super) fn inner_length(string: &str) -> usize {
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
pub(super) fn decoded_offsets(inner: &str) -> Vec<(usize, usize)> {
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

struct Reader<'a> {
    text: &'a str,
    at: usize,
    faults: Vec<Fault>,
    /// The closing brackets that are still to come, outermost first.
    open: Vec<u8>,
}

impl Reader<'_> {
    fn value(&mut self) -> Node {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(quote @ (b'"' | b'\'')) => Value::String(self.string(quote)),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(),
            Some(byte) if is_word(byte) => self.word(),
            _ => {
                self.fault(FaultKind::ExpectedValue, start, start + 1);
                if !matches!(self.peek(), None | Some(b',' | b':' | b']' | b'}')) {
                    self.skip_char();
                }
                Value::Null
            }
        };
        Node {
            value,
            span: Span::new(start, self.at),
        }
    }

    fn object(&mut self) -> Value {
        let mut object = Object::default();
        if !self.enter(b'}') {
            return Value::Null;
        }
        let start = self.at - 1;
        let mut comma = None;
        loop {
            self.skip_blank();
            if self.ends(start, comma) {
                break;
            }
            if !object.members.is_empty() && comma.is_none() {
                self.missing_comma();
            }
            if let Some(member) = self.member() {
                object.members.push(member);
            }
            comma = self.comma();
        }
        Value::Object(object)
    }

    fn array(&mut self) -> Value {
        let mut items = Vec::new();
        if !self.enter(b']') {
            return Value::Null;
        }
        let start = self.at - 1;
        let mut comma = None;
        loop {
            self.skip_blank();
            if self.ends(start, comma) {
                break;
            }
            if !items.is_empty() && comma.is_none() {
                self.missing_comma();
            }
            let before = self.at;
            items.push(self.value());
            if self.at == before {
                self.skip_char();
            }
            comma = self.comma();
        }
        Value::Array(items)
    }

    /// Reads a key, a colon and a value; consumes at least one character.
    fn member(&mut self) -> Option<Member> {
        let start = self.at;
        let key = match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.string(quote),
            Some(byte) if is_word(byte) => {
                while self.peek().is_some_and(is_word) {
                    self.at += 1;
                }
                self.fault(FaultKind::UnquotedKey, start, self.at);
                self.text.get(start..self.at).unwrap_or_default().to_owned()
            }
            _ => {
                self.fault(FaultKind::ExpectedKey, start, start + 1);
                self.skip_char();
                return None;
            }
        };
        let key_span = Span::new(start, self.at);
        self.skip_blank();
        if self.peek() == Some(b':') {
            self.at += 1;
            self.skip_blank();
        } else {
            self.fault(FaultKind::MissingColon, start, key_span.end as usize);
        }
        let value = self.value();
        Some(Member {
            key,
            key_span,
            value,
        })
    }

    /// Steps over an opening bracket, or over the whole nest if it is too deep.
    fn enter(&mut self, close: u8) -> bool {
        if self.open.len() < MAX_DEPTH {
            self.at += 1;
            self.open.push(close);
            return true;
        }
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'"' => {
                    self.string(b'"');
                    continue;
                }
                _ => {}
            }
            self.skip_char();
            if depth == 0 {
                break;
            }
        }
        self.fault(FaultKind::TooDeep, start, start + 1);
        false
    }

    /// Says whether the bracket opened at `start` ends here, and steps over its end.
    fn ends(&mut self, start: usize, comma: Option<usize>) -> bool {
        let expected = self.open.last().copied();
        let closes = match self.peek() {
            None => {
                self.fault(FaultKind::UnclosedBracket, start, start + 1);
                true
            }
            byte if byte == expected => {
                self.at += 1;
                if let Some(comma) = comma {
                    self.fault(FaultKind::TrailingComma, comma, comma + 1);
                }
                true
            }
            Some(byte @ (b'}' | b']')) if self.open.contains(&byte) => {
                self.fault(FaultKind::UnclosedBracket, start, start + 1);
                true
            }
            Some(b'}' | b']') => {
                self.fault(FaultKind::StrayBracket, self.at, self.at + 1);
                self.at += 1;
                return self.peek().is_none() && self.ends(start, None);
            }
            Some(_) => false,
        };
        if closes {
            self.open.pop();
        }
        closes
    }

    fn comma(&mut self) -> Option<usize> {
        self.skip_blank();
        if self.peek() != Some(b',') {
            return None;
        }
        self.at += 1;
        Some(self.at - 1)
    }

    fn missing_comma(&mut self) {
        if !matches!(self.peek(), Some(b'}' | b']')) {
            let after = self
                .text
                .get(..self.at)
                .unwrap_or_default()
                .trim_end()
                .len();
            self.fault(FaultKind::MissingComma, after, after);
        }
    }

    /// Reads a string up to its closing quote, or to the end of the line if there is none.
    fn string(&mut self, quote: u8) -> String {
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

    fn number(&mut self) -> Value {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| is_word(byte) || matches!(byte, b'+' | b'.'))
        {
            self.at += 1;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if !is_number(text) {
            self.fault(FaultKind::BadNumber, start, self.at);
        }
        Value::Number(text.to_owned())
    }

    fn word(&mut self) -> Value {
        let start = self.at;
        while self.peek().is_some_and(is_word) {
            self.at += 1;
        }
        match self.text.get(start..self.at) {
            Some("true") => Value::Bool(true),
            Some("false") => Value::Bool(false),
            Some("null") => Value::Null,
            _ => {
                self.fault(FaultKind::ExpectedValue, start, self.at);
                Value::Null
            }
        }
    }

    /// Steps over blanks and comments.
    fn skip_blank(&mut self) {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            let start = self.at;
            let rest = self.text.get(start..).unwrap_or_default();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let Some(length) = rest.find("*/") else {
                    self.at = self.text.len();
                    self.fault(FaultKind::UnclosedComment, start, start + 2);
                    return;
                };
                self.at += length + 2;
            } else {
                return;
            }
            self.fault(FaultKind::Comment, start, self.at);
        }
    }

    fn skip_char(&mut self) {
        self.at += self.peek_char().map_or(0, char::len_utf8);
    }

    fn take(&mut self, expected: &str) -> bool {
        let taken = self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(expected));
        if taken {
            self.at += expected.len();
        }
        taken
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn peek_char(&self) -> Option<char> {
        self.text
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
    }

    fn fault(&mut self, kind: FaultKind, start: usize, end: usize) {
        if self.faults.len() < MAX_FAULTS {
            let mut end = end.min(self.text.len());
            while !self.text.is_char_boundary(end) {
                end += 1;
            }
            self.faults.push(Fault {
                kind,
                span: Span::new(start, end),
            });
        }
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'-') || byte >= 0x80
}

/// RFC 8259 §6: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

/// How deep brackets may nest (threat D18).
pub const MAX_DEPTH: usize = 64;
