//! What is particular to the grant store on SQLite; the rest is in `conformance.rs`.

use std::fs;
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::conformance::{self, Backend};
use keyway_store::*;

use crate::error::VaultError;
use crate::folders::{Folder, Folders};
use crate::owner::LocalOwner;
use crate::store::Vault;
use crate::store::tests::{Home, damage};

impl Backend for Home {
    type Store = Vault;

    fn open(&self) -> Vault {
        Self::open(self)
    }
}

mod kills;
mod processes;
mod stuck_locks;

pub(crate) use self::processes::hold_open;

mod conforming {
    use super::Home;

    keyway_store::grant_store_conformance!(Home::new());
}

#[test]
fn sealed_rows_are_a_record_store_a_document_cache_and_a_one_time_store() {
    let home = Home::new();
    let vault = home.open();
    let rows = |name| vault.sealed(crate::Namespace::new(name).unwrap());
    conformance::record_is_replaced_and_deleted_by_name(&rows("registrations")).unwrap();
    conformance::document_is_found_until_its_lifetime_ends(&rows("discovery")).unwrap();
    conformance::one_time_value_is_taken_once_and_in_time(&rows("one-time")).unwrap();
}

#[test]
fn sealed_rows_are_a_store_of_values_apart_by_namespace() {
    let home = Home::new();
    let vault = home.open();
    let rows = |name| vault.sealed(crate::Namespace::new(name).unwrap());
    conformance::value_is_listed_replaced_and_deleted_by_name(&rows("env")).unwrap();
    conformance::values_of_one_owner_are_not_those_of_another([&rows("ada"), &rows("bob")])
        .unwrap();
    conformance::of_values_stored_at_once_one_is_left_and_whole(&rows("at-once")).unwrap();
}

const LONG: Duration = Duration::from_secs(600);

fn grant() -> GrantKey {
    GrantKey::new("default").plugin("demo").server("search")
}

fn tokens(number: u32) -> Tokens {
    Tokens::new(Secret::new(format!("access-{number}")))
        .with_refresh(Secret::new(format!("refresh-{number}")))
        .with_lifetime(Duration::from_secs(60))
}

/// Copies everything of one grant aside, to put it back later.
const SAVE: &str = "CREATE TABLE saved AS SELECT * FROM grants;
    CREATE TABLE saved_keys AS SELECT * FROM data_keys;";
const RESTORE: &str = "DELETE FROM grants; INSERT INTO grants SELECT * FROM saved;
    INSERT OR REPLACE INTO data_keys SELECT * FROM saved_keys;";

#[test]
fn grant_put_back_to_an_older_generation_is_noticed() {
    let home = Home::new();
    let vault = home.open();
    let old = vault.put(&grant(), &tokens(1)).unwrap();
    home.attacker().execute_batch(SAVE).unwrap();
    vault.commit(&grant(), old, &tokens(2)).unwrap();
    home.attacker().execute_batch(RESTORE).unwrap();
    assert_eq!(damage(vault.read(&grant())), Damage::RolledBack);
    assert_eq!(damage(vault.claim(&grant(), old, LONG)), Damage::RolledBack);
    assert_eq!(
        damage(vault.commit(&grant(), old, &tokens(3))),
        Damage::RolledBack
    );
    assert_eq!(
        damage(vault.put(&grant(), &tokens(3))),
        Damage::RolledBack,
        "nothing is overwritten"
    );
    assert_eq!(damage(vault.list("default")), Damage::RolledBack);
    assert!(vault.delete(&grant()).is_ok(), "it can be deleted");
    assert!(vault.put(&grant(), &tokens(4)).is_ok());
}

#[test]
fn sign_in_that_is_put_back_after_signing_out_is_noticed() {
    let home = Home::new();
    let vault = home.open();
    vault.put(&grant(), &tokens(1)).unwrap();
    home.attacker().execute_batch(SAVE).unwrap();
    vault.delete(&grant()).unwrap();
    home.attacker().execute_batch(RESTORE).unwrap();
    assert_eq!(damage(vault.read(&grant())), Damage::Unexpected);
}

