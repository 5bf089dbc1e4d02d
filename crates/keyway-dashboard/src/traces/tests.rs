//! What a collector is told, and what it is never told.

use std::future::ready;
use std::sync::Mutex;

use http::HeaderMap;
use keyway_auth::BoxFuture;
use keyway_auth::ports::{HttpFailure, HttpResponse};
use serde_json::Value;

use super::*;
use crate::activity::{Activity, Outcome, RequestSummary};
use crate::trace_parent::TraceParent;

fn settings(variables: &[(&str, &str)]) -> Result<Option<TraceSettings>, TraceSettingsError> {
    TraceSettings::read(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn asked(parent: Option<&str>) -> RequestSummary {
    let mut asked = RequestSummary::new("client", "tools/call");
    asked.server = Some(("p".to_owned(), "s".to_owned()));
    asked.tool = Some("echo".to_owned());
    asked.parent = parent.and_then(TraceParent::parse);
    asked
}

/// A collector that keeps what it gets.
#[derive(Debug, Default)]
struct Collector {
    seen: Mutex<Vec<(HeaderMap, Value)>>,
    refuses: Mutex<u32>,
}

impl HttpClient for Collector {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>> {
        Box::pin(async move {
            let mut refuses = self.refuses.lock().unwrap();
            let status = if *refuses > 0 {
                *refuses -= 1;
                503
            } else {
                let body = request.body.unwrap();
                let body = serde_json::from_slice(body.expose()).unwrap();
                self.seen.lock().unwrap().push((request.headers, body));
                200
            };
            let body = Secret::new(Vec::new());
            Ok(HttpResponse::new(status, HeaderMap::new(), body))
        })
    }
}

async fn sent(
    variables: &[(&str, &str)],
    collector: Collector,
    fill: impl FnOnce(&Arc<Activity>),
) -> Vec<(HeaderMap, Value)> {
    let (tracer, export) = traces(settings(variables).unwrap().unwrap());
    let activity = Arc::new(Activity::default().with_sink(tracer));
    fill(&activity);
    let collector = Arc::new(collector);
    export.run(Arc::clone(&collector) as _, ready(())).await;
    std::mem::take(&mut *collector.seen.lock().unwrap())
}

const LOCAL: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/");

#[tokio::test]
async fn a_request_becomes_a_span_of_the_trace_that_its_client_is_in() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let variables = [
        LOCAL,
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
        ("OTEL_SERVICE_NAME", "mine"),
    ];
    let seen = sent(&variables, Collector::default(), |activity| {
        activity
            .begin(asked(Some(parent)))
            .end(Outcome::Error(-32602));
    })
    .await;
    let (headers, body) = &seen[0];
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["x-key"], "a b");
    assert!(headers["x-key"].is_sensitive());
    let resource = &body["resourceSpans"][0];
    assert_eq!(
        resource["resource"]["attributes"][0]["value"]["stringValue"],
        "mine"
    );
    let span = &resource["scopeSpans"][0]["spans"][0];
    assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span["parentSpanId"], "b7ad6b7169203331");
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
    assert_ne!(span["spanId"], span["parentSpanId"]);
    assert_eq!(span["name"], "tools/call echo");
    assert_eq!(span["status"]["code"], 2);
    let nanos = |name: &str| span[name].as_str().unwrap().parse::<u128>().unwrap();
    assert!(nanos("endTimeUnixNano") >= nanos("startTimeUnixNano"));
    assert!(nanos("startTimeUnixNano") > 1_700_000_000_000_000_000);
    let text = span["attributes"].to_string();
    for expected in ["\"p\"", "\"s\"", "\"client\"", "-32602"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[tokio::test]
async fn unsampled_spans_are_not_sent() {
    let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let fill = |activity: &Arc<Activity>| drop(activity.begin(asked(Some(unsampled))));
    assert!(sent(&[LOCAL], Collector::default(), fill).await.is_empty());
    let off = [LOCAL, ("OTEL_TRACES_SAMPLER", "always_off")];
    let fill = |activity: &Arc<Activity>| drop(activity.begin(asked(None)));
    assert!(sent(&off, Collector::default(), fill).await.is_empty());
    let half = [
        LOCAL,
        ("OTEL_TRACES_SAMPLER", "traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.5"),
    ];
    let seen = sent(&half, Collector::default(), |activity| {
        for _ in 0..400 {
            drop(activity.begin(asked(None)));
        }
    })
    .await;
    let spans = seen[0].1["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
    assert!((100..300).contains(&spans.unwrap().len()));
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_is_busy_is_asked_again_and_gets_every_span_once() {
    let collector = Collector {
        refuses: Mutex::new(2),
        ..Collector::default()
    };
    let seen = sent(&[LOCAL], collector, |activity| {
        drop(activity.begin(asked(None)));
    })
    .await;
    assert_eq!(seen.len(), 1);
}

#[test]
fn a_full_queue_drops_spans_and_delays_no_request() {
    let (tracer, export) = traces(settings(&[LOCAL]).unwrap().unwrap());
    let activity = Arc::new(Activity::default().with_sink(tracer));
    for _ in 0..QUEUE + 5 {
        drop(activity.begin(asked(None)));
    }
    assert_eq!(export.lost.load(Ordering::Relaxed), 5);
}

#[test]
fn spans_go_only_to_a_configured_collector() {
    assert!(settings(&[]).unwrap().is_none());
    assert!(
        settings(&[LOCAL, ("OTEL_SDK_DISABLED", "true")])
            .unwrap()
            .is_none()
    );
    assert!(
        settings(&[LOCAL, ("OTEL_TRACES_EXPORTER", "none")])
            .unwrap()
            .is_none()
    );
    let found = settings(&[("OTEL_TRACES_EXPORTER", "otlp")]).unwrap();
    assert_eq!(
        found.unwrap().endpoint.as_str(),
        "http://localhost:4318/v1/traces"
    );
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c.example/x");
    let found = settings(&[LOCAL, own]).unwrap();
    assert_eq!(found.unwrap().endpoint.as_str(), "https://c.example/x");
}

#[test]
fn a_variable_that_is_wrong_is_named_and_never_shown() {
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_TRACES_SAMPLER", "canary"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "canary"),
        ("OTEL_TRACES_EXPORTER", "canary"),
        ("OTEL_BSP_SCHEDULE_DELAY", "canary"),
    ] {
        let error = settings(&[LOCAL, (name, value)]).unwrap_err();
        assert_eq!(error.name, name);
        assert!(!error.to_string().contains("canary"));
    }
    for address in ["http://collector.example:4318", "ftp://localhost/", "x"] {
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", address)];
        assert!(settings(&variables).is_err(), "{address}");
    }
}

#[test]
fn a_parent_that_is_malformed_counts_as_absent() {
    for text in [
        "",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-011",
    ] {
        assert_eq!(TraceParent::parse(text), None, "{text}");
    }
    let newer = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more";
    assert!(TraceParent::parse(newer).unwrap().is_sampled);
}
