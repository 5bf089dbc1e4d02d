//! The span that a request belongs to, as its client says (W3C Trace Context).

use http::HeaderMap;

use keyway_secret::hex::read as bytes;

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
        let version: [u8; 1] = bytes(parts.next()?)?;
        let trace: [u8; 16] = bytes(parts.next()?)?;
        let span: [u8; 8] = bytes(parts.next()?)?;
        let [flags] = bytes(parts.next()?)?;
        let is_whole = version != [0] || parts.next().is_none();
        let is_valid = version != [0xff] && trace != [0; 16] && span != [0; 8];
        (is_whole && is_valid).then_some(Self {
            trace,
            span,
            is_sampled: flags & 1 == 1,
        })
    }
}
