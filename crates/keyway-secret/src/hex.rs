//! Bytes that are written as lower-case hexadecimal digits.

/// Reads digits, exactly as many as fit.
#[must_use]
pub fn read<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        let [high, low] = pair.map(|digit| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        });
        *byte = high? << 4 | low?;
    }
    Some(bytes)
}

/// Writes bytes as digits.
#[must_use]
pub fn write(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let bytes = [0, 0x0f, 0xa0, 0xff];
        assert_eq!(write(&bytes), "000fa0ff");
        assert_eq!(read(&write(&bytes)), Some(bytes));
        for other in [
            "",
            "000fa0f",
            "000fa0ff0",
            "000fa0ff00",
            "000FA0FF",
            "+00fa0ff",
            "000fa0fg",
        ] {
            assert_eq!(read::<4>(other), None, "{other:?}");
        }
    }
}
