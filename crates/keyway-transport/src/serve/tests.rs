//! Clients that are slow, greedy or of another user.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, oneshot};

use super::*;
use crate::testing::DEADLINE;

/// Answers with how many bytes it was sent; `/slow` waits for a sign, `/big` is much to read.
#[derive(Debug, Default)]
struct Counter {
    begun: Notify,
    go_on: Notify,
}

impl Service for Counter {
    fn answer(self: Arc<Self>, mut request: Inbound) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let body = request.body().await;
            if request.uri.path() == "/slow" {
                self.begun.notify_one();
                self.go_on.notified().await;
            }
            if request.uri.path() == "/big" {
                return Reply::new(StatusCode::OK).body(vec![b'x'; BIG]);
            }
            match body {
                Ok(body) => Reply::new(StatusCode::OK).body(body.len().to_string()),
                Err(_) => Reply::new(StatusCode::PAYLOAD_TOO_LARGE),
            }
        })
    }
}

struct Running {
    port: u16,
    service: Arc<Counter>,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

fn start() -> Running {
    start_with_room(MAX_CONNECTIONS)
}

fn start_with_room(most: usize) -> Running {
    let listener = Listener::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = listener.port().unwrap();
    let service = Arc::new(Counter::default());
    let (stop, stopped) = oneshot::channel();
    let serving = serve_at_most(most, vec![listener], Arc::clone(&service) as _, async {
        drop(stopped.await);
    });
    Running {
        port,
        service,
        stop,
        ended: tokio::spawn(serving),
    }
}

async fn send(port: u16, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    drop(timeout(DEADLINE, read).await.expect("the end"));
    String::from_utf8(bytes).unwrap()
}

/// The bytes as they come from the socket: hyper removes one of the two headers.
#[tokio::test]
async fn request_with_two_lengths_is_refused_and_its_connection_closed() {
    let running = start();
    let chunked = "3\r\nabc\r\n0\r\n\r\n";
    for headers in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 3\r\n",
    ] {
        let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n{chunked}");
        let answer = rest(&mut send(running.port, &text).await).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
    // Hidden behind another request, it is refused as well; one length is well, each time.
    let plain = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let both = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n";
    let text = format!("{plain}{both}\r\n{chunked}");
    let answer = rest(&mut send(running.port, &text).await).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("HTTP/1.1 400 "), "{answer}");
    let one = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n";
    let mut stream = send(running.port, &format!("{one}\r\n{chunked}")).await;
    let mut first = [0; 15];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n3") {
        stream.read_buf(&mut seen).await.unwrap();
    }
    let last = format!("{one}Connection: close\r\n\r\n{chunked}");
    stream.write_all(last.as_bytes()).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn only_loopback_addresses_are_accepted() {
    for address in [
        "0.0.0.0:0",
        "[::]:0",
        "192.0.2.1:0",
        "127.0.0.2:0",
        "[::ffff:127.0.0.1]:0",
    ] {
        let refused = Listener::loopback(address.parse().unwrap());
        assert!(
            matches!(refused, Err(ListenError::NotLoopback { .. })),
            "{address}"
        );
    }
    let first = Listener::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
    let same = format!("127.0.0.1:{}", first.port().unwrap());
    let refused = Listener::loopback(same.parse().unwrap());
    assert!(matches!(refused, Err(ListenError::Busy { .. })));
}

