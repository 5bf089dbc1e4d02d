//! `keyway mtls` and the client certificate of `config.toml`, against a real nginx that asks for
//! certificates; without nginx these tests say so.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests start servers, and stop where they cannot"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use keyway_testkit::{Folder, Keyway};
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{Decode as _, SecretDocument};
use pkcs8::{PrivateKeyInfoRef, pkcs5};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

#[test]
fn a_certificate_opens_the_door_and_a_rotated_one_does_without_a_restart() {
    let Some(nginx) = Nginx::start() else { return };
    nginx.first.write(&nginx.folder, "client", "one");
    let arguments = [
        "mtls",
        "--cert",
        "client.pem",
        "--key",
        "client.key",
        "--cacert",
        "ca.pem",
    ];
    rotate(&nginx, Client::start(&nginx, &arguments, &[]));
}

#[test]
fn the_certificate_of_the_settings_is_rotated_as_well() {
    let Some(nginx) = Nginx::start() else { return };
    let folder = &nginx.folder;
    nginx.first.write(folder, "client", "one");
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{}"}}}}"#, nginx.url());
    folder.put(".mcp.json", entry);
    let settings = format!(
        "[network]\nroots = [\"{at}/ca.pem\"]\nclient_certificate = \"{at}/client.pem\"\nclient_key = \"{at}/client.key\"\n",
        at = folder.path().display()
    );
    folder.put("home/config/config.toml", settings);
    rotate(&nginx, Client::start(&nginx, &["run"], &[]));
}

fn rotate(nginx: &Nginx, mut client: Client) {
    let answer = client.ask("initialize", initialize());
    assert_eq!(answer["result"]["serverInfo"]["name"], "behind", "{answer}");
    client.tell("notifications/initialized");
    let answer = client.ask("tools/list", json!({}));
    assert_eq!(answer["result"]["tools"][0]["name"], "a", "{answer}");
    assert_eq!(nginx.upstream.last(), "CN=one");

    // The server no longer believes the first authority.
    nginx.believe(&nginx.second);
    let refused = client.ask_until("tools/list", |answer| answer.get("error").is_some());
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("400"),
        "{refused}"
    );
    nginx.second.write(&nginx.folder, "client", "two");
    let answer = client.ask_until("tools/list", |answer| answer.get("result").is_some());
    assert_eq!(answer["result"]["tools"][0]["name"], "a", "{answer}");
    assert_eq!(nginx.upstream.last(), "CN=two");
    client.finish();
}

#[test]
fn an_encrypted_key_is_opened_by_a_variable_that_is_named() {
    let Some(nginx) = Nginx::start() else { return };
    nginx.first.write(&nginx.folder, "client", "locked");
    lock(&nginx.folder, "client.key", "CANARY-passphrase");
    let arguments = [
        "--cert",
        "client.pem",
        "--key",
        "client.key",
        "--key-passphrase-env",
        "PASS",
    ];
    let whole = [&["mtls", "--cacert", "ca.pem"], &arguments[..]].concat();
    let mut client = Client::start(&nginx, &whole, &[("PASS", "CANARY-passphrase")]);
    let answer = client.ask("initialize", initialize());
    assert_eq!(answer["result"]["serverInfo"]["name"], "behind", "{answer}");
    assert_eq!(nginx.upstream.last(), "CN=locked");
    client.finish();
    for (arguments, pass, words) in [
        (
            &arguments[..],
            "wrong",
            "the passphrase does not open the key",
        ),
        (&arguments[..4], "", "--key-passphrase-env NAME"),
        (&arguments, "", "`PASS` is not set"),
    ] {
        let call = nginx
            .keyway()
            .args(["mtls"])
            .args(arguments.iter().copied());
        let outcome = call.args(["--cacert", "ca.pem"]).env("PASS", pass).run();
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
        assert!(!outcome.everything().contains("CANARY"));
    }
}

