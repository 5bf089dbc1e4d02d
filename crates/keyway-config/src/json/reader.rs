//! The recovering reader behind [`read`]: one pass, one byte of lookahead, bounded recursion.

mod string;

use super::{Fault, FaultKind, MAX_FAULTS, Member, Node, Object, Tree, Value};
use crate::source::{BYTE_ORDER_MARK, Span};

pub(super) use self::string::{decoded_offsets, inner_length};

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
        let is_read = self.sequence(b'}', |reader| {
            let member = reader.member();
            let is_one = member.is_some();
            object.members.extend(member);
            is_one
        });
        if is_read {
            Value::Object(object)
        } else {
            Value::Null
        }
    }

    fn array(&mut self) -> Value {
        let mut items = Vec::new();
        let is_read = self.sequence(b']', |reader| {
            let before = reader.at;
            items.push(reader.value());
            if reader.at == before {
                reader.skip_char();
            }
            true
        });
        if is_read {
            Value::Array(items)
        } else {
            Value::Null
        }
    }

    /// Reads what stands between brackets; says whether it was read and not just stepped over.
    ///
    /// `item` reads one, with at least one character, and says whether there was one.
    fn sequence(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> bool) -> bool {
        if !self.enter(close) {
            return false;
        }
        let start = self.at - 1;
        let mut comma = None;
        let mut has_any = false;
        loop {
            self.skip_blank();
            if self.ends(start, comma) {
                return true;
            }
            if has_any && comma.is_none() {
                self.missing_comma();
            }
            has_any |= item(self);
            comma = self.comma();
        }
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