#[tokio::test]
async fn both_loopback_addresses_accept_connections() {
    let running = start();
    for host in ["127.0.0.1", "::1"] {
        let Ok(mut stream) = TcpStream::connect((host, running.port)).await else {
            assert_eq!(host, "::1", "a machine without IPv6");
            continue;
        };
        let text =
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
        stream.write_all(text.as_bytes()).await.unwrap();
        assert!(rest(&mut stream).await.ends_with("\r\n\r\n3"), "{host}");
    }
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_before_it_is_read() {
    let running = start();
    let length = MAX_BODY_BYTES + 1;
    let text = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    let mut stream = send(running.port, &text).await;
    let mut piece = [0; 64];
    let read = timeout(DEADLINE, stream.read(&mut piece)).await;
    let read = read.unwrap().unwrap();
    assert!(piece[..read].starts_with(b"HTTP/1.1 413"));
}

#[tokio::test]
async fn a_head_above_the_limit_is_refused() {
    let running = start();
    let mut stream = send(running.port, "GET / HTTP/1.1\r\nHost: x\r\nX: ").await;
    let long = "x".repeat(128 * 1024);
    // It may be refused before it was written.
    drop(stream.write_all(long.as_bytes()).await);
    drop(stream.write_all(b"\r\n\r\n").await);
    let mut piece = [0; 64];
    let read = timeout(DEADLINE, stream.read(&mut piece)).await;
    // A client that is refused while still writing may find the connection closed.
    if let Ok(read) = read.expect("a refusal") {
        assert!(read == 0 || piece[..read].starts_with(b"HTTP/1.1 431"));
    }
}

#[tokio::test(start_paused = true)]
async fn client_that_does_not_finish_the_request_head_is_closed_after_five_seconds() {
    let running = start();
    for text in ["", "GET / HTTP/1.1\r\nHo"] {
        let begun = tokio::time::Instant::now();
        let mut stream = send(running.port, text).await;
        drop(rest(&mut stream).await);
        let took = begun.elapsed();
        assert!((4..7).contains(&took.as_secs()), "{text:?}: {took:?}");
    }
    // The same holds for the second request on a connection, which itself may come later.
    let request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    let mut stream = send(running.port, request).await;
    let mut piece = [0; 512];
    assert!(stream.read(&mut piece).await.unwrap() > 0);
    tokio::time::sleep(Duration::from_secs(30)).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(stream.read(&mut piece).await.unwrap() > 0);
    let begun = tokio::time::Instant::now();
    stream.write_all(b"GET").await.unwrap();
    drop(rest(&mut stream).await);
    assert!(
        (4..7).contains(&begun.elapsed().as_secs()),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn client_that_does_not_read_the_response_is_closed_after_thirty_seconds() {
    let running = start();
    let request = "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut patient = send(running.port, request).await;
    let mut piece = vec![0; 1024];
    assert!(patient.read(&mut piece).await.unwrap() > 0);
    tokio::time::sleep(Duration::from_secs(35)).await;
    let mut read = 0;
    // What the system holds is still there, and then nothing more comes.
    while let Ok(count @ 1..) = patient.read(&mut piece).await {
        read += count;
    }
    assert!(read < BIG, "{read}");
}

#[tokio::test]
async fn request_in_flight_is_answered_before_shutdown() {
    let running = start();
    let mut stream = send(running.port, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").await;
    running.service.begun.notified().await;
    running.stop.send(()).unwrap();
    // New connections are refused, while the request is still under way.
    let begun = std::time::Instant::now();
    while TcpStream::connect(("127.0.0.1", running.port))
        .await
        .is_ok()
    {
        assert!(begun.elapsed() < DEADLINE, "it still listens");
        tokio::task::yield_now().await;
    }
    running.service.go_on.notify_one();
    assert!(rest(&mut stream).await.starts_with("HTTP/1.1 200"));
    running.ended.await.unwrap();
}

#[tokio::test]
async fn connection_above_the_limit_waits_for_a_slot() {
    let running = start_with_room(2);
    let ask = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let (first, second) = (send(running.port, "").await, send(running.port, "").await);
    let mut third = send(running.port, ask).await;
    let waited = timeout(Duration::from_millis(200), third.readable()).await;
    assert!(waited.is_err(), "it was served as a third");
    drop(second);
    assert!(rest(&mut third).await.starts_with("HTTP/1.1 200 "));
    drop(first);
}

/// Only the superuser can become another user; without it there is no user to refuse.
#[expect(clippy::disallowed_methods, reason = "another user is another process")]
#[tokio::test]
async fn other_user_is_refused_even_if_file_permissions_allow() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // Where every user can reach the folder.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let path = folder.path().join("s.sock");
    let listener = Listener::unix(&path).unwrap();
    let open_to_all = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open_to_all(folder.path(), 0o755);
    open_to_all(&path, 0o666);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = serve(vec![listener], Arc::new(Counter::default()), async {
        drop(stopped.await);
    });
    let serving = tokio::spawn(serving);
    let ask = r#"
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
try:
    s.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    print(s.recv(100))
except OSError:
    print("refused")
"#;
    let said_to = |user: u32| {
        let path = path.clone();
        async move {
            let asked = tokio::task::spawn_blocking(move || {
                let mut python = std::process::Command::new("python3");
                python
                    .args(["-c", ask])
                    .arg(path)
                    .current_dir("/")
                    .uid(user);
                python.output().unwrap()
            });
            let output = asked.await.unwrap();
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        }
    };
    assert!(said_to(0).await.contains("HTTP/1.1 200 "));
    let said = said_to(65_534).await;
    assert!(["refused\n", "b''\n"].contains(&said.as_str()), "{said}");
    drop(stop);
    serving.await.unwrap();
}

#[tokio::test]
async fn socket_file_is_owner_only_and_replaced_only_if_unused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sock");
    let listener = Listener::unix(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(matches!(
        Listener::unix(&path),
        Err(ListenError::Taken { .. })
    ));
    let accepted = tokio::join!(listener.accept(), UnixStream::connect(&path)).0;
    assert_eq!(accepted.peer(), Peer::SameUser);
    drop(listener);
    assert!(!path.exists());
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(Listener::unix(&path).unwrap());
    let file = folder.path().join("file");
    std::fs::File::create(&file).unwrap();
    assert!(matches!(
        Listener::unix(&file),
        Err(ListenError::Taken { .. })
    ));
    assert!(file.exists());
}

/// More than the system takes on its own.
const BIG: usize = 32 * 1024 * 1024;

/// Changes to a protocol that returns every byte.
struct Echo;

impl Service for Echo {
    fn answer(self: Arc<Self>, mut request: Inbound) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let upgrade = request.on_upgrade();
            drop(tokio::spawn(async move {
                let mut stream = upgrade.stream().await.unwrap().0;
                let mut bytes = [0; 64];
                while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                    stream.write_all(&bytes[..count]).await.unwrap();
                }
            }));
            let upgrade = http::HeaderValue::from_static("echo");
            Reply::new(StatusCode::SWITCHING_PROTOCOLS)
                .header(
                    http::header::CONNECTION,
                    http::HeaderValue::from_static("upgrade"),
                )
                .header(http::header::UPGRADE, upgrade)
        })
    }
}

#[tokio::test]
async fn upgraded_connection_has_no_time_limit() {
    let listener = Listener::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = listener.port().unwrap();
    let serving = tokio::spawn(serve(
        vec![listener],
        Arc::new(Echo),
        std::future::pending(),
    ));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let head = "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_buf(&mut answer).await.unwrap();
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    for text in ["first", "after a long time"] {
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut echoed = vec![0; text.len()];
        stream.read_exact(&mut echoed).await.unwrap();
        assert_eq!(echoed, text.as_bytes());
        // Paused only here: with a clock that jumps, the sockets would be too slow.
        tokio::time::pause();
        // Takes no time: the clock is paused.
        tokio::time::sleep(Duration::from_secs(1000)).await;
        tokio::time::resume();
    }
    serving.abort();
}
