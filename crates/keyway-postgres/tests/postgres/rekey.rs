//! Changing the wrapping key while replicas work, and a holder of it that is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use keyway_postgres::{FileKey, KeyWrapper, Person, PostgresError, Replica, WrapError};
use keyway_secret::Secret;
use keyway_store::conformance::Backend as _;
use keyway_store::seal::KeyId;
use keyway_store::{Claim, Commit, GrantStore, StoreError};

use crate::processes::{CLAIM, grant, one_of_many, tokens};
use crate::server::{Database, ada, shared};

/// A wrapping key that can be taken away, and that breaks down after some calls.
#[derive(Debug)]
pub(crate) struct Holder {
    key: FileKey,
    /// Relaxed, as below: set and read around calls that synchronise by themselves.
    is_away: AtomicBool,
    calls_left: AtomicU64,
}

impl Holder {
    pub(crate) fn new(byte: u8) -> Arc<Self> {
        Arc::new(Self {
            key: FileKey::new(&Secret::new([byte; 32])).unwrap(),
            is_away: AtomicBool::new(false),
            calls_left: AtomicU64::new(u64::MAX),
        })
    }

    fn breaks_after(&self, calls: u64) {
        // Relaxed: the thread that sets it makes the next call.
        self.calls_left.store(calls, Ordering::Relaxed);
    }

    fn set_away(&self, is_away: bool) {
        // Relaxed: the thread that sets it makes the next call.
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    fn call(&self) -> Result<(), WrapError> {
        // Relaxed: counts alone.
        let left = self.calls_left.load(Ordering::Relaxed);
        // Relaxed: the thread that sets it makes the next call.
        if left == 0 || self.is_away.load(Ordering::Relaxed) {
            return Err(WrapError::Away("the holder is away".into()));
        }
        // Relaxed: counts alone.
        self.calls_left.store(left - 1, Ordering::Relaxed);
        Ok(())
    }
}

impl KeyWrapper for Holder {
    fn id(&self) -> KeyId {
        self.key.id()
    }

    fn wrap(&self, key: &Secret<[u8; 32]>, context: &[u8]) -> Result<Vec<u8>, WrapError> {
        self.call()?;
        self.key.wrap(key, context)
    }

    fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Secret<[u8; 32]>, WrapError> {
        self.call()?;
        self.key.unwrap(wrapped, context)
    }
}

fn open(database: &Database<'_>, key: &Arc<Holder>) -> Result<Replica, PostgresError> {
    Replica::open(&database.settings(), Arc::clone(key) as _)
}

/// Opens a store that was made with the old key.
fn open_both(database: &Database<'_>, keys: [&Arc<Holder>; 2]) -> Replica {
    if database.sql("SELECT to_regclass('keyway.store') IS NULL") == "t" {
        drop(open(database, keys[1]).unwrap());
    }
    let [new, old] = keys.map(Arc::clone);
    Replica::open_with_previous_key(&database.settings(), new, old).unwrap()
}

fn wraps(database: &Database<'_>, key: &dyn KeyWrapper) -> u64 {
    let id: String = key
        .id()
        .as_bytes()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let sql = format!("SELECT count(*) FROM keyway.person_keys WHERE wrapper = '\\x{id}'");
    database.sql(&sql).parse().unwrap()
}

/// Refreshes the sign-ins of all people again and again, from several replicas, until it is told to
/// stop; then each generation that was committed is the stored one.
#[expect(clippy::indexing_slicing, reason = "helpers of tests fail the test")]
pub(crate) fn under_load(replicas: &[Replica], people: usize, work: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    let started = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let refreshing: Vec<_> = (0..people)
            .map(|number| {
                let replica = &replicas[number % replicas.len()];
                let (stop, started) = (&stop, &started);
                scope.spawn(move || {
                    let grants = replica.grants(one_of_many(number));
                    let mut seen = grants.put(&grant(), &tokens("0")).unwrap();
                    // Relaxed: counts alone.
                    started.fetch_add(1, Ordering::Relaxed);
                    let mut turns = 0;
                    // Relaxed: the last turn may be one too many.
                    while !stop.load(Ordering::Relaxed) || turns == 0 {
                        turns += 1;
                        let claim = match grants.claim(&grant(), seen, CLAIM).unwrap() {
                            Claim::Claimed(claim) => claim,
                            other => panic!("{other:?}"),
                        };
                        let before = if turns == 1 { 0 } else { turns - 1 };
                        assert_eq!(claim.refresh.expose(), &format!("refresh-{before}"));
                        let new = tokens(&turns.to_string());
                        seen = match grants.commit(&grant(), seen, &new).unwrap() {
                            Commit::Committed { generation } => generation,
                            other => panic!("{other:?}"),
                        };
                    }
                    (number, turns)
                })
            })
            .collect();
        keyway_testkit::eventually("all people are signed in", || {
            // Relaxed: counts alone.
            started.load(Ordering::Relaxed) == people as u64
        });
        work();
        // Relaxed: a turn more does no harm.
        stop.store(true, Ordering::Relaxed);
        for thread in refreshing {
            let (number, turns) = thread.join().unwrap();
            let grants = replicas[0].grants(one_of_many(number));
            let last = grants.read(&grant()).unwrap().unwrap();
            assert_eq!(last.access.expose(), &format!("access-{turns}"));
        }
    });
}