#[test]
fn p1_swapped_and_edited_columns_are_noticed() {
    for edit in [
        "UPDATE grants SET access = refresh",
        "UPDATE grants SET access_expires_at = access_expires_at + 1",
        "UPDATE grants SET access_expires_at = NULL",
        "UPDATE grants SET details = access",
        "UPDATE grants SET access = (SELECT access FROM grants g WHERE g.name <> grants.name)",
        "UPDATE grants SET access = (SELECT access FROM grants g WHERE g.name <> grants.name),
         data_key = (SELECT data_key FROM grants g WHERE g.name <> grants.name)",
    ] {
        let home = Home::new();
        let vault = home.open();
        vault.put(&grant(), &tokens(1)).unwrap();
        vault.put(&grant().account("ada"), &tokens(2)).unwrap();
        home.attacker().execute(edit, []).unwrap();
        assert_eq!(damage(vault.read(&grant())), Damage::Altered, "{edit}");
        assert!(!vault.verify().unwrap().problems.is_empty(), "{edit}");
    }
}

#[test]
fn p1_flipped_bits_in_any_sealed_column_are_noticed() {
    let home = Home::new();
    let details = Secret::new(b"details".to_vec());
    home.open()
        .put(&grant(), &tokens(1).with_details(details))
        .unwrap();
    let attacker = home.attacker();
    for column in ["access", "refresh", "details", "data_key"] {
        let select = format!("SELECT {column} FROM grants");
        let good: Vec<u8> = attacker.query_row(&select, [], |row| row.get(0)).unwrap();
        let update = format!("UPDATE grants SET {column} = ?1");
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            attacker.execute(&update, [&bad]).unwrap();
            let problems = home.open().verify().unwrap().problems;
            assert!(!problems.is_empty(), "byte {at} of {column}");
        }
        attacker.execute(&update, [&good]).unwrap();
    }
    assert!(home.open().verify().unwrap().problems.is_empty());
}

#[test]
fn reading_does_not_need_the_refresh_token_to_open() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    home.attacker()
        .execute("UPDATE grants SET refresh = x'01'", [])
        .unwrap();
    assert_eq!(
        vault.read(&grant()).unwrap().unwrap().access.expose(),
        "access-1"
    );
    assert_eq!(
        damage(vault.claim(&grant(), generation, LONG)),
        Damage::Altered
    );
}

#[test]
fn emptied_folder_of_locks_does_not_make_a_later_claim_look_dead() {
    let home = Home::new();
    let (first, second) = (home.open(), home.open());
    let generation = first.put(&grant(), &tokens(1)).unwrap();
    first.owner().unwrap();
    fs::remove_dir_all(home.folders.data.join("owners")).unwrap();
    assert!(matches!(
        first.claim(&grant(), generation, LONG),
        Ok(Claim::Claimed(_))
    ));
    assert!(matches!(
        second.claim(&grant(), generation, LONG),
        Ok(Claim::Held { .. })
    ));
}

/// One process has `XDG_RUNTIME_DIR` and the other has not; what they share is the vault.
#[test]
fn owner_with_another_runtime_folder_is_seen_to_live_and_to_be_dead() {
    let home = Home::new();
    let mut apart = home.folders.clone();
    apart.runtime = home.folders.runtime.join("../other-runtime");
    let first = Vault::open(&apart, crate::KeySources::default()).unwrap();
    let generation = first.put(&grant(), &tokens(1)).unwrap();
    let claim = first.claim(&grant(), generation, Duration::ZERO).unwrap();
    assert!(matches!(claim, Claim::Claimed(_)));
    let second = home.open();
    let claim = second.claim(&grant(), generation, LONG).unwrap();
    assert!(
        matches!(
            claim,
            Claim::Held {
                is_overdue: true,
                ..
            }
        ),
        "{claim:?}"
    );
    assert!(second.orphans().unwrap().is_empty());
    drop(first);
    assert_eq!(second.orphans().unwrap().len(), 1);
    let claim = second.claim(&grant(), generation, LONG).unwrap();
    assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
}

