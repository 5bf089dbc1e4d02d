//! The span that a request belongs to, as its client says (W3C Trace Context).

use http::HeaderMap;

/// A `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceParent {
    /// The trace.
    pub trace: [u8; 16],
    /// The span within it.
    pub span: [u8; 8],
    /// Whether the client records it.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Reads the header; what is malformed counts as absent.
    #[must_use]
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all("traceparent").iter();
        let text = all.next().filter(|_| all.next().is_none())?.to_str().ok()?;
        Self::parse(text)
    }

    /// Reads the text of a header.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version: [u8; 1] = hex(parts.next()?)?;
        let trace: [u8; 16] = hex(parts.next()?)?;
        let span: [u8; 8] = hex(parts.next()?)?;
        let [flags] = hex(parts.next()?)?;
        let is_whole = version != [0] || parts.next().is_none();
        let is_valid = version != [0xff] && trace != [0; 16] && span != [0; 8];
        (is_whole && is_valid).then_some(Self {
            trace,
            span,
            is_sampled: flags & 1 == 1,
        })
    }
}

/// Reads lower-case hexadecimal digits, exactly as many as fit.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let mut value = 0;
        for digit in pair {
            let digit = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            value = value << 4 | digit;
        }
        *byte = value;
    }
    Some(bytes)
}
