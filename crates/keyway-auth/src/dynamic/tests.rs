//! Headers from a helper: when it runs, and for which requests.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_lite::future::{block_on, yield_now, zip};
use keyway_code::Code;
use keyway_secret::Secret;

use super::*;
use crate::helper_fault::HelperFault;

#[derive(Debug, Default)]
struct Script {
    runs: AtomicU32,
    output: std::sync::Mutex<Option<&'static [u8]>>,
}

impl HelperRunner for &Script {
    fn run(&self, _: Duration) -> BoxFuture<'_, Result<Secret<Vec<u8>>, HelperFault>> {
        Box::pin(async move {
            yield_now().await;
            let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
            let fixed = self.output.lock().unwrap().map(<[u8]>::to_vec);
            Ok(Secret::new(fixed.unwrap_or_else(|| {
                format!("{{\"X-Run\": \"{run}\"}}").into_bytes()
            })))
        })
    }
}

#[derive(Debug)]
struct ManualClock(std::sync::Mutex<Instant>);

impl Clock for &ManualClock {
    fn monotonic(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn wall(&self) -> std::time::SystemTime {
        std::time::SystemTime::UNIX_EPOCH
    }
}

fn hand() -> ManualClock {
    ManualClock(std::sync::Mutex::new(Instant::now()))
}

fn dynamic<'a>(
    script: &'a Script,
    hand: &'a ManualClock,
    renewal: Renewal,
) -> Dynamic<&'a Script, &'a ManualClock> {
    let header = |name: &'static str, value| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    let fixed = vec![header("x-run", "static"), header("x-tenant", "acme")];
    Dynamic::new(script, hand, renewal, Duration::from_secs(10), fixed)
}

const REFUSED: Challenge = Challenge {
    status: 401,
    www_authenticate: Vec::new(),
    dpop_nonce: None,
    attempt: 1,
};

#[test]
fn the_helper_overrides_a_static_header_of_the_same_name_and_keeps_the_others() {
    let (script, hand) = (Script::default(), hand());
    let credential = block_on(dynamic(&script, &hand, Renewal::Connection).obtain()).unwrap();
    let shown: Vec<_> = credential
        .expose()
        .iter()
        .map(|(n, v)| (n.as_str(), v.to_str().unwrap()))
        .collect();
    assert_eq!(shown, [("x-tenant", "acme"), ("x-run", "1")]);
}

#[test]
fn one_run_serves_a_connection_and_every_request_gets_its_own_where_asked() {
    for (renewal, runs) in [(Renewal::Connection, 1), (Renewal::Request, 3)] {
        let (script, hand) = (Script::default(), hand());
        let authorizer = dynamic(&script, &hand, renewal);
        for _ in 0..3 {
            block_on(authorizer.obtain()).unwrap();
        }
        assert_eq!(script.runs.load(Ordering::Relaxed), runs);
    }
}

#[test]
fn output_is_used_until_its_time_is_over() {
    let (script, hand) = (Script::default(), hand());
    let authorizer = dynamic(&script, &hand, Renewal::After(Duration::from_secs(60)));
    block_on(authorizer.obtain()).unwrap();
    *hand.0.lock().unwrap() += Duration::from_secs(59);
    block_on(authorizer.obtain()).unwrap();
    assert_eq!(script.runs.load(Ordering::Relaxed), 1);
    *hand.0.lock().unwrap() += Duration::from_secs(2);
    block_on(authorizer.obtain()).unwrap();
    assert_eq!(script.runs.load(Ordering::Relaxed), 2);
}

#[test]
fn refusals_of_one_credential_cause_one_run_however_many_wait() {
    let (script, hand) = (Script::default(), hand());
    let authorizer = dynamic(&script, &hand, Renewal::Connection);
    let used = block_on(authorizer.obtain()).unwrap();
    let (first, second) = block_on(zip(
        authorizer.challenged(&used, REFUSED),
        authorizer.challenged(&used, REFUSED),
    ));
    for verdict in [first, second] {
        assert!(matches!(verdict, Ok(Verdict::Retry(credential)) if credential.generation() == 2));
    }
    assert_eq!(script.runs.load(Ordering::Relaxed), 2);
}

#[test]
fn bad_output_is_an_error_and_the_last_good_credential_stays() {
    let (script, hand) = (Script::default(), hand());
    let authorizer = dynamic(&script, &hand, Renewal::Connection);
    let used = block_on(authorizer.obtain()).unwrap();
    *script.output.lock().unwrap() = Some(b"CANARY");
    let error = block_on(authorizer.challenged(&used, REFUSED)).unwrap_err();
    assert_eq!(error.code(), Code::HelperOutput);
    assert!(!format!("{error} {error:?}").contains("CANARY"));
    assert_eq!(authorizer.cached().unwrap().generation(), 1);
}

#[test]
fn request_that_is_refused_again_gets_no_second_run() {
    let (script, hand) = (Script::default(), hand());
    let authorizer = dynamic(&script, &hand, Renewal::Connection);
    let used = block_on(authorizer.obtain()).unwrap();
    let verdict = block_on(authorizer.challenged(&used, REFUSED)).unwrap();
    let Verdict::Retry(used) = verdict else {
        panic!("{verdict:?}");
    };
    let again = Challenge {
        attempt: 2,
        ..REFUSED
    };
    let verdict = block_on(authorizer.challenged(&used, again)).unwrap();
    assert!(matches!(verdict, Verdict::Stand));
    assert_eq!(script.runs.load(Ordering::Relaxed), 2);
}
