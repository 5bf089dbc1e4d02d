//! The programs, servers and users whose starts are measured, each with a home of its own.

use std::fmt;
use std::fs::{self, Permissions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{BARE, CONFINE, HIDE, OFF, OTHER};
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools;

/// A server to start.
#[derive(Debug, Clone)]
pub(super) enum Server {
    /// A script that answers `initialize`, and nothing else.
    Small,
    /// `server-everything`, by where npm packages are installed.
    Everything { modules: PathBuf },
}

impl Server {
    /// Returns the small one, and the other if it is installed.
    pub(super) fn found(workspace: &Workspace) -> Vec<Self> {
        let modules = tools::modules(workspace);
        let everything = Self::Everything { modules };
        if everything
            .command(Path::new(""))
            .iter()
            .all(|it| it.exists())
        {
            return vec![Self::Small, everything];
        }
        println!("left out: server-everything; `cargo xtask tools --setup` installs it");
        vec![Self::Small]
    }

    pub(super) const fn label(&self) -> &'static str {
        match self {
            Self::Small => "a small server",
            Self::Everything { .. } => "server-everything",
        }
    }

    /// Says whether a start takes so long that fewer are enough.
    pub(super) const fn is_slow(&self) -> bool {
        matches!(self, Self::Everything { .. })
    }

    fn command(&self, small: &Path) -> Vec<PathBuf> {
        match self {
            Self::Small => vec!["/bin/sh".into(), small.to_owned()],
            Self::Everything { modules } => {
                let script = "@modelcontextprotocol/server-everything/dist/index.js";
                vec![modules.join(".bin/node"), modules.join(script)]
            }
        }
    }

    /// Returns the folder that a confined program has to see.
    fn folder<'a>(&'a self, small: &'a Path) -> &'a Path {
        match self {
            Self::Small => small.parent().unwrap_or(small),
            Self::Everything { modules } => modules,
        }
    }
}

/// Who starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// The user of this process.
    Own,
    /// One without privileges, by root.
    Ordinary,
}

impl User {
    pub(super) fn all() -> Vec<Self> {
        match is_root() {
            true => vec![Self::Own, Self::Ordinary],
            false => vec![Self::Own],
        }
    }

    fn run(self, command: &mut Command) -> &mut Command {
        match self {
            Self::Own => command,
            // Without groups, which is what a change of the user comes with.
            Self::Ordinary => command.uid(ORDINARY).gid(ORDINARY),
        }
    }

    fn own(self, path: &Path) -> io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Ordinary => chown(path, Some(ORDINARY), Some(ORDINARY)),
        }
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own if is_root() => "as root",
            Self::Own | Self::Ordinary => "as an ordinary user",
        })
    }
}

/// Says whether this process can start others as another user.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Both programs and the small server where every user can start them; removed at the end.
#[derive(Debug)]
pub(super) struct Scene {
    folder: PathBuf,
    keyway: PathBuf,
    other: Option<PathBuf>,
    small: PathBuf,
}

impl Scene {
    /// Copies the programs. In the folder for temporary files, so that homes are no deeper in the tree
    /// than a person's: each name on the way to them is a mount.
    pub(super) fn make(keyway: &Path, other: Option<&Path>) -> Result<Self, XtaskError> {
        let folder = std::env::temp_dir().join(format!("keyway-start-{}", std::process::id()));
        let made = || -> io::Result<Self> {
            fs::create_dir_all(folder.join("server"))?;
            let folder = folder.canonicalize()?;
            fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
            let scene = Self {
                keyway: folder.join("keyway"),
                other: other.map(|_| folder.join("earlier")),
                small: folder.join("server/small.sh"),
                folder,
            };
            fs::copy(keyway, &scene.keyway)?;
            if let (Some(from), Some(to)) = (other, &scene.other) {
                fs::copy(from, to)?;
            }
            fs::write(&scene.small, SMALL)?;
            Ok(scene)
        };
        made().map_err(XtaskError::file(&folder))
    }

