//! What operations cost with few and with many sign-ins, in steps of SQLite's machine and in bytes
//! opened and sealed. Times are printed by `examples/cost.rs`; a test that compares times fails on a
//! busy machine.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use keyway_secret::Secret;
use keyway_store::{Claim, GrantKey, GrantStore as _, Tokens};

use super::*;
use crate::seal::work;

/// What one operation took.
#[derive(Clone, Copy, Debug)]
struct Work {
    steps: usize,
    bytes: usize,
}

type Operation<'a> = (&'a str, &'a dyn Fn(&Vault));

struct Filled {
    _home: Home,
    vault: Vault,
    steps: Arc<AtomicUsize>,
}

impl Filled {
    fn new(many: usize) -> Self {
        let home = Home::new();
        let vault = home.open();
        let grants: Vec<GrantKey> = (0..many).map(grant).collect();
        crate::grants::fill(&vault, &grants, &tokens());
        // Opening 10,000 rows takes long where nothing is optimised.
        let keys: Vec<String> = (0..many.min(2_000))
            .map(|n| format!("plugin:server-{n}"))
            .collect();
        trust(&vault).fill(&keys, b"sha256:0d1e");
        let steps = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&steps);
        let count = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            false
        };
        vault
            .lock()
            .connection
            .progress_handler(1, Some(count))
            .unwrap();
        Self {
            _home: home,
            vault,
            steps,
        }
    }

    fn cost(&self, operation: impl FnOnce(&Vault)) -> Work {
        self.steps.store(0, Ordering::Relaxed);
        work::reset();
        operation(&self.vault);
        Work {
            steps: self.steps.load(Ordering::Relaxed),
            bytes: work::bytes(),
        }
    }
}

fn grant(number: usize) -> GrantKey {
    GrantKey::new("default")
        .plugin("demo")
        .server(format!("server-{number}"))
        .resource("https://search.example/mcp")
        .issuer("https://as.example")
}

fn tokens() -> Tokens {
    let token = |text: &str| Secret::new(text.to_owned());
    Tokens::new(token("access")).with_refresh(token("refresh"))
}

#[test]
fn one_sign_in_costs_the_same_among_10_and_among_10000() {
    let [few, many] = [10, 10_000].map(Filled::new);
    let read = |vault: &Vault| drop(vault.read(&grant(7)).unwrap().unwrap());
    let renew = |vault: &Vault| {
        let seen = vault.read(&grant(7)).unwrap().unwrap().generation;
        let claim = vault.claim(&grant(7), seen, Duration::from_secs(600));
        assert!(matches!(claim, Ok(Claim::Claimed(_))), "{claim:?}");
        vault.commit(&grant(7), seen, &tokens()).unwrap();
    };
    let sign_in = |vault: &Vault| assert!(vault.put(&grant(8), &tokens()).is_ok());
    let approve = |vault: &Vault| assert!(trust(vault).put("plugin:server-7", b"new").is_ok());
    let look_up = |vault: &Vault| assert!(value(&trust(vault), "plugin:server-8").is_some());
    let orphans = |vault: &Vault| assert!(vault.orphans().unwrap().is_empty());
    let revision = |vault: &Vault| assert!(trust(vault).revision().unwrap().is_some());
    let operations: [Operation<'_>; 7] = [
        ("read", &read),
        ("claim and commit", &renew),
        ("sign in", &sign_in),
        ("put", &approve),
        ("get", &look_up),
        ("orphans", &orphans),
        ("revision", &revision),
    ];
    for (name, operation) in operations {
        let (small, large) = (few.cost(operation), many.cost(operation));
        println!("{name}: {small:?} among 10, {large:?} among 10,000");
        // A little more, because SQLite's trees are deeper; not in proportion.
        assert!(
            large.steps <= 2 * small.steps,
            "{name}: {small:?}, {large:?}"
        );
        // A bucket lists 40 of 10,000; each level of the list is opened, and sealed by a write.
        let lists = large.bytes - small.bytes;
        assert!(lists <= 64 * 1024, "{name}: {small:?}, {large:?}");
    }
}

#[test]
fn lists_are_linear() {
    let [few, many] = [100, 1_000].map(Filled::new);
    let grants = |vault: &Vault| assert!(vault.list("default").unwrap().len() >= 100);
    let records = |vault: &Vault| assert!(trust(vault).read_all().unwrap().len() >= 100);
    let verify = |vault: &Vault| assert!(vault.verify().unwrap().problems.is_empty());
    let operations: [Operation<'_>; 3] = [
        ("sign-ins", &grants),
        ("records", &records),
        ("verify", &verify),
    ];
    for (name, operation) in operations {
        let (small, large) = (few.cost(operation), many.cost(operation));
        println!("{name}: {small:?} for 100, {large:?} for 1,000");
        assert!(
            large.steps <= 15 * small.steps,
            "{name}: {small:?}, {large:?}"
        );
        assert!(
            large.bytes <= 15 * small.bytes,
            "{name}: {small:?}, {large:?}"
        );
    }
}
