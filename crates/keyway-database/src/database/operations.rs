//! What an admin sees of the database and can do for a person, and what is measured of it.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use keyway::store::StoreError;
use keyway_auth::BoxFuture;
use keyway_auth::oauth::RefreshTraffic;
use keyway_dashboard::team::{
    GrantStates, TeamBackend, TeamOutcome, TeamPerson, TeamReplica, TeamView,
};
use keyway_postgres::{KeyAges, Person, ReplicaCounts, ReplicaSummary, SignInStates};
use tokio::time::{MissedTickBehavior, interval};

use super::{Database, recovery};
use crate::metric::DatabaseMetric;
use crate::served_sign_ins::ServedSignIns;
use crate::timeouts::{
    KEY_AGE_LOOK_INTERVAL, REPLICA_LOOK_INTERVAL, REPLICA_LOOK_LIFETIME, TEAM_OUTCOMES_WINDOW,
};

/// What was last seen of the database.
#[derive(Clone, Debug, Default)]
pub struct DatabaseState(Arc<Mutex<Seen>>);

/// Held for a copy.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    keys: Option<(KeyAges, Instant)>,
    replicas: Option<u64>,
}

impl Database {
    /// Returns what is known of the database now; asks nothing.
    #[must_use]
    pub fn measures(&self, state: &DatabaseState) -> Measures {
        let seen = state.seen();
        Measures {
            counts: self.replica.counts(),
            is_ready: self.is_ready(),
            keys: seen.keys,
            replicas: seen.replicas,
        }
    }

    /// Follows how many replicas there are, so that all of them together stay below the ceilings of
    /// token requests, and how old keys are; never returns.
    ///
    /// Cancel safety: nothing is changed; without news no token request becomes due.
    pub async fn follow(self, traffic: Arc<RefreshTraffic>, state: DatabaseState) {
        traffic.share_with_others();
        tokio::join!(
            self.clone().follow_replicas(traffic, state.clone()),
            self.follow_keys(state),
        );
    }

    async fn follow_replicas(self, traffic: Arc<RefreshTraffic>, state: DatabaseState) {
        let mut beat = interval(REPLICA_LOOK_INTERVAL);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut joined = None;
        loop {
            beat.tick().await;
            let begun = Instant::now();
            let replica = self.replica.clone();
            let looked = tokio::task::spawn_blocking(move || replica.replicas()).await;
            // Without news the time of the last look runs out.
            let Ok(Ok(replicas)) = looked else { continue };
            // One that is dead counts until its row is removed: nothing is sent too early.
            let count = u32::try_from(replicas.len()).unwrap_or(u32::MAX).max(1);
            let from = *joined.get_or_insert_with(|| match count {
                1 => begun,
                // Until then all others have looked, or have stopped for want of news.
                _ => begun + REPLICA_LOOK_LIFETIME,
            });
            traffic.share(count, Instant::now(), (from, begun + REPLICA_LOOK_LIFETIME));
            let alive = replicas.iter().filter(|it| it.is_held).count();
            state.set(|seen| seen.replicas = u64::try_from(alive).ok());
        }
    }

    async fn follow_keys(self, state: DatabaseState) {
        let mut beat = interval(KEY_AGE_LOOK_INTERVAL);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            let (replica, tenant) = (self.replica.clone(), self.tenant.clone());
            let looked = tokio::task::spawn_blocking(move || replica.key_ages(&tenant)).await;
            if let Ok(Ok(ages)) = looked {
                state.set(|seen| seen.keys = Some((ages, Instant::now())));
            }
        }
    }

    /// Signs a person out of everything that is served here, and deletes what is left of them.
    async fn sign_person_out(
        self,
        person: String,
        served: Arc<dyn ServedSignIns>,
    ) -> Result<String, StoreError> {
        let whole = Person::new(&*self.tenant, person)?;
        let stores = self.stores(whole.clone());
        let mut revoked = 0_usize;
        for oauth in recovery::sign_ins(served, stores).await.into_values() {
            // One that cannot be revoked is deleted all the same.
            if let Ok(ended) = oauth.sign_out().await
                && ended.existed
            {
                revoked += 1;
            }
        }
        let replica = self.replica.clone();
        let forgotten = tokio::task::spawn_blocking(move || replica.forget(&whole)).await;
        forgotten.unwrap_or(Ok(false))?;
        Ok(match revoked {
            1 => "Signed out of 1 server; all sign-ins of this person are deleted.".to_owned(),
            n => format!("Signed out of {n} servers; all sign-ins of this person are deleted."),
        })
    }
}

