//! Where the session bus is: the address that a desktop session puts into the environment.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// A Unix socket on which a bus listens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BusAddress {
    /// A socket in the file system.
    Path(PathBuf),
    /// A socket in Linux' abstract namespace.
    Abstract(OsString),
}

impl BusAddress {
    /// Reads a list of addresses as in `DBUS_SESSION_BUS_ADDRESS`; those that are not Unix sockets
    /// or not well formed are left out.
    ///
    /// `runtime` stands for `unix:runtime=yes`, a socket `bus` in the run-time folder.
    ///
    /// ```
    /// use keyway_keyring::BusAddress;
    ///
    /// let found = BusAddress::parse("tcp:host=h;unix:path=/run/user/7/b%20s,guid=1", None);
    /// assert_eq!(found, [BusAddress::Path("/run/user/7/b s".into())]);
    /// ```
    #[must_use]
    pub fn parse(list: &str, runtime: Option<&Path>) -> Vec<Self> {
        list.split(';')
            .filter_map(|address| Self::parse_one(address, runtime))
            .collect()
    }

    /// Returns the socket that a session has where no variable names one.
    #[must_use]
    pub fn in_runtime_folder(runtime: &Path) -> Self {
        Self::Path(runtime.join("bus"))
    }

    fn parse_one(address: &str, runtime: Option<&Path>) -> Option<Self> {
        let (transport, pairs) = address.split_once(':')?;
        if transport != "unix" {
            return None;
        }
        pairs.split(',').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            let value = unescape(value)?;
            match key {
                "path" => Some(Self::Path(value.into())),
                "abstract" => Some(Self::Abstract(value)),
                "runtime" if value == "yes" => runtime.map(Self::in_runtime_folder),
                _ => None,
            }
        })
    }

    pub(crate) fn connect(&self) -> io::Result<UnixStream> {
        match self {
            Self::Path(path) => UnixStream::connect(path),
            Self::Abstract(name) => connect_abstract(name),
        }
    }
}

#[cfg(target_os = "linux")]
fn connect_abstract(name: &OsString) -> io::Result<UnixStream> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name.as_bytes())?;
    UnixStream::connect_addr(&address)
}

#[cfg(not(target_os = "linux"))]
fn connect_abstract(_name: &OsString) -> io::Result<UnixStream> {
    Err(io::ErrorKind::NotFound.into())
}

/// Undoes `%20` and the like.
fn unescape(value: &str) -> Option<OsString> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let (digits, after) = rest.split_first_chunk::<2>()?;
        let digits = std::str::from_utf8(digits).ok()?;
        out.push(
            u8::from_str_radix(digits, 16)
                .ok()
                .filter(|_| !digits.starts_with('+'))?,
        );
        rest = after;
    }
    (!out.is_empty()).then(|| OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_sessions_use_is_read() {
        let runtime = Some(Path::new("/run/user/7"));
        let path = |path: &str| BusAddress::Path(path.into());
        for (text, expected) in [
            ("unix:path=/run/user/7/bus", path("/run/user/7/bus")),
            ("unix:guid=0a,path=/x", path("/x")),
            ("unix:path=/tmp/a%2cb%25", path("/tmp/a,b%")),
            (
                "unix:abstract=/tmp/dbus-x,guid=1",
                BusAddress::Abstract("/tmp/dbus-x".into()),
            ),
            ("unix:runtime=yes", path("/run/user/7/bus")),
        ] {
            assert_eq!(BusAddress::parse(text, runtime), [expected], "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn abstract_socket_is_found_under_its_name() {
        use std::os::linux::net::SocketAddrExt as _;
        use std::os::unix::net::{SocketAddr, UnixListener};
        let name = format!("keyway-test-{}", std::process::id());
        let found = BusAddress::parse(&format!("unix:abstract={name}"), None);
        assert!(found[0].connect().is_err());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let _listener = UnixListener::bind_addr(&address).unwrap();
        assert!(found[0].connect().is_ok());
    }

    #[test]
    fn addresses_other_than_unix_sockets_are_left_out() {
        for text in [
            "",
            "disabled:",
            "autolaunch:",
            "unixexec:path=/bin/sh",
            "tcp:host=h,port=1",
            "unix:",
            "unix:path=",
            "unix:path=%4",
            "unix:path=%+4",
            "unix:tmpdir=/tmp",
            "unix:runtime=no",
        ] {
            assert_eq!(BusAddress::parse(text, None), [], "{text}");
        }
    }
}
