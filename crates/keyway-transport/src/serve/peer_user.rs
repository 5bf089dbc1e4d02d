//! Whose process is at the other end of a connection on this machine, as far as the kernel tells.

use std::net::{IpAddr, SocketAddr};

/// Returns the user of the process that has `peer` connected to `own`; `None` where that is not
/// told.
///
/// Reads the kernel's tables, which may be long: not for every request.
pub(super) fn of(peer: SocketAddr, own: SocketAddr) -> Option<u32> {
    let table = match peer {
        SocketAddr::V4(_) => "/proc/net/tcp",
        SocketAddr::V6(_) => "/proc/net/tcp6",
    };
    find(&std::fs::read_to_string(table).ok()?, peer, own)
}

/// Finds the row of the other end: there, what is the peer to us is local.
fn find(table: &str, peer: SocketAddr, own: SocketAddr) -> Option<u32> {
    let (peer, own) = (written(peer), written(own));
    table.lines().skip(1).find_map(|row| {
        let mut fields = row.split_whitespace().skip(1);
        let is_it = fields.next() == Some(&peer) && fields.next() == Some(&own);
        is_it.then(|| fields.nth(4)?.parse().ok()).flatten()
    })
}

/// Writes an address as the kernel does: words in the order of the machine's bytes.
fn written(address: SocketAddr) -> String {
    let words: Vec<u8> = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = words.chunks(4).map(|word| {
        let mut bytes = [0; 4];
        bytes
            .iter_mut()
            .zip(word)
            .for_each(|(to, from)| *to = *from);
        format!("{:08X}", u32::from_ne_bytes(bytes))
    });
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn table_row_of_the_peer_gives_its_user() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1517 0100007F:C001 01 00000000:00000000 00:00000000 00000000     7        0 1 1\n   \
            1: 0100007F:C001 0100007F:1517 01 00000000:00000000 00:00000000 00000000  1000        0 2 1\n";
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let own = at("127.0.0.1:5399");
        if cfg!(target_endian = "little") {
            assert_eq!(find(table, at("127.0.0.1:49153"), own), Some(1000));
        }
        assert_eq!(find(table, at("127.0.0.1:49154"), own), None);
        assert_eq!(find(table, at("127.0.0.2:49153"), own), None);
        assert_eq!(find("", own, own), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn connection_of_our_user_is_found_in_the_table() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, peer) = listener.accept().unwrap();
            let user = rustix::process::geteuid().as_raw();
            assert_eq!(of(peer, accepted.local_addr().unwrap()), Some(user));
            drop(client);
        }
    }
}