#[test]
fn wrapping_key_is_changed_while_three_replicas_refresh() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let (old, new) = (Holder::new(1), Holder::new(2));
    // More than one batch of people who do nothing meanwhile.
    let quiet = open(&database, &old).unwrap();
    for number in 1000..1130 {
        quiet
            .grants(one_of_many(number))
            .put(&grant(), &tokens("quiet"))?;
    }
    let elsewhere = Person::new("globex", "https://idp.example eve").unwrap();
    quiet.grants(elsewhere).put(&grant(), &tokens("quiet"))?;
    drop(quiet);
    let replicas = [(); 3].map(|()| open_both(&database, [&new, &old]));
    assert_eq!((wraps(&database, &*old), wraps(&database, &*new)), (131, 0));
    let mut people = 0;
    under_load(&replicas, 12, || {
        people = replicas[1].rekey().unwrap().people;
    });
    assert_eq!(people, 143);
    assert_eq!((wraps(&database, &*old), wraps(&database, &*new)), (0, 143));
    let settled = "SELECT next_wrapper IS NULL AND previous_wrapper IS NULL, usable_by
                   FROM keyway.store";
    assert_eq!(database.sql(settled), "t|1");
    let noted = "SELECT string_agg(concat_ws(' ', tenant, person, outcome), ', ' ORDER BY tenant)
                 FROM keyway.audit WHERE event = 'wrapping-key'";
    assert_eq!(database.sql(noted), "acme  changed, globex  changed");
    for tenant in ["acme", "globex"] {
        let verified = replicas[0].verify_audit(tenant, |_| Ok::<_, StoreError>(()))?;
        assert!(verified.is_empty(), "{verified:?}");
    }
    drop(replicas);
    // Without the old key everything opens, also for a process that has nothing in memory.
    let after = open(&database, &new).unwrap();
    let read = after.grants(one_of_many(1129)).read(&grant())?.unwrap();
    assert_eq!(read.access.expose(), "access-quiet");
    assert_eq!(after.rekey()?.people, 0, "there is nothing left to do");
    assert_eq!(database.sql(noted), "acme  changed, globex  changed");
    let refused = open(&database, &old).unwrap_err();
    assert!(
        matches!(refused, PostgresError::OtherKey { .. }),
        "{refused}"
    );
    Ok(())
}

#[test]
fn key_is_not_changed_while_a_running_replica_lacks_the_new_one() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let (old, new) = (Holder::new(1), Holder::new(2));
    let behind = open(&database, &old).unwrap();
    behind.grants(ada()).put(&grant(), &tokens("1"))?;
    let before = database.sql("SELECT * FROM keyway.store");
    let replica = open_both(&database, [&new, &old]);
    let refused = replica.rekey().unwrap_err();
    let said = "1 running gateway does not have the new wrapping key yet; nothing was changed";
    assert_eq!(refused.to_string(), said);
    assert_eq!(database.sql("SELECT * FROM keyway.store"), before);
    // New people get a key that the other replica can open.
    let bob = Person::new("acme", "https://idp.example bob").unwrap();
    replica.grants(bob.clone()).put(&grant(), &tokens("bob"))?;
    assert!(behind.grants(bob).read(&grant())?.is_some());
    drop(behind);
    assert_eq!(replica.rekey()?.people, 2);
    Ok(())
}

