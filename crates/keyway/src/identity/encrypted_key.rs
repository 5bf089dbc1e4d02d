//! Keys that are encrypted with a passphrase: PKCS#8 with PBES2, as OpenSSL writes them.
//!
//! Without the feature `encrypted-keys` none can be opened; the ciphers are then not compiled.

use keyway_secret::Secret;

/// Why a key stays closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyFault {
    #[cfg_attr(
        not(feature = "encrypted-keys"),
        expect(dead_code, reason = "without ciphers no passphrase is tried")
    )]
    WrongPassphrase,
    Unsupported,
}

/// Opens a PEM block, and returns the key as PEM.
#[cfg(feature = "encrypted-keys")]
pub(super) fn open(block: &str, passphrase: &Secret<String>) -> Result<Secret<Vec<u8>>, KeyFault> {
    use pkcs8::der::pem::LineEnding;
    use pkcs8::der::{Decode as _, SecretDocument};
    use pkcs8::{EncryptedPrivateKeyInfoRef, pkcs5};

    let (_, document) = SecretDocument::from_pem(block).map_err(|_| KeyFault::Unsupported)?;
    let info = EncryptedPrivateKeyInfoRef::from_der(document.as_bytes());
    let info = info.map_err(|_| KeyFault::Unsupported)?;
    let opened = info.decrypt(passphrase.expose());
    let opened = opened.map_err(|error| match error {
        pkcs8::Error::EncryptedPrivateKey(pkcs5::Error::DecryptFailed) => KeyFault::WrongPassphrase,
        _ => KeyFault::Unsupported,
    })?;
    let pem = opened.to_pem("PRIVATE KEY", LineEnding::LF);
    let pem = pem.map_err(|_| KeyFault::WrongPassphrase)?;
    Ok(Secret::new(pem.as_bytes().to_vec()))
}

/// Refuses every key.
#[cfg(not(feature = "encrypted-keys"))]
pub(super) fn open(_: &str, _: &Secret<String>) -> Result<Secret<Vec<u8>>, KeyFault> {
    Err(KeyFault::Unsupported)
}