impl DatabaseState {
    fn set(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn seen(&self) -> Seen {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is measured of the database.
#[derive(Debug)]
pub struct Measures {
    counts: ReplicaCounts,
    is_ready: bool,
    keys: Option<(KeyAges, Instant)>,
    replicas: Option<u64>,
}

impl Measures {
    /// Returns them as samples of one name each.
    #[must_use]
    pub fn metrics(&self) -> Vec<DatabaseMetric> {
        let counts = self.counts;
        let mut all = vec![
            DatabaseMetric::new(
                "keyway_claim_takeovers_total",
                "counter",
                "Renewals taken over from another replica, by what became of that.",
                vec![
                    ("cause=\"replica-died\"", counts.takeovers_died.to_string()),
                    (
                        "cause=\"replica-ended\"",
                        counts.takeovers_ended.to_string(),
                    ),
                    ("cause=\"overdue\"", counts.takeovers_overdue.to_string()),
                ],
            ),
            DatabaseMetric::new(
                "keyway_database_connections",
                "gauge",
                "Connections in the pool.",
                vec![
                    ("state=\"used\"", counts.connections_used.to_string()),
                    (
                        "state=\"idle\"",
                        (counts.connections.saturating_sub(counts.connections_used)).to_string(),
                    ),
                ],
            ),
            DatabaseMetric::new(
                "keyway_database_connections_limit",
                "gauge",
                "Connections that the pool may have.",
                vec![("", counts.connections_most.to_string())],
            ),
            DatabaseMetric::new(
                "keyway_database_waiting",
                "gauge",
                "Statements that wait for a connection.",
                vec![("", counts.connections_awaited.to_string())],
            ),
            DatabaseMetric::new(
                "keyway_database_ready",
                "gauge",
                "Whether the database can be reached.",
                vec![("", u8::from(self.is_ready).to_string())],
            ),
        ];
        if let Some(replicas) = self.replicas {
            let what = "Processes that use the database and live.";
            let values = vec![("", replicas.to_string())];
            all.push(DatabaseMetric::new(
                "keyway_replicas",
                "gauge",
                what,
                values,
            ));
        }
        if let Some((keys, at)) = self.keys {
            let since = at.elapsed();
            let mut ages = vec![("key=\"wrapping\"", (keys.wrapping + since).as_secs())];
            if let Some(oldest) = keys.oldest_data {
                ages.push(("key=\"oldest-data\"", (oldest + since).as_secs()));
            }
            let ages = ages
                .into_iter()
                .map(|(label, age)| (label, age.to_string()));
            all.push(DatabaseMetric::new(
                "keyway_key_age_seconds",
                "gauge",
                "Age of the wrapping key, and of the oldest data key.",
                ages.collect(),
            ));
            all.push(DatabaseMetric::new(
                "keyway_data_keys",
                "gauge",
                "Data keys, one for each person and one for what all share.",
                vec![("", keys.data_keys.to_string())],
            ));
        }
        all
    }
}

/// What an admin sees and does.
#[derive(Debug)]
pub struct DatabaseTeam {
    database: Database,
    served: Arc<dyn ServedSignIns>,
}

impl DatabaseTeam {
    /// Signs people out of what `served` names.
    #[must_use]
    pub const fn new(database: Database, served: Arc<dyn ServedSignIns>) -> Self {
        Self { database, served }
    }
}

impl TeamBackend for DatabaseTeam {
    fn look<'a>(&'a self, part: &'a str) -> BoxFuture<'a, Result<TeamView, StoreError>> {
        let (database, part) = (self.database.clone(), part.to_owned());
        Box::pin(async move {
            let looked = tokio::task::spawn_blocking(move || view(&database, &part));
            looked.await.unwrap_or_else(|_| Ok(TeamView::default()))
        })
    }

    fn sign_out<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Result<String, StoreError>> {
        let (database, served) = (self.database.clone(), Arc::clone(&self.served));
        // In a task of its own: a browser that goes away does not leave half of it undone.
        let done = tokio::spawn(database.sign_person_out(person.to_owned(), served));
        Box::pin(async move { done.await.unwrap_or_else(|_| Ok(FAILED.to_owned())) })
    }
}

fn view(database: &Database, part: &str) -> Result<TeamView, StoreError> {
    let (replica, tenant) = (&database.replica, &*database.tenant);
    let mut people = replica.people(tenant, part, MOST_PEOPLE + 1)?;
    let most = usize::try_from(MOST_PEOPLE).unwrap_or(usize::MAX);
    let mut view = TeamView::default();
    view.has_more = people.len() > most;
    people.truncate(most);
    let (people_total, total) = replica.sign_in_states(tenant)?;
    view.people_total = people_total;
    view.total = states(total);
    let of = |it: keyway_postgres::PersonSummary| TeamPerson::new(it.person, states(it.states));
    view.people = people.into_iter().map(of).collect();
    let of = |it: ReplicaSummary| {
        TeamReplica::new(it.owner.to_string(), it.age, (it.is_held, it.is_self))
    };
    view.replicas = replica.replicas()?.into_iter().map(of).collect();
    let outcomes = replica.refresh_outcomes(tenant, TEAM_OUTCOMES_WINDOW)?;
    let of = |it: keyway_postgres::OutcomeCount| TeamOutcome::new(it.outcome, it.cause, it.count);
    view.outcomes = outcomes.into_iter().map(of).collect();
    Ok(view)
}

const fn states(states: SignInStates) -> GrantStates {
    GrantStates::new([
        states.sign_ins,
        states.renewing,
        states.needs_reauth,
        states.not_renewable,
    ])
}

/// How many people a page shows.
const MOST_PEOPLE: u32 = 100;
const FAILED: &str = "The sign-out was interrupted; try again.";
