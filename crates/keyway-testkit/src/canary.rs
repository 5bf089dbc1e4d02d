//! A value that must not come out, and the encodings in which it might.

/// A value to look for in output.
#[derive(Debug, Clone)]
pub struct Canary {
    value: String,
    shown: usize,
}

impl Canary {
    /// A value of which nothing may be seen, such as that of a variable.
    #[must_use]
    pub fn hidden(value: &str) -> Self {
        let (value, shown) = (value.to_owned(), 0);
        Self { value, shown }
    }

    /// A literal of which the first four characters may be seen.
    #[must_use]
    pub fn literal(value: &str) -> Self {
        let (value, shown) = (value.to_owned(), 4);
        Self { value, shown }
    }

    /// Returns the whole value, to put into a file or a variable.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the name of the first encoding under which the output betrays the value.
    ///
    /// Any five characters in a row beyond those that may be shown are a leak.
    #[must_use]
    pub fn leak(&self, output: &str) -> Option<&'static str> {
        self.leak_in(output.as_bytes())
    }

    /// Does the same for bytes of any kind, such as those of a file.
    #[must_use]
    pub fn leak_in(&self, output: &[u8]) -> Option<&'static str> {
        let bytes = self.value.as_bytes();
        let from = if self.shown == 0 { 0 } else { 1 };
        for window in bytes.get(from..).unwrap_or_default().windows(WINDOW) {
            if contains(output, window) {
                return Some("plain");
            }
        }
        let tail = bytes.get(self.shown..).unwrap_or_default();
        ENCODINGS.iter().find_map(|(name, encode)| {
            encode(tail)
                .iter()
                .any(|text| text.len() >= WINDOW && contains(output, text))
                .then_some(*name)
        })
    }

    /// Returns the name of the first encoding under which bytes hold the whole value; for files, in
    /// which five characters in a row are a coincidence.
    #[must_use]
    pub fn whole_in(&self, bytes: &[u8]) -> Option<&'static str> {
        let value = self.value.as_bytes();
        let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        if holds(value) {
            return Some("plain");
        }
        ENCODINGS.iter().find_map(|(name, encode)| {
            let forms = encode(value);
            let mut forms = forms.iter().filter(|text| text.len() >= WINDOW);
            forms.any(|text| holds(text)).then_some(*name)
        })
    }
}

fn contains(output: &[u8], part: &[u8]) -> bool {
    let Some((first, rest)) = part.split_first() else {
        return true;
    };
    let mut left = output;
    while let Some(at) = left.iter().position(|byte| byte == first) {
        left = left.get(at + 1..).unwrap_or_default();
        if left.starts_with(rest) {
            return true;
        }
    }
    false
}

type Encode = fn(&[u8]) -> Vec<Vec<u8>>;

/// All encodings but the plain one, which is searched piece by piece.
const ENCODINGS: &[(&str, Encode)] = &[
    ("base64", |bytes| base64(bytes, b'+', b'/')),
    ("base64url", |bytes| base64(bytes, b'-', b'_')),
    ("hex", |bytes| vec![each(bytes, |b| format!("{b:02x}"))]),
    ("HEX", |bytes| vec![each(bytes, |b| format!("{b:02X}"))]),
    ("percent", |bytes| {
        vec![each(bytes, |b| format!("%{b:02X}"))]
    }),
    ("UTF-16", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let little = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        vec![little, big]
    }),
];

fn each(bytes: &[u8], encode: fn(&u8) -> String) -> Vec<u8> {
    bytes.iter().map(encode).collect::<String>().into_bytes()
}

/// Encodes at each of the three alignments that the value may have inside something longer.
fn base64(bytes: &[u8], plus: u8, slash: u8) -> Vec<Vec<u8>> {
    (0..3)
        .map(|skip| {
            let aligned = bytes.get(skip..).unwrap_or_default();
            let digits = aligned.chunks_exact(3).flat_map(|chunk| {
                let word = chunk
                    .iter()
                    .fold(0_u32, |word, &byte| (word << 8) | u32::from(byte));
                [18, 12, 6, 0].map(|shift| digit((word >> shift) & 63, plus, slash))
            });
            digits.collect()
        })
        .collect()
}

fn digit(value: u32, plus: u8, slash: u8) -> u8 {
    let value = u8::try_from(value).unwrap_or_default();
    match value {
        0..26 => b'A' + value,
        26..52 => b'a' + value - 26,
        52..62 => b'0' + value - 52,
        62 => plus,
        _ => slash,
    }
}

/// This many characters in a row are not a coincidence.
const WINDOW: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_of_the_value_is_recognised() {
        let canary = Canary::hidden("Ca7nary>?xyz");
        for (output, name) in [
            ("xCa7naryx", "plain"),
            ("Basic dXNlcjpDYTduYXJ5Pj94eXo=", "base64"),
            ("dXNlcjpDYTduYXJ5Pj94eXo", "base64"),
            ("4361376e6172793e3f78797a", "hex"),
            ("4361376E6172793E3F78797A", "HEX"),
            ("%43%61%37%6E%61%72%79%3E%3F%78%79%7A", "percent"),
        ] {
            assert_eq!(canary.leak(output), Some(name), "{output}");
            if output != "xCa7naryx" {
                let whole = canary.whole_in(output.as_bytes());
                assert_eq!(whole, Some(name), "{output}");
            }
        }
        assert_eq!(canary.leak("Ca7n…"), None);
        let little = b"\0C\0a\x007\0n\0a\0r\0y\0>\0?\0x\0y\0z\0";
        for output in [&little[1..], &little[..little.len() - 1]] {
            assert_eq!(canary.leak_in(output), Some("UTF-16"), "{output:?}");
        }
    }

    #[test]
    fn four_characters_of_a_literal_may_be_seen_and_a_fifth_may_not() {
        let canary = Canary::literal("sbp_38db93c4def7414fdb26");
        assert_eq!(canary.leak("sbp_…"), None);
        assert_eq!(canary.leak("bp_38"), Some("plain"));
        assert_eq!(canary.leak("…fdb26"), Some("plain"));
    }
}