/// As the rule `mtls-in-entry` advises: an entry that runs `keyway mtls`.
#[test]
fn an_entry_may_run_it_although_the_settings_are_hidden_from_it() {
    let Some(nginx) = Nginx::start() else { return };
    let folder = &nginx.folder;
    nginx.first.write(folder, "client", "entry");
    let (program, url) = (env!("CARGO_BIN_EXE_keyway"), nginx.url());
    let entry = format!(
        r#"{{"mcpServers": {{"s": {{"command": "{program}",
            "args": ["mtls", "--cert", "${{CERT}}", "--key", "${{KEY}}", "--cacert", "ca.pem"],
            "env": {{"API_URL": "{url}"}}}}}}}}"#
    );
    folder.put(".mcp.json", entry);
    for mechanism in ["best", "landlock", "mounts"] {
        folder.put(
            "person/.config/keyway/config.toml",
            format!("[sandbox]\nmechanism = \"{mechanism}\"\n"),
        );
        let outcome = Keyway::new(program, folder.path())
            .env("KEYWAY_HOME", "")
            .env("HOME", folder.at("person"))
            .env("CERT", folder.at("client.pem"))
            .env("KEY", folder.at("client.key"))
            .args(["tools", "s", "--trust"])
            .run();
        assert_eq!(outcome.code, 0, "{mechanism}: {}", outcome.everything());
        assert_eq!(nginx.upstream.last(), "CN=entry");
    }
}

#[test]
fn without_a_certificate_the_door_stays_shut_and_the_settings_have_the_key() {
    let Some(nginx) = Nginx::start() else { return };
    let folder = &nginx.folder;
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{}"}}}}"#, nginx.url());
    folder.put(".mcp.json", entry);
    let roots = format!(
        "[network]\nroots = [\"{}\"]\n",
        folder.at("ca.pem").display()
    );
    folder.put("home/config/config.toml", &roots);
    let refused = nginx.keyway().args(["tools", "s"]).run();
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert!(refused.stderr.contains("HTTP 400"), "{}", refused.stderr);
    assert!(nginx.upstream.seen().is_empty());
    nginx.first.write(folder, "home/config/own", "settings");
    let own = format!("{roots}client_certificate = \"own.pem\"\nclient_key = \"own.key\"\n");
    folder.put("home/config/config.toml", own);
    let outcome = nginx.keyway().args(["tools", "s"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert_eq!(nginx.upstream.last(), "CN=settings");
}

#[test]
fn a_certificate_is_shown_over_https_only() {
    let folder = Folder::new().file("c.pem", "x").file("k.pem", "x");
    for (url, words) in [
        ("http://127.0.0.1:9/", "must be an `https` address"),
        ("ftp://h.example", "must be an `https` address"),
        ("", "`API_URL` must hold"),
    ] {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).env("API_URL", url);
        let outcome = call
            .args(["mtls", "--cert", "c.pem", "--key", "k.pem"])
            .run();
        assert_eq!(outcome.code, 2, "{}", outcome.everything());
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}
    })
}

/// Locks a key as OpenSSL does.
fn lock(folder: &Folder, name: &str, passphrase: &str) {
    let (_, document) = SecretDocument::from_pem(&folder.read(name)).unwrap();
    let key = PrivateKeyInfoRef::from_der(document.as_bytes()).unwrap();
    let (salt, vector) = ([7; 16], [9; 16]);
    let how = pkcs5::pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(2048, &salt, vector);
    let locked = key.encrypt_with_params(how.unwrap(), passphrase).unwrap();
    let text = locked
        .to_pem("ENCRYPTED PRIVATE KEY", LineEnding::LF)
        .unwrap();
    folder.put(name, text.as_bytes());
}

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// Issues a certificate to `NAME.pem` and its key to `NAME.key`, one after the other.
    fn write(&self, folder: &Folder, file: &str, name: &str) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        folder.put(&format!("{file}.pem"), certificate.pem());
        std::thread::sleep(Duration::from_millis(50));
        folder.put(&format!("{file}.key"), key.serialize_pem());
    }
}

/// nginx in front of a server, with two authorities of which it believes one.
struct Nginx {
    child: Child,
    port: u16,
    folder: Folder,
    first: Authority,
    second: Authority,
    upstream: Upstream,
}

