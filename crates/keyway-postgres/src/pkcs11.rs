//! A wrapping key in a PKCS#11 token, which it never leaves.
//!
//! Keys of people are encrypted and decrypted inside the token, by AES-GCM (`CKM_AES_GCM`) under a
//! random nonce. What a key is for is the associated data. A wrapped key is one format byte, the
//! nonce of 12 bytes, the ciphertext and its tag.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Function, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::aead::GcmParams;
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::types::AuthPin;
use keyway_secret::Secret;
use keyway_store::seal::{KeyId, random_bytes};
use thiserror::Error as ThisError;

use crate::error::{PostgresError, WrapError};
use crate::key_wrapper::{KeyWrapper, wrapper_name};

/// Where a wrapping key is: which token, and which key in it.
#[derive(Clone, Debug)]
pub struct Pkcs11Settings {
    module: PathBuf,
    token: String,
    key: String,
    pin: Secret<String>,
}

impl Pkcs11Settings {
    /// Names the library of the token's vendor, the labels of the token and of an AES key of 256
    /// bits in it, and the PIN of its user.
    pub fn new(
        module: impl Into<PathBuf>,
        token: impl Into<String>,
        key: impl Into<String>,
        pin: Secret<String>,
    ) -> Self {
        Self {
            module: module.into(),
            token: token.into(),
            key: key.into(),
            pin,
        }
    }
}

/// A wrapping key in a PKCS#11 token.
pub struct Pkcs11Key {
    settings: Pkcs11Settings,
    /// Held for one call of the token, because a session does one thing at a time; emptied when the
    /// token lost it.
    session: Mutex<Option<Login>>,
    id: KeyId,
}

/// A session in which the token's user is logged in.
struct Login {
    session: Session,
    key: ObjectHandle,
}

/// What is wrong with a token.
#[derive(Debug, ThisError)]
enum TokenFault {
    #[error("cannot load the PKCS#11 module `{}`", path.display())]
    Module {
        path: PathBuf,
        #[source]
        source: Error,
    },
    #[error("there is no PKCS#11 token `{label}`")]
    NoToken { label: String },
    #[error("there are {count} AES keys `{label}` in the PKCS#11 token, and exactly one is needed")]
    Keys { label: String, count: usize },
    #[error(
        "the key `{label}` can be taken out of the PKCS#11 token; make one that is not extractable"
    )]
    Extractable { label: String },
    #[error("the PKCS#11 token failed")]
    Token(#[source] Error),
}

impl From<Error> for TokenFault {
    fn from(error: Error) -> Self {
        Self::Token(error)
    }
}

impl From<TokenFault> for WrapError {
    fn from(fault: TokenFault) -> Self {
        Self::Away(Box::new(fault))
    }
}

impl Pkcs11Key {
    /// Logs in to the token and finds the key. Blocks.
    ///
    /// # Errors
    ///
    /// Returns [`PostgresError::Wrapper`] if the module, the token or the key is missing, the PIN is
    /// wrong, or the key can be taken out of the token.
    pub fn open(settings: Pkcs11Settings) -> Result<Self, PostgresError> {
        let away = |fault: TokenFault| PostgresError::Wrapper {
            source: fault.into(),
        };
        let login = Login::open(&settings).map_err(away)?;
        let id = login.public_name().map_err(|error| away(error.into()))?;
        Ok(Self {
            settings,
            session: Mutex::new(Some(login)),
            id,
        })
    }

