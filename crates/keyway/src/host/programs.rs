//! Programs of entries: local servers and headers helpers, their environment and isolation.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest as _};
use keyway_approval::Files;
use keyway_approval::program_start::{
    file_name, redirections, runs_package, start_folder, with_host_variables,
};
use keyway_auth::Topic;
use keyway_code::Code;
use keyway_config::declared::{
    DeclaredServer, Field, Helper as DeclaredHelper, HelperCommand as Declared, Transport,
};
use keyway_config::resolve::{LocalSpec, RemoteSpec};
use keyway_mcp::session::OfferedEras;
use keyway_secret::{Secret, printable};
use keyway_transport::{
    ChildKind, ChildStream, Helper, HelperCommand, Isolation, IsolationLevel, Launcher, Log,
    Program, StdioServer, TransportError, Verify, VerifyMoment,
};

use super::Host;
use super::package_starts::{PackageStarts, until_first_answer};
use crate::approval::Protection;
use crate::connect::{ConnectError, Connected, Target, child_env, exposed, host_env};
use crate::events::Kind;
use crate::load::Loaded;
use crate::settings::{self, Confinement, SandboxProfile};
use crate::timeouts::STDIO_PROBE_TIMEOUT;

/// What starts programs.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// The binary that starts children.
    pub(crate) launcher: Launcher,
    /// What children are kept from.
    pub(crate) isolation: Isolation,
    /// What was found to be in force.
    pub(crate) levels: Levels,
    /// The queue of package runners.
    pub(crate) package_starts: PackageStarts,
}

impl Programs {
    /// Finds out what of a confinement is in force: the system does not change under a process that
    /// runs, so that each is looked up once.
    pub(super) async fn protection(&self, confinement: &Confinement) -> Protection {
        if let Some(known) = self.levels.find(confinement) {
            return known;
        }
        let mut isolation = settings::isolation(confinement, &self.isolation);
        // A folder that is hidden would be made first, and looking makes nothing.
        isolation.hidden.retain(|folder| folder.exists());
        isolation.require = false;
        let found = match self.launcher.probe(&isolation).await {
            Ok(level) => Protection::new(level.to_string(), level.is_complete()),
            Err(error) => Protection::new(format!("not known: {error}"), false),
        };
        self.levels.keep(confinement, &found);
        found
    }
}

/// What is in force of each confinement that was looked up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Levels(Arc<Mutex<Vec<(Confinement, Protection)>>>);

impl Levels {
    fn find(&self, confinement: &Confinement) -> Option<Protection> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = known.iter();
        let (_, found) = known.find(|(one, _)| one == confinement)?;
        Some(found.clone())
    }

    fn keep(&self, confinement: &Confinement, found: &Protection) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((confinement.clone(), found.clone()));
    }
}

impl Host {
    /// Starts the launcher for a local server; if the ledger confines it, that is one too many.
    pub(super) fn start_launcher_ahead(&self, loaded: &Loaded, server: &DeclaredServer) {
        if server.transport == Transport::Stdio {
            let id = format!("{}:{}", loaded.plugin.name(), server.name);
            let confinement = self.settings.sandbox.of(&id, &loaded.plugin.root);
            let isolation = settings::isolation(&confinement, &self.programs.isolation);
            self.programs.launcher.start_ahead(&isolation);
        }
    }

    pub(super) async fn start(
        &self,
        local: &LocalSpec,
        target: Target<'_>,
    ) -> Result<Connected, ConnectError> {
        let declared = exposed(&target.spec.env);
        let host = host_env(target);
        let own = own_folder(target);
        make_folders(target, &own)?;
        let command = local.command.value().expose();
        let mut given = redirected(&declared, command, &own);
        given.extend(without_lock_file(&declared, command, target));
        let env = child_env(
            &self.environment,
            (ChildKind::Server, &given),
            target,
            &host,
        );
        let words = std::iter::once(&local.command).chain(&local.args);
        let words: Vec<&str> = words.map(|word| word.value().expose().as_str()).collect();
        let cwd = local.cwd.as_ref().map(|cwd| cwd.value().expose().as_str());
        let folder = start_folder(&words, cwd, target.host, &start_of(&own));
        let command = program_path(local.command.value(), target);
        let mut program = Program::new(command, env, folder);
        program.args = local.args.iter().map(|arg| arg.value().clone()).collect();
        program.isolation = self.isolation_for(target);
        let mut server = StdioServer::new(local.command.to_string(), program);
        server.secrets = declared.into_iter().map(|(_, value)| value).collect();
        server.log = self.child_log(target, Topic::Transport);
        server.verify = verify(target);
        let observer = self.observer(target);
        observer.note(Topic::Transport, || {
            let names = server.program.env.names();
            let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
            let (label, names) = (&server.label, names.join(", "));
            format!("starting `{label}` with the variables {names}")
        });
        let place = match runs_package(&words) {
            true => self.programs.package_starts.place().await,
            false => None,
        };
        let (mut connection, level) = server.open(&self.launcher_for(target)).await?;
        if let Some(place) = place {
            connection = until_first_answer(connection, place);
        }
        observer.note(Topic::Transport, || format!("started; isolation: {level}"));
        let offer = OfferedEras::Both {
            probe: STDIO_PROBE_TIMEOUT,
        };
        Ok(Connected {
            connection,
            level: Some(level),
            offer,
            oauth: None,
        })
    }

