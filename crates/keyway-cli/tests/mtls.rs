//! `keyway mtls` and the client certificate of `config.toml`, against a real nginx that asks for
//! certificates; without nginx these tests say so.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests start servers, and stop where they cannot"
)]

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use keyway_testkit::{
    Client, Folder, Keyway, Request, Upstream, appears, eventually, free_port, mcp,
};
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
    rotate(&nginx, Client::start(&nginx.keyway().args(arguments)));
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
    rotate(&nginx, Client::start(&nginx.keyway().args(["run"])));
}

fn rotate(nginx: &Nginx, mut client: Client) {
    assert_eq!(client.tools(), ["a"]);
    assert_eq!(nginx.upstream.last(), "CN=one");

    // The server no longer believes the first authority.
    nginx.believe(&nginx.second);
    let refused = ask_until(&mut client, "tools/list", |answer| {
        answer.get("error").is_some()
    });
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("400"),
        "{refused}"
    );
    nginx.second.write(&nginx.folder, "client", "two");
    let answer = ask_until(&mut client, "tools/list", |answer| {
        answer.get("result").is_some()
    });
    assert_eq!(answer["result"]["tools"][0]["name"], "a", "{answer}");
    assert_eq!(nginx.upstream.last(), "CN=two");
    drop(client.leave());
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
    let call = nginx.keyway().args(whole).env("PASS", "CANARY-passphrase");
    let client = Client::start(&call);
    assert_eq!(nginx.upstream.last(), "CN=locked");
    drop(client.leave());
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
        // The time between the two files is what is tested: half a pair is on the disk for a while.
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
    upstream: Behind,
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
        let upstream = Behind::start();
        let port = free_port();
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
            upstream.0.port()
        );
        folder.put("nginx.conf", settings);
        let child = Command::new(program)
            .args(["-p", &at.to_string(), "-e", "error.log", "-c", "nginx.conf"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("nginx listens; see its error.log", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
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

/// Asks until the answer is as wanted: neither nginx nor files change at once.
fn ask_until(client: &mut Client, method: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    appears("the wanted answer", || {
        let answer = client.ask(method, &json!({}));
        is_wanted(&answer).then_some(answer)
    })
}

/// A server behind nginx that notes whom nginx let in.
struct Behind(Upstream);

impl Behind {
    fn start() -> Self {
        Self(Upstream::start(|request| {
            mcp(request, |method, _| {
                let tools = json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]});
                (method == "tools/list").then_some(tools)
            })
        }))
    }

    fn seen(&self) -> Vec<String> {
        let seen = self.0.seen();
        let client = |request: &Request| request.header("x-client").unwrap_or_default().to_owned();
        seen.iter().map(client).collect()
    }

    fn last(&self) -> String {
        self.seen().pop().unwrap_or_default()
    }
}
