//! Keys, and what is sealed with them: XChaCha20-Poly1305 under random nonces.
//!
//! Every sealed value is bound to a [`Context`]: what it is and where it stands. Moved to another
//! row, column or generation it no longer opens. A sealed value is one format byte, a 24-byte
//! nonce, the ciphertext and its tag.

use std::fmt;

use blake2::digest::{FixedOutput as _, KeyInit as _, Mac, consts::U32};
use blake2::{Blake2b256, Blake2bMac, Digest as _};
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use keyway_secret::{Secret, random};
use thiserror::Error;
use zeroize::{Zeroize as _, Zeroizing};

use crate::error::Damage;

/// Why a key or a sealed value could not be made. Opening fails with [`Damage`] instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("cannot {action}")]
#[non_exhaustive]
pub struct SealError {
    /// What was tried, as in "cannot ...".
    pub action: &'static str,
}

impl SealError {
    const fn new(action: &'static str) -> Self {
        Self { action }
    }
}

/// A 256-bit key, wiped when dropped.
#[derive(Clone, Debug)]
pub struct Key(Box<Secret<[u8; KEY_BYTES]>>);

impl Key {
    /// Makes a key of its bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Self {
        Self(Box::new(Secret::new(*bytes)))
    }

    /// Makes a new key.
    ///
    /// # Errors
    ///
    /// Returns [`SealError`] if the operating system gives no random bytes.
    pub fn random() -> Result<Self, SealError> {
        let mut bytes = random_bytes::<KEY_BYTES>()?;
        let key = Self::from_bytes(&bytes);
        bytes.zeroize();
        Ok(key)
    }

    /// Reads a key from 32 bytes, or 64 hexadecimal digits with blanks around them.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        if let Ok(bytes) = <&[u8; KEY_BYTES]>::try_from(text) {
            return Some(Self::from_bytes(bytes));
        }
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        let digits = text.trim_ascii();
        if digits.len() != 2 * KEY_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16)
                .ok()
                .filter(|_| !pair.starts_with('+'))?;
        }
        Some(Self::from_bytes(&bytes))
    }

    /// Returns the bytes of the key.
    #[must_use]
    pub fn expose(&self) -> &[u8; KEY_BYTES] {
        self.0.expose()
    }

    /// Returns the public name of this key, from which the key cannot be found.
    ///
    /// # Errors
    ///
    /// Returns [`SealError`] if it cannot be computed.
    pub fn id(&self) -> Result<KeyId, SealError> {
        let digest = self.mac(&Context::new("key id"))?;
        let mut id = [0; ID_BYTES];
        for (to, from) in id.iter_mut().zip(digest) {
            *to = from;
        }
        Ok(KeyId(id))
    }

    /// Derives a key for one purpose.
    ///
    /// # Errors
    ///
    /// Returns [`SealError`] if it cannot be computed.
    pub fn derive(&self, purpose: &'static str) -> Result<Self, SealError> {
        let bytes = Zeroizing::new(self.mac(&Context::new("derive").text(purpose))?);
        Ok(Self::from_bytes(&bytes))
    }

    /// Computes a keyed digest that only holders of the key can make.
    ///
    /// # Errors
    ///
    /// Returns [`SealError`] if it cannot be computed.
    pub fn mac(&self, context: &Context) -> Result<[u8; 32], SealError> {
        let mut mac = Blake2bMac::<U32>::new_from_slice(self.expose())
            .map_err(|_| SealError::new("derive a key"))?;
        Mac::update(&mut mac, &context.0);
        Ok(mac.finalize_fixed().into())
    }

    /// Seals a value for one place.
    ///
    /// # Errors
    ///
    /// Returns [`SealError`] if the operating system gives no random bytes, or the value is too long.
    pub fn seal(&self, plain: &[u8], context: &Context) -> Result<Vec<u8>, SealError> {
        #[cfg(feature = "seal-count")]
        work::count(plain.len());
        let nonce = random_bytes::<NONCE_BYTES>()?;
        let sealed = self
            .cipher()
            .encrypt(
                &XNonce::from(nonce),
                Payload {
                    msg: plain,
                    aad: &context.0,
                },
            )
            .map_err(|_| SealError::new("seal a value"))?;
        let mut out = Vec::with_capacity(1 + NONCE_BYTES + sealed.len());
        out.push(FORMAT);
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        Ok(out)
    }

    /// Opens a value that was sealed for this place.
    ///
    /// # Errors
    ///
    /// Returns [`Damage`] if it was changed, or sealed with another key or for another place.
    pub fn open(&self, sealed: &[u8], context: &Context) -> Result<Secret<Vec<u8>>, Damage> {
        #[cfg(feature = "seal-count")]
        work::count(sealed.len());
        let (format, rest) = sealed.split_first().ok_or(Damage::Altered)?;
        if *format != FORMAT {
            return Err(Damage::UnknownFormat);
        }
        let (nonce, body) = rest
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or(Damage::Altered)?;
        self.cipher()
            .decrypt(
                &XNonce::from(*nonce),
                Payload {
                    msg: body,
                    aad: &context.0,
                },
            )
            .map(Secret::new)
            .map_err(|_| Damage::Altered)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.expose().into())
    }
}