    pub(super) fn helper(
        &self,
        helper: &DeclaredHelper,
        remote: &RemoteSpec,
        target: Target<'_>,
    ) -> Helper {
        let declared = exposed(&target.spec.env);
        let given = redirected(&declared, "", &own_folder(target));
        let mut host = host_env(target);
        host.server_name = Some(target.spec.name.clone());
        host.server_url = Some(remote.template.as_str().to_owned());
        let filled = |field: &Field| with_host_variables(&field.template, target.host);
        let command = match &helper.command {
            Declared::Shell(field) => HelperCommand::Shell(field.template.as_str().to_owned()),
            Declared::Words(words) => HelperCommand::Words(words.iter().map(filled).collect()),
            Declared::Program(field) => HelperCommand::Program(filled(field)),
        };
        let env = child_env(
            &self.environment,
            (ChildKind::Helper, &given),
            target,
            &host,
        );
        let root = &target.host.plugin_root;
        let mut helper = Helper::new(self.launcher_for(target), command, env, root.clone());
        helper.root = Some(root.clone());
        helper.isolation = self.isolation_for(target);
        helper.secrets = declared.into_iter().map(|(_, value)| value).collect();
        helper.log = self.child_log(target, Topic::Helper);
        helper.verify = verify(target);
        helper
    }

    /// Returns where lines go that a program prints beside the protocol: to the host's log, to the
    /// server's own, and to the readers of notes about the topic (contract §6).
    fn child_log(&self, target: Target<'_>, topic: Topic) -> Option<Log> {
        let inner = self.logging(target, self.log.clone());
        if !self.events.wants(topic) {
            return inner;
        }
        let events = self.events.clone();
        let server = target.spec.name.clone();
        Some(Arc::new(move |stream, line| {
            let from = match stream {
                ChildStream::Error => "stderr",
                _ => "stdout",
            };
            events.note(topic, Some(&server), || {
                format!("{from}: {}", printable(line))
            });
            if let Some(log) = &inner {
                log(stream, line);
            }
        }))
    }

    /// Returns the launcher for one server, which tells when a program starts with less isolation
    /// than its profile promises (threat E13).
    fn launcher_for(&self, target: Target<'_>) -> Launcher {
        let events = self.events.for_plugin(target.plugin);
        let server = target.spec.name.clone();
        let tell = move |_: &IsolationLevel| {
            let code = Some(Code::IsolationUnavailable);
            events.emit(Kind::IsolationReduced, Some(&server), code);
        };
        self.programs.launcher.clone().on_reduced(Arc::new(tell))
    }

    fn isolation_for(&self, target: Target<'_>) -> Isolation {
        let mut isolation = settings::isolation(target.confinement, &self.programs.isolation);
        // A file of the plugin is what the person approved, or code of a server that is not confined.
        // A grant of the folder itself comes before this.
        let host = target.host;
        let root = Some(host.plugin_root.clone()).filter(|root| !root.as_os_str().is_empty());
        // Entries that the person added lie together in a folder of Keyway's own, which is hidden
        // otherwise: none of them may write what another one is.
        let mut data = host.plugin_data.ancestors().skip(2);
        let is_added = data.any(|data| host.plugin_root == data.join("own"));
        // So does what was unpacked of a bundle, which is to stay as it was approved.
        let is_own = is_added || host.bundle_of.is_some();
        let own = [host.plugin_data.clone(), own_folder(target)].into_iter();
        let own = own.filter(|own| !own.as_os_str().is_empty());
        isolation.own.extend(own);
        isolation
            .own_read_only
            .extend(root.clone().filter(|_| is_own));
        isolation.root = root.filter(|_| !is_own);
        let mut variables = self.environment.iter();
        isolation.home = variables.find_map(|(name, value)| (name == "HOME").then(|| value.into()));
        isolation
    }
}

