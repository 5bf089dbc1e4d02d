//! The ceiling of token requests per issuer: a storm of expiries stays below it, no caller waits
//! whose token is good, and nothing is claimed by those that wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_lock::Semaphore;
use keyway_secret::{Clock as _, Secret};
use keyway_store::{GrantKey, GrantStore as _, Tokens};
use serde_json::json;
use url::Url;

use super::{eventually, redeemed};
use crate::Authorizer as _;
use crate::oauth::testing::{AS, Kit, MCP, Reply, TOKEN, bearer, cause};
use crate::oauth::{
    OAuth, OAuthError, RefreshLimit, RefreshLimits, RefreshOutcome, RefreshTraffic, Server,
};
use crate::ports::Tasks as _;

const STORM: usize = 60;
const LIMIT: RefreshLimit = RefreshLimit::new(20, 5);

fn traffic(limit: Option<RefreshLimit>) -> Arc<RefreshTraffic> {
    let limits = RefreshLimits::new(limit, BTreeMap::new());
    Arc::new(RefreshTraffic::new(limits))
}

/// An authorization server that counts: when each refresh token came, by the clock of the test.
struct Counting(Arc<Mutex<Vec<(String, Duration)>>>);

impl Counting {
    fn settle(kit: &Kit) -> Self {
        let journal = Arc::new(Mutex::new(Vec::new()));
        let (seen, clock) = (Arc::clone(&journal), kit.clock.clone());
        kit.world.answer(TOKEN, move |request| {
            let token = request.field("refresh_token");
            let mut seen = seen.lock().unwrap();
            seen.push((token.clone(), clock.passed()));
            Reply::json(
                200,
                &json!({
                    "access_token": format!("new-{token}"),
                    "refresh_token": format!("{token}+"),
                    "token_type": "Bearer",
                    "expires_in": 3600,
                }),
            )
        });
        Self(journal)
    }

    fn times(&self) -> Vec<Duration> {
        let journal = self.0.lock().unwrap();
        let mut tokens: Vec<_> = journal.iter().map(|(token, _)| token).collect();
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), journal.len(), "each is redeemed once");
        journal.iter().map(|(_, at)| *at).collect()
    }
}

/// Sign-ins of many people, all of which have expired, at as many hosts as there are traffics.
fn expired(kit: &Kit, hosts: &[Arc<RefreshTraffic>]) -> Vec<OAuth> {
    kit.signed_in();
    let details = kit.stored().unwrap().details;
    let sign_in = |number: usize| {
        let key = GrantKey::new("default").server("search");
        let key = key.account(format!("person {number}"));
        let tokens = Tokens::new(Secret::new(format!("old-{number}")))
            .with_refresh(Secret::new(format!("token-{number}")))
            .with_details(details.clone())
            .with_lifetime(Duration::from_secs(60));
        kit.shelf.put(&key, &tokens).unwrap();
        let mut ports = kit.ports(&kit.shelf);
        ports.traffic = Arc::clone(&hosts[number % hosts.len()]);
        let url = Url::parse(MCP).unwrap();
        let server = Server::new("search".to_owned(), url, key);
        let settings = kit.settings.clone();
        OAuth::new(server, settings, ports, kit.prompt_policy, Vec::new())
    };
    let all = (0..STORM).map(sign_in).collect();
    kit.clock.advance(Duration::from_secs(61));
    all
}

/// All of them ask for their token at once; returns when the requests came, from the first.
fn storm(kit: &Kit, people: &[OAuth]) -> Vec<Duration> {
    let counting = Counting::settle(kit);
    let done = Arc::new(Semaphore::new(0));
    kit.clock.let_pass(25);
    for oauth in people {
        let (oauth, done) = (oauth.clone(), Arc::clone(&done));
        kit.tasks.spawn(Box::pin(async move {
            let credential = oauth.obtain().await.unwrap();
            assert!(bearer(&credential).starts_with("Bearer new-token-"));
            done.add_permits(1);
        }));
    }
    let all_done = async {
        for _ in people {
            done.acquire().await.forget();
        }
    };
    kit.run(all_done);
    let times = counting.times();
    let first = times[0];
    times.into_iter().map(|at| at - first).collect()
}

/// Returns the largest number of requests beyond the rate, in any stretch of time.
fn beyond(times: &[Duration], rate: u32) -> f64 {
    let mut most = 0.0_f64;
    for (first, from) in times.iter().enumerate() {
        for (count, until) in times[first..].iter().enumerate() {
            let allowed = f64::from(rate) * (*until - *from).as_secs_f64();
            let count = u32::try_from(count + 1).unwrap();
            most = most.max(f64::from(count) - allowed);
        }
    }
    most
}

