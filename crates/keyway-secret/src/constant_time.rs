//! The one comparison of confidential bytes.

use subtle::ConstantTimeEq as _;

/// Says whether both hold the same bytes, in a time that depends on their lengths alone.
#[must_use]
pub fn constant_time_eq(ours: &[u8], theirs: &[u8]) -> bool {
    ours.ct_eq(theirs).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_equal_only_if_each_is() {
        assert!(constant_time_eq(b"", b""));
        assert!(constant_time_eq(b"abc", b"abc"));
        for other in ["abd", "xbc", "ab", "abcd", ""] {
            assert!(!constant_time_eq(b"abc", other.as_bytes()), "{other}");
        }
    }
}
