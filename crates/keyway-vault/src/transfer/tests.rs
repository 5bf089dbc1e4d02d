//! A sign-in has one holder, whatever happens on its way.

use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{GrantKey, GrantStore as _, Tokens};

use super::*;
use crate::error::VaultError;
use crate::store::tests::Home;
use crate::{Namespace, Vault};

fn grant(profile: &str) -> GrantKey {
    GrantKey::new(profile).server("s").resource("fingerprint")
}

fn tokens() -> Tokens {
    Tokens::new(Secret::new("access".to_owned()))
        .with_lifetime(Duration::from_secs(600))
        .with_refresh(Secret::new("refresh".to_owned()))
        .with_details(Secret::new(b"details".to_vec()))
}

fn move_out(vault: &Vault, to: &TransferKey) -> Result<Option<MovedGrant>, VaultError> {
    vault.move_grant(&Move::new(&grant("here")), to)
}

fn fault(result: Result<impl fmt::Debug, VaultError>) -> TransferFault {
    match result {
        Err(VaultError::Transfer(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

/// A vault with a sign-in, one without, and the sign-in on its way.
fn on_its_way() -> (Home, Home, SealedGrant) {
    let (from, to) = (Home::new(), Home::new());
    let vault = from.open();
    vault.put(&grant("here"), &tokens()).unwrap();
    let key = to.open().transfer_key().unwrap();
    let moved = move_out(&vault, &key).unwrap().unwrap();
    assert_eq!(moved.fingerprint, key.fingerprint());
    (from, to, moved.sealed.unwrap())
}

#[test]
fn sign_in_leaves_one_vault_and_arrives_in_the_other() {
    let (from, to, sealed) = on_its_way();
    let text = sealed.to_string();
    assert!(!text.contains("refresh"));
    assert!(from.open().read(&grant("here")).unwrap().is_none());
    let target = to.open();
    let there = grant("there").plugin("p");
    target
        .import_grant(&text.parse().unwrap(), &there, None)
        .unwrap();
    let read = target.read(&there).unwrap().unwrap();
    assert_eq!(read.access.expose(), "access");
    assert_eq!(read.details.expose(), b"details");
    let left = read.expires_at.unwrap().since(read.now);
    assert!(left > Duration::from_secs(500) && left <= Duration::from_secs(600));
    let claim = target.claim(&there, read.generation, Duration::from_secs(9));
    let keyway_store::Claim::Claimed(claimed) = claim.unwrap() else {
        panic!("not claimed");
    };
    assert_eq!(claimed.refresh.expose(), "refresh");
    assert!(target.verify().unwrap().problems.is_empty());
    assert!(from.open().verify().unwrap().problems.is_empty());
}

#[test]
fn sealed_sign_in_is_imported_once_before_its_end_and_by_its_vault_alone() {
    let (from, to, sealed) = on_its_way();
    let target = to.open();
    let there = grant("there");
    let other = grant("there").resource("another address");
    assert_eq!(
        fault(target.import_grant(&sealed, &other, None)),
        TransferFault::OtherServer
    );
    let third_home = Home::new();
    let third = third_home.open();
    assert_eq!(
        fault(third.import_grant(&sealed, &there, None)),
        TransferFault::OtherKey,
        "no key pair yet"
    );
    third.transfer_key().unwrap();
    let refused = third.import_grant(&sealed, &there, None).unwrap_err();
    assert_eq!(refused.code().as_str(), "transfer-refused");
    assert_eq!(fault(Err::<(), _>(refused)), TransferFault::OtherKey);
    assert_eq!(
        fault(from.open().import_grant(&sealed, &there, None)),
        TransferFault::OtherKey
    );

    target.import_grant(&sealed, &there, None).unwrap();
    assert_eq!(
        fault(target.import_grant(&sealed, &there, None)),
        TransferFault::ImportedBefore
    );
    target.delete(&there).unwrap();
    assert_eq!(
        fault(target.import_grant(&sealed, &there, None)),
        TransferFault::ImportedBefore,
        "after a sign-out neither"
    );
}

#[test]
fn sealed_sign_in_that_was_changed_or_has_ended_is_refused() {
    let (_from, to, sealed) = on_its_way();
    let target = to.open();
    for position in 0..sealed.0.len() {
        let mut changed = sealed.clone();
        changed.0[position] ^= 1;
        assert_eq!(
            fault(target.import_grant(&changed, &grant("there"), None)),
            TransferFault::OtherKey,
            "byte {position}"
        );
    }
    let mut cut = sealed;
    cut.0.truncate(39);
    assert_eq!(
        fault(target.import_grant(&cut, &grant("there"), None)),
        TransferFault::NotSealed
    );
    let key = target.transfer_key().unwrap();
    let contents = seal::seal(b"", &key, 1).unwrap();
    assert_eq!(
        fault(target.import_grant(&contents, &grant("there"), None)),
        TransferFault::NotSealed
    );
}

#[test]
fn end_counts_by_the_clock_of_the_store() {
    let (from, to) = (Home::new(), Home::new());
    let vault = from.open();
    vault.put(&grant("here"), &tokens()).unwrap();
    let target = to.open();
    let key = target.transfer_key().unwrap();
    let sealed = grant::sealed_until(&tokens(), &grant("here"), &key, 1);
    assert_eq!(
        fault(target.import_grant(&sealed, &grant("there"), None)),
        TransferFault::Ended
    );
    assert!(target.read(&grant("there")).unwrap().is_none());
}

#[test]
fn move_is_remembered_and_can_be_written_again_until_its_end() {
    let (from, to, sealed) = on_its_way();
    let vault = from.open();
    let moved = vault.moved_grant(&grant("here")).unwrap().unwrap();
    assert_eq!(moved.sealed, Some(sealed));
    assert_eq!(
        moved.fingerprint,
        to.open().transfer_key().unwrap().fingerprint()
    );
    assert!(
        move_out(&vault, &to.open().transfer_key().unwrap())
            .unwrap()
            .is_none()
    );
}

#[test]
fn sign_in_that_another_process_renews_stays() {
    let (from, to) = (Home::new(), Home::new());
    let vault = from.open();
    let generation = vault.put(&grant("here"), &tokens()).unwrap();
    let other = from.open();
    other
        .claim(&grant("here"), generation, Duration::from_secs(60))
        .unwrap();
    let key = to.open().transfer_key().unwrap();
    let error = move_out(&vault, &key).unwrap_err();
    assert!(matches!(error, VaultError::Busy), "{error}");
    assert!(vault.read(&grant("here")).unwrap().is_some());
}

#[test]
fn sign_in_that_is_there_is_not_replaced_by_an_imported_one() {
    let (_from, to, sealed) = on_its_way();
    let target = to.open();
    let mine = Tokens::new(Secret::new("mine".to_owned()));
    target.put(&grant("there"), &mine).unwrap();
    assert_eq!(
        fault(target.import_grant(&sealed, &grant("there"), None)),
        TransferFault::SignedIn
    );
    let read = target.read(&grant("there")).unwrap().unwrap();
    assert_eq!(read.access.expose(), "mine");
    target.delete(&grant("there")).unwrap();
    target.import_grant(&sealed, &grant("there"), None).unwrap();
}

/// Replaced refresh tokens are revoked where the sign-in is ended, not where it came from.
#[test]
fn record_beside_a_sign_in_goes_with_it() {
    let (from, to) = (Home::new(), Home::new());
    let vault = from.open();
    vault.put(&grant("here"), &tokens()).unwrap();
    let records = Namespace::new("client").unwrap();
    vault.sealed(records.clone()).put("one", b"beside").unwrap();
    let target = to.open();
    let key = target.transfer_key().unwrap();
    let here = grant("here");
    let what = Move::new(&here).with_record(records.clone(), "one".to_owned());
    let moved = vault.move_grant(&what, &key).unwrap().unwrap();
    assert!(vault.sealed(records.clone()).get("one").unwrap().is_none());
    let beside = (records.clone(), "two".to_owned());
    target
        .import_grant(&moved.sealed.unwrap(), &grant("there"), Some(&beside))
        .unwrap();
    let found = target.sealed(records).get("two").unwrap().unwrap();
    assert_eq!(found.value.expose(), b"beside");
}

#[test]
fn keys_and_sealed_sign_ins_are_read_back_and_nothing_else_is() {
    let home = Home::new();
    let key = home.open().transfer_key().unwrap();
    assert_eq!(key, home.open().transfer_key().unwrap(), "made once");
    assert_eq!(format!(" {key}\n").parse(), Ok(key));
    assert_eq!(key.fingerprint().len(), 39);
    for text in [
        "",
        "keyway-key-1.",
        "keyway-key-1.AAAA",
        "x",
        "keyway-sign-in-1.AAAA",
    ] {
        assert_eq!(text.parse::<TransferKey>(), Err(TransferFault::NotAKey));
    }
    assert_eq!(
        "keyway-key-1.AAAA".parse::<SealedGrant>(),
        Err(TransferFault::NotSealed)
    );
    // A key of small order: the secret would be public.
    let weak = TransferKey([0; 32]);
    let vault = home.open();
    vault.put(&grant("here"), &tokens()).unwrap();
    assert_eq!(fault(move_out(&vault, &weak)), TransferFault::NotAKey);
    assert!(vault.read(&grant("here")).unwrap().is_some(), "it stays");
}
