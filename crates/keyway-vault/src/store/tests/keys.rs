//! Sources of the vault's key: chosen once, four states of failure, nothing overwritten.

use std::sync::Arc;

use keyway_secret::Secret;

use super::*;
use crate::key::{
    ExplicitKey, Keyring, KeyringFailure, KeyringItem, Passphrase, PassphraseFile, PassphraseUse,
};
use crate::key_source::{KeyringAbsence, SourceKind};

/// A keyring that does what the test says.
#[derive(Debug, Default)]
pub(crate) struct FakeKeyring {
    mood: Mutex<Mood>,
    items: Mutex<Vec<(KeyringItem, Secret<Vec<u8>>)>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Mood {
    #[default]
    Fine,
    Absent,
    Locked,
    Refused,
    Silent,
}

impl FakeKeyring {
    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn check(&self) -> Result<(), KeyringFailure> {
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Fine => Ok(()),
            Mood::Absent => Err(KeyringFailure::Absent(KeyringAbsence::Service)),
            Mood::Locked => Err(KeyringFailure::Locked),
            Mood::Refused => Err(KeyringFailure::Refused),
            Mood::Silent => {
                // It never answers; the caller's deadline is what is tested.
                loop {
                    std::thread::park();
                }
            }
        }
    }
}

impl Keyring for FakeKeyring {
    fn load(&self, item: &KeyringItem) -> Result<Option<Secret<Vec<u8>>>, KeyringFailure> {
        self.check()?;
        let items = self.items.lock().unwrap();
        Ok(items
            .iter()
            .find(|(known, _)| known == item)
            .map(|(_, secret)| secret.clone()))
    }

    fn store(&self, item: &KeyringItem, secret: &Secret<Vec<u8>>) -> Result<(), KeyringFailure> {
        self.check()?;
        self.items
            .lock()
            .unwrap()
            .push((item.clone(), secret.clone()));
        Ok(())
    }

