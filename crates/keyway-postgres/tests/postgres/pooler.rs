//! A real pgbouncer in transaction mode.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::thread::JoinHandle;

use tempfile::TempDir;

use crate::server::{Database, give_away, unprivileged, write_private};

/// A running pooler; killed when dropped.
pub(crate) struct Pooler {
    pub(crate) address: String,
    child: Child,
    log: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Pooler {
    pub(crate) fn start(database: &Database<'_>, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().to_str().unwrap();
        let server = database.server.folder().display();
        let [config, users] = ["pgbouncer.ini", "users"].map(|name| folder.path().join(name));
        write_private(
            &config,
            &format!(
                "[databases]\n* = host={server}\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\n\
                 unix_socket_dir = {socket}\nauth_type = trust\nauth_file = {socket}/users\n\
                 pool_mode = transaction\n{more}\n"
            ),
        );
        write_private(&users, "\"keyway\" \"\"\n");
        for file in [folder.path(), &config, &users] {
            give_away(file);
        }
        let mut child = unprivileged("/usr/sbin/pgbouncer")
            .arg(&config)
            .stderr(Stdio::piped())
            .spawn()
            .expect("pgbouncer is not installed: run `cargo xtask tools --setup`");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("process up")));
        let name = &database.name;
        Self {
            address: format!(
                "postgres://keyway@{}:6432/{name}",
                socket.replace('/', "%2F")
            ),
            child,
            // It must be able to go on writing.
            log: Some(std::thread::spawn(move || lines.for_each(drop))),
            _folder: folder,
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(self.log.take().map(JoinHandle::join));
    }
}