/// Where processes of an earlier version have their locks.
#[test]
fn owner_that_has_its_lock_in_the_runtime_folder_is_seen_to_live() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    let (place, name) = ("1".repeat(32), "2".repeat(32));
    let runtime = Folder::open(&home.folders.runtime).unwrap();
    runtime.create("id", place.as_bytes()).unwrap();
    let folder = runtime.folder("owners").unwrap();
    folder.create(&format!("{name}.lock"), b"").unwrap();
    let lock = folder.open_file(&format!("{name}.lock")).unwrap().unwrap();
    let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::flock(&lock, exclusive).unwrap();
    drop(
        home.open()
            .claim(&grant(), generation, Duration::ZERO)
            .unwrap(),
    );
    home.edit(&format!("UPDATE grants SET claim_owner = '{place}-{name}'"));
    let claim = vault.claim(&grant(), generation, LONG).unwrap();
    assert!(matches!(claim, Claim::Held { .. }), "{claim:?}");
    // Unlocked, not only closed: a process that another test starts at this moment has a copy.
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).unwrap();
    let claim = vault.claim(&grant(), generation, LONG).unwrap();
    assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
}

#[test]
fn removed_runtime_folder_is_made_again() {
    let home = Home::new();
    let vault = home.open();
    vault.put(&grant(), &tokens(1)).unwrap();
    fs::remove_dir_all(&home.folders.runtime).unwrap();
    assert!(vault.mark_in_use(&grant()).unwrap().is_some());
    assert!(vault.stop_users(&grant(), Duration::ZERO).is_ok());
}

#[test]
fn sessions_of_one_process_share_one_mark_and_its_descriptors() {
    let home = Home::new();
    let vault = home.open();
    vault.put(&grant(), &tokens(1)).unwrap();
    let mark = || vault.mark_in_use(&grant()).unwrap().unwrap();
    let first = mark();
    let users = home.folders.runtime.join("users");
    let files = || fs::read_dir(&users).unwrap().count();
    let descriptors = || {
        let all = fs::read_dir("/proc/self/fd").unwrap();
        let opened = all.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        opened.filter(|path| path.starts_with(&users)).count()
    };
    let (one_file, one_mark) = (files(), descriptors());
    let sessions: Vec<_> = (0..100).map(|_| mark()).collect();
    assert_eq!((files(), descriptors()), (one_file, one_mark));
    // It answers when the last of them has ended.
    let asked = vault.stop_users(&grant(), Duration::ZERO).unwrap();
    assert_eq!((asked.stopped, asked.remaining), (0, 1));
    assert!(first.is_stop_requested() && sessions.iter().all(|it| it.is_stop_requested()));
    // A session of the next sign-in is not asked.
    let next = mark();
    assert!(!next.is_stop_requested());
    drop((first, sessions));
    assert_eq!((files(), descriptors()), (one_file, one_mark));
    drop(next);
    assert_eq!((files(), descriptors()), (one_file - 1, 0));
}

#[test]
fn room_of_an_owner_that_cannot_be_seen_is_not_taken_away() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    let data = Folder::open(&home.folders.data).unwrap();
    let unknown = format!("reserve-{}-{}-00", "0".repeat(32), "1".repeat(32));
    data.create(&unknown, b"").unwrap();
    vault.claim(&grant(), generation, LONG).unwrap();
    assert!(data.inspect(&unknown).unwrap());
}

