//! `keyway mtls` and the client certificate of `config.toml`, against a real nginx that asks for
//! certificates; without nginx these tests say so.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests start servers, and stop where they cannot"
)]

use keyway_testkit::{
    Authority, Client, Folder, Keyway, Nginx, Request, Upstream, appears, free_port, mcp,
};
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{Decode as _, SecretDocument};
use pkcs8::{PrivateKeyInfoRef, pkcs5};
use serde_json::{Value, json};

#[test]
fn a_certificate_opens_the_door_and_a_rotated_one_does_without_a_restart() {
    let Some(nginx) = Guarded::start() else {
        return;
    };
    nginx.first.issue(&nginx.folder, "client", "one", &[]);
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
    let Some(nginx) = Guarded::start() else {
        return;
    };
    let folder = &nginx.folder;
    nginx.first.issue(folder, "client", "one", &[]);
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{}"}}}}"#, nginx.url());
    folder.put(".mcp.json", entry);
    let settings = format!(
        "[network]\nroots = [\"{at}/ca.pem\"]\nclient_certificate = \"{at}/client.pem\"\nclient_key = \"{at}/client.key\"\n",
        at = folder.path().display()
    );
    folder.put("home/config/config.toml", settings);
    rotate(&nginx, Client::start(&nginx.keyway().args(["run"])));
}

fn rotate(nginx: &Guarded, mut client: Client) {
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
            .contains("client certificate"),
        "{refused}"
    );
    nginx.second.issue(&nginx.folder, "client", "two", &[]);
    let answer = ask_until(&mut client, "tools/list", |answer| {
        answer.get("result").is_some()
    });
    assert_eq!(answer["result"]["tools"][0]["name"], "a", "{answer}");
    assert_eq!(nginx.upstream.last(), "CN=two");
    drop(client.leave());
}

#[test]
fn an_encrypted_key_is_opened_by_a_variable_that_is_named() {
    let Some(nginx) = Guarded::start() else {
        return;
    };
    nginx.first.issue(&nginx.folder, "client", "locked", &[]);
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
    let Some(nginx) = Guarded::start() else {
        return;
    };
    let folder = &nginx.folder;
    nginx.first.issue(folder, "client", "entry", &[]);
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
    let Some(nginx) = Guarded::start() else {
        return;
    };
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
    let words = "the server requires a client certificate";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    assert!(nginx.upstream.seen().is_empty());
    nginx
        .first
        .issue(folder, "home/config/own", "settings", &[]);
    let own = format!("{roots}client_certificate = \"own.pem\"\nclient_key = \"own.key\"\n");
    folder.put("home/config/config.toml", own);
    let outcome = nginx.keyway().args(["tools", "s"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert_eq!(nginx.upstream.last(), "CN=settings");
}

/// A certificate that the server rejects is explained as such by every command.
#[test]
fn a_rejected_certificate_is_explained_by_doctor_and_by_call() {
    let Some(nginx) = Guarded::start() else {
        return;
    };
    let folder = &nginx.folder;
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{}"}}}}"#, nginx.url());
    folder.put(".mcp.json", entry);
    nginx.second.issue(folder, "home/config/own", "other", &[]);
    let settings = format!(
        "[network]\nroots = [\"{}\"]\nclient_certificate = \"own.pem\"\nclient_key = \"own.key\"\n",
        folder.at("ca.pem").display()
    );
    folder.put("home/config/config.toml", settings);
    for words in [&["call", "s", "t"][..], &["doctor", "--server", "s"]] {
        let refused = nginx.keyway().args(words.iter().copied()).run();
        assert_eq!(refused.code, 1, "{words:?}: {}", refused.everything());
        for part in ["client certificate", "`client_key`"] {
            let said = refused.everything();
            assert!(said.contains(part), "{words:?}: {part}: {said}");
        }
    }
    assert!(nginx.upstream.seen().is_empty());
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

/// nginx in front of a server, with two authorities of which it believes one.
struct Guarded {
    nginx: Nginx,
    port: u16,
    folder: Folder,
    first: Authority,
    second: Authority,
    upstream: Behind,
}

impl Guarded {
    fn start() -> Option<Self> {
        let (first, second) = (Authority::new("first"), Authority::new("second"));
        let upstream = Behind::start();
        let port = free_port();
        let folder = Folder::new()
            .file("ca.pem", first.pem())
            .file("clients.pem", first.pem())
            .file("home/config/empty", "")
            .mode("home/config", 0o700);
        first.issue(&folder, "server", "localhost", &["127.0.0.1"]);
        let at = folder.path().display();
        let servers = format!(
            "server {{\nlisten 127.0.0.1:{port} ssl;\nssl_certificate {at}/server.pem;\n\
             ssl_certificate_key {at}/server.key;\nssl_client_certificate {at}/clients.pem;\n\
             ssl_verify_client on;\nlocation / {{\nproxy_pass http://127.0.0.1:{};\n\
             proxy_set_header X-Client $ssl_client_s_dn;\n}}\n}}",
            upstream.0.port()
        );
        let nginx = Nginx::start(&folder, port, &servers)?;
        Some(Self {
            nginx,
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
        self.folder.put("clients.pem", authority.pem());
        self.nginx.reload();
    }
}

/// Asks until the answer is as wanted: neither nginx nor files change at once.
fn ask_until(client: &mut Client, method: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    appears("the wanted answer", || {
        let answer = client.ask(method, &json!({}));
        is_wanted(&answer).then_some(answer)
    })
}

/// A server behind nginx that notes which clients nginx accepted.
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