    fn remove(&self, item: &KeyringItem) -> Result<(), KeyringFailure> {
        self.check()?;
        self.items
            .lock()
            .unwrap()
            .retain(|(known, _)| known != item);
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Typed(pub(crate) &'static str);

impl Passphrase for Typed {
    fn ask(&self, _purpose: PassphraseUse) -> Result<Option<Secret<String>>, VaultError> {
        Ok(Some(Secret::new(self.0.to_owned())).filter(|text| !text.expose().is_empty()))
    }
}

fn supplied(byte: u8) -> KeySources {
    KeySources::default().with_explicit(ExplicitKey::Supplied(Arc::new(Secret::new([byte; 32]))))
}

fn with_keyring(keyring: &Arc<FakeKeyring>) -> KeySources {
    let keyring: Arc<dyn Keyring> = Arc::<FakeKeyring>::clone(keyring);
    KeySources::default().with_keyring(keyring)
}

/// Runs `attempt`, which has to fail, and shows that no file changed.
fn fails_without_a_trace(home: &Home, sources: KeySources) -> VaultError {
    let before = home.files();
    let error = Vault::open(&home.folders, sources).unwrap_err();
    let key = |files: Vec<(PathBuf, Vec<u8>)>| -> Vec<_> {
        files
            .into_iter()
            .filter(|(path, _)| !path.ends_with("vault.db-shm"))
            .collect()
    };
    assert_eq!(key(before), key(home.files()), "{error}");
    error
}

#[test]
fn p1_wrong_key_is_told_from_a_damaged_record() {
    let home = Home::new();
    trust(&Vault::open(&home.folders, supplied(1)).unwrap())
        .put("a", b"1")
        .unwrap();
    let error = fails_without_a_trace(&home, supplied(2));
    assert!(
        matches!(
            error,
            VaultError::WrongKey {
                from: SourceKind::Explicit
            }
        ),
        "{error}"
    );
    assert_eq!(error.code().as_str(), "wrong-key");
    let vault = Vault::open(&home.folders, supplied(1)).unwrap();
    assert_eq!(value(&trust(&vault), "a").unwrap(), b"1");
}

#[test]
fn locked_silent_and_absent_keyrings_are_different_states() {
    let home = Home::new();
    let keyring = Arc::new(FakeKeyring::default());
    let vault = Vault::open(&home.folders, with_keyring(&keyring)).unwrap();
    assert_eq!(vault.protection().source, SourceKind::Keyring);
    trust(&vault).put("a", b"1").unwrap();
    drop(vault);

    keyring.set(Mood::Locked);
    let error = fails_without_a_trace(&home, with_keyring(&keyring));
    assert!(matches!(error, VaultError::KeyringLocked), "{error}");
    assert_eq!(error.code().as_str(), "keyring-locked");

    keyring.set(Mood::Silent);
    let start = std::time::Instant::now();
    let error = fails_without_a_trace(&home, with_keyring(&keyring));
    assert!(matches!(error, VaultError::KeyringTimedOut), "{error}");
    assert_eq!(error.code().as_str(), "keyring-timeout");
    assert!(start.elapsed() < Duration::from_secs(60));

    keyring.set(Mood::Refused);
    let error = fails_without_a_trace(&home, with_keyring(&keyring));
    assert!(matches!(error, VaultError::KeyringRefused), "{error}");
    assert_eq!(error.code().as_str(), "keyring-refused");

    keyring.set(Mood::Absent);
    let error = fails_without_a_trace(&home, with_keyring(&keyring));
    assert!(matches!(error, VaultError::NoKeyring { .. }), "{error}");
    assert_eq!(error.code().as_str(), "keyring-absent");
    let error = fails_without_a_trace(&home, KeySources::default());
    assert!(
        matches!(error, VaultError::KeySourceUnavailable { .. }),
        "never downgraded: {error}"
    );

    let other = Arc::new(FakeKeyring::default());
    let error = fails_without_a_trace(&home, with_keyring(&other));
    assert!(
        matches!(
            error,
            VaultError::WrongKey {
                from: SourceKind::Keyring
            }
        ),
        "{error}"
    );

    keyring.set(Mood::Fine);
    let vault = Vault::open(&home.folders, with_keyring(&keyring)).unwrap();
    assert_eq!(value(&trust(&vault), "a").unwrap(), b"1");
    let files = home.files();
    let is_key = |path: &PathBuf| path.extension().is_some_and(|it| it == "key");
    assert!(
        !files.iter().any(|(path, _)| is_key(path)),
        "no key file beside the keyring"
    );
}

#[test]
fn locked_keyring_does_not_make_a_new_vault_settle_for_less() {
    let home = Home::new();
    let keyring = Arc::new(FakeKeyring::default());
    keyring.set(Mood::Locked);
    let error = Vault::open(&home.folders, with_keyring(&keyring)).unwrap_err();
    assert!(matches!(error, VaultError::KeyringLocked), "{error}");
    keyring.set(Mood::Absent);
    let vault = Vault::open(&home.folders, with_keyring(&keyring)).unwrap();
    assert_eq!(vault.protection().source, SourceKind::KeyFile);
}

#[test]
fn passphrase_opens_the_vault_and_another_does_not() {
    let home = Home::new();
    let typed = |text| {
        KeySources::default()
            .with_passphrase(Arc::new(Typed(text)))
            .choosing(SourceKind::Passphrase)
    };
    let vault = Vault::open(&home.folders, typed("correct horse")).unwrap();
    assert_eq!(vault.protection().source, SourceKind::Passphrase);
    trust(&vault).put("a", b"1").unwrap();
    drop(vault);
    let error = fails_without_a_trace(&home, typed("correct house"));
    assert!(
        matches!(
            error,
            VaultError::WrongKey {
                from: SourceKind::Passphrase
            }
        ),
        "{error}"
    );
    let error = fails_without_a_trace(&home, typed(""));
    assert!(
        matches!(error, VaultError::KeySourceUnavailable { .. }),
        "{error}"
    );
    let vault = Vault::open(&home.folders, typed("correct horse")).unwrap();
    assert_eq!(value(&trust(&vault), "a").unwrap(), b"1");
}

#[test]
fn edited_derivation_cost_is_refused_before_it_is_paid() {
    let home = Home::new();
    let typed = || {
        KeySources::default()
            .with_passphrase(Arc::new(Typed("correct horse")))
            .choosing(SourceKind::Passphrase)
    };
    drop(Vault::open(&home.folders, typed()).unwrap());
    home.attacker()
        .execute("UPDATE header SET memory_kib = 2000000000", [])
        .unwrap();
    assert_eq!(damage(Vault::open(&home.folders, typed())), Damage::Altered);
}

#[test]
fn passphrase_that_was_chosen_but_not_given_makes_no_vault() {
    let home = Home::new();
    let unasked = KeySources::default()
        .with_passphrase(Arc::new(Typed("")))
        .choosing(SourceKind::Passphrase);
    let error = Vault::open(&home.folders, unasked).unwrap_err();
    assert!(
        matches!(error, VaultError::KeySourceUnavailable { .. }),
        "never settled for less: {error}"
    );
    let offered = KeySources::default().with_passphrase(Arc::new(Typed("correct horse")));
    let vault = Vault::open(&home.folders, offered).unwrap();
    assert_eq!(
        vault.protection().source,
        SourceKind::KeyFile,
        "a person who did not choose it is not asked"
    );
}

#[test]
fn passphrase_file_has_to_be_private_and_counts_up_to_its_first_line_break() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let keys = Folder::open(&home.folders.data.join("../keys")).unwrap();
    keys.create("phrase", b"correct horse\r\nsecond line\n")
        .unwrap();
    let path = keys.path().join("phrase");
    let sources = || {
        KeySources::default()
            .with_passphrase(Arc::new(PassphraseFile::new(path.clone())))
            .choosing(SourceKind::Passphrase)
    };
    drop(Vault::open(&home.folders, sources()).unwrap());
    let typed = KeySources::default().with_passphrase(Arc::new(Typed("correct horse")));
    drop(Vault::open(&home.folders, typed).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = fails_without_a_trace(&home, sources());
    assert!(matches!(error, VaultError::Exposed { .. }), "{error}");
}

#[test]
fn lost_key_file_is_an_error_and_not_a_new_key() {
    let home = Home::new();
    trust(&home.open()).put("a", b"1").unwrap();
    let file = fs::read_dir(&home.folders.config)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let aside = home.folders.data.join("../aside");
    fs::rename(&file, &aside).unwrap();
    let error = fails_without_a_trace(&home, KeySources::default());
    let file_is_missing = matches!(
        error,
        VaultError::KeySourceUnavailable {
            recorded: SourceKind::KeyFile
        }
    );
    assert!(file_is_missing, "{error}");
    assert_eq!(error.code().as_str(), "key-unavailable");
    let error = fails_without_a_trace(&home, supplied(1));
    assert!(
        matches!(error, VaultError::KeySourceDiffers { .. }),
        "{error}"
    );
    assert_eq!(error.code().as_str(), "key-source-differs");
    fs::rename(&aside, &file).unwrap();
    assert_eq!(value(&trust(&home.open()), "a").unwrap(), b"1");
}

#[test]
fn supplied_key_file_has_to_be_private_but_may_be_a_link() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let keys = Folder::open(&home.folders.data.join("../keys")).unwrap();
    keys.create("real", &[b'7'; 64]).unwrap();
    std::os::unix::fs::symlink("real", keys.path().join("link")).unwrap();
    let path = keys.path().join("link");
    let file = || KeySources::default().with_explicit(ExplicitKey::File(path.clone()));
    let credential = || KeySources::default().with_explicit(ExplicitKey::Credential(path.clone()));
    drop(Vault::open(&home.folders, file()).unwrap());
    let chmod = |mode| {
        fs::set_permissions(keys.path().join("real"), fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(0o440);
    let error = fails_without_a_trace(&home, file());
    assert!(matches!(error, VaultError::Exposed { .. }), "{error}");
    drop(Vault::open(&home.folders, credential()).unwrap());
    chmod(0o444);
    let error = fails_without_a_trace(&home, credential());
    assert!(matches!(error, VaultError::Exposed { .. }), "{error}");
}

#[test]
fn protection_is_described_in_words() {
    let home = Home::new();
    let words = home.open().protection().to_string();
    assert!(
        words.contains("every program that can read your files can read this key"),
        "{words}"
    );
    assert!(
        words.contains(home.folders.config.to_str().unwrap()),
        "{words}"
    );
}

/// A process that finishes the work of another asks no source for the key.
#[test]
fn vault_opens_with_what_another_process_derived_from_its_key() {
    let home = Home::new();
    let key = Secret::new([7; 32]);
    let sources = KeySources::default().with_explicit(ExplicitKey::Supplied(Arc::new(key)));
    let first = Vault::open(&home.folders, sources).unwrap();
    let sent = first.unlocked_key().to_bytes();
    let received = UnlockedKey::from_bytes(&sent).unwrap();
    assert!(!format!("{received:?}").contains('7'));
    let sources = KeySources::default().with_unlocked(received);
    assert!(Vault::open(&home.folders, sources).is_ok());
    let source = SourceKind::Explicit;
    let refused = Vault::open(&home.folders, KeySources::default());
    assert!(
        matches!(refused, Err(VaultError::KeySourceUnavailable { recorded }) if recorded == source)
    );
    let short = Secret::new(sent.expose()[1..].to_vec());
    assert!(UnlockedKey::from_bytes(&short).is_none());
}