#[test]
fn lock_files_of_the_dead_are_cleared_away() {
    let home = Home::new();
    let first = home.open();
    let folder = Folder::open(&home.folders.data)
        .unwrap()
        .folder("owners")
        .unwrap();
    folder
        .create(&format!("{}.lock", "0".repeat(32)), b"")
        .unwrap();
    first.owner().unwrap();
    let second = home.open();
    second.owner().unwrap();
    let locks = || {
        let all = fs::read_dir(folder.path()).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != "id").count()
    };
    assert_eq!(locks(), 2);
    drop((first, second));
    assert_eq!(locks(), 0);
}

/// A process that is killed between making its lock file and naming it leaves a draft.
#[test]
fn drafts_of_the_dead_are_cleared_away_and_those_of_the_living_stay() {
    let home = Home::new();
    let vault = home.open();
    let folder = Folder::open(&home.folders.data)
        .and_then(|data| data.folder("owners"))
        .unwrap();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let draft = |name: &str, is_old: bool| {
        let file = std::fs::File::from(folder.create_open(name).unwrap());
        if is_old {
            file.set_modified(long_ago).unwrap();
        }
        file
    };
    let (_dead, _new) = (draft("new-dead", true), draft("new-young", false));
    let held = draft("new-held", true);
    rustix::fs::flock(&held, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    vault.owner().unwrap();
    let left = ["new-dead", "new-young", "new-held"].map(|name| folder.path().join(name).exists());
    assert_eq!(left, [false, true, true]);
}

/// `Folder::create` writes a draft first, in each of the three folders.
#[test]
fn drafts_of_killed_processes_are_removed_from_every_folder() {
    let home = Home::new();
    let vault = home.open();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let (dead, young) = (
        format!("new-{}", "0".repeat(32)),
        format!("new-{}", "1".repeat(32)),
    );
    let others = ["new-names", "new-vault-0.key", "config.toml"];
    let Folders {
        data,
        config,
        runtime,
        ..
    } = &home.folders;
    let folders = [data, config, runtime];
    for folder in folders {
        let folder = Folder::open(folder).unwrap();
        for name in others.into_iter().chain([dead.as_str(), &young]) {
            let file = std::fs::File::from(folder.create_open(name).unwrap());
            if name != young {
                file.set_modified(long_ago).unwrap();
            }
        }
    }
    vault.owner().unwrap();
    for folder in folders {
        assert!(!folder.join(&dead).exists(), "{}", folder.display());
        for name in others.into_iter().chain([young.as_str()]) {
            assert!(
                folder.join(name).exists(),
                "{}",
                folder.join(name).display()
            );
        }
    }
}

/// `threats.md` D13.
#[test]
fn planted_links_among_the_locks_lead_nowhere() {
    for name in ["owners/id", "owners"] {
        let home = Home::new();
        let vault = home.open();
        let generation = vault.put(&grant(), &tokens(1)).unwrap();
        let victim = home.folders.runtime.join("../victim");
        fs::File::create(&victim).unwrap();
        let link = home.folders.data.join(name);
        if name != "owners" {
            Folder::open(link.parent().unwrap()).unwrap();
        }
        std::os::unix::fs::symlink(&victim, link).unwrap();
        let error = vault.claim(&grant(), generation, LONG).unwrap_err();
        let error = VaultError::from(error);
        assert!(matches!(error, VaultError::Exposed { .. }), "{error}");
        assert_eq!(fs::metadata(&victim).unwrap().len(), 0);
    }
}

#[test]
fn stored_owner_cannot_name_a_file_elsewhere() {
    let zeros = "0".repeat(32);
    let parse = |text: &str| LocalOwner::parse(&OwnerId::new(text));
    assert!(parse(&format!("{zeros}-{zeros}")).is_some());
    for text in [
        "",
        "-",
        "../../etc/passwd",
        &format!("{zeros}-../{}", "0".repeat(29)),
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

/// `threats.md` C6.
#[test]
fn store_that_stays_locked_gives_no_claim() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    let other = home.attacker();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = vault.claim(&grant(), generation, LONG).unwrap_err();
    assert!(
        matches!(error, StoreError::Busy) && error.is_transient(),
        "{error}"
    );
    assert_eq!(error.code().as_str(), "vault-busy");
    assert!(vault.read(&grant()).is_ok(), "reading needs no lock");
    other.execute_batch("COMMIT").unwrap();
    assert!(matches!(
        vault.claim(&grant(), generation, LONG),
        Ok(Claim::Claimed(_))
    ));
}

/// Prints what the calls cost: `cargo test --release -p keyway-vault cost -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn cost_of_the_calls() {
    let home = Home::new();
    let vault = home.open();
    for number in 0..50 {
        vault
            .put(&grant().account(format!("{number}")), &tokens(number))
            .unwrap();
    }
    let mut generation = vault.put(&grant(), &tokens(1)).unwrap();
    let median = |name: &str, call: &mut dyn FnMut()| {
        let mut times: Vec<_> = (0..200)
            .map(|_| {
                let start = std::time::Instant::now();
                call();
                start.elapsed()
            })
            .collect();
        times.sort();
        println!("{name:<16} {:?}", times[times.len() / 2]);
    };
    median("open and read", &mut || {
        drop(home.open().read(&grant()).unwrap());
    });
    median("read", &mut || drop(vault.read(&grant()).unwrap()));
    median("claim and commit", &mut || {
        vault.claim(&grant(), generation, LONG).unwrap();
        if let Commit::Committed { generation: next } =
            vault.commit(&grant(), generation, &tokens(2)).unwrap()
        {
            generation = next;
        }
    });
    median("sign in and out", &mut || {
        vault.put(&grant().account("x"), &tokens(1)).unwrap();
        vault.delete(&grant().account("x")).unwrap();
    });
    let mut watch = vault.change_feed().unwrap();
    median("watch", &mut || assert!(!watch.changed().unwrap()));
}

#[test]
fn owner_in_another_runtime_folder_keeps_its_claim_for_its_lifetime_only() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    for (lifetime, is_free) in [(LONG, false), (Duration::ZERO, true)] {
        let foreign = home.open();
        foreign.claim(&grant(), generation, lifetime).unwrap();
        home.edit("UPDATE grants SET claim_owner = replace(claim_owner, substr(claim_owner, 1, 32), '00000000000000000000000000000000')",
        );
        let claim = vault.claim(&grant(), generation, LONG).unwrap();
        assert_eq!(matches!(claim, Claim::Claimed(_)), is_free, "{claim:?}");
        if let Claim::Claimed(claimed) = claim {
            vault.release(&grant(), claimed.id).unwrap();
        } else {
            home.edit("UPDATE grants SET claim_owner = NULL, claim_epoch = NULL, claimed_at = NULL, claimed_until = NULL",
            );
        }
    }
}