    /// Runs one operation, in a new session if the token has lost the old one.
    fn with_login<T>(
        &self,
        operation: impl Fn(&Login) -> Result<T, Error>,
    ) -> Result<T, TokenFault> {
        let mut kept = self.lock();
        if let Some(login) = &*kept {
            match operation(login) {
                Err(error) if !is_refused(&error) => {}
                done => return Ok(done?),
            }
        }
        // The session goes first: a token has a limited number of them.
        *kept = None;
        let login = kept.insert(Login::open(&self.settings)?);
        let done = operation(login);
        Ok(done?)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Login>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyWrapper for Pkcs11Key {
    fn id(&self) -> KeyId {
        self.id
    }

    fn wrap(&self, key: &Secret<[u8; 32]>, context: &[u8]) -> Result<Vec<u8>, WrapError> {
        let nonce = random_bytes::<NONCE>().map_err(|error| WrapError::Away(Box::new(error)))?;
        let sealed = self.with_login(|login| login.encrypt(nonce, key.expose(), context))?;
        let mut out = vec![FORMAT];
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        Ok(out)
    }

    fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Secret<[u8; 32]>, WrapError> {
        let parts = wrapped
            .strip_prefix(&[FORMAT])
            .and_then(|rest| rest.split_first_chunk::<NONCE>());
        let (nonce, sealed) = parts.ok_or(WrapError::Rejected)?;
        let opened = self.with_login(|login| match login.decrypt(*nonce, sealed, context) {
            // Some tokens answer what they cannot verify with the same error as a fault of theirs;
            // one that can still encrypt has no fault.
            Err(Error::Pkcs11(RvError::GeneralError | RvError::FunctionFailed, _))
                if login.encrypt(*nonce, &[], b"alive").is_ok() =>
            {
                Ok(None)
            }
            Err(error) if is_refused(&error) => Ok(None),
            opened => opened.map(Some),
        })?;
        let opened = opened.ok_or(WrapError::Rejected)?;
        let bytes = <[u8; 32]>::try_from(opened.expose().as_slice());
        bytes.map(Secret::new).map_err(|_| WrapError::Rejected)
    }
}

impl Login {
    fn open(settings: &Pkcs11Settings) -> Result<Self, TokenFault> {
        let token = load(&settings.module)?;
        let mut found = None;
        for slot in token.get_slots_with_initialized_token()? {
            if token.get_token_info(slot)?.label() == settings.token {
                found = Some(slot);
                break;
            }
        }
        let label = || settings.token.clone();
        let slot = found.ok_or_else(|| TokenFault::NoToken { label: label() })?;
        let session = token.open_ro_session(slot)?;
        let pin = AuthPin::new(settings.pin.expose().as_str().into());
        match session.login(UserType::User, Some(&pin)) {
            // Another session of this process is logged in, and the login is the process's.
            Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => {}
            done => done?,
        }
        let wanted = [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(KeyType::AES),
            Attribute::Label(settings.key.clone().into_bytes()),
        ];
        let keys = session.find_objects(&wanted)?;
        let label = || settings.key.clone();
        let [key] = *keys.as_slice() else {
            return Err(TokenFault::Keys {
                label: label(),
                count: keys.len(),
            });
        };
        let attributes = session.get_attributes(key, &[AttributeType::Extractable])?;
        if !attributes.contains(&Attribute::Extractable(false)) {
            return Err(TokenFault::Extractable { label: label() });
        }
        Ok(Self { session, key })
    }

    /// Computes a name that only this key has, wherever a copy of it is: the encryption of one block
    /// that AES-GCM never encrypts, because it counts blocks from one.
    fn public_name(&self) -> Result<KeyId, Error> {
        let mut block = [0; 16];
        for (to, from) in block.iter_mut().zip(b"keyway name.") {
            *to = *from;
        }
        let value = self.session.encrypt(&Mechanism::AesEcb, self.key, &block)?;
        let digits = keyway_secret::hex::write(&value);
        wrapper_name("pkcs11 key", &[&digits]).ok_or(Error::InvalidValue)
    }

    fn encrypt(&self, nonce: [u8; NONCE], plain: &[u8], context: &[u8]) -> Result<Vec<u8>, Error> {
        let mut nonce = nonce;
        let parameters = GcmParams::new(&mut nonce, context, TAG_BITS.into())?;
        let mechanism = Mechanism::AesGcm(parameters);
        self.session.encrypt(&mechanism, self.key, plain)
    }

    fn decrypt(
        &self,
        nonce: [u8; NONCE],
        sealed: &[u8],
        context: &[u8],
    ) -> Result<Secret<Vec<u8>>, Error> {
        let mut nonce = nonce;
        let parameters = GcmParams::new(&mut nonce, context, TAG_BITS.into())?;
        let mechanism = Mechanism::AesGcm(parameters);
        let opened = self.session.decrypt(&mechanism, self.key, sealed);
        opened.map(Secret::new)
    }
}

/// Says whether the token refused the data, and would refuse it in another session as well.
const fn is_refused(error: &Error) -> bool {
    matches!(
        error,
        Error::Pkcs11(
            RvError::EncryptedDataInvalid | RvError::EncryptedDataLenRange,
            _
        )
    )
}

/// Loads the module of a token, of which a process has one.
fn load(path: &Path) -> Result<Pkcs11, TokenFault> {
    let failed = |source| TokenFault::Module {
        path: path.to_owned(),
        source,
    };
    let module = Pkcs11::new(path).map_err(failed)?;
    let several_threads = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
    match module.initialize(several_threads) {
        Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, Function::Initialize)) => {}
        done => done.map_err(failed)?,
    }
    Ok(module)
}

impl fmt::Debug for Pkcs11Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pkcs11Key")
            .field("settings", &self.settings)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

const FORMAT: u8 = 1;
const NONCE: usize = 12;
const TAG_BITS: u64 = 128;
