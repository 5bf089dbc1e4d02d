//! Two processes of one user, and an impostor that pretends to be one of them.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;

use keyway_auth::BoxFuture;
use keyway_testkit::{Canary, Folder, PATIENCE};
use keyway_transport::{Event, EventSender, Frame, Link, RequestId, TransportError, queue};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::*;
use crate::gateway::Upstream;
use keyway::sign_in::AccountPin;
use keyway_dashboard::activity::{Activity, Outcome};
use keyway_mcp::aggregate::{Connector, Opened};
use keyway_mcp::session::{ClientInfo, OfferedEras};
use keyway_mcp::states::ServerProblem;

fn key(byte: u8) -> FingerprintKey {
    FingerprintKey::new(Secret::new([byte; 32]))
}

/// What stands for an entry with this value.
fn fingerprint(value: &str, key: &FingerprintKey) -> ConnectionFingerprint {
    key.hash("test", &[value.as_bytes()])
}

/// A server that answers with its value, on which its fingerprint depends.
#[derive(Debug, Clone)]
struct Named {
    value: &'static str,
    is_there: bool,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Named {
    fn new(value: &'static str) -> Self {
        Self {
            value,
            is_there: true,
            heard: Arc::default(),
        }
    }

    fn connection(&self) -> Connection {
        let (sender, events) = queue(64);
        let link = Arc::new(NamedLink(self.clone(), sender));
        Connection::new(link, events)
    }
}

#[derive(Debug)]
struct NamedLink(Named, EventSender);

impl Link for NamedLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let envelope = frame.envelope()?;
            let method = envelope.method.as_deref().unwrap_or_default();
            self.0.heard.lock().unwrap().push(method.to_owned());
            let Some(id) = envelope.id() else {
                return Ok(());
            };
            let result = match method {
                "initialize" => r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#.to_owned(),
                "slow" => return Ok(()),
                _ => format!(r#"{{"from":"{}"}}"#, self.0.value),
            };
            let id = id.as_json();
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            let sent = self.1.send(Event::Frame(Frame::new(text)?)).await;
            sent.map_err(|_| TransportError::Closed)
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Connector for Named {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        let connection = self.connection();
        let offer = OfferedEras::Legacy;
        Box::pin(async move { Ok(Opened::new(connection, offer)) })
    }
}

impl Upstream for Named {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn open<'a>(&'a self, _: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        Box::pin(async { self.is_there.then(|| self.connection()) })
    }

    fn fingerprint(&self, key: &FingerprintKey) -> Option<ConnectionFingerprint> {
        Some(fingerprint(self.value, key))
    }
}

/// A gateway that shares.
struct Home {
    folder: Folder,
    gateway: Arc<Gateway>,
    activity: Arc<Activity>,
    sharing: tokio::task::JoinHandle<()>,
}

impl Home {
    fn new(server: &Named) -> Self {
        let folder = Folder::new();
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path(), mode).unwrap();
        let served = ServedServer::new("p".into(), "s".into(), [0; 32], Arc::new(server.clone()));
        let info = ClientInfo::new("keyway", "0");
        let no_tokens = Arc::new(|| Ok(Vec::new()));
        let activity = Arc::<Activity>::default();
        let gateway = Gateway::new(vec![served], no_tokens, info).recording(Arc::clone(&activity));
        let gateway = Arc::new(gateway);
        let listener = Listener::unix(&folder.at("run.sock")).unwrap();
        let sharing = tokio::spawn(share(listener, Arc::clone(&gateway), key(1)));
        Self {
            folder,
            gateway,
            activity,
            sharing,
        }
    }

    async fn connect_shared(
        &self,
        server: &str,
        value: &str,
        key: &FingerprintKey,
    ) -> Option<UnixStream> {
        let wanted = SharedRequest {
            plugin: "p",
            server,
            fingerprint: fingerprint(value, key),
        };
        connect_shared(&self.folder.at("run.sock"), wanted, key).await
    }
}

#[tokio::test]
async fn only_a_process_with_the_same_fingerprint_gets_the_connection() {
    let home = Home::new(&Named::new("acme"));
    assert!(home.connect_shared("s", "acme", &key(1)).await.is_some());
    assert!(home.connect_shared("s", "other", &key(1)).await.is_none());
    assert!(home.connect_shared("t", "acme", &key(1)).await.is_none());
    assert!(home.connect_shared("s", "acme", &key(2)).await.is_none());
}