#[test]
fn wall_clock_does_not_end_the_claim_of_a_living_owner() {
    let home = Home::new();
    let (vault, other) = (home.open(), home.open());
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    vault.claim(&grant(), generation, LONG).unwrap();
    for shift in [-3_600_000_i64, 20_000, 3_600_000, 400 * 86_400_000] {
        // The other process sees its own clock ahead: as if the claim had been made earlier.
        home.edit(&format!(
                "UPDATE grants SET claimed_at = claimed_at - {shift}, claimed_until = claimed_until - {shift}"
            ),
        );
        let claim = other.take_over(&grant(), generation, LONG).unwrap();
        assert!(
            matches!(
                claim,
                Claim::Held {
                    is_overdue: false,
                    ..
                }
            ),
            "{shift}: {claim:?}"
        );
    }
}

#[test]
fn owner_of_a_claim_is_named_by_its_process() {
    let home = Home::new();
    let (vault, other) = (home.open(), home.open());
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    vault.claim(&grant(), generation, LONG).unwrap();
    let held = other.claim(&grant(), generation, LONG).unwrap();
    let Claim::Held { owner, .. } = held else {
        panic!("{held:?}");
    };
    assert_eq!(other.owner_process(&owner), Some(std::process::id()));
}

/// A gateway has one handle for all sessions; several may want the same sign-in renewed.
#[test]
fn room_is_reserved_by_several_threads_at_once() {
    let home = Home::new();
    let vault = home.open();
    vault.put(&grant(), &tokens(1)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    vault.reserve(&grant()).unwrap();
                    vault.unreserve(&grant());
                }
            });
        }
    });
}

