//! The stdio transport against real children.

use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use keyway_code::Code;
use keyway_transport::{Connection, Event, Frame, RequestId, StdioServer, TransportError};
use serde_json::{Value, json};

use crate::{DEADLINE, LogLines, PATH, is_alive, launcher, program, until};

pub(crate) fn server() -> StdioServer {
    let mut server = StdioServer::new("child", program(&["server"]));
    server.secrets = vec!["hunter2222".to_owned().into()];
    server
}

async fn open(server: StdioServer) -> Connection {
    server.open(&launcher()).await.unwrap().0
}

fn request(id: u64, method: &str, params: &Value) -> Frame {
    let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    Frame::new(text.to_string()).unwrap()
}

pub(crate) async fn next(connection: &mut Connection) -> Event {
    tokio::time::timeout(DEADLINE, connection.events.recv())
        .await
        .unwrap()
        .unwrap()
}

async fn answer(connection: &mut Connection) -> Value {
    match next(connection).await {
        Event::Frame(frame) => {
            serde_json::from_slice::<Value>(frame.bytes()).unwrap()["result"].take()
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn call(connection: &mut Connection, method: &str, params: Value) -> Value {
    connection
        .link
        .send(request(1, method, &params))
        .await
        .unwrap();
    answer(connection).await
}

#[tokio::test]
async fn request_gets_a_response_and_closing_is_quick() {
    let mut connection = open(server()).await;
    assert_eq!(
        call(&mut connection, "echo", json!({"a": 1})).await,
        json!({"a": 1})
    );
    connection.link.close().await;
    assert!(matches!(next(&mut connection).await, Event::Closed(None)));
    assert!(connection.events.recv().await.is_none());
    let refused = connection.link.send(request(2, "echo", &json!(0))).await;
    assert!(matches!(refused, Err(TransportError::Closed)));
    // If the exit of a child goes unnoticed, closing takes two seconds each time; a machine is not
    // slow each time.
    let mut best = Duration::MAX;
    for _ in 0..30 {
        let connection = open(server()).await;
        let begin = Instant::now();
        connection.link.close().await;
        best = best.min(begin.elapsed());
        if best < Duration::from_secs(1) {
            return;
        }
    }
    panic!("{best:?} at best");
}

#[tokio::test]
async fn a_message_with_line_breaks_is_sent_on_one_line() {
    let mut connection = open(server()).await;
    let frame = Frame::new("{\"id\":1,\r\n\"method\":\"echo\",\n\"params\":[\n1]}").unwrap();
    connection.link.send(frame).await.unwrap();
    assert_eq!(answer(&mut connection).await, json!([1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_concurrent_calls_are_answered() {
    let mut connection = open(server()).await;
    let senders: Vec<_> = (0..1000)
        .map(|id| {
            let link = connection.link.clone();
            tokio::spawn(async move { link.send(request(id, "echo", &json!(id))).await })
        })
        .collect();
    let mut seen = vec![false; 1000];
    for _ in 0..1000 {
        let id = answer(&mut connection).await.as_u64().unwrap();
        assert!(!std::mem::replace(
            &mut seen[usize::try_from(id).unwrap()],
            true
        ));
    }
    for sender in senders {
        sender.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn ten_mebibytes_pass_in_both_directions() {
    const SIZE: usize = 10 * 1024 * 1024;
    let mut connection = open(server()).await;
    let text = "y".repeat(SIZE);
    assert_eq!(
        call(&mut connection, "echo", json!(text)).await,
        json!(text)
    );
    let big = call(&mut connection, "big", json!(SIZE)).await;
    assert_eq!(big.as_str().unwrap().len(), SIZE);
}

/// The runtime has one thread, as that of the program.
#[tokio::test]
async fn calls_of_another_server_continue_while_one_sends_sixty_megabytes() {
    let mut large = open(server()).await;
    let mut other = open(server()).await;
    let bytes: u64 = 60 * 1024 * 1024;
    let sent = large.link.send(request(1, "line", &json!(bytes))).await;
    sent.unwrap();
    let mut calls = 0;
    let frame = {
        let mut receiving = pin!(next(&mut large));
        loop {
            // The calls first: they are counted until the line is there.
            tokio::select! {
                biased;
                answer = call(&mut other, "echo", json!(calls)) => {
                    assert_eq!(answer, json!(calls));
                    calls += 1;
                }
                event = &mut receiving => match event {
                    Event::Frame(frame) => break frame,
                    other => panic!("{other:?}"),
                },
            }
        }
    };
    assert!(frame.bytes().len() as u64 > bytes);
    // One in each MiB would do.
    assert!(calls >= 60, "{calls} calls");
}

#[tokio::test]
async fn time_that_a_line_takes_grows_with_its_length_and_not_with_the_square() {
    let mut connection = open(server()).await;
    let mut took = [Duration::ZERO; 2];
    for (took, bytes) in took.iter_mut().zip([6 << 20, 60 << 20]) {
        let begin = Instant::now();
        let sent = connection
            .link
            .send(request(1, "line", &json!(bytes)))
            .await;
        sent.unwrap();
        assert!(matches!(next(&mut connection).await, Event::Frame(_)));
        *took = begin.elapsed();
    }
    let [short, long] = took;
    // Ten times as much; moving all of it with every read took more than a hundred times as long.
    assert!(long < short * 50, "{short:?} and {long:?}");
}

#[tokio::test]
async fn line_above_the_limit_ends_the_connection_with_its_own_code() {
    for (method, params) in [("line", json!(90_000_000)), ("endless", json!(0))] {
        let mut connection = open(server()).await;
        let sent = connection.link.send(request(1, method, &params)).await;
        sent.unwrap();
        let Event::Failed { error, .. } = next(&mut connection).await else {
            panic!("{method} is answered");
        };
        assert_eq!(error.code(), Code::MessageTooLarge, "{method}: {error}");
        let closed = next(&mut connection).await;
        assert!(matches!(closed, Event::Closed(Some(_))), "{closed:?}");
    }
}

#[tokio::test]
async fn a_character_cut_across_reads_arrives_whole() {
    let mut connection = open(server()).await;
    assert_eq!(
        call(&mut connection, "split", json!(0)).await,
        json!("\u{1f511}")
    );
}

#[tokio::test]
async fn stray_output_is_logged_redacted_and_not_forwarded() {
    let log = LogLines::default();
    let mut server = server();
    server.log = Some(log.sink());
    let mut connection = open(server).await;
    let result = call(&mut connection, "noise", json!(0)).await;
    assert_eq!(result, json!("after the noise"));
    let lines = log.lines();
    assert_eq!(
        lines,
        [
            "listening on port 1",
            "[1]",
            "\"text\"",
            "[31m[redacted][0m"
        ]
    );
}

#[tokio::test]
async fn child_exit_fails_outstanding_requests_with_its_status() {
    let mut connection = open(server()).await;
    for id in [7, 8] {
        connection
            .link
            .send(request(id, "silence", &json!(0)))
            .await
            .unwrap();
    }
    connection.link.abandon(&RequestId::number(8));
    connection
        .link
        .send(request(9, "die", &json!(0)))
        .await
        .unwrap();
    let mut failed = Vec::new();
    let reason = loop {
        match next(&mut connection).await {
            Event::Failed {
                id,
                error: TransportError::ChildEnded { .. },
            } => failed.push(id),
            Event::Closed(Some(reason)) => break reason,
            other => panic!("{other:?}"),
        }
    };
    failed.sort();
    assert_eq!(failed, [RequestId::number(7), RequestId::number(9)]);
    let TransportError::ChildEnded {
        status,
        last_lines,
        confined: None,
    } = reason
    else {
        panic!("{reason:?}");
    };
    assert_eq!(status, "exit code 3");
    assert_eq!(last_lines, ["warning: old", "fatal: [redacted] is wrong"]);
}

#[tokio::test]
async fn killed_child_fails_outstanding_requests() {
    let mut connection = open(server()).await;
    let script = "(sleep 0.1; kill -9 $PPID) >/dev/null 2>&1 & echo $PPID";
    let pid = call(&mut connection, "shell", json!(script)).await;
    let pid: u32 = pid["stdout"].as_str().unwrap().trim().parse().unwrap();
    connection
        .link
        .send(request(5, "silence", &json!(0)))
        .await
        .unwrap();
    assert!(matches!(next(&mut connection).await, Event::Failed { .. }));
    let Event::Closed(Some(TransportError::ChildEnded { status, .. })) =
        next(&mut connection).await
    else {
        panic!("no end");
    };
    assert_eq!(status, "exit code 137 (signal 9)");
    until(|| !is_alive(pid)).await;
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_ended() {
    let mut connection = open(server()).await;
    connection
        .link
        .send(request(1, "close-output", &json!(0)))
        .await
        .unwrap();
    assert!(matches!(next(&mut connection).await, Event::Failed { .. }));
    assert!(matches!(
        next(&mut connection).await,
        Event::Closed(Some(_))
    ));
}

#[tokio::test]
async fn missing_program_is_reported_as_the_system_error() {
    let mut missing = server();
    missing.program.command = "no-such-program".to_owned().into();
    let error = missing.open(&launcher()).await.unwrap_err();
    let TransportError::Spawn { program, source } = error else {
        panic!("{error:?}");
    };
    assert_eq!(
        (program.as_str(), source.kind()),
        ("child", std::io::ErrorKind::NotFound)
    );

    let mut nowhere = server();
    nowhere.program.folder = "/no/such/folder".into();
    let error = nowhere.open(&launcher()).await.unwrap_err();
    assert_eq!(error.code(), Code::SpawnFailed);
}

#[tokio::test]
async fn grandchildren_end_with_the_connection_closed_or_dropped() {
    for is_closed in [true, false] {
        let mut connection = open(server()).await;
        let pid = call(&mut connection, "grandchild", json!(0)).await;
        let pid = u32::try_from(pid.as_u64().unwrap()).unwrap();
        assert!(is_alive(pid));
        if is_closed {
            connection.link.close().await;
        } else {
            drop(connection);
        }
        until(|| !is_alive(pid)).await;
    }
}

#[tokio::test]
async fn child_that_ignores_sigterm_is_killed() {
    let mut connection = open(server()).await;
    call(&mut connection, "stubborn", json!(0)).await;
    let begin = Instant::now();
    connection.link.close().await;
    let took = begin.elapsed();
    assert!(took > Duration::from_secs(4) && took < DEADLINE, "{took:?}");
    assert!(matches!(next(&mut connection).await, Event::Closed(None)));
}

#[tokio::test]
async fn closing_does_not_wait_for_a_message_that_cannot_be_written() {
    let mut connection = open(server()).await;
    call(&mut connection, "stubborn", json!(0)).await;
    let link = connection.link.clone();
    let text = json!("x".repeat(1024 * 1024));
    let stuck = tokio::spawn(async move { link.send(request(2, "echo", &text)).await });
    // Nothing shows from outside that a pipe is full and the writer waits.
    tokio::time::sleep(Duration::from_millis(50)).await;
    connection.link.close().await;
    assert!(matches!(stuck.await.unwrap(), Err(TransportError::Closed)));
}

/// Threat D14.
#[tokio::test]
async fn d14_a_server_gets_three_descriptors_and_exactly_its_environment() {
    let mut connection = open(server()).await;
    let open = call(&mut connection, "descriptors", json!(0)).await;
    assert_eq!(open, json!([0, 1, 2]));
    let env = call(&mut connection, "env", json!(0)).await;
    assert_eq!(env, json!({"PATH": PATH, "DECLARED": "value"}));
}

/// Threat D11.
#[tokio::test]
async fn d11_a_file_changed_before_or_during_the_start_stops_it() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    for good_answers in [0, 1] {
        let asked = AtomicUsize::new(0);
        let verify = move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            count if count < good_answers => Ok(()),
            _ => Err("run.sh".to_owned()),
        };
        let mut server = server();
        server.verify = Some(std::sync::Arc::new(verify));
        let error = server.open(&launcher()).await.unwrap_err();
        assert_eq!(error.code(), Code::PendingTrust);
    }
}

#[tokio::test]
async fn open_dropped_at_any_await_kills_the_child() {
    let mut was_done = false;
    for polls in 0..100 {
        let folder = tempfile::TempDir::new().unwrap();
        let mut started = server();
        started.program.folder = folder.path().to_owned();
        let launcher = launcher();
        was_done = drop_after(polls, started.open(&launcher)).await;
        let mut connection = open(server()).await;
        let answer = call(&mut connection, "echo", json!(polls)).await;
        assert_eq!(answer, json!(polls));
        let here = folder.path().canonicalize().unwrap();
        until(|| !is_home_of_a_process(&here)).await;
        if was_done {
            break;
        }
    }
    assert!(was_done, "it never came to its end");
}

/// Polls a future so many times, each time it is woken, then drops it; says whether it came to its
/// end.
async fn drop_after<F: Future>(polls: usize, future: F) -> bool {
    let (mut future, mut left) = (pin!(future), polls);
    std::future::poll_fn(|context| {
        let is_done = left > 0 && future.as_mut().poll(context).is_ready();
        left = left.saturating_sub(1);
        match is_done || left == 0 {
            true => Poll::Ready(is_done),
            false => Poll::Pending,
        }
    })
    .await
}

/// Says whether any process has this working directory.
fn is_home_of_a_process(folder: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut homes = processes.filter_map(|process| process.path().join("cwd").read_link().ok());
    homes.any(|home| home == folder)
}
