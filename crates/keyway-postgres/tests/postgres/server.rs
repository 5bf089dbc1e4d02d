//! A database of one test, on a server that the tests start.

use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use keyway_postgres::{FileKey, Person, PostgresError, PostgresGrants, Replica, Settings};
use keyway_store::conformance::Backend;
pub(crate) use keyway_testkit::PostgresServer as Server;
pub(crate) use keyway_testkit::{give_away, unprivileged};
use tempfile::TempDir;

/// The server that the tests of this process share.
pub(crate) fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(Server::start)
}

/// A database of one test.
#[derive(Debug)]
pub(crate) struct Database<'a> {
    pub(crate) server: &'a Server,
    pub(crate) name: String,
    /// Holds the wrapping key and the journal.
    pub(crate) place: TempDir,
}

impl<'a> Database<'a> {
    /// Makes an empty database.
    pub(crate) fn new(server: &'a Server) -> Self {
        let place = tempfile::tempdir().unwrap();
        write_private(&place.path().join("key"), &"5a".repeat(32));
        std::fs::create_dir(place.path().join("journal")).unwrap();
        Self {
            server,
            name: server.create_database(),
            place,
        }
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.name, sql)
    }

    pub(crate) fn address(&self, role: &str) -> String {
        self.server.address(role, &self.name)
    }

    pub(crate) fn settings(&self) -> Settings {
        settings(&self.address("keyway"), self.place.path())
    }

    pub(crate) fn try_replica(&self) -> Result<Replica, PostgresError> {
        Replica::open(&self.settings(), Arc::new(self.key()))
    }

    pub(crate) fn replica(&self) -> Replica {
        self.try_replica().unwrap()
    }

    pub(crate) fn key(&self) -> FileKey {
        FileKey::read(&self.place.path().join("key")).unwrap()
    }
}

pub(crate) fn settings(address: &str, place: &Path) -> Settings {
    Settings::new(address)
        .unwrap()
        .with_connections(3)
        .with_journal(place.join("journal"))
}

pub(crate) fn ada() -> Person {
    Person::new("acme", "https://idp.example ada").unwrap()
}

pub(crate) fn bob() -> Person {
    Person::new("acme", "https://idp.example bob").unwrap()
}

impl Backend for Database<'_> {
    type Store = PostgresGrants;

    fn open(&self) -> PostgresGrants {
        self.replica().grants(ada())
    }

    /// Every moment comes from one function of the schema, so the clock is moved there.
    fn advance(&self, by: Duration) -> bool {
        let shift = by.as_millis();
        self.sql(&format!(
            "CREATE TABLE IF NOT EXISTS shift (millis bigint);
             GRANT SELECT ON shift TO keyway;
             INSERT INTO shift VALUES ({shift});
             CREATE OR REPLACE FUNCTION keyway.now() RETURNS bigint LANGUAGE sql VOLATILE AS
             'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
                     + (SELECT sum(millis) FROM public.shift)::bigint'"
        ));
        true
    }
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0);
}