#[test]
fn change_that_broke_off_is_continued() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let (old, new) = (Holder::new(1), Holder::new(2));
    let replica = open_both(&database, [&new, &old]);
    for number in 0..6 {
        replica
            .grants(one_of_many(number))
            .put(&grant(), &tokens("1"))?;
    }
    assert_eq!(
        wraps(&database, &*old),
        6,
        "the recorded key counts until then"
    );
    new.breaks_after(2);
    let broken = replica.rekey().unwrap_err();
    assert!(broken.to_string().contains("wrapping key"), "{broken}");
    assert_eq!((wraps(&database, &*old), wraps(&database, &*new)), (4, 2));
    assert_eq!(database.sql("SELECT usable_by FROM keyway.store"), "4");
    for one in [&old, &new] {
        new.breaks_after(u64::MAX);
        let refused = open(&database, one).unwrap_err();
        assert!(
            matches!(refused, PostgresError::OtherKey { .. }),
            "{refused}"
        );
    }
    drop(replica);
    let another = open_both(&database, [&new, &old]);
    for number in 0..6 {
        assert!(
            another
                .grants(one_of_many(number))
                .read(&grant())?
                .is_some()
        );
    }
    assert_eq!(another.rekey()?.people, 4);
    assert_eq!((wraps(&database, &*old), wraps(&database, &*new)), (0, 6));
    Ok(())
}

#[test]
fn key_that_neither_wrapping_key_opens_is_named_and_stays() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let (old, new) = (Holder::new(1), Holder::new(2));
    let replica = open_both(&database, [&new, &old]);
    for number in 0..3 {
        replica
            .grants(one_of_many(number))
            .put(&grant(), &tokens("1"))?;
    }
    database.sql("UPDATE keyway.person_keys SET wrapped = '\\x00' WHERE person LIKE '%1'");
    let left = replica.rekey().unwrap_err();
    assert!(
        left.to_string().starts_with("the key of 1 person"),
        "{left}"
    );
    assert_eq!((wraps(&database, &*old), wraps(&database, &*new)), (1, 2));
    replica.forget(&one_of_many(1))?;
    assert_eq!(replica.rekey()?.people, 0);
    let previous = database.sql("SELECT previous_wrapper IS NULL FROM keyway.store");
    assert_eq!(previous, "t");
    Ok(())
}

#[test]
fn holder_that_is_away_stops_no_person_whose_key_is_in_memory() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let holder = Holder::new(1);
    let replica = open(&database, &holder).unwrap();
    let grants = replica.grants(ada());
    let mut seen = grants.put(&grant(), &tokens("1"))?;
    holder.set_away(true);
    for minute in 1..=10 {
        database.advance(Duration::from_secs(60));
        let Claim::Claimed(claim) = grants.claim(&grant(), seen, CLAIM)? else {
            panic!("minute {minute}");
        };
        assert_eq!(claim.refresh.expose(), &format!("refresh-{minute}"));
        let new = tokens(&(minute + 1).to_string());
        let Commit::Committed { generation } = grants.commit(&grant(), seen, &new)? else {
            panic!("minute {minute}");
        };
        seen = generation;
    }
    let read = grants.read(&grant())?.unwrap();
    assert_eq!(read.access.expose(), "access-11");
    // A person whose key was not needed yet has to wait, and is told why.
    let bob = Person::new("acme", "https://idp.example bob").unwrap();
    let bob = replica.grants(bob);
    let refused = bob.put(&grant(), &tokens("bob")).unwrap_err();
    assert_eq!(refused.to_string(), "the wrapping key cannot be used now");
    assert!(refused.is_transient(), "waiting helps");
    assert_eq!(
        refused.code().as_str(),
        "store-unreachable",
        "a 503 at a gateway"
    );
    // So at another replica, which has to read it: no sign-in is damaged or lost.
    let cold = open(&database, &holder).unwrap().grants(ada());
    let refused = cold.read(&grant()).unwrap_err();
    assert_eq!(refused.code().as_str(), "store-unreachable");
    let refused = cold.claim(&grant(), seen, CLAIM).unwrap_err();
    assert_eq!(refused.code().as_str(), "store-unreachable");
    holder.set_away(false);
    bob.put(&grant(), &tokens("bob"))?;
    assert_eq!(cold.read(&grant())?.unwrap().access.expose(), "access-11");
    Ok(())
}