/// What a sealed value is and where it stands; the associated data of its seal.
///
/// Fields carry their length, so that no two different lists of fields look alike.
#[derive(Clone, Debug)]
pub struct Context(Vec<u8>);

impl Context {
    /// Starts with what kind of value it is.
    #[must_use]
    pub fn new(domain: &'static str) -> Self {
        Self(Vec::new())
            .bytes(b"keyway vault")
            .number(FORMAT.into())
            .text(domain)
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, field: &str) -> Self {
        self.bytes(field.as_bytes())
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, field: u64) -> Self {
        self.bytes(&field.to_le_bytes())
    }

    /// Adds bytes.
    #[must_use]
    pub fn bytes(mut self, field: &[u8]) -> Self {
        self.0
            .extend_from_slice(&(field.len() as u64).to_le_bytes());
        self.0.extend_from_slice(field);
        self
    }

    /// Computes a digest that needs no key, for a column that names a place.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Blake2b256::digest(&self.0).into()
    }
}

/// The public name of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId([u8; ID_BYTES]);

impl KeyId {
    /// Makes a new name that belongs to no key yet.
    ///
    /// # Errors
    ///
    /// Returns [`SealError`] if the operating system gives no random bytes.
    pub fn random() -> Result<Self, SealError> {
        random_bytes().map(Self)
    }

    /// Reads a name from its bytes; `None` if there are more or fewer.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes of the name.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// Fills an array from the operating system's generator.
///
/// # Errors
///
/// Returns [`SealError`] if it gives none.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], SealError> {
    random::bytes().map_err(|_| SealError::new("get random bytes from the system"))
}

/// The length of a key.
pub const KEY_BYTES: usize = 32;
/// The length of a key's public name.
pub const ID_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;
const FORMAT: u8 = 1;

/// How much this thread sealed and opened.
#[cfg(feature = "seal-count")]
pub mod work {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count(bytes: usize) {
        BYTES.set(BYTES.get() + bytes);
    }

    /// Forgets what was counted.
    pub fn reset() {
        BYTES.set(0);
    }

    /// Returns how many bytes were sealed and opened since.
    #[must_use]
    pub fn bytes() -> usize {
        BYTES.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_opens_only_with_its_key_and_in_its_place() {
        let key = Key::random().unwrap();
        let place = Context::new("test").text("a").text("bc");
        let sealed = key.seal(b"value", &place).unwrap();
        assert_eq!(key.open(&sealed, &place).unwrap().expose(), b"value");
        let shifted = Context::new("test").text("ab").text("c");
        assert_eq!(key.open(&sealed, &shifted).unwrap_err(), Damage::Altered);
        let other = Key::random().unwrap();
        assert_eq!(other.open(&sealed, &place).unwrap_err(), Damage::Altered);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let key = Key::random().unwrap();
        let place = Context::new("test");
        let sealed = key.seal(b"value", &place).unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut bad = sealed.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(key.open(&bad, &place).is_err(), "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert!(
                key.open(&sealed[..length], &place).is_err(),
                "length {length}"
            );
        }
    }

    #[test]
    fn same_value_never_seals_to_the_same_bytes() {
        let key = Key::random().unwrap();
        let place = Context::new("test");
        assert_ne!(
            key.seal(b"v", &place).unwrap(),
            key.seal(b"v", &place).unwrap()
        );
    }

    #[test]
    fn key_text_is_32_bytes_or_64_digits_and_nothing_else() {
        assert!(Key::parse(&[0x20; 32]).is_some());
        assert!(Key::parse(format!(" {}\n", "0aF1".repeat(16)).as_bytes()).is_some());
        for bad in [
            "",
            "00",
            &"+f".repeat(32),
            &"0g".repeat(32),
            &"00".repeat(33),
            &"é".repeat(32),
        ] {
            assert!(Key::parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