impl Nginx {
    fn start() -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx"];
        let Some(program) = program
            .iter()
            .find(|path| std::path::Path::new(path).is_file())
        else {
            println!("skipped: no nginx; `cargo xtask tools --setup` installs it");
            return None;
        };
        let (first, second) = (Authority::new("first"), Authority::new("second"));
        let upstream = Upstream::start();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let folder = Folder::new()
            .file("ca.pem", first.0.pem())
            .file("clients.pem", first.0.pem())
            .file("home/config/empty", "")
            .mode("home/config", 0o700);
        first.write(&folder, "server", "localhost");
        let at = folder.path().display();
        let settings = format!(
            "daemon off;\nuser root;\npid {at}/nginx.pid;\nerror_log {at}/error.log;\nevents {{}}\nhttp {{\n\
             access_log off;\nclient_body_temp_path {at}/t1;\nproxy_temp_path {at}/t2;\n\
             fastcgi_temp_path {at}/t3;\nuwsgi_temp_path {at}/t4;\nscgi_temp_path {at}/t5;\n\
             server {{\nlisten 127.0.0.1:{port} ssl;\nssl_certificate {at}/server.pem;\n\
             ssl_certificate_key {at}/server.key;\nssl_client_certificate {at}/clients.pem;\n\
             ssl_verify_client on;\nlocation / {{\nproxy_pass http://127.0.0.1:{};\n\
             proxy_set_header X-Client $ssl_client_s_dn;\n}}\n}}\n}}\n",
            upstream.port
        );
        folder.put("nginx.conf", settings);
        let child = Command::new(program)
            .args(["-p", &at.to_string(), "-e", "error.log", "-c", "nginx.conf"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                Instant::now() < until,
                "nginx did not start: {}",
                folder.read("error.log")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self {
            child,
            port,
            folder,
            first,
            second,
            upstream,
        })
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}/mcp", self.port)
    }

    fn keyway(&self) -> Keyway {
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), self.folder.path())
            .env("KEYWAY_HOME", self.folder.at("home"))
            .env("API_URL", self.url())
    }

    /// Has nginx believe the clients of another authority.
    fn believe(&self, authority: &Authority) {
        self.folder.put("clients.pem", authority.0.pem());
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-HUP", &id])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        // Its workers end with it only if it is asked.
        drop(Command::new("kill").args(["-TERM", &id]).status());
        drop(self.child.wait());
    }
}

/// `keyway mtls` with pipes to talk to it.
struct Client {
    child: Child,
    stdin: ChildStdin,
    lines: mpsc::Receiver<String>,
    next: u64,
}

impl Client {
    fn start(nginx: &Nginx, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_keyway"))
            .args(arguments)
            .current_dir(nginx.folder.path())
            .env("KEYWAY_HOME", nginx.folder.at("home"))
            .env("API_URL", nginx.url())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take().unwrap(),
            child,
            lines,
            next: 1,
        }
    }

    fn send(&mut self, message: &Value) {
        self.stdin
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
    }

    fn tell(&mut self, method: &str) {
        self.send(&json!({"jsonrpc": "2.0", "method": method}));
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(20)).unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Asks until the answer is as wanted: neither nginx nor files change at once.
    fn ask_until(&mut self, method: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = self.ask(method, json!({}));
            if is_wanted(&answer) {
                return answer;
            }
            assert!(Instant::now() < until, "still {answer}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn finish(mut self) {
        drop(self.stdin);
        assert!(self.child.wait().unwrap().success());
    }
}

/// A server behind nginx that notes whom nginx let in.
struct Upstream {
    port: u16,
    clients: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let clients: Arc<Mutex<Vec<String>>> = Arc::default();
        let journal = Arc::clone(&clients);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let journal = Arc::clone(&journal);
                std::thread::spawn(move || serve(stream, &journal));
            }
        });
        Self { port, clients }
    }

    fn seen(&self) -> Vec<String> {
        self.clients.lock().unwrap().clone()
    }

    fn last(&self) -> String {
        self.seen().pop().unwrap_or_default()
    }
}

fn serve(mut stream: TcpStream, journal: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    journal.lock().unwrap().push(header("X-Client"));
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let (status, answer) = match serde_json::from_slice::<Value>(&body) {
        Ok(request) => answer(&request),
        Err(_) => (405, String::new()),
    };
    let length = answer.len();
    let text = format!(
        "HTTP/1.0 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{answer}"
    );
    stream.write_all(text.as_bytes()).unwrap();
}

fn answer(request: &Value) -> (u16, String) {
    let id = &request["id"];
    let answer = match request["method"].as_str().unwrap() {
        "initialize" => json!({"jsonrpc": "2.0", "id": id, "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "behind", "version": "1"}
        }}),
        "tools/list" => json!({"jsonrpc": "2.0", "id": id, "result": {
            "tools": [{"name": "a", "inputSchema": {"type": "object"}}]
        }}),
        method if method.starts_with("notifications/") => return (202, String::new()),
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
    };
    (200, answer.to_string())
}
