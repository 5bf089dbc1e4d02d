//! What the replicas and the proxies are told: where each listens, and what is different about which.

use std::os::unix::fs::PermissionsExt as _;

use keyway_testkit::{Folder, free_port};
use serde_json::json;

use crate::namespaces::Link;
use crate::transit;
use crate::upstream::World;

/// Ports that configurations name before anything listens there.
pub(crate) struct Ports {
    pub(crate) public: u16,
    pub(crate) database: u16,
    pub(crate) servers: [u16; 2],
    pub(crate) replicas: [u16; REPLICAS],
}

impl Ports {
    pub(crate) fn free() -> Self {
        Self {
            public: free_port(),
            database: free_port(),
            servers: [free_port(), free_port()],
            replicas: std::array::from_fn(|_| free_port()),
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.public)
    }
}

/// Makes the homes of the replicas, and one for the first sign-ins.
pub(crate) fn folder(ports: &Ports, world: &World, has_link: bool) -> Folder {
    let entries: serde_json::Map<_, _> = world
        .ports
        .iter()
        .enumerate()
        .map(|(number, port)| {
            let url = format!("http://127.0.0.1:{port}/mcp");
            (format!("s{number}"), json!({ "type": "http", "url": url }))
        })
        .collect();
    let browser = "#!/bin/sh\nexec curl -sSL -o /dev/null \"$1\"\n";
    let mut folder = Folder::new()
        .file("p/.mcp.json", json!(entries).to_string())
        .file("transit-token", "storm\n")
        .mode("transit-token", 0o600)
        .executable("browser", browser);
    let secret_file = folder.at("transit-token").display().to_string();
    let config = |address: &str, connections: u32| {
        format!(
            "[vault]\naddress = \"postgres://keyway@{address}\"\nconnections = {connections}\n\
             [vault.key]\ntransit_url = \"http://127.0.0.1:{}{}\"\nname = \"{}\"\n\
             secret_file = \"{secret_file}\"\n\
             [gateway]\npublic_url = \"{}\"\n\
             [gateway.people]\nissuers = [\"{}\"]\nalgorithms = [\"ES256\"]\nscopes = [\"mcp\"]\n",
            world.transit_port,
            transit::MOUNT,
            transit::NAME,
            ports.address(),
            world.issuer.name,
        )
    };
    let proxied = format!("127.0.0.1:{}/storm", ports.database);
    // Without the proxy, which would end the connections of a host that vanished: that is what the
    // settings of the product's own connections are for.
    let [first, second] = ports.servers.map(|port| format!("127.0.0.1:{port}"));
    let direct = format!("{first},{second}/storm?target_session_attrs=read-write");
    let homes = (0..REPLICAS).map(|number| {
        let is_direct = has_link && number == BEHIND_LINK;
        let address = if is_direct { &direct } else { &proxied };
        let connections = if number == WITH_SMALL_POOL { 2 } else { 16 };
        (format!("home{number}"), config(address, connections))
    });
    // Before the proxy runs, the first sign-ins go to the database itself.
    let own = ("home".to_owned(), config(&format!("{first}/storm"), 16));
    for (home, config) in homes.chain([own]) {
        folder = folder
            .file(&format!("{home}/keyway/config/config.toml"), config)
            .mode(&format!("{home}/keyway"), 0o700)
            .mode(&format!("{home}/keyway/config"), 0o700)
            .file(&format!("{home}/tmp/here"), "");
    }
    let path = folder.path().to_owned();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    folder
}

/// Returns the configuration of the proxy before the replicas and before the database.
pub(crate) fn proxy(
    folder: &Folder,
    ports: &Ports,
    primary_is: usize,
    hosts: &[String; REPLICAS],
) -> String {
    let mut text = format!(
        "global\n maxconn 8000\n stats socket {} level admin\n\
         defaults\n timeout connect 2s\n timeout client 150s\n timeout server 150s\n\
         frontend people\n mode http\n bind 127.0.0.1:{}\n default_backend replicas\n\
         backend replicas\n mode http\n timeout check 1s\n balance random\n option httpchk\n option redispatch\n\
         \x20retries 3\n http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host 127.0.0.1:{}\n",
        folder.at("haproxy.sock").display(),
        ports.public,
        ports.public
    );
    for (number, (port, host)) in ports.replicas.iter().zip(hosts).enumerate() {
        text += &format!(" server r{number} {host}:{port} check inter 300ms fall 1 rise 1\n");
    }
    text += &format!(
        "listen database\n mode tcp\n retries 0\n bind 127.0.0.1:{}\n",
        ports.database
    );
    for (number, port) in ports.servers.iter().enumerate() {
        let is_primary = number == primary_is;
        let disabled = if is_primary { "" } else { " disabled" };
        text += &format!(" server d{number} 127.0.0.1:{port}{disabled}\n");
    }
    text
}

/// Returns the configuration of the proxy that lets calls in to the host behind a link.
pub(crate) fn link_proxy(link: &Link, port: u16) -> String {
    format!(
        "global\n maxconn 4000\n\
         defaults\n mode tcp\n retries 0\n timeout connect 2s\n timeout client 150s\n\
         \x20timeout server 150s\n\
         listen replica\n bind {}:{port}\n server r {}:{port}\n",
        link.there(),
        Link::LOOPBACK
    )
}

/// How many replicas there are.
pub(crate) const REPLICAS: usize = 3;
/// The replica with two connections to the database, and one that shows that it lives.
pub(crate) const WITH_SMALL_POOL: usize = 0;
/// The replica whose folder is on a small disk.
pub(crate) const ON_SMALL_DISK: usize = 1;
/// The replica on a host of its own.
pub(crate) const BEHIND_LINK: usize = 2;