/// As the connections of a gateway do, which share one handle.
#[test]
fn threads_of_one_handle_claim_at_once_and_one_gets_it_with_its_room() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    for round in 0..100 {
        let all = std::sync::Barrier::new(8);
        let claims: Vec<_> = std::thread::scope(|scope| {
            let claim = || {
                all.wait();
                vault.claim(&grant(), generation, LONG).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(claim)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let won: Vec<_> = claims
            .iter()
            .filter_map(|claim| match claim {
                Claim::Claimed(claimed) => Some(claimed.id),
                _ => None,
            })
            .collect();
        assert_eq!(won.len(), 1, "{round}: {claims:?}");
        let names = fs::read_dir(vault.data_folder()).unwrap().flatten();
        let names = names.map(|it| it.file_name().to_string_lossy().into_owned());
        let reserves = names.filter(|name| name.starts_with("reserve-"));
        assert_eq!(reserves.count(), 1, "{round}");
        vault.release(&grant(), won[0]).unwrap();
    }
}

#[test]
fn room_for_the_commit_is_there_while_a_claim_is_open() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    let reserves = || {
        let entries = fs::read_dir(vault.data_folder()).unwrap().flatten();
        let reserves =
            entries.filter(|it| it.file_name().to_string_lossy().starts_with("reserve-"));
        reserves
            .map(|it| it.metadata().unwrap().len())
            .collect::<Vec<_>>()
    };
    assert!(reserves().is_empty());
    let Claim::Claimed(claimed) = vault.claim(&grant(), generation, LONG).unwrap() else {
        panic!("it is free");
    };
    assert_eq!(reserves(), [256 * 1024]);
    vault.release(&grant(), claimed.id).unwrap();
    assert!(reserves().is_empty());
    let dead = home.open();
    dead.claim(&grant(), generation, LONG).unwrap();
    drop(dead);
    vault.claim(&grant(), generation, LONG).unwrap();
    assert_eq!(reserves().len(), 1, "that of the dead is gone");
    vault.commit(&grant(), generation, &tokens(2)).unwrap();
    assert!(reserves().is_empty());
    let claim = || {
        let generation = vault.read(&grant()).unwrap().unwrap().generation;
        let Claim::Claimed(claimed) = vault.claim(&grant(), generation, LONG).unwrap() else {
            panic!("it is free");
        };
        assert_eq!(reserves().len(), 1);
        (generation, claimed.fingerprint)
    };
    claim();
    vault.put(&grant(), &tokens(3)).unwrap();
    assert!(reserves().is_empty(), "signed in over it");
    let (generation, fingerprint) = claim();
    vault
        .mark_reauth(&grant(), generation, &fingerprint)
        .unwrap();
    assert!(reserves().is_empty(), "rejected");
    vault.put(&grant(), &tokens(4)).unwrap();
    claim();
    vault.delete(&grant()).unwrap();
    assert!(reserves().is_empty(), "signed out");
}

#[test]
fn journal_is_sealed_and_committed_before_the_next_claim() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    vault.claim(&grant(), generation, LONG).unwrap();
    vault.journal(&grant(), generation, &tokens(2)).unwrap();
    let journals = |vault: &Vault| {
        let entries = fs::read_dir(vault.data_folder()).unwrap().flatten();
        let names = entries.map(|it| it.path());
        let is_journal = |path: &std::path::PathBuf| path.to_string_lossy().contains("journal-");
        names.filter(is_journal).collect::<Vec<_>>()
    };
    let [file] = &journals(&vault)[..] else {
        panic!("one file");
    };
    let bytes = fs::read(file).unwrap();
    for secret in ["access-2", "refresh-2"] {
        assert!(
            !bytes
                .windows(secret.len())
                .any(|it| it == secret.as_bytes())
        );
    }
    // A file that is not ours, or damaged, is left alone and stops nothing.
    let foreign = vault.data_folder().join("journal-foreign");
    fs::copy(file, &foreign).unwrap();
    let damaged = fs::File::options().write(true).open(&foreign).unwrap();
    damaged.set_len(bytes.len() as u64 - 1).unwrap();
    drop(vault);
    let next = home.open();
    let claim = next.claim(&grant(), generation, LONG).unwrap();
    assert!(matches!(claim, Claim::Moved { .. }), "{claim:?}");
    let found = next.read(&grant()).unwrap().unwrap();
    assert_eq!(found.access.expose(), "access-2");
    assert!(
        found
            .expires_at
            .is_some_and(|at| at.since(found.now) > Duration::from_secs(50))
    );
    assert_eq!(journals(&next), [foreign]);
    let claim = next.claim(&grant(), found.generation, LONG).unwrap();
    assert!(matches!(claim, Claim::Claimed(it) if it.refresh.expose() == "refresh-2"));
}

