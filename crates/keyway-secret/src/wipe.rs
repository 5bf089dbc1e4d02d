//! Which values can be overwritten in memory.

use zeroize::Zeroize as _;

/// A value that can be overwritten before its memory is given back.
///
/// Implemented for the types that hold secrets here. An implementation for a type of your own wipes
/// each of its parts.
pub trait Wipe {
    /// Overwrites the value with zeros, in a way that the compiler does not remove.
    fn wipe(&mut self);
}

impl Wipe for String {
    fn wipe(&mut self) {
        self.zeroize();
    }
}

impl Wipe for Vec<u8> {
    fn wipe(&mut self) {
        self.zeroize();
    }
}

impl<const N: usize> Wipe for [u8; N] {
    fn wipe(&mut self) {
        self.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wiped_array_holds_zeros_and_a_wiped_text_is_empty() {
        let mut bytes = [7; 4];
        bytes.wipe();
        assert_eq!(bytes, [0; 4]);
        let mut text = "CANARY".to_owned();
        text.wipe();
        assert_eq!(text, "");
    }
}