#[test]
fn storm_without_a_ceiling_makes_exactly_one_request_for_each_expiry() {
    let kit = Kit::new();
    let host = traffic(None);
    let people = expired(&kit, &[Arc::clone(&host)]);
    let times = storm(&kit, &people);
    assert_eq!(times.len(), STORM);
    let counts = host.counts();
    let issuer = &counts.issuers[AS];
    let storm = u64::try_from(STORM).unwrap();
    assert_eq!(issuer.outcome(RefreshOutcome::Stored), storm);
    assert_eq!((issuer.exchanges, issuer.in_flight), (storm, 0));
    assert_eq!((issuer.waiting, issuer.ceiling_waits), (0, 0));
    assert_eq!((counts.token_hits, counts.token_misses), (0, storm));
    assert!(
        beyond(&times, LIMIT.per_second) > 20.0,
        "a flood without it"
    );
}

/// What waits for the same threads and connections is what stores the tokens that were spent.
#[test]
fn storm_keeps_no_more_claims_waiting_than_leave_room_for_commits() {
    let kit = Kit::new();
    let people = expired(&kit, &[traffic(None)]);
    let door = kit.shelf.claims();
    door.close();
    let opener = Arc::clone(&door);
    let opening = std::thread::spawn(move || {
        eventually("half of the threads have a claim", || opener.most() >= 32);
        opener.open();
    });
    assert_eq!(storm(&kit, &people).len(), STORM);
    opening.join().unwrap();
    assert_eq!(door.most(), 32);
}

#[test]
fn storm_below_a_ceiling_never_exceeds_it() {
    let kit = Kit::new();
    let host = traffic(Some(LIMIT));
    let people = expired(&kit, &[Arc::clone(&host)]);
    let times = storm(&kit, &people);
    assert_eq!(times.len(), STORM);
    // A pass of the clock is 25 ms, in which half a request becomes due.
    let beyond = beyond(&times, LIMIT.per_second);
    assert!(
        beyond <= f64::from(LIMIT.burst) + 1.0,
        "{beyond}: {times:?}"
    );
    let counts = host.counts();
    assert!(counts.issuers[AS].ceiling_waits > 40, "{counts:?}");
    assert_eq!(counts.issuers[AS].waiting, 0);
}

#[test]
fn hosts_that_share_a_ceiling_never_exceed_it_together() {
    let kit = Kit::new();
    let hosts = [(); 3].map(|()| traffic(Some(LIMIT)));
    let people = expired(&kit, &hosts);
    for host in &hosts {
        let now = kit.clock.monotonic();
        let until = now + Duration::from_secs(3600);
        host.share_with_others();
        host.share(3, now, (now, until));
    }
    let times = storm(&kit, &people);
    assert_eq!(times.len(), STORM);
    let beyond = beyond(&times, LIMIT.per_second);
    // Each begins with one request.
    assert!(
        beyond <= f64::from(LIMIT.burst) + 3.0,
        "{beyond}: {times:?}"
    );
}

#[test]
fn caller_with_a_good_token_does_not_wait_for_the_ceiling() {
    let mut kit = Kit::new();
    kit.traffic = traffic(Some(RefreshLimit::new(1, 1)));
    let oauth = kit.signed_in();
    for _ in 0..20 {
        kit.traffic.turn_in_advance(AS, &*kit.clock);
    }
    kit.clock.advance(Duration::from_secs(3575));
    for _ in 0..20 {
        kit.traffic.turn_in_advance(AS, &*kit.clock);
    }
    for _ in 0..100 {
        assert_eq!(bearer(&oauth.cached().unwrap()), "Bearer at-1");
    }
    eventually("it waits", || {
        let counts = kit.traffic.counts();
        counts.issuers.get(AS).is_some_and(|it| it.waiting == 1)
    });
    assert_eq!(redeemed(&kit), 0);
    assert_eq!(bearer(&oauth.cached().unwrap()), "Bearer at-1");
    eventually("its turn comes", || {
        kit.clock.advance(Duration::from_millis(200));
        redeemed(&kit) == 1
    });
    assert_eq!(kit.traffic.counts().token_hits, 101);
}

#[test]
fn what_waits_for_the_ceiling_holds_no_claim_and_its_caller_is_told() {
    let mut kit = Kit::new();
    kit.traffic = traffic(Some(RefreshLimit::new(1, 1)));
    let oauth = kit.signed_in();
    kit.clock.advance(Duration::from_secs(3601));
    for _ in 0..60 {
        kit.traffic.turn_in_advance(AS, &*kit.clock);
    }
    kit.clock.let_pass(500);
    let error = kit.run(oauth.obtain()).unwrap_err();
    let error = cause(error);
    assert!(
        matches!(&error, OAuthError::RenewalQueued { issuer, seconds: 10 } if issuer == AS),
        "{error}"
    );
    assert!(error.is_transient());
    assert_eq!(redeemed(&kit), 0);
    // Another process, whose turn it is, finds nothing in its way.
    let other = kit.other_shelf();
    kit.traffic = traffic(None);
    assert_eq!(kit.call(&kit.process(&other)).unwrap(), 200);
    assert_eq!(redeemed(&kit), 1);
    // The first takes that over when its turn comes, and sends nothing.
    eventually("its turn comes", || {
        kit.clock.advance(Duration::from_millis(500));
        oauth.cached().is_some()
    });
    assert_eq!(bearer(&oauth.cached().unwrap()), "Bearer at-2");
    assert_eq!(redeemed(&kit), 1);
}
