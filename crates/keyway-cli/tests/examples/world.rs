//! The hosts of the examples, on loopback: a proxy that leads every name to nginx, and nginx with a
//! certificate for all of them in front of the servers. So the examples run unchanged.

use std::fs::{self, Permissions};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use keyway_testkit::{Authority, Folder, Keyway, Nginx, free_port};

use super::examples;

/// Where one example runs: its folder copied, with a home and nothing else of a person's.
pub(super) struct World {
    pub(super) folder: Folder,
    pub(super) authority: Authority,
    example: &'static str,
    proxy: u16,
    _nginx: Nginx,
}

impl World {
    /// Starts nginx for `host` with these locations; `None` without nginx, which is said.
    ///
    /// `FOLDER` in the locations is replaced by the folder.
    pub(super) fn start(example: &'static str, host: &str, inside: &str) -> Option<Self> {
        let authority = Authority::new("examples");
        let folder = Folder::new()
            .file("ca.pem", authority.pem())
            .file("home/.keep", "");
        authority.issue(&folder, "server", host, &[host]);
        copy(&examples().join(example), &folder, example);
        let port = free_port();
        let at = folder.path().display().to_string();
        let inside = inside.replace("FOLDER", &at);
        let servers = format!(
            "map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}\n\
             server {{\nlisten 127.0.0.1:{port} ssl;\nserver_name {host};\n\
             ssl_certificate {at}/server.pem;\nssl_certificate_key {at}/server.key;\n\
             proxy_http_version 1.1;\nproxy_buffering off;\nproxy_set_header X-Name $host;\n\
             proxy_set_header Upgrade $http_upgrade;\n\
             proxy_set_header Connection $connection_upgrade;\n{inside}\n}}"
        );
        let nginx = Nginx::start(&folder, port, &servers)?;
        Some(Self {
            folder,
            authority,
            example,
            proxy: proxy(host.to_owned(), port).unwrap(),
            _nginx: nginx,
        })
    }

    /// Adds a file that may be run.
    pub(super) fn program(&self, name: &str, text: &str) {
        self.folder.put(name, text);
        fs::set_permissions(self.folder.at(name), Permissions::from_mode(0o755)).unwrap();
    }

    /// Prepares a call of the program in the folder of the example.
    pub(super) fn keyway(&self, arguments: &[&str]) -> Keyway {
        let program = env!("CARGO_BIN_EXE_keyway");
        let beside = Path::new(program).parent().unwrap();
        let path = format!(
            "{}:{}:/usr/bin:/bin",
            self.folder.at("bin").display(),
            beside.display()
        );
        Keyway::new(program, &self.folder.at(self.example))
            .args(arguments.iter().copied())
            .env("KEYWAY_HOME", self.folder.at("home"))
            .env("PATH", path)
            .env("HTTPS_PROXY", format!("http://127.0.0.1:{}", self.proxy))
            .env("SSL_CERT_FILE", self.folder.at("ca.pem"))
    }
}

/// Copies the files of an example, those whose names begin with a dot as well.
fn copy(from: &Path, folder: &Folder, to: &str) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{to}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            copy(&entry.path(), folder, &name);
        } else {
            folder.put(&name, fs::read(entry.path()).unwrap());
            let mode = entry.metadata().unwrap().permissions();
            fs::set_permissions(folder.at(&name), mode).unwrap();
        }
    }
}

/// Starts a proxy that connects `host`, and no other, to a port; it lives as long as the process.
fn proxy(host: String, to: u16) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    drop(thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let host = host.clone();
            drop(thread::spawn(move || drop(tunnel(client, &host, to))));
        }
    }));
    Ok(port)
}

fn tunnel(mut client: TcpStream, host: &str, to: u16) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.extend(byte);
    }
    if !head.starts_with(format!("CONNECT {host}:443 ").as_bytes()) {
        return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    }
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut back, mut forth) = (server.try_clone()?, client.try_clone()?);
    drop(thread::spawn(move || {
        drop(io::copy(&mut back, &mut forth));
        drop(forth.shutdown(std::net::Shutdown::Write));
    }));
    io::copy(&mut client, &mut server)?;
    server.shutdown(std::net::Shutdown::Write)
}
