//! Wrapping keys in a PKCS#11 token: that of SoftHSM, from Debian's package `softhsm2`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::Attribute;
use cryptoki::session::UserType;
use cryptoki::types::AuthPin;
use keyway_postgres::{FileKey, KeyWrapper, Pkcs11Key, Pkcs11Settings, Replica, WrapError};
use keyway_secret::Secret;
use keyway_store::GrantStore as _;

use crate::processes::{grant, one_of_many, tokens};
use crate::rekey::under_load;
use crate::server::{Database, shared};

/// Runs a test in a process whose module finds a new token: it reads where its tokens are from the
/// environment, which no test may change for others.
#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
fn with_token(name: &str, test: impl FnOnce()) {
    if std::env::var_os("SOFTHSM2_CONF").is_some() {
        return test();
    }
    let place = tempfile::tempdir().unwrap();
    let tokens = place.path().join("tokens");
    std::fs::create_dir(&tokens).unwrap();
    let conf = place.path().join("softhsm2.conf");
    let text = format!(
        "directories.tokendir = {}\nlog.level = ERROR\n",
        tokens.display()
    );
    std::fs::write(&conf, text).unwrap();
    let made = Command::new("softhsm2-util")
        .args([
            "--init-token",
            "--free",
            "--label",
            "keyway",
            "--so-pin",
            PIN,
            "--pin",
            PIN,
        ])
        .env("SOFTHSM2_CONF", &conf)
        .output();
    let made = made.expect("install Debian's `softhsm2`, or run `cargo xtask tools --setup`");
    assert!(made.status.success(), "{made:?}");
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("pkcs11::{name}"), "--nocapture"])
        .env("SOFTHSM2_CONF", &conf)
        .status()
        .unwrap();
    assert!(done.success(), "{name}");
}

fn module() -> PathBuf {
    let all = ["/usr/lib/softhsm/libsofthsm2.so"];
    let found = all.iter().map(Path::new).find(|path| path.exists());
    found.expect("SoftHSM's module").to_owned()
}

/// Makes a key in the token, as its operator would.
#[expect(clippy::indexing_slicing, reason = "helpers of tests fail the test")]
fn make_key(label: &str, is_extractable: bool) {
    let token = Pkcs11::new(module()).unwrap();
    // Another part of the process may have done it.
    drop(token.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)));
    let slot = token.get_slots_with_initialized_token().unwrap()[0];
    let session = token.open_rw_session(slot).unwrap();
    drop(session.login(UserType::User, Some(&AuthPin::new(PIN.into()))));
    let template = [
        Attribute::Token(true),
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(is_extractable),
        Attribute::Encrypt(true),
        Attribute::Decrypt(true),
        Attribute::ValueLen(32.into()),
        Attribute::Label(label.into()),
    ];
    session
        .generate_key(&Mechanism::AesKeyGen, &template)
        .unwrap();
}

fn try_open(token: &str, key: &str, pin: &str) -> Result<Pkcs11Key, String> {
    let settings = Pkcs11Settings::new(module(), token, key, Secret::new(pin.to_owned()));
    Pkcs11Key::open(settings).map_err(|error| chain(&error))
}

