//! How long the answer of a token endpoint is waited for.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use keyway_secret::Secret;
use url::Url;

use crate::BoxFuture;
use crate::oauth::exchange::exchange;
use crate::oauth::testing::{Kit, ManualClock, TOKEN};
use crate::ports::{HttpClient, HttpFailure, HttpRequest, HttpResponse};

/// A server that takes its time to be connected to, and then to answer.
#[derive(Debug)]
struct Slow {
    clock: Arc<ManualClock>,
    connects_after: Duration,
    answers_after: Duration,
}

impl HttpClient for Slow {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>> {
        Box::pin(async move {
            self.clock.sleep(self.connects_after).await;
            request.sent.set();
            self.clock.sleep(self.answers_after).await;
            let body = Secret::new(Vec::new());
            Ok(HttpResponse::new(200, HeaderMap::new(), body))
        })
    }
}

/// Returns what came of an exchange, and how long it took.
fn exchanged(connects: u64, answers: u64) -> (Result<HttpResponse, HttpFailure>, Duration) {
    let kit = Kit::new();
    let server = Slow {
        clock: Arc::clone(&kit.clock),
        connects_after: Duration::from_secs(connects),
        answers_after: Duration::from_secs(answers),
    };
    let request = HttpRequest::post(Url::parse(TOKEN).unwrap(), Secret::new(Vec::new()));
    kit.clock.let_pass(500);
    let before = kit.clock.passed();
    let answer = kit.run(exchange(&server, &*kit.tasks, request));
    (answer, kit.clock.passed() - before)
}

#[test]
fn rule_2_the_sixty_seconds_of_an_exchange_count_from_when_it_is_sent() {
    for (connects, answers) in [(0, 58), (25, 58)] {
        let (answer, took) = exchanged(connects, answers);
        assert_eq!(answer.unwrap().status, 200, "{connects}, {answers}");
        assert!(took.as_secs() >= connects + answers, "{took:?}");
    }
    for connects in [0, 25] {
        let (answer, took) = exchanged(connects, 600);
        let failure = answer.unwrap_err();
        let is_sent = matches!(failure, HttpFailure::Timeout { sent: true, .. });
        assert!(is_sent, "{failure}");
        assert!(took.as_secs() >= connects + 60, "{took:?}");
        assert!(took.as_secs() < 200, "it is not waited for ever: {took:?}");
    }
}
