//! The bytes of D-Bus values (D-Bus specification, "Marshaling"): little endian, aligned.

use zeroize::Zeroizing;

use crate::malformed::Malformed;

/// Writes values one after the other, each at its alignment.
///
/// What was written is wiped when dropped: a secret may be part of it.
#[derive(Debug, Default)]
pub(crate) struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    pub(crate) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn number(&mut self, value: u32) {
        self.align(4);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.number(value.into());
    }

    /// A string or an object path.
    pub(crate) fn text(&mut self, value: &str) {
        self.number(length(value.len()));
        self.0.extend_from_slice(value.as_bytes());
        self.byte(0);
    }

    pub(crate) fn signature(&mut self, value: &str) {
        self.byte(u8::try_from(value.len()).unwrap_or(u8::MAX));
        self.0.extend_from_slice(value.as_bytes());
        self.byte(0);
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.number(length(value.len()));
        self.0.extend_from_slice(value);
    }

    /// An array: its length in bytes does not count the gap before the first element.
    pub(crate) fn array(&mut self, alignment: usize, elements: impl FnOnce(&mut Self)) {
        self.number(0);
        let place = self.0.len();
        self.align(alignment);
        let start = self.0.len();
        elements(self);
        let written = length(self.0.len().saturating_sub(start));
        let place = place.saturating_sub(4);
        if let Some(slot) = self.0.get_mut(place..place.saturating_add(4)) {
            slot.copy_from_slice(&written.to_le_bytes());
        }
    }

    /// `a{ss}`.
    pub(crate) fn text_map(&mut self, pairs: &[(&str, &str)]) {
        self.array(8, |array| {
            for (key, value) in pairs {
                array.align(8);
                array.text(key);
                array.text(value);
            }
        });
    }

    pub(crate) fn align(&mut self, to: usize) {
        let length = self.0.len().next_multiple_of(to);
        self.0.resize(length, 0);
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

/// Reads values one after the other; nothing beyond the end, nothing that lies about its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) const fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1)?.first().copied().ok_or(Malformed::Short)
    }

    pub(crate) fn number(&mut self) -> Result<u32, Malformed> {
        self.align(4)?;
        let bytes = self.take(4)?.first_chunk().ok_or(Malformed::Short)?;
        Ok(u32::from_le_bytes(*bytes))
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Value),
        }
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let length = self.length()?;
        self.terminated(length)
    }

    pub(crate) fn signature(&mut self) -> Result<&'a str, Malformed> {
        let length = self.byte()?;
        self.terminated(length.into())
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        self.take(length)
    }

    /// An array of strings or object paths.
    pub(crate) fn texts(&mut self) -> Result<Vec<&'a str>, Malformed> {
        let end = self.array(4)?;
        let mut texts = Vec::new();
        while self.at < end {
            texts.push(self.text()?);
        }
        self.ends_at(end)?;
        Ok(texts)
    }

    /// Goes to the first element of an array and returns where the array ends.
    pub(crate) fn array(&mut self, alignment: usize) -> Result<usize, Malformed> {
        let length = self.length()?;
        self.align(alignment)?;
        let end = self.at.checked_add(length).ok_or(Malformed::Short)?;
        if end > self.bytes.len() {
            return Err(Malformed::Short);
        }
        Ok(end)
    }

    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// Refuses an element that reaches beyond its array.
    pub(crate) const fn ends_at(&self, end: usize) -> Result<(), Malformed> {
        if self.at == end {
            Ok(())
        } else {
            Err(Malformed::Value)
        }
    }

    pub(crate) fn align(&mut self, to: usize) -> Result<(), Malformed> {
        let gap = self.at.next_multiple_of(to).saturating_sub(self.at);
        if self.take(gap)?.iter().any(|byte| *byte != 0) {
            return Err(Malformed::Value);
        }
        Ok(())
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.number()?).map_err(|_| Malformed::Short)
    }

    fn terminated(&mut self, length: usize) -> Result<&'a str, Malformed> {
        let text = self.take(length)?;
        if self.byte()? != 0 {
            return Err(Malformed::Value);
        }
        std::str::from_utf8(text)
            .ok()
            .filter(|text| !text.contains('\0'))
            .ok_or(Malformed::Value)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let rest = self.bytes.get(self.at..).ok_or(Malformed::Short)?;
        let taken = rest.get(..length).ok_or(Malformed::Short)?;
        self.at = self.at.saturating_add(length);
        Ok(taken)
    }
}

/// What we send is far below 4 GiB.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let mut writer = Writer::default();
        writer.byte(7);
        writer.boolean(true);
        writer.text("path");
        writer.signature("a{sv}");
        writer.bytes(b"\0secret");
        writer.array(4, |array| {
            array.text("one");
            array.text("");
        });
        let bytes = writer.as_slice().to_vec();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.byte(), Ok(7));
        assert_eq!(reader.boolean(), Ok(true));
        assert_eq!(reader.text(), Ok("path"));
        assert_eq!(reader.signature(), Ok("a{sv}"));
        assert_eq!(reader.bytes(), Ok(&b"\0secret"[..]));
        assert_eq!(reader.texts(), Ok(vec!["one", ""]));
        assert!(reader.is_at_end());
        for length in 0..bytes.len() {
            let mut reader = Reader::new(&bytes[..length]);
            let mut all = || {
                reader.byte()?;
                reader.boolean()?;
                reader.text()?;
                reader.signature()?;
                reader.bytes()?;
                reader.texts()
            };
            assert_eq!(all(), Err(Malformed::Short), "{length}");
        }
    }

    #[test]
    fn length_of_an_array_leaves_out_the_gap_before_its_first_element() {
        let mut writer = Writer::default();
        writer.text_map(&[("a", "b")]);
        assert_eq!(
            writer.as_slice(),
            [
                14, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'a', 0, 0, 0, 1, 0, 0, 0, b'b', 0
            ]
        );
    }

    #[test]
    fn lies_about_lengths_and_filled_gaps_are_refused() {
        let huge = [0xff, 0xff, 0xff, 0xff, 0, 0];
        assert_eq!(Reader::new(&huge).text(), Err(Malformed::Short));
        assert_eq!(Reader::new(&huge).texts(), Err(Malformed::Short));
        let inner = [
            6, 0, 0, 0, 9, 0, 0, 0, b'a', 0, b'b', b'c', 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(Reader::new(&inner).texts(), Err(Malformed::Value));
        let mut gap = Reader::new(&[1, 9, 0, 0, 1, 0, 0, 0]);
        assert_eq!(gap.byte(), Ok(1));
        assert_eq!(gap.number(), Err(Malformed::Value));
        for text in [
            &[1, 0, 0, 0, b'a', b'b'][..],
            &[1, 0, 0, 0, 0, 0],
            &[1, 0, 0, 0, 0xff, 0],
        ] {
            assert_eq!(Reader::new(text).text(), Err(Malformed::Value));
        }
    }
}
