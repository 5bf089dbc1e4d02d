//! Units of systemd's user manager.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{MARK, SERVICE_UNIT, SOCKET_UNIT, Service, UnitFile};

pub(super) fn files(service: &Service) -> Vec<UnitFile> {
    vec![
        UnitFile {
            name: SOCKET_UNIT,
            content: sockets(service),
        },
        UnitFile {
            name: SERVICE_UNIT,
            content: program(service),
        },
    ]
}

fn sockets(service: &Service) -> String {
    let mut listen = format!("ListenStream={}\n", service.listen);
    if service.has_both_families {
        let port = service.listen.port();
        let other = match service.listen.ip() {
            IpAddr::V4(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        let other = SocketAddr::new(other, port);
        listen.push_str(&format!("ListenStream={other}\n"));
    }
    let path = specifiers(&service.socket);
    format!(
        "# {MARK}\n\
         [Unit]\n\
         Description=Keyway gateway for MCP servers (sockets)\n\
         \n\
         [Socket]\n\
         {listen}\
         ListenStream={path}\n\
         SocketMode=0600\n\
         DirectoryMode=0700\n\
         RemoveOnStop=yes\n\
         \n\
         [Install]\n\
         WantedBy=sockets.target\n"
    )
}

fn program(service: &Service) -> String {
    let command: Vec<String> = service.command().map(quoted).collect();
    let mut environment = String::new();
    for (name, value) in &service.environment {
        let assignment = quoted(&format!("{name}={value}"));
        environment.push_str(&format!("Environment={assignment}\n"));
    }
    // The colon keeps `$` in a path what it is.
    format!(
        "# {MARK}\n\
         [Unit]\n\
         Description=Keyway gateway for MCP servers\n\
         Requires={SOCKET_UNIT}\n\
         After={SOCKET_UNIT}\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart=:{}\n\
         {environment}\
         Restart=on-failure\n\
         RestartSec=2\n\
         KillMode=mixed\n\
         UMask=0077\n\
         \n\
         [Install]\n\
         Also={SOCKET_UNIT}\n",
        command.join(" ")
    )
}

/// Writes a word so that systemd reads it back as it is.
fn quoted(word: &str) -> String {
    let mut text = String::from('"');
    for c in specifiers(word).chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text
}

fn specifiers(text: &str) -> String {
    text.replace('%', "%%")
}
