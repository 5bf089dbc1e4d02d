//! A server that does as a function says, in the clear or over TLS.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

/// What a server says to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn empty(status: u16, headers: &str) -> Self {
        Self {
            status,
            headers: headers.to_owned(),
            body: String::new(),
        }
    }
}

type Script = Arc<dyn Fn(&str) -> Answer + Send + Sync>;

/// A running server.
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server; the function gets the head of a request with its body.
    pub(crate) fn start(script: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_with(None, script)
    }

    /// Starts a server that lists a tool if a request has exactly this header.
    pub(crate) fn wants(header: &'static str) -> Self {
        Self::start(move |request| {
            if request
                .lines()
                .any(|line| line.eq_ignore_ascii_case(header))
            {
                return mcp(request);
            }
            Answer::empty(401, "")
        })
    }

    pub(crate) fn start_with(
        tls: Option<Arc<ServerConfig>>,
        script: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0", tls, script)
    }

    /// Starts a server at an address that is known before.
    pub(crate) fn start_at(
        address: &str,
        tls: Option<Arc<ServerConfig>>,
        script: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (journal, script): (_, Script) = (Arc::clone(&asked), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (journal, script) = (Arc::clone(&journal), Arc::clone(&script));
                let tls = tls.clone();
                std::thread::spawn(move || match tls {
                    None => serve(stream, &script, &journal),
                    Some(tls) => {
                        let connection = ServerConnection::new(tls).unwrap();
                        serve(StreamOwned::new(connection, stream), &script, &journal);
                    }
                });
            }
        });
        Self { port, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A server that takes connections and never says anything.
pub(crate) fn hanging() -> u16 {
    hanging_and_told().0
}

/// The same, and it tells of each connection.
pub(crate) fn hanging_and_told() -> (u16, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut streams: Vec<TcpStream> = Vec::new();
        for stream in listener.incoming().flatten() {
            streams.push(stream);
            // Not every test listens.
            let _unheard = tell.send(());
        }
    });
    (port, told)
}

/// Makes an authority and a server certificate for 127.0.0.1 that ends in the year `until`.
pub(crate) fn certificate(until: i32) -> (String, Arc<ServerConfig>) {
    certificate_for("127.0.0.1", until)
}

/// The same for another name.
pub(crate) fn certificate_for(name: &str, until: i32) -> (String, Arc<ServerConfig>) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    authority
        .distinguished_name
        .push(rcgen::DnType::CommonName, "a test authority");
    let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let mut own = CertificateParams::new(vec![name.to_owned()]).unwrap();
    own.not_before = rcgen::date_time_ymd(2001, 1, 1);
    own.not_after = rcgen::date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().unwrap();
    let signed = own.signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.der().clone()], key)
        .unwrap();
    (issuer.pem(), Arc::new(config))
}

fn serve(stream: impl Read + Write, script: &Script, journal: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let lower = head.to_lowercase();
        let length = lower.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let request = format!("{head}{}", String::from_utf8(body).unwrap()).replace("\r\n", "\n");
        journal.lock().unwrap().push(request.clone());
        let answer = script(&request);
        let text = format!(
            "HTTP/1.1 {} X\r\ncontent-type: application/json\r\n{}content-length: {}\r\n\r\n{}",
            answer.status,
            answer.headers,
            answer.body.len(),
            answer.body,
        );
        let stream = reader.get_mut();
        if stream
            .write_all(text.as_bytes())
            .and_then(|()| stream.flush())
            .is_err()
        {
            return;
        }
    }
}

/// Answers as a server of MCP with one tool does.
pub(crate) fn mcp(request: &str) -> Answer {
    mcp_of(request, "2025-06-18")
}

/// The same, of any version.
pub(crate) fn mcp_of(request: &str, version: &str) -> Answer {
    if !request.starts_with("POST ") {
        return Answer::empty(405, "");
    }
    let (_, body) = request.split_once("\n\n").unwrap();
    let message: Value = serde_json::from_str(body).unwrap();
    let id = &message["id"];
    let outcome = match message["method"].as_str().unwrap() {
        "initialize" => format!(
            r#""result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"x","version":"1"}}}}"#
        ),
        "tools/list" => {
            r#""result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#.to_owned()
        }
        method if method.starts_with("notifications/") => return Answer::empty(202, ""),
        _ => r#""error":{"code":-32601,"message":"no"}"#.to_owned(),
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#);
    Answer {
        status: 200,
        headers: String::new(),
        body,
    }
}