    /// Returns what is compared: the server itself, each profile and the earlier version.
    pub(super) fn contestants(
        &self,
        server: &Server,
        user: User,
    ) -> Result<Vec<Contestant>, XtaskError> {
        let home = |label: &'static str, profile: &str| {
            let home = self.home((label, profile), server, user);
            home.map_err(XtaskError::file(&self.folder))
        };
        let mut contestants = vec![Contestant {
            label: BARE,
            user,
            command: server.command(&self.small),
            home: home(BARE, OFF)?,
        }];
        for profile in [OFF, HIDE, CONFINE] {
            contestants.push(Contestant::approved(
                profile,
                &self.keyway,
                home(profile, profile)?,
                user,
            )?);
        }
        if let Some(other) = &self.other {
            contestants.push(Contestant::approved(
                OTHER,
                other,
                home(OTHER, HIDE)?,
                user,
            )?);
        }
        Ok(contestants)
    }

    /// Makes a home whose settings name the profile, with the plugin in it.
    fn home(
        &self,
        (label, profile): (&str, &str),
        server: &Server,
        user: User,
    ) -> io::Result<PathBuf> {
        let name = format!("{user}-{}-{label}", server.label());
        let home = self.folder.join(name.replace([' ', ','], "-"));
        let settings = home.join(".config/keyway");
        let plugin = home.join(PLUGIN);
        fs::create_dir_all(&settings)?;
        fs::create_dir_all(&plugin)?;
        // The script lies outside of the plugin: what lies there is hashed at each start.
        let words = server.command(&self.small);
        let (command, args) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let entry = json!({"up": {"command": command, "args": args}});
        fs::write(plugin.join(".mcp.json"), entry.to_string())?;
        let granted = json!([server.folder(&self.small)]);
        let text = format!("[sandbox]\nprofile = \"{profile}\"\n");
        let text = match profile {
            CONFINE => format!("{text}read_only_grants = {granted}\n"),
            _ => text,
        };
        fs::write(settings.join("config.toml"), text)?;
        for path in [
            ".config/keyway/config.toml",
            ".config/keyway",
            ".config",
            "plugin/.mcp.json",
            PLUGIN,
            "",
        ] {
            let path = home.join(path);
            user.own(&path)?;
            // What other users can enter is refused.
            let mode = if path.is_dir() { 0o700 } else { 0o600 };
            fs::set_permissions(path, Permissions::from_mode(mode))?;
        }
        Ok(home)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Something that answers `initialize`.
#[derive(Debug)]
pub(super) struct Contestant {
    pub(super) label: &'static str,
    user: User,
    command: Vec<PathBuf>,
    home: PathBuf,
}

impl Contestant {
    /// Approves the entry, which is started from then on without a question.
    fn approved(
        label: &'static str,
        program: &Path,
        home: PathBuf,
        user: User,
    ) -> Result<Self, XtaskError> {
        let words =
            ["run", "--server", "up", "--standalone", "--config", PLUGIN].map(PathBuf::from);
        let contestant = Self {
            label,
            user,
            command: std::iter::once(program.to_owned()).chain(words).collect(),
            home,
        };
        let approved = contestant.approve(program);
        approved.map_err(|source| contestant.failed(source))?;
        Ok(contestant)
    }

    /// Earlier versions approve at once; this one wants the digest of what it showed.
    fn approve(&self, program: &Path) -> io::Result<()> {
        let mut digest = None;
        for _ in 0..2 {
            let mut command = self.process(program);
            command.args(["trust", "grant", "up", "--config", PLUGIN]);
            command.args(digest.take().map(|digest| format!("--digest={digest}")));
            let said = command.stdin(Stdio::null()).output()?;
            if said.status.success() {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&said.stderr).into_owned();
            let mut lines = text.lines();
            digest = lines.find_map(|line| Some(line.strip_prefix("  digest    ")?.to_owned()));
            if digest.is_none() {
                return Err(io::Error::other(text));
            }
        }
        Err(io::Error::other("it was not approved with its own digest"))
    }

    fn process(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &self.home)
            .current_dir(&self.home);
        self.user.run(&mut command);
        command
    }

    /// Starts it, waits for the answer, and for its end.
    pub(super) fn start(&self) -> Result<Duration, XtaskError> {
        self.answer().map_err(|source| self.failed(source))
    }

    fn answer(&self) -> io::Result<Duration> {
        let (program, words) = self.command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = self.process(program);
        command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let begin = Instant::now();
        let mut child = command.spawn()?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        input.write_all(INITIALIZE.as_bytes())?;
        let mut answer = String::new();
        BufReader::new(output).read_line(&mut answer)?;
        let taken = begin.elapsed();
        drop(input);
        child.wait()?;
        match answer.contains("serverInfo") {
            true => Ok(taken),
            false => Err(io::Error::other(answer)),
        }
    }

    fn failed(&self, source: io::Error) -> XtaskError {
        XtaskError::Measure {
            command: self.label,
            log: self.home.clone(),
            source,
        }
    }
}

const PLUGIN: &str = "plugin";
/// Usually `nobody`; a number needs no name.
const ORDINARY: u32 = 65534;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);
/// Answers `initialize`, and nothing else.
const SMALL: &str = r#"read -r request
printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"small","version":"1"}}}'
while read -r request; do :; done
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_that_is_measured_answers_each_user() {
        let scene = Scene::make(Path::new("/bin/sh"), None).unwrap();
        for user in User::all() {
            let contestant = Contestant {
                label: BARE,
                user,
                command: Server::Small.command(&scene.small),
                home: scene.home((BARE, OFF), &Server::Small, user).unwrap(),
            };
            assert!(!contestant.start().unwrap().is_zero());
        }
        let folder = scene.folder.clone();
        drop(scene);
        assert!(!folder.exists());
    }
}