fn open(key: &str) -> Pkcs11Key {
    try_open("keyway", key, PIN).unwrap()
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

fn data_key() -> Secret<[u8; 32]> {
    Secret::new([7; 32])
}

#[test]
fn wrapped_key_opens_for_its_purpose_and_by_its_wrapping_key_alone() {
    with_token(
        "wrapped_key_opens_for_its_purpose_and_by_its_wrapping_key_alone",
        || {
            make_key("one", false);
            make_key("two", false);
            let (one, two) = (open("one"), open("two"));
            assert_ne!(one.id(), two.id());
            assert_eq!(one.id(), open("one").id(), "the name is the key's");
            let wrapped = one.wrap(&data_key(), b"ada").unwrap();
            assert!(!wrapped.windows(8).any(|part| part == [7; 8]));
            assert_eq!(one.unwrap(&wrapped, b"ada").unwrap().expose(), &[7; 32]);
            assert_ne!(
                wrapped,
                one.wrap(&data_key(), b"ada").unwrap(),
                "each has its nonce"
            );
            let rejected = |key: &Pkcs11Key, wrapped: &[u8], context: &[u8]| {
                let refused = key.unwrap(wrapped, context).unwrap_err();
                assert!(
                    matches!(refused, WrapError::Rejected),
                    "{}",
                    chain(&refused)
                );
            };
            rejected(&one, &wrapped, b"bob");
            rejected(&two, &wrapped, b"ada");
            for at in 0..wrapped.len() {
                let mut changed = wrapped.clone();
                changed[at] ^= 1;
                rejected(&one, &changed, b"ada");
            }
            for length in 0..wrapped.len() {
                rejected(&one, &wrapped[..length], b"ada");
            }
            assert!(
                one.unwrap(&wrapped, b"ada").is_ok(),
                "the session is still good"
            );
        },
    );
}

#[test]
fn token_that_cannot_be_used_is_named_with_the_reason() {
    with_token("token_that_cannot_be_used_is_named_with_the_reason", || {
        make_key("open", true);
        make_key("twice", false);
        make_key("twice", false);
        for (token, key, pin, says) in [
            ("other", "twice", PIN, "there is no PKCS#11 token `other`"),
            ("keyway", "absent", PIN, "there are 0 AES keys `absent`"),
            ("keyway", "twice", PIN, "there are 2 AES keys `twice`"),
            ("keyway", "open", PIN, "the key `open` can be taken out"),
            ("keyway", "open", "0000", "the PKCS#11 token failed"),
        ] {
            let refused = try_open(token, key, pin).unwrap_err();
            assert!(refused.contains(says), "{says}: {refused}");
            assert!(!refused.contains(PIN), "{refused}");
        }
        let absent = Pkcs11Settings::new("/nowhere.so", "keyway", "x", Secret::new(PIN.to_owned()));
        let refused = chain(&Pkcs11Key::open(absent).unwrap_err());
        assert!(
            refused.contains("cannot load the PKCS#11 module `/nowhere.so`"),
            "{refused}"
        );
    });
}

#[test]
fn login_that_the_token_lost_is_made_again() {
    with_token("login_that_the_token_lost_is_made_again", || {
        make_key("one", false);
        let one = open("one");
        let wrapped = one.wrap(&data_key(), b"ada").unwrap();
        // A login is the process's, so that this ends that of the key as well.
        let log_out = || {
            let token = Pkcs11::new(module()).unwrap();
            let slot = token.get_slots_with_initialized_token().unwrap()[0];
            token.open_ro_session(slot).unwrap().logout().unwrap();
        };
        log_out();
        assert_eq!(one.unwrap(&wrapped, b"ada").unwrap().expose(), &[7; 32]);
        log_out();
        assert!(one.wrap(&data_key(), b"ada").is_ok());
    });
}

#[test]
fn wrapping_key_moves_from_a_file_into_a_token_while_replicas_refresh() {
    with_token(
        "wrapping_key_moves_from_a_file_into_a_token_while_replicas_refresh",
        || {
            make_key("wrapping", false);
            let database = Database::new(shared());
            let old: Arc<FileKey> = Arc::new(database.key());
            drop(database.replica());
            let new = Arc::new(open("wrapping"));
            let replicas = [(); 3].map(|()| {
                let (new, old) = (Arc::clone(&new), Arc::clone(&old));
                Replica::open_with_previous_key(&database.settings(), new, old).unwrap()
            });
            for number in 100..220 {
                let quiet = replicas[0].grants(one_of_many(number));
                quiet.put(&grant(), &tokens("quiet")).unwrap();
            }
            let mut people = 0;
            under_load(&replicas, 9, || {
                people = replicas[2].rekey().unwrap().people;
            });
            assert_eq!(people, 129);
            drop(replicas);
            let after = Replica::open(&database.settings(), new).unwrap();
            for number in 100..220 {
                let read = after.grants(one_of_many(number)).read(&grant()).unwrap();
                assert_eq!(read.unwrap().access.expose(), "access-quiet");
            }
            assert!(
                database.try_replica().is_err(),
                "the file opens nothing any more"
            );
        },
    );
}

const PIN: &str = "739154";
