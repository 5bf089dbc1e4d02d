//! Renewals that gateways left behind when they died, made up for by those that run on.
//!
//! A server with a grace period takes the old token once more for a short while. So claims are looked
//! for all the time, of all people at once, and redeemed side by side.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use keyway::sign_in::Stores;
use keyway::store::{Generation, GrantKey};
use keyway_auth::oauth::OAuth;
use keyway_postgres::{DeadClaim, Person, Replica};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::Database;
use crate::served_sign_ins::ServedSignIns;
use crate::timeouts::{DEAD_CLAIM_LOOK_INTERVAL, DEAD_REPLICA_LOOK_INTERVAL};

/// Looks after what dead replicas left behind; never returns.
pub(super) async fn run(database: Database, served: Arc<dyn ServedSignIns>) {
    let rows = remove_rows(database.replica.clone());
    tokio::join!(rows, recover_claims(database, served));
}

/// Removes the rows of dead replicas. Apart from their claims, which must not wait for it.
async fn remove_rows(replica: Replica) {
    let mut beat = interval(DEAD_REPLICA_LOOK_INTERVAL);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let replica = replica.clone();
        // What stays is removed at the next look.
        let removed = tokio::task::spawn_blocking(move || drop(replica.remove_dead_replicas()));
        drop(removed.await);
    }
}

/// Looks for claims of dead replicas, and redeems them.
async fn recover_claims(database: Database, served: Arc<dyn ServedSignIns>) {
    let mut beat = interval(DEAD_CLAIM_LOOK_INTERVAL);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let mut under_way = UnderWay::default();
    loop {
        beat.tick().await;
        under_way.take_ended();
        let replica = database.replica.clone();
        let tenant = database.tenant.clone();
        // A database that is away has no news.
        let looked =
            tokio::task::spawn_blocking(move || replica.dead_claims(&tenant).unwrap_or_default());
        let found = looked.await.unwrap_or_default();
        let new: Vec<DeadClaim> = found
            .into_iter()
            .filter(|it| under_way.is_new(it))
            .collect();
        for (person, claims) in by_person(new) {
            let stores = database.stores(person);
            let oauth = sign_ins(Arc::clone(&served), stores).await;
            for claim in claims {
                match oauth.get(&claim.grant).cloned() {
                    Some(oauth) => {
                        let work = recover(oauth, claim.generation, Arc::clone(&slots));
                        under_way.begin(&claim, work);
                    }
                    // Not served here: left to its next use, and looked at again after a while.
                    None => under_way.begin(&claim, sleep(DEAD_REPLICA_LOOK_INTERVAL)),
                }
            }
        }
    }
}

async fn recover(oauth: OAuth, generation: Generation, slots: Arc<Semaphore>) {
    let Ok(_slot) = slots.acquire().await else {
        return;
    };
    // What fails here is told to the next request that needs the token.
    drop(oauth.recover(generation).await);
}

/// Returns the sign-ins of everything that is served, by their names.
pub(super) async fn sign_ins(
    served: Arc<dyn ServedSignIns>,
    stores: Stores,
) -> HashMap<GrantKey, OAuth> {
    // It reads plugins, and the store.
    let found = tokio::task::spawn_blocking(move || served.sign_ins(stores));
    let found = found.await.unwrap_or_default().into_iter();
    found.map(|oauth| (oauth.grant().clone(), oauth)).collect()
}

fn by_person(claims: Vec<DeadClaim>) -> HashMap<Person, Vec<DeadClaim>> {
    let mut all: HashMap<Person, Vec<DeadClaim>> = HashMap::new();
    for claim in claims {
        all.entry(claim.person.clone()).or_default().push(claim);
    }
    all
}

/// Renewals that were begun, so that none is begun twice.
#[derive(Default)]
struct UnderWay {
    claims: HashSet<String>,
    tasks: JoinSet<String>,
}

impl UnderWay {
    fn is_new(&self, claim: &DeadClaim) -> bool {
        !self.claims.contains(&name(claim))
    }

    fn begin(&mut self, claim: &DeadClaim, work: impl Future<Output = ()> + Send + 'static) {
        let name = name(claim);
        self.claims.insert(name.clone());
        self.tasks.spawn(async move {
            work.await;
            name
        });
    }

    fn take_ended(&mut self) {
        while let Some(ended) = self.tasks.try_join_next() {
            match ended {
                Ok(name) => drop(self.claims.remove(&name)),
                // Which one panicked is not known; each is tried again at most once more.
                Err(_) => self.claims.clear(),
            }
        }
    }
}

fn name(claim: &DeadClaim) -> String {
    format!("{:?} {}", claim.person, claim.grant.index())
}

/// How many are redeemed at once.
const AT_ONCE: usize = 64;
