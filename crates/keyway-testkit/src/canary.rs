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
        let bytes = self.value.as_bytes();
        let from = if self.shown == 0 { 0 } else { 1 };
        for window in bytes.get(from..).unwrap_or_default().windows(WINDOW) {
            if output.contains(&*String::from_utf8_lossy(window)) {
                return Some("plain");
            }
        }
        let tail = bytes.get(self.shown..).unwrap_or_default();
        ENCODINGS.iter().find_map(|(name, encode)| {
            encode(tail)
                .iter()
                .any(|text| text.len() >= WINDOW && output.contains(text))
                .then_some(*name)
        })
    }
}

type Encode = fn(&[u8]) -> Vec<String>;

/// All encodings but the plain one, which is searched piece by piece.
const ENCODINGS: &[(&str, Encode)] = &[
    ("base64", |bytes| base64(bytes, b'+', b'/')),
    ("base64url", |bytes| base64(bytes, b'-', b'_')),
    ("hex", |bytes| {
        vec![bytes.iter().map(|byte| format!("{byte:02x}")).collect()]
    }),
    ("HEX", |bytes| {
        vec![bytes.iter().map(|byte| format!("{byte:02X}")).collect()]
    }),
    ("percent", |bytes| {
        vec![bytes.iter().map(|byte| format!("%{byte:02X}")).collect()]
    }),
];

/// Encodes at each of the three alignments that the value may have inside something longer.
fn base64(bytes: &[u8], plus: u8, slash: u8) -> Vec<String> {
    (0..3)
        .map(|skip| {
            let aligned = bytes.get(skip..).unwrap_or_default();
            let digits = aligned.chunks_exact(3).flat_map(|chunk| {
                let word = chunk
                    .iter()
                    .fold(0_u32, |word, &byte| (word << 8) | u32::from(byte));
                [18, 12, 6, 0].map(|shift| digit((word >> shift) & 63, plus, slash))
            });
            digits.map(char::from).collect()
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

/// So many characters in a row are no coincidence.
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
        }
        assert_eq!(canary.leak("Ca7n…"), None);
    }

    #[test]
    fn four_characters_of_a_literal_may_be_seen_and_a_fifth_may_not() {
        let canary = Canary::literal("sbp_38db93c4def7414fdb26");
        assert_eq!(canary.leak("sbp_…"), None);
        assert_eq!(canary.leak("bp_38"), Some("plain"));
        assert_eq!(canary.leak("…fdb26"), Some("plain"));
    }
}
