//! The stream, its order, its bounds, and what it never holds.

use std::sync::Mutex;

use keyway_code::Code;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::source::Source;
use keyway_testkit::PATIENCE;
use serde_json::Value;

use super::*;

#[derive(Debug, Default)]
struct Diary(Mutex<Vec<String>>);

impl Listener for Diary {
    fn event(&self, event: &Event) {
        let line = event.to_json();
        self.0.lock().unwrap().push(line);
    }

    fn wants(&self, topic: Topic) -> bool {
        topic == Topic::Helper
    }

    fn note(&self, topic: Topic, server: Option<&str>, line: &str) {
        let line = format!("{} {} {line}", topic.as_str(), server.unwrap_or("-"));
        self.0.lock().unwrap().push(line);
    }
}

impl Diary {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn observed() -> (Events, Arc<Diary>) {
    let diary = Arc::new(Diary::default());
    (Events::new(vec![diary.clone()]), diary)
}

#[test]
fn every_kind_is_one_line_of_the_same_shape() {
    let (events, diary) = observed();
    for kind in Kind::ALL {
        events.emit(*kind, Some("s"), None);
    }
    events.failed("s", Code::Timeout);
    let lines = diary.lines();
    assert_eq!(lines.len(), Kind::ALL.len() + 1);
    for (at, line) in lines.iter().enumerate() {
        let object: Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["schema_version"], 1);
        assert_eq!(object["seq"], at);
        assert_eq!(object["server"], "s");
        let ts = object["ts"].as_str().unwrap();
        assert_eq!((ts.len(), &ts[10..11], &ts[19..20]), (24, "T", "."), "{ts}");
        let kind = Kind::ALL.get(at).copied().unwrap_or(Kind::ServerFailed);
        assert_eq!(object["event"], kind.as_str());
    }
    assert!(
        lines[Kind::ALL.len()]
            .ends_with(r#""event":"server.failed","server":"s","code":"timeout"}"#)
    );
}

#[tokio::test]
async fn a_slow_reader_loses_the_oldest_and_blocks_nothing() {
    let (events, diary) = observed();
    let mut stream = events.subscribe();
    for _ in 0..stream::CAPACITY + 10 {
        events.emit(Kind::HelperRan, None, None);
    }
    assert_eq!(
        diary.lines().len(),
        stream::CAPACITY + 10,
        "a listener loses nothing"
    );
    assert_eq!(stream.next().await.unwrap().seq, 10);
    assert_eq!(stream.lost(), 10);
    assert_eq!(stream.next().await.unwrap().seq, 11);
    drop(events);
    let rest = async {
        let mut count = 0;
        while stream.next().await.is_some() {
            count += 1;
        }
        count
    };
    let rest = tokio::time::timeout(PATIENCE, rest).await;
    assert_eq!(rest.unwrap(), stream::CAPACITY - 2, "and then it ends");
}

#[tokio::test]
async fn a_reader_that_waits_is_woken_by_the_next_event_and_by_the_end() {
    let (events, _) = observed();
    let mut stream = events.subscribe();
    let (read, now) = tokio::sync::oneshot::channel();
    let reader = tokio::spawn(async move {
        let first = stream.next().await.map(|event| event.kind);
        read.send(()).unwrap();
        (first, stream.next().await)
    });
    tokio::task::yield_now().await;
    events.emit(Kind::HelperRan, None, None);
    now.await.unwrap();
    drop(events);
    let read = tokio::time::timeout(PATIENCE, reader).await;
    assert_eq!(read.unwrap().unwrap(), (Some(Kind::HelperRan), None));
}

#[tokio::test]
async fn without_a_listener_nothing_is_made() {
    let events = Events::default();
    events.emit(Kind::HelperRan, None, None);
    events.note(Topic::Helper, None, || unreachable!());
    assert!(!events.watch("s").is_on());
    assert!(events.observer().is_none());
    assert_eq!(events.subscribe().next().await, None);
}

#[test]
fn notes_are_made_only_for_listeners_of_their_topic() {
    let (events, diary) = observed();
    events.note(Topic::OAuth, None, || unreachable!());
    events.watch("s").note(Topic::Transport, || unreachable!());
    assert!(events.observer().is_none(), "no listener for requests");
    events.watch("s").note(Topic::Helper, || "a\nb".to_owned());
    assert_eq!(diary.lines(), ["helper s a b"]);
}

#[test]
fn a_server_that_is_named_like_a_token_is_not_told_by_that_name() {
    let token = ["ghp", "_", "q7Zt9Lw2pXc4VbN8mKj5Hg3Fd6Rs1Ty0q7Zt"].concat();
    let (events, diary) = observed();
    events.failed(&token, Code::Timeout);
    events
        .watch(&token)
        .note(Topic::Helper, || "ran".to_owned());
    let all = diary.lines().join("\n");
    assert!(!all.contains(&token[4..]), "{all}");
}

#[test]
fn entries_that_are_left_out_are_told_with_the_reason() {
    let text = r#"{"a": {"command": "x"}, "b": {"command": "x", "disabled": true},
        "c": {"type": "pigeon", "url": "x"}, "d": {"command": ""}}"#;
    let broken = r#"{"e": {"command": "x"},}"#;
    let (events, diary) = observed();
    events.plugin(&plugin(&[text, broken]));
    assert_eq!(
        told(&diary),
        [
            "config.loaded a -",
            "config.skipped b disabled",
            "config.skipped c unknown-type",
            "config.skipped d invalid-entry",
            "config.skipped e invalid-json",
        ]
    );
}