#[test]
fn claim_fails_while_the_successor_of_its_token_cannot_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    vault.claim(&grant(), generation, LONG).unwrap();
    vault.journal(&grant(), generation, &tokens(2)).unwrap();
    drop(vault);
    let next = home.open();
    let files = home.files().into_iter().map(|(path, _)| path);
    let is_journal = |path: &std::path::PathBuf| path.to_string_lossy().contains("journal-");
    let file = files.into_iter().find(is_journal).unwrap();
    let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    set(0o644);
    next.claim(&grant(), generation, LONG).unwrap_err();
    set(0o600);
    let claim = next.claim(&grant(), generation, LONG).unwrap();
    assert!(matches!(claim, Claim::Moved { .. }), "{claim:?}");
}

#[test]
fn claim_of_an_earlier_boot_is_overdue_whatever_the_clock_says() {
    let home = Home::new();
    let (vault, other) = (home.open(), home.open());
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    vault.claim(&grant(), generation, LONG).unwrap();
    home.edit("UPDATE grants SET claim_boot = 'before', claimed_at = claimed_at + 86400000, claimed_until = claimed_until + 86400000");
    let claim = other.claim(&grant(), generation, LONG).unwrap();
    assert!(
        matches!(
            claim,
            Claim::Held {
                is_overdue: true,
                ..
            }
        ),
        "{claim:?}"
    );
}

/// A claim lives with the process that adopted it, and not with the one that made it.
#[test]
fn adopted_claim_survives_the_process_that_made_it() {
    let home = Home::new();
    let first = home.open();
    let seen = first.put(&grant(), &tokens(1)).unwrap();
    let Claim::Claimed(claimed) = first.claim(&grant(), seen, LONG).unwrap() else {
        panic!("it is free");
    };
    let carrier = home.open();
    assert!(carrier.adopt_claim(&grant(), claimed.id).unwrap());
    drop(first);
    let third = home.open();
    let Claim::Held { owner, .. } = third.claim(&grant(), seen, LONG).unwrap() else {
        panic!("its owner lives");
    };
    assert_eq!(owner, carrier.owner().unwrap());
    let committed = carrier.commit(&grant(), seen, &tokens(2)).unwrap();
    assert!(matches!(committed, Commit::Committed { .. }));
    let reserves = fs::read_dir(&home.folders.data).unwrap();
    let mut reserves = reserves.map(|entry| entry.unwrap().file_name());
    assert!(!reserves.any(|name| name.to_string_lossy().starts_with("reserve-")));
    assert!(
        !carrier.adopt_claim(&grant(), claimed.id).unwrap(),
        "it has ended"
    );
}