/// Compares the files with those that were approved, right before and right after a start.
fn verify(target: Target<'_>) -> Option<Verify> {
    let files = target.files?.clone();
    Some(Arc::new(move |moment| match moment {
        VerifyMoment::BeforeStart => files.verify(),
        _ => files.verify_named(),
    }))
}

/// Returns the folder of a server's programs that no other program of the plugin reaches; empty if
/// there is none.
///
/// What lies there is run: byte code, environments, and packages beside the start of a package runner.
/// So a confined program does not share it with itself before it was confined, either.
fn own_folder(target: Target<'_>) -> PathBuf {
    let folders = &target.host.program_folders;
    if folders.as_os_str().is_empty() {
        return PathBuf::new();
    }
    let profile = match target.confinement.profile {
        SandboxProfile::Confine => "confine",
        SandboxProfile::Off => "off",
        _ => "hide",
    };
    // The plugin chooses names: two of them must not be able to lead to one folder.
    let name = Blake2b::<U16>::digest([profile, "\0", &target.spec.name].concat());
    let name = name.iter().map(|byte| format!("{byte:02x}"));
    folders.join(name.collect::<String>())
}

/// Returns where a package runner starts: beside nothing that it would take for a package.
fn start_of(own: &Path) -> PathBuf {
    if own.as_os_str().is_empty() {
        return PathBuf::new();
    }
    own.join("start")
}

/// Makes the folder in which the plugin may keep files, and the program's own. A child cannot make
/// them: all around them is Keyway's own, and hidden.
fn make_folders(target: Target<'_>, own: &Path) -> Result<(), ConnectError> {
    for folder in [&target.host.plugin_data, &start_of(own)] {
        if folder.as_os_str().is_empty() || folder.is_dir() {
            continue;
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|source| {
            let program = folder.to_string_lossy().into_owned();
            ConnectError::from(TransportError::Spawn { program, source })
        })?;
    }
    Ok(())
}

/// Returns what the entry declares, and what keeps its program from writing into the plugin.
fn redirected(
    declared: &[(String, Secret<String>)],
    command: &str,
    own: &Path,
) -> Vec<(String, Secret<String>)> {
    let mut given = declared.to_vec();
    for (name, path) in redirections(command, own) {
        if !declared.iter().any(|(own, _)| own == name) {
            let path = path.to_string_lossy().into_owned();
            given.push((name.to_owned(), Secret::new(path)));
        }
    }
    given
}

/// Returns what keeps `uv` from writing a lock file into a bundle that has none, where it cannot: it then
/// makes an environment for this start alone.
fn without_lock_file(
    declared: &[(String, Secret<String>)],
    command: &str,
    target: Target<'_>,
) -> Option<(String, Secret<String>)> {
    let host = target.host;
    let is_bundle = host.bundle_of.is_some() && file_name(command) == "uv";
    let is_set = declared.iter().any(|(name, _)| name == ISOLATED);
    let is_needed = is_bundle && !is_set && !host.plugin_root.join("uv.lock").is_file();
    is_needed.then(|| (ISOLATED.to_owned(), Secret::new("1".to_owned())))
}

/// Has `uv run` neither write its lock file nor keep the environment that it makes.
const ISOLATED: &str = "UV_ISOLATED";

/// A path is relative to the plugin; a bare name is looked up in `PATH`, unless the approval says which
/// file that is: it starts, or nothing does. It then has its path for a name, too: an interpreter that
/// got the bare one would look itself up once more (Python does, for its modules), and find another one
/// where a confined program does not see the first folder of `PATH`.
fn program_path(command: &Secret<String>, target: Target<'_>) -> Secret<String> {
    let text = command.expose();
    if text.contains('/') && !text.starts_with('/') {
        let path = target.host.plugin_root.join(text);
        return Secret::new(path.to_string_lossy().into_owned());
    }
    let approved = target.files.and_then(Files::program);
    let approved = approved.filter(|_| !text.contains('/'));
    // One that is no UTF-8 has no other name.
    if let Some(path) = approved.and_then(Path::to_str) {
        return Secret::new(path.to_owned());
    }
    command.clone()
}