/// A process that listens in our place without the key learns a name and a random number.
#[tokio::test]
async fn an_impostor_gets_nothing_it_could_check_a_guess_with_and_is_not_believed() {
    let folder = Folder::new().mode("", 0o700);
    let path = folder.at("run.sock");
    let impostor = UnixListener::bind(&path).unwrap();
    let canary = Canary::hidden("hV7q2Lk9Wp4Zt8Rb3Nc6Ym1Hd5");
    let key = key(1);
    let own = fingerprint(canary.value(), &key);
    let mut proofs = Vec::new();
    for answer in ["{}", r#"{"keyway":1,"proof":null}"#, "", "echo"] {
        let wanted = SharedRequest {
            plugin: "p",
            server: "s",
            fingerprint: own,
        };
        let answering = async {
            let (mut stream, _) = impostor.accept().await.unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(&mut stream);
            reader.read_line(&mut line).await.unwrap();
            let client_hello: serde_json::Value = serde_json::from_str(&line).unwrap();
            let answer = match answer {
                // What was shown to it is shown back.
                "echo" => {
                    serde_json::json!({"keyway": 1, "proof": client_hello["proof"]}).to_string()
                }
                other => other.to_owned(),
            };
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.write_all(b"\n").await.unwrap();
            (line, client_hello["proof"].clone())
        };
        let (got, (line, proof)) = tokio::join!(connect_shared(&path, wanted, &key), answering);
        assert!(got.is_none(), "{answer}");
        assert_eq!(canary.leak(&line), None);
        assert!(!line.contains(&format!("{:?}", own.as_bytes())));
        assert!(!proofs.contains(&proof), "no two greetings look alike");
        proofs.push(proof);
    }
}

#[tokio::test]
async fn a_socket_that_is_not_ours_alone_is_not_even_connected_to() {
    let folder = Folder::new().mode("", 0o700);
    let path = folder.at("run.sock");
    assert!(!is_own_socket(&path), "nothing is there");
    let _listener = UnixListener::bind(&path).unwrap();
    assert!(is_own_socket(&path));
    let folder = folder.mode("", 0o750);
    assert!(!is_own_socket(&path), "others may look into the folder");
    let folder = folder.mode("", 0o700);
    std::os::unix::fs::symlink(&path, folder.at("link")).unwrap();
    assert!(!is_own_socket(&folder.at("link")), "a link leads anywhere");
    folder.put("plain", "");
    assert!(!is_own_socket(&folder.at("plain")), "no socket");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(1), None).unwrap();
        assert!(!is_own_socket(&path), "it belongs to another user");
    }
}

#[tokio::test]
async fn a_process_that_sends_nonsense_is_disconnected() {
    let home = Home::new(&Named::new("acme"));
    for nonsense in ["\n", "{}\n", &"x".repeat(5000), "GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = UnixStream::connect(home.folder.at("run.sock"))
            .await
            .unwrap();
        drop(stream.write_all(nonsense.as_bytes()).await);
        let mut answer = Vec::new();
        let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        drop(read.expect("it ends"));
        assert!(!String::from_utf8_lossy(&answer).contains("proof\":["));
    }
    assert!(home.connect_shared("s", "acme", &key(1)).await.is_some());
}

#[tokio::test]
async fn a_changed_server_ends_the_connections_of_other_processes() {
    let home = Home::new(&Named::new("acme"));
    let mut stream = home.connect_shared("s", "acme", &key(1)).await.unwrap();
    let other = Named::new("other");
    let served = ServedServer::new("p".into(), "s".into(), [1; 32], Arc::new(other));
    home.gateway.replace(vec![served]);
    let mut rest = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    assert_eq!(read.expect("it ends").unwrap(), 0);
    assert!(home.connect_shared("s", "acme", &key(1)).await.is_none());
    assert!(home.connect_shared("s", "other", &key(1)).await.is_some());
}

/// A client on a socket of our own making.
struct Client {
    to: OwnedWriteHalf,
    from: BufReader<OwnedReadHalf>,
    relaying: tokio::task::JoinHandle<io::Result<()>>,
}

impl Client {
    fn new(stream: UnixStream, alone: &Named) -> Self {
        let (client, ours) = UnixStream::pair().unwrap();
        let (from, to) = client.into_split();
        let (input, output) = socket_pipes(ours.into_std().unwrap()).unwrap();
        let alone = alone.clone();
        let relaying = tokio::spawn(async move {
            relay(input, output, SharedConnection(stream), || async move {
                alone.connection()
            })
            .await
        });
        Self {
            to,
            from: BufReader::new(from),
            relaying,
        }
    }

