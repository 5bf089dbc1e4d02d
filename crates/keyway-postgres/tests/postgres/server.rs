//! A PostgreSQL server of this test process, in a temporary folder, as an unprivileged user.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use keyway_postgres::{FileKey, Person, PostgresError, PostgresGrants, Replica, Settings};
use keyway_store::conformance::Backend;
use tempfile::TempDir;

/// A running server; it ends with this process, because its keeper reads from our pipe.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    _keeper: Child,
}

impl Server {
    /// The server that the tests of this process share.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts a server for one test that stops, restarts or reconfigures it.
    pub(crate) fn start() -> Self {
        assert!(
            Path::new(BINARIES).join("initdb").is_file(),
            "PostgreSQL 15 is not installed: run `cargo xtask tools --setup`, or install the \
             Debian package `postgresql-15`"
        );
        let server = Self::keep(&format!("{MAKE}\n{KEEPER_START}"), &[]);
        server.sql("postgres", "CREATE ROLE keyway LOGIN");
        server
    }

    /// Runs a keeper in a folder of its own, until this process ends.
    fn keep(script: &str, more: &[&str]) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("keyway-pg-")
            .tempdir()
            .unwrap()
            .keep();
        give_away(&folder);
        let mut keeper = unprivileged("sh")
            .args(["-c", script, BINARIES])
            .arg(&folder)
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let stdout = keeper.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut said).unwrap();
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert_eq!(said, "ready\n", "PostgreSQL does not start:\n{log}");
        Self {
            folder,
            _keeper: keeper,
        }
    }

    /// Runs statements as the superuser and returns what they print.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        let output = program("psql")
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "super"])
            .args(["-d", database, "-c", sql, "-h"])
            .arg(&self.folder)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {error}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Starts, stops or restarts it.
    pub(crate) fn control(&self, arguments: &[&str]) {
        let done = unprivileged(&format!("{BINARIES}/pg_ctl"))
            .args(["-w", "-s", "-D"])
            .arg(self.folder.join("data"))
            .arg("-l")
            .arg(self.folder.join("log"))
            .args(arguments)
            .status()
            .unwrap();
        assert!(done.success(), "{arguments:?}");
    }

    /// Makes an empty database.
    pub(crate) fn database(&self) -> Database<'_> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER keyway"));
        let place = tempfile::tempdir().unwrap();
        write_private(&place.path().join("key"), &"5a".repeat(32));
        std::fs::create_dir(place.path().join("journal")).unwrap();
        Database {
            server: self,
            name,
            place,
        }
    }

    /// Starts a server that replays this one.
    pub(crate) fn standby(&self) -> Self {
        let conf = format!(
            "primary_conninfo = 'host={} user=super'",
            self.folder.display()
        );
        let copy = format!("{COPY}\n{KEEPER_START}");
        Self::keep(&copy, &[self.folder.to_str().unwrap(), &conf])
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// A database of one test.
#[derive(Debug)]
pub(crate) struct Database<'a> {
    pub(crate) server: &'a Server,
    pub(crate) name: String,
    /// Holds the wrapping key and the journal.
    pub(crate) place: TempDir,
}

impl Database<'_> {
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.name, sql)
    }

    pub(crate) fn address(&self, role: &str) -> String {
        let socket = self.server.folder.to_str().unwrap().replace('/', "%2F");
        format!("postgres://{role}@{socket}/{}", self.name)
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

/// Gives a file to the user that commands run as.
pub(crate) fn give_away(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// A command run as a user that PostgreSQL accepts: it refuses to run as root.
pub(crate) fn unprivileged(program: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the tests start a database")]
    let mut command = Command::new(program);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir("/");
    command
}

fn program(name: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the tests start a database")]
    Command::new(Path::new(BINARIES).join(name))
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

const BINARIES: &str = "/usr/lib/postgresql/15/bin";
const NOBODY: u32 = 65534;
/// Makes a server.
const MAKE: &str = r#"
bin=$0 folder=$1
export LC_ALL=C.UTF-8
"$bin/initdb" -D "$folder/data" -U super -A trust -E UTF8 --no-sync >"$folder/log" 2>&1
cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = ''
max_connections = 200
fsync = off
shared_buffers = 16MB
END
"#;
/// Copies another one, as its standby.
const COPY: &str = r#"
bin=$0 folder=$1
export LC_ALL=C.UTF-8
"$bin/pg_basebackup" -h "$2" -U super -D "$folder/data" -c fast --no-sync >"$folder/log" 2>&1
touch "$folder/data/standby.signal"
echo "$3" >>"$folder/data/postgresql.conf"
"#;
/// Starts it, and removes it when our end of its input closes, however we end.
const KEEPER_START: &str = r#"
echo "unix_socket_directories = '$folder'" >>"$folder/data/postgresql.conf"
"$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -s start >>"$folder/log" 2>&1 && echo ready
read -r _
"$bin/pg_ctl" -D "$folder/data" -m immediate -s stop
rm -rf "$folder"
"#;
