//! Many processes on one store: this test binary starts itself again as a worker and kills it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::*;
use crate::KeySources;
use crate::folders::Folders;
use crate::store::Namespace;

/// Starts a worker with a role, on the store below `home`.
pub(super) fn start(role: &str, home: &Home, more: &[(&str, &str)]) -> Child {
    command(&[], role, home, more).spawn().unwrap()
}

/// Describes the same, started by the words of `wrapper`.
#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
pub(super) fn command(wrapper: &[&str], role: &str, home: &Home, more: &[(&str, &str)]) -> Command {
    let program = std::env::current_exe().unwrap().into_os_string();
    let mut words = wrapper.iter().map(OsString::from).chain([program]);
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .args(["--exact", "grants::tests::processes::worker"])
        .args(["--ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(PLACE, home.folders.data.parent().unwrap())
        .envs(more.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Reads what a worker said: one line per event, apart from the test runner's own.
pub(super) fn said(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.split_once("@ ").map(|(_, event)| event.to_owned()))
}

/// A variable for a worker, or from the person who runs the tests.
#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
#[ignore = "runs only as a worker of the other tests"]
fn worker() {
    let (Some(role), Some(place)) = (variable(ROLE), variable(PLACE)) else {
        return;
    };
    let folders = Folders::below(Path::new(&place));
    let vault = Vault::open(&folders, KeySources::default()).unwrap();
    match role.as_str() {
        "contend" => contend(&vault),
        "hang" => hang(&vault),
        "kills" => super::kills::work(&vault),
        "rekey" => super::kills::change_keys(&vault),
        "hold" => hold(),
        "write" => super::stuck_locks::write(&vault),
        "open" => println!("@ {}", vault.protection().source),
        other => panic!("{other}"),
    }
}

/// Refreshes with all others until they made `ROUNDS` refreshes together.
fn contend(vault: &Vault) {
    println!("@ ready");
    let go = vault.sealed(Namespace::new("go").unwrap());
    while go.get("go").unwrap().is_none() {
        // Between two looks at what another process wrote.
        std::thread::sleep(Duration::from_millis(1));
    }
    loop {
        let found = vault.read(&grant()).unwrap().unwrap();
        let round: usize = std::str::from_utf8(found.details.expose())
            .unwrap()
            .parse()
            .unwrap();
        if round >= ROUNDS {
            return;
        }
        match vault.claim(&grant(), found.generation, LONG).unwrap() {
            Claim::Claimed(claim) => {
                println!("@ redeem {} {}", found.generation, claim.refresh.expose());
                let next = numbered(round + 1);
                let saved = vault.commit(&grant(), found.generation, &next).unwrap();
                assert!(matches!(saved, Commit::Committed { .. }), "{saved:?}");
            }
            Claim::Held { .. } | Claim::Moved { .. } => {
                println!("@ lost");
                // Others come first: without a pause this one would only read.
                std::thread::sleep(Duration::from_millis(1));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Starts a process that has the vault open until it is killed.
pub(crate) fn hold_open(home: &Home) -> Child {
    let mut child = start("hold", home, &[]);
    assert_eq!(said(&mut child).next().as_deref(), Some("holds"));
    child
}

fn hold() {
    println!("@ holds");
    loop {
        std::thread::park();
    }
}

fn hang(vault: &Vault) {
    let generation = vault.read(&grant()).unwrap().unwrap().generation;
    assert!(matches!(
        vault.claim(&grant(), generation, LONG),
        Ok(Claim::Claimed(_))
    ));
    println!("@ claimed");
    // Until it is killed.
    loop {
        std::thread::park();
    }
}

#[test]
fn renewal_of_a_living_process_is_told_with_its_process_and_that_of_a_dead_one_is_not() {
    let home = Home::new();
    let vault = home.open();
    vault.put(&grant(), &numbered(0)).unwrap();
    assert_eq!(vault.renewal_under_way(&grant()).unwrap(), None);
    let mut other = start("hang", &home, &[]);
    assert_eq!(said(&mut other).next().as_deref(), Some("claimed"));
    let found = vault.renewal_under_way(&grant()).unwrap().unwrap();
    assert_eq!(found.process, Some(other.id()));
    assert!(found.age < LONG);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(vault.renewal_under_way(&grant()).unwrap(), None);
}

fn numbered(number: usize) -> Tokens {
    Tokens::new(Secret::new(format!("access-{number}")))
        .with_refresh(Secret::new(format!("refresh-{number}")))
        .with_details(Secret::new(number.to_string().into_bytes()))
}

/// `threats.md` C5.
#[test]
fn sixteen_processes_redeem_every_refresh_token_once() {
    let home = Home::new();
    let vault = home.open();
    vault.put(&grant(), &numbered(0)).unwrap();
    let mut workers: Vec<_> = (0..PROCESSES)
        .map(|_| start("contend", &home, &[]))
        .collect();
    let mut events: Vec<_> = workers.iter_mut().map(said).collect();
    for events in &mut events {
        assert_eq!(events.next().as_deref(), Some("ready"));
    }
    vault
        .sealed(Namespace::new("go").unwrap())
        .put("go", b"")
        .unwrap();
    let mut redeemed: BTreeMap<String, usize> = BTreeMap::new();
    for (worker, events) in workers.iter_mut().zip(events) {
        for event in events {
            *redeemed.entry(event).or_default() += 1;
        }
        assert!(worker.wait().unwrap().success());
    }
    assert!(
        redeemed.remove("lost").is_some(),
        "they did run at the same time"
    );
    assert_eq!(redeemed.len(), ROUNDS, "{redeemed:?}");
    assert!(redeemed.values().all(|times| *times == 1), "{redeemed:?}");
    let tokens: Vec<_> = redeemed
        .keys()
        .filter_map(|event| event.split(' ').nth(2))
        .collect();
    for round in 0..ROUNDS {
        assert!(
            tokens.contains(&format!("refresh-{round}").as_str()),
            "{tokens:?}"
        );
    }
    assert!(vault.verify().unwrap().problems.is_empty());
}

#[test]
fn claim_of_a_killed_process_is_taken_over_at_once() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens(1)).unwrap();
    let mut child = start("hang", &home, &[]);
    assert_eq!(said(&mut child).next().as_deref(), Some("claimed"));
    assert!(matches!(
        vault.claim(&grant(), generation, LONG),
        Ok(Claim::Held { .. })
    ));
    assert!(vault.orphans().unwrap().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let start = Instant::now();
    assert_eq!(vault.orphans().unwrap().len(), 1);
    let Ok(Claim::Claimed(claim)) = vault.claim(&grant(), generation, LONG) else {
        panic!("the owner is dead");
    };
    assert_eq!(
        (claim.refresh.expose().as_str(), claim.interrupted),
        ("refresh-1", 1)
    );
    assert!(start.elapsed() < LONG / 10);
}

#[test]
fn processes_that_start_together_agree_on_one_new_vault() {
    let home = Home::new();
    let mut workers: Vec<_> = (0..PROCESSES).map(|_| start("open", &home, &[])).collect();
    for worker in &mut workers {
        assert_eq!(said(worker).collect::<Vec<_>>(), ["a key file"]);
        assert!(worker.wait().unwrap().success());
    }
    assert_eq!(
        fs::read_dir(&home.folders.config).unwrap().count(),
        1,
        "one key is left"
    );
    assert!(home.open().verify().unwrap().problems.is_empty());
}

const ROLE: &str = "KEYWAY_VAULT_TEST_ROLE";
const PLACE: &str = "KEYWAY_VAULT_TEST_PLACE";
const PROCESSES: usize = 16;
const ROUNDS: usize = 20;