    async fn say(&mut self, text: &str) {
        self.to.write_all(text.as_bytes()).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    async fn hear(&mut self) -> serde_json::Value {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.from.read_line(&mut line)).await;
        read.expect("an answer").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, id: u32, method: &str) -> serde_json::Value {
        let params = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.say(&text).await;
        let answer = self.hear().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[tokio::test]
async fn when_the_host_dies_a_call_under_way_fails_and_the_next_is_answered_alone() {
    let host = Named::new("host");
    let home = Home::new(&host);
    let stream = home.connect_shared("s", "host", &key(1)).await.unwrap();
    let alone = Named::new("alone");
    let mut client = Client::new(stream, &alone);
    assert!(client.ask(1, "initialize").await["result"].is_object());
    client.say(INITIALIZED).await;
    assert_eq!(client.ask(2, "tools/list").await["result"]["from"], "host");
    client
        .say(r#"{"jsonrpc":"2.0","id":3,"method":"slow"}"#)
        .await;
    while !host.heard.lock().unwrap().iter().any(|it| it == "slow") {
        tokio::task::yield_now().await;
    }
    home.sharing.abort();
    let failed = client.hear().await;
    assert_eq!(
        (&failed["id"], &failed["error"]["data"]["code"]),
        (&3.into(), &"connection-closed".into())
    );
    assert_eq!(client.ask(4, "tools/list").await["result"]["from"], "alone");
    let heard = alone.heard.lock().unwrap().clone();
    let expected = ["initialize", "notifications/initialized", "tools/list"];
    assert_eq!(heard, expected, "greeted again, and the call not repeated");
    drop(client.to);
    client.relaying.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_host_without_a_connection_after_all_is_not_noticed_by_the_client() {
    let mut server = Named::new("host");
    server.is_there = false;
    let home = Home::new(&server);
    let stream = home.connect_shared("s", "host", &key(1)).await.unwrap();
    let mut client = Client::new(stream, &Named::new("alone"));
    assert!(client.ask(1, "initialize").await["result"].is_object());
    client.say(INITIALIZED).await;
    assert_eq!(client.ask(2, "tools/list").await["result"]["from"], "alone");
}

#[tokio::test]
async fn a_shared_connection_is_one_like_any_other() {
    let home = Home::new(&Named::new("host"));
    let stream = home.connect_shared("s", "host", &key(1)).await.unwrap();
    let mut shared = into_connection(SharedConnection(stream)).unwrap();
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    shared.link.send(Frame::new(text).unwrap()).await.unwrap();
    let Some(Event::Frame(answer)) = shared.events.recv().await else {
        panic!("an answer");
    };
    assert!(answer.envelope().unwrap().result.is_some());
    home.sharing.abort();
    assert!(matches!(shared.events.recv().await, Some(Event::Closed(_))));
    shared.link.close().await;
    assert!(shared.link.send(Frame::new(text).unwrap()).await.is_err());
}

#[tokio::test]
async fn requests_of_other_processes_are_recorded_like_those_of_clients() {
    let home = Home::new(&Named::new("host"));
    let stream = home.connect_shared("s", "host", &key(1)).await.unwrap();
    let mut client = Client::new(stream, &Named::new("alone"));
    client.ask(1, "initialize").await;
    client.say(INITIALIZED).await;
    client.ask(2, "tools/list").await;
    client
        .say(r#"{"jsonrpc":"2.0","id":3,"method":"slow"}"#)
        .await;
    drop(client);
    let recorded = || home.activity.recent();
    let started = std::time::Instant::now();
    while recorded().len() < 3 {
        assert!(started.elapsed() < PATIENCE, "all are recorded");
        tokio::task::yield_now().await;
    }
    let recorded: Vec<_> = recorded()
        .iter()
        .rev()
        .map(|entry| (entry.request.method.clone(), entry.outcome))
        .collect();
    let expected = [
        ("initialize", Outcome::Done),
        ("tools/list", Outcome::Done),
        ("slow", Outcome::Abandoned),
    ];
    assert_eq!(recorded, expected.map(|(it, how)| (it.to_owned(), how)));
    for entry in home.activity.recent() {
        assert_eq!(entry.request.by, "keyway run");
        assert_eq!(entry.request.server, Some(("p".into(), "s".into())));
    }
}

#[test]
fn the_key_is_made_once_and_is_the_same_for_all() {
    let folder = Folder::new();
    let folders = keyway_vault::Folders::below(folder.path());
    let open = || Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
    assert!(super::key(&open()).unwrap().is_none());
    let made = make_key(&open()).unwrap().unwrap();
    let again = make_key(&open()).unwrap().unwrap();
    let found = super::key(&open()).unwrap().unwrap();
    let number = fingerprint("x", &made);
    assert!(number.matches(fingerprint("x", &again).as_bytes()));
    assert!(number.matches(fingerprint("x", &found).as_bytes()));
}