#[test]
fn of_a_plugin_that_is_read_again_only_what_is_new_is_told() {
    let (events, diary) = observed();
    let entries = r#"{"a": {"command": "x"}, "b": {"command": "x"}}"#;
    for _ in 0..3 {
        events.plugin(&plugin(&[entries, entries]));
    }
    events.plugin(&plugin(&[r#"{"a": {"command": "x", "disabled": true}}"#]));
    events.plugin(&plugin(&[entries]));
    let loaded = ["config.loaded a -", "config.loaded b -"];
    let skipped = ["config.skipped a disabled"];
    // What is back after it was gone is new.
    let all = [&loaded[..], &loaded, &skipped, &loaded].concat();
    assert_eq!(told(&diary), all);
}

fn plugin(documents: &[&str]) -> Plugin {
    let document = |(number, text): (usize, &&str)| {
        let source = Source::new(&format!("{number}.json"), text.as_bytes());
        Document::parse(source, DocumentKind::Entries)
    };
    Plugin::new("", documents.iter().enumerate().map(document).collect())
}

/// Returns event, server and code of each line.
fn told(diary: &Diary) -> Vec<String> {
    let lines = diary.lines();
    let told = lines.iter().map(|line| {
        let object: Value = serde_json::from_str(line).unwrap();
        let word = |name: &str| object[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", word("event"), word("server"), word("code"))
    });
    told.collect()
}

#[test]
fn events_name_their_plugin_client_and_process() {
    let (events, diary) = observed();
    let scoped = events.for_plugin("p");
    scoped.failed("s", Code::Timeout);
    let client = scoped.watch("s").for_client("c/1.2");
    client.emit(ServerEvent::Connected);
    scoped.watch("s").emit(ServerEvent::Refreshed);
    events.failed("s", Code::Timeout);
    let lines: Vec<Value> = diary
        .lines()
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let pid = std::process::id();
    for (at, line) in lines.iter().enumerate() {
        assert_eq!((&line["seq"], &line["pid"]), (&at.into(), &pid.into()));
    }
    let said = |at: usize| (lines[at]["plugin"].as_str(), lines[at]["client"].as_str());
    assert_eq!(said(0), (Some("p"), None));
    assert_eq!(said(1), (Some("p"), Some("c/1.2")));
    assert_eq!(said(2), (Some("p"), None));
    assert_eq!(said(3), (None, None));
}
