//! A PostgreSQL server of a test process, in a temporary folder, as an unprivileged user.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A running server; it ends with this process, because its keeper reads from our pipe.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    /// Of its socket, and of TCP if it listens there.
    port: u16,
    /// How many databases were made; relaxed, because only the numbers must differ.
    databases: AtomicUsize,
    _keeper: Child,
}

#[expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test without its database must stop"
)]
impl PostgresServer {
    /// Starts a server. Its role `keyway` may connect, and owns the databases that are made.
    #[must_use]
    pub fn start() -> Self {
        assert!(
            Path::new(BINARIES).join("initdb").is_file(),
            "PostgreSQL 15 is not installed: run `cargo xtask tools --setup`, or install the \
             Debian package `postgresql-15`"
        );
        Self::made(
            SOCKET_PORT,
            "listen_addresses = ''\nfsync = off\nmax_connections = 200",
        )
    }

    /// Starts a server that waits for the disk, and that is reached over TCP as well: from this machine
    /// and from the network namespaces that a test has made of it.
    #[must_use]
    pub fn start_on(port: u16) -> Self {
        Self::made(port, "listen_addresses = '*'\nmax_connections = 300")
    }

    fn made(port: u16, conf: &str) -> Self {
        let script = format!("{MAKE}\n{KEEPER_START}");
        let server = Self::keep(&script, port, &[conf]);
        server.sql("postgres", "CREATE ROLE keyway LOGIN");
        server
    }

    /// Runs a keeper in a folder of its own, until this process ends.
    fn keep(script: &str, port: u16, more: &[&str]) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("keyway-pg-")
            .tempdir()
            .unwrap()
            .keep();
        give_away(&folder);
        let mut keeper = unprivileged("sh")
            .args(["-c", script, BINARIES])
            .arg(&folder)
            .arg(port.to_string())
            .args(more)
            // What ends a test that takes too long ends its group, and would leave the server behind.
            .process_group(0)
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
            port,
            databases: AtomicUsize::new(0),
            _keeper: keeper,
        }
    }

    /// Runs statements as the superuser and returns what they print.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = program("psql")
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "super"])
            .args([
                "-d",
                database,
                "-c",
                sql,
                "-p",
                &self.port.to_string(),
                "-h",
            ])
            .arg(&self.folder)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {error}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Starts, stops or restarts it.
    pub fn control(&self, arguments: &[&str]) {
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

    /// Makes an empty database, owned by the role `keyway`, and returns its name.
    #[must_use]
    pub fn create_database(&self) -> String {
        let name = format!("t{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER keyway"));
        name
    }

    /// Returns the address of a database, over the socket.
    #[must_use]
    pub fn address(&self, role: &str, database: &str) -> String {
        let socket = self.folder.display().to_string().replace('/', "%2F");
        match self.port {
            SOCKET_PORT => format!("postgres://{role}@{socket}/{database}"),
            port => format!("postgres://{role}@{socket}:{port}/{database}"),
        }
    }

    /// Starts a server that replays this one.
    #[must_use]
    pub fn standby(&self) -> Self {
        self.standby_on(self.port)
    }

    /// Does the same, at another port.
    #[must_use]
    pub fn standby_on(&self, port: u16) -> Self {
        let (folder, own) = (self.folder.display(), self.port);
        let conf = format!("primary_conninfo = 'host={folder} port={own} user=super'");
        let copy = format!("{COPY}\n{KEEPER_START}");
        let own = own.to_string();
        Self::keep(&copy, port, &[self.folder.to_str().unwrap(), &own, &conf])
    }

    /// Returns the folder of its socket, its log and its data.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Gives a file to the user that commands run as.
#[expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test without its database must stop"
)]
pub fn give_away(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// A command run as a user that PostgreSQL accepts: it refuses to run as root.
#[must_use]
pub fn unprivileged(program: &str) -> Command {
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
/// Of servers that have nothing but a socket, in folders of their own.
const SOCKET_PORT: u16 = 5432;
/// Makes a server, or copies one that was just made: where tests share a folder for that, the first
/// of them makes it.
const MAKE: &str = r#"
bin=$0 folder=$1 shared=$KEYWAY_POSTGRES
export LC_ALL=C.UTF-8
make() { "$bin/initdb" -D "$1" -U super -A trust -E UTF8 --no-sync >"$folder/log" 2>&1; }
if [ -z "$shared" ]; then
    make "$folder/data"
else
    (
        flock 9
        [ -d "$shared/data" ] || { make "$shared/new" && mv "$shared/new" "$shared/data"; }
    ) 9>"$shared/lock"
    cp -a "$shared/data" "$folder/data"
fi
echo "host all all 10.0.0.0/8 trust" >>"$folder/data/pg_hba.conf"
cat >>"$folder/data/postgresql.conf" <<END
shared_buffers = 16MB
$3
END
"#;
/// Copies another one, as its standby.
const COPY: &str = r#"
bin=$0 folder=$1
export LC_ALL=C.UTF-8
"$bin/pg_basebackup" -h "$3" -p "$4" -U super -D "$folder/data" -c fast --no-sync >"$folder/log" 2>&1
touch "$folder/data/standby.signal"
echo "$5" >>"$folder/data/postgresql.conf"
"#;
/// Starts it, and removes it when our end of its input closes, however we end.
const KEEPER_START: &str = r#"
echo "unix_socket_directories = '$folder'" >>"$folder/data/postgresql.conf"
echo "port = $2" >>"$folder/data/postgresql.conf"
"$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -s start >>"$folder/log" 2>&1 && echo ready
read -r _
"$bin/pg_ctl" -D "$folder/data" -m immediate -s stop
rm -rf "$folder"
"#;
