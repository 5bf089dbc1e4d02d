//! A hostile server and a hostile helper against the isolation (`threats.md` P2).

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use keyway_auth::ports::HelperRunner;
use keyway_auth::{AuthError, parse_helper_output};
use keyway_transport::{
    ChildEnv, ChildKind, EnvRules, Event, Helper, HostEnv, Isolation, IsolationLevel,
    IsolationMechanism, IsolationProfile, TransportError, harden_self,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::helper::helper;
use crate::stdio::{call, next, server};
use crate::{CHILD, DEADLINE, launcher};

/// A home with what Keyway keeps in it.
pub(crate) struct Home {
    home: TempDir,
    abstract_name: String,
    _sockets: [UnixListener; 2],
}

impl Home {
    pub(crate) fn new() -> Self {
        // A confined program has a `/tmp` of its own.
        let home = TempDir::new_in("/var/tmp").unwrap();
        let at = |path: &str| home.path().join(path);
        for folder in ["data", "config", "runtime", "data/plugins/p", "plugin"] {
            fs::create_dir_all(at(&format!("keyway/{folder}"))).unwrap();
        }
        fs::create_dir_all(at("work")).unwrap();
        for file in [
            "keyway/data/store.db",
            "keyway/config/key",
            "elsewhere.key",
            "mine.txt",
        ] {
            put(&at(file), "CANARY");
        }
        let abstract_name = format!("keyway-test-{}", home.path().display());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets = [
            UnixListener::bind(at("keyway/runtime/control")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        Self {
            home,
            abstract_name,
            _sockets: sockets,
        }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().to_owned()
    }

    pub(crate) fn isolation(
        &self,
        profile: IsolationProfile,
        mechanism: IsolationMechanism,
    ) -> Isolation {
        let mut isolation = Isolation::default();
        isolation.profile = profile;
        isolation.mechanism = mechanism;
        isolation.hidden = [
            "keyway/data",
            "keyway/config",
            "keyway/runtime",
            "elsewhere.key",
        ]
        .map(|path| self.at(path))
        .to_vec();
        isolation
    }

    fn params(&self) -> Value {
        json!({
            "store": self.at("keyway/data/store.db"),
            "key": self.at("keyway/config/key"),
            "socket": self.at("keyway/runtime/control"),
            "abstract": self.abstract_name,
            "host": std::process::id(),
        })
    }

    pub(crate) async fn level(
        &self,
        profile: IsolationProfile,
        mechanism: IsolationMechanism,
    ) -> IsolationLevel {
        let isolation = self.isolation(profile, mechanism);
        launcher().probe(&isolation).await.unwrap()
    }

    /// Runs a script in an isolated server; returns its output and exit code.
    pub(crate) async fn shell(&self, isolation: Isolation, script: &str) -> (String, i64) {
        let mut server = server();
        server.program.isolation = isolation;
        server.program.folder = self.at("work");
        let mut connection = server.open(&launcher()).await.unwrap().0;
        let script = script.replace("HOME", self.home.path().to_str().unwrap());
        let result = call(&mut connection, "shell", json!(script)).await;
        let text = |name: &str| result[name].as_str().unwrap().to_owned();
        (
            text("stdout") + &text("stderr"),
            result["code"].as_i64().unwrap(),
        )
    }
}

pub(crate) fn put(path: &Path, text: &str) {
    use std::io::Write;
    let mut file = fs::File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Asserts that nothing but the argument list was reached.
fn assert_denied(probes: &Value, level: IsolationLevel) {
    for (probe, reached) in probes.as_object().unwrap() {
        if reached.is_null() {
            println!("SKIPPED probe `{probe}`: no Python here");
            continue;
        }
        let is_covered = match probe.as_str() {
            // Every process may read the arguments of a process that it sees.
            "arguments" => continue,
            "socket" => level.hides_sockets(),
            "signal" | "abstract socket" => level.hides_processes(),
            _ => level.hides_files(),
        };
        if !is_covered {
            println!("SKIPPED probe `{probe}`: {level}");
            continue;
        }
        assert_eq!(reached, false, "{probe}: {level}");
    }
}

#[tokio::test]
async fn p2_a_hostile_server_reaches_nothing_but_the_argument_list() {
    harden_self().unwrap();
    let home = Home::new();
    for profile in [IsolationProfile::Hide, IsolationProfile::Confine] {
        for mechanism in [IsolationMechanism::Best, IsolationMechanism::Landlock] {
            let mut server = server();
            server.program.isolation = home.isolation(profile, mechanism);
            let folder_of_child = Path::new(CHILD).parent().unwrap();
            server.program.isolation.granted = vec![folder_of_child.to_owned()];
            let (mut connection, level) = server.open(&launcher()).await.unwrap();
            println!("{profile:?} {mechanism:?}: {level}");
            let probes = call(&mut connection, "probe", home.params()).await;
            assert_denied(&probes, level);
        }
    }
}

#[tokio::test]
async fn p2_a_hostile_helper_reaches_nothing_but_the_argument_list() {
    harden_self().unwrap();
    let home = Home::new();
    let isolation = home.isolation(IsolationProfile::Hide, IsolationMechanism::Best);
    let level = launcher().probe(&isolation).await.unwrap();
    let mut helper = helper(&["helper", "probe", &home.params().to_string()]);
    helper.isolation = isolation;
    let output = helper.run(DEADLINE).await.unwrap();
    let output: Value = serde_json::from_slice(output.expose()).unwrap();
    let probes = serde_json::from_str(output["X-Probes"].as_str().unwrap()).unwrap();
    assert_denied(&probes, level);
}

/// Shows that the probes would find something.
#[tokio::test]
async fn without_isolation_the_probes_get_through() {
    let home = Home::new();
    let mut server = server();
    server.program.isolation = home.isolation(IsolationProfile::None, IsolationMechanism::Best);
    let (mut connection, level) = server.open(&launcher()).await.unwrap();
    assert!(!level.hides_files());
    let probes = call(&mut connection, "probe", home.params()).await;
    for probe in [
        "store",
        "key",
        "socket",
        "abstract socket",
        "signal",
        "arguments",
    ] {
        assert_eq!(probes[probe], true, "{probe}");
    }
}

#[tokio::test]
async fn a_hidden_file_beside_other_files_is_hidden_alone() {
    let home = Home::new();
    for mechanism in [IsolationMechanism::Best, IsolationMechanism::Landlock] {
        if !home
            .level(IsolationProfile::Hide, mechanism)
            .await
            .hides_files()
        {
            println!("SKIPPED: this system has no {mechanism:?}");
            continue;
        }
        let isolation = home.isolation(IsolationProfile::Hide, mechanism);
        let (output, code) = home
            .shell(isolation, "cat HOME/mine.txt HOME/elsewhere.key")
            .await;
        assert_eq!((output.matches("CANARY").count(), code), (1, 1), "{output}");
    }
}

/// What breaks less: with mounts a fresh home works, with Landlock alone it does not.
#[tokio::test]
async fn new_files_can_be_created_beside_hidden_ones() {
    let home = Home::new();
    if !home
        .level(IsolationProfile::Hide, IsolationMechanism::Mounts)
        .await
        .hides_files()
    {
        println!("SKIPPED: no private mounts here");
        return;
    }
    let isolation = home.isolation(IsolationProfile::Hide, IsolationMechanism::Best);
    let script = "mkdir HOME/.npm && echo x > HOME/.npm/y && cat HOME/.npm/y && \
                  mv HOME/.npm HOME/keyway/.npm && ls -a HOME/keyway && rm -r HOME/keyway/.npm";
    let (output, code) = home.shell(isolation, script).await;
    assert_eq!(code, 0, "{output}");
}

/// What other tests skip is not skipped by a mistake of ours.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "asks the system without the launcher that is tested"
)]
async fn what_the_system_offers_is_in_force() {
    use std::process::Command;
    let home = Home::new();
    let is_root = rustix::process::geteuid().is_root();
    let flags = if is_root { "-pfm" } else { "-Urpfm" };
    let script =
        "mount -t tmpfs none /mnt && mount -t proc none /proc && mount -t devpts none /dev/pts";
    let offered = Command::new("unshare")
        .args([flags, "sh", "-c", script])
        .status();
    if !offered.is_ok_and(|status| status.success()) {
        println!("SKIPPED: this system offers no namespaces");
        return;
    }
    let hiding = home
        .level(IsolationProfile::Hide, IsolationMechanism::Mounts)
        .await;
    assert!(hiding.is_complete() && hiding.ends_with_host(), "{hiding}");
    let confining = home
        .level(IsolationProfile::Confine, IsolationMechanism::Mounts)
        .await;
    assert!(confining.is_confined(), "{confining}");
}

#[tokio::test]
async fn hiding_mounts_cannot_be_removed_or_bypassed() {
    let home = Home::new();
    let isolation = home.isolation(IsolationProfile::Hide, IsolationMechanism::Best);
    let level = launcher().probe(&isolation).await.unwrap();
    if !level.is_complete() {
        println!("SKIPPED: {level}");
        return;
    }
    let script = "umount HOME/keyway/data; \
                  unshare -m umount HOME/keyway/data; unshare -rm umount HOME/keyway/data; \
                  mv HOME/keyway/data HOME/d; mount --bind / /mnt; \
                  nsenter -t $PPID -m true && nsenter -t 1 -m cat HOME/keyway/data/store.db; \
                  nsenter -t 1 -m -U cat HOME/keyway/data/store.db; \
                  cat HOME/keyway/data/store.db HOME/d/store.db /mnt/HOME/keyway/data/store.db \
                  /proc/[0-9]*/root/HOME/keyway/data/store.db; true";
    let (output, _) = home.shell(isolation, script).await;
    assert!(!output.contains("CANARY"), "{output}");
    assert!(home.at("keyway/data/store.db").exists());
}

/// Of the folders around a path the nearest decides, and a grant of a folder itself opens it.
#[tokio::test]
async fn the_nearest_folder_decides_whether_a_confined_program_may_write() {
    let home = Home::new();
    fs::create_dir_all(home.at("work/plugin/state")).unwrap();
    for mechanism in [IsolationMechanism::Best, IsolationMechanism::Landlock] {
        let level = home.level(IsolationProfile::Confine, mechanism).await;
        if !level.hides_files() {
            println!("SKIPPED: {level}");
            continue;
        }
        let isolation = |granted: &[&str]| {
            let mut isolation = home.isolation(IsolationProfile::Confine, mechanism);
            isolation.granted = granted.iter().map(|path| home.at(path)).collect();
            isolation.read_only = vec![home.at("work/plugin"), CHILD.into()];
            isolation
        };
        put(&home.at("work/old"), "");
        for (granted, path, is_open) in [
            (&["work"][..], "work/old", true),
            (&["work"], "work/plugin/new", false),
            (
                &["work", "work/plugin/state"],
                "work/plugin/state/new",
                true,
            ),
            (&["work", "work/plugin/state"], "work/plugin/new", false),
            (&["work", "work/plugin"], "work/plugin/new", true),
            (&["work/plugin"], "work/plugin/state/new", true),
        ] {
            let script = format!("echo x > HOME/{path}; ls HOME/work/plugin");
            let (output, code) = home.shell(isolation(granted), &script).await;
            assert_eq!(code, 0, "it may be read: {output}");
            let text = fs::read_to_string(home.at(path)).unwrap_or_default();
            assert_eq!(
                text == "x\n",
                is_open,
                "{mechanism:?} {granted:?} {path}: {output}"
            );
            drop(fs::remove_file(home.at("work/plugin/new")));
            drop(fs::remove_file(home.at("work/plugin/state/new")));
        }
    }
}

/// A login has keys of other programs in its session keyring, and every process inherits that.
#[tokio::test]
async fn keys_that_the_kernel_keeps_are_out_of_reach() {
    if !crate::has(&["python3"]) {
        return;
    }
    if !Path::new("/proc/keys").exists() {
        println!("SKIPPED: no keyrings here");
        return;
    }
    let home = Home::new();
    let login = home.at("login");
    put(&login, &LOGIN.replace("CHILD", CHILD));
    fs::set_permissions(&login, fs::Permissions::from_mode(0o755)).unwrap();
    let look = format!("python3 -c '{KEYS}\nread()'");
    for (profile, mechanism, is_read) in [
        (IsolationProfile::None, IsolationMechanism::Best, true),
        (IsolationProfile::Hide, IsolationMechanism::Best, false),
        (IsolationProfile::Hide, IsolationMechanism::Landlock, false),
        (IsolationProfile::Confine, IsolationMechanism::Best, false),
    ] {
        let mut server = server();
        server.program.isolation = home.isolation(profile, mechanism);
        server.program.isolation.read_only = vec![CHILD.into()];
        server.program.folder = "/".into();
        let login = keyway_transport::Launcher::new(&login);
        let (mut connection, level) = server.open(&login).await.unwrap();
        let result = call(&mut connection, "shell", json!(look)).await;
        let output = result.to_string();
        assert_eq!(output.contains("CANARY"), is_read, "{level}: {output}");
        assert_eq!(level.hides_keys(), !is_read, "{level}");
    }
}

/// Finds keys through the session keyring and through the user's.
const KEYS: &str = r#"
import ctypes, platform
libc = ctypes.CDLL(None)
first = {"x86_64": 248, "aarch64": 217}[platform.machine()]
def read():
    for ring in (-3, -4):
        key = libc.syscall(first + 2, 10, ring, b"user", b"keyway-test", 0)
        text = ctypes.create_string_buffer(16)
        libc.syscall(first + 2, 11, key, text, 16)
        print(ring, key, text.value)
"#;

/// Starts the launcher in a login of its own that keeps a key.
const LOGIN: &str = r#"#!/usr/bin/env python3
import ctypes, os, platform, sys
libc = ctypes.CDLL(None)
first = {"x86_64": 248, "aarch64": 217}[platform.machine()]
assert libc.syscall(first + 2, 1, None) > 0
assert libc.syscall(first, b"user", b"keyway-test", b"CANARY", 6, -3) > 0
os.execv("CHILD", ["CHILD", *sys.argv[1:]])
"#;

#[tokio::test]
async fn a_folder_that_the_host_made_inside_a_hidden_one_can_be_used() {
    let home = Home::new();
    for mechanism in [IsolationMechanism::Best, IsolationMechanism::Landlock] {
        let mut granted = home.isolation(IsolationProfile::Hide, mechanism);
        granted.granted = vec![home.at("work")];
        granted.own = vec![home.at("keyway/data/plugins/p")];
        let script = "echo note > HOME/keyway/data/plugins/p/n; cat HOME/keyway/data/store.db";
        let (output, code) = home.shell(granted, script).await;
        let is_hidden = home
            .level(IsolationProfile::Hide, mechanism)
            .await
            .hides_files();
        assert_eq!(code == 1, is_hidden, "{output}");
        let note = fs::read_to_string(home.at("keyway/data/plugins/p/n")).unwrap();
        assert_eq!(note, "note\n");
    }
}

/// Entries that the person added lie side by side in one folder of Keyway's.
#[tokio::test]
async fn a_folder_inside_a_hidden_one_that_is_only_to_be_read_cannot_be_written() {
    for profile in [IsolationProfile::Hide, IsolationProfile::Confine] {
        for mechanism in [IsolationMechanism::Best, IsolationMechanism::Landlock] {
            let home = Home::new();
            let level = home.level(profile, mechanism).await;
            if !level.hides_files() {
                println!("SKIPPED: {level}");
                continue;
            }
            fs::create_dir(home.at("keyway/data/own")).unwrap();
            put(&home.at("keyway/data/own/.mcp.json"), "entries\n");
            let mut isolation = home.isolation(profile, mechanism);
            isolation.granted = vec![home.at("work")];
            isolation.read_only = vec![CHILD.into()];
            isolation.own = vec![home.at("keyway/data/plugins/p")];
            isolation.own_read_only = vec![home.at("keyway/data/own")];
            let script = "cd HOME/keyway/data/own && cat .mcp.json; echo EVIL >> .mcp.json; \
                          echo EVIL > new; rm .mcp.json; cat ../store.db; echo n > ../plugins/p/n";
            let (output, code) = home.shell(isolation, script).await;
            assert!(output.starts_with("entries\n"), "{output}");
            assert!(!output.contains("CANARY") && code == 0, "{output}");
            let kept = fs::read_to_string(home.at("keyway/data/own/.mcp.json")).unwrap();
            assert_eq!(kept, "entries\n", "{profile:?} {mechanism:?}");
            assert!(!home.at("keyway/data/own/new").exists());
            assert!(home.at("keyway/data/plugins/p/n").exists(), "{output}");
        }
    }
}

#[tokio::test]
async fn a_confined_child_uses_the_system_and_what_was_granted() {
    let home = Home::new();
    let mut confined = home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    confined.granted = vec![home.at("work")];
    if !launcher().probe(&confined).await.unwrap().hides_processes() {
        println!("SKIPPED: no Landlock here");
        return;
    }
    // The child of the tests does not lie in a system folder.
    let mut child = helper(&[]);
    child.command = keyway_transport::HelperCommand::Words(
        [
            "/bin/sh",
            "-c",
            "echo x > f; cat f ../mine.txt; echo y > ../g; ls /usr >/dev/null && echo ok",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    child.folder = home.at("work");
    child.isolation = confined;
    let output = child.run(DEADLINE).await.unwrap();
    assert_eq!(String::from_utf8_lossy(output.expose()), "x\nok\n");
    assert!(!home.at("g").exists());
}

#[tokio::test]
async fn a_confined_program_that_was_not_granted_names_the_grant() {
    let home = Home::new();
    let program = home.at("work/tool");
    fs::copy(CHILD, &program).unwrap();
    let mut confined = server();
    confined.program.command = program.to_str().unwrap().to_owned().into();
    confined.program.folder = "/".into();
    confined.program.isolation =
        home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    let level = launcher().probe(&confined.program.isolation).await.unwrap();
    if !level.is_confined() {
        println!("SKIPPED: {level}");
        return;
    }
    let error = confined.open(&launcher()).await.unwrap_err();
    assert_eq!(error.code().as_str(), "not-granted", "{error}");
    assert!(
        error.to_string().contains(program.to_str().unwrap()),
        "{error}"
    );
}

#[tokio::test]
async fn a_path_that_a_confined_program_misses_is_named_with_its_grant() {
    let home = Home::new();
    let mut confined = server();
    confined.program.command = "/bin/sh".to_owned().into();
    let script = format!("cat {}", home.text("mine.txt"));
    confined.program.args = ["-c", &script].map(|arg| arg.to_owned().into()).to_vec();
    confined.program.folder = "/".into();
    confined.program.isolation =
        home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    let (mut connection, level) = confined.open(&launcher()).await.unwrap();
    if !level.is_confined() {
        println!("SKIPPED: {level}");
        return;
    }
    let Event::Closed(Some(error)) = next(&mut connection).await else {
        panic!("it runs");
    };
    let file = home.text("mine.txt");
    let words = format!("; it ran confined: `{file}` exists but was not granted");
    assert!(error.to_string().ends_with(&words), "{error}");
    let hint = format!("add `{file}` to `read_only_grants` of `[sandbox]` in config.toml");
    assert!(error.hint().starts_with(&hint), "{}", error.hint());
    let TransportError::ChildEnded { last_lines, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(last_lines.len(), 1, "what it said itself: {last_lines:?}");
}

/// What a confined helper fails with, in one line: the fault, what it was kept from, and the hint.
async fn failure(helper: Helper) -> String {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let mut helper = helper;
    helper.log = Some(Arc::new(move |_, line| {
        kept.lock().unwrap().push(line.to_owned());
    }));
    let output = helper.run(DEADLINE).await;
    let fault = output.and_then(|output| parse_helper_output(output.expose()));
    let confined = helper.confinement();
    if let Some(note) = &confined {
        let logged = lines.lock().unwrap().join("\n");
        let words = format!("keyway: {}\nkeyway: hint: {}", note.what, note.hint);
        assert!(logged.ends_with(&words), "{logged}");
    }
    let fault = fault.unwrap_err();
    let confined = confined.map(Box::new);
    let error = AuthError::Helper { fault, confined };
    format!("{error} | {}", error.hint())
}

/// A home with settings of a program, and a helper that calls it; what confines that.
fn home_with_a_tool() -> (Home, Isolation) {
    let home = Home::new();
    let mut confined = home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    for folder in [".cloudtool", ".bashrc", "bin"] {
        fs::create_dir(home.at(folder)).unwrap();
    }
    let tool = "#!/bin/sh\necho 'The config profile (work) could not be found' >&2\nexit 255\n";
    put(&home.at("bin/cloudtool"), tool);
    let script = "#!/bin/bash\nset -e\nt=$(cloudtool token)\n";
    put(&home.at("work/headers.sh"), script);
    for file in ["bin/cloudtool", "work/headers.sh"] {
        fs::set_permissions(home.at(file), fs::Permissions::from_mode(0o755)).unwrap();
    }
    confined.home = Some(home.at(""));
    confined.read_only = vec![home.at("bin"), home.at("work")];
    (home, confined)
}

async fn failure_of(home: &Home, words: &[&str], isolation: &Isolation) -> String {
    let path = format!("{}:/usr/bin:/bin", home.text("bin"));
    let declared = [("PATH".to_owned(), path.into())];
    let host = HostEnv::default();
    let mut rules = EnvRules::new(ChildKind::Helper, &host);
    rules.declared = &declared;
    let mut child = helper(&[]);
    child.env = ChildEnv::build([], &rules);
    child.folder = home.at("work");
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    child.command = keyway_transport::HelperCommand::Words(words);
    child.isolation = isolation.clone();
    failure(child).await
}

const FILES: &str = "if it works by hand, it misses files of yours: add them to `read_only_grants` of \
                     `[sandbox]` in config.toml, or to `grants` if it has to write there";

/// Programs say that a profile is missing, not which file: what the person has for a program that the
/// helper calls is named, and whatever else fails says at least that it was confined.
#[tokio::test]
async fn a_confined_helper_that_fails_says_so_and_which_settings_widen_it() {
    let (home, confined) = home_with_a_tool();
    let level = launcher().probe(&confined).await.unwrap();
    if !level.is_confined() {
        println!("SKIPPED: {level}");
        return;
    }
    let settings = home.text(".cloudtool");
    assert_eq!(
        failure_of(&home, &["./headers.sh"], &confined).await,
        format!(
            "the headers helper failed: it ended with exit code 255; it ran confined: `{settings}` \
             exists but was not granted | add `{settings}` to `read_only_grants` of `[sandbox]` in \
             config.toml, or to `grants` if it has to write there"
        )
    );
    // What it fails with otherwise: its exit code, or output that is none.
    let fails = ["/bin/sh", "-c", "exit 3"];
    let expected = format!(
        "the headers helper failed: it ended with exit code 3; it ran confined, with an empty home | \
         {FILES}"
    );
    assert_eq!(failure_of(&home, &fails, &confined).await, expected);
    let empty = failure_of(&home, &["/bin/sh", "-c", "echo '{}'"], &confined).await;
    let words = "it printed no headers; it ran confined, with an empty home";
    assert!(empty.contains(words), "{empty}");
    let mut granted = confined.clone();
    granted.read_only = vec![home.at("")];
    let widened = failure_of(&home, &fails, &granted).await;
    let words = "and saw nothing of yours that was not granted";
    assert!(widened.contains(words), "{widened}");

    let mut hidden = confined;
    hidden.profile = IsolationProfile::Hide;
    let said = failure_of(&home, &fails, &hidden).await;
    assert!(!said.contains("confined"), "{said}");
}

#[tokio::test]
async fn a_confined_helper_without_a_network_that_fails_names_the_network() {
    let (home, mut offline) = home_with_a_tool();
    offline.offline = true;
    let level = launcher().probe(&offline).await.unwrap();
    if !level.is_confined() {
        println!("SKIPPED: {level}");
        return;
    }
    let network = "; it ran confined, without a network (`network = false`)";
    let remedy = "set `network = true` in `[sandbox]` of config.toml";
    let said = failure_of(&home, &["/bin/sh", "-c", "exit 6"], &offline).await;
    let words = format!("{network}, with an empty home | {FILES}; if it needs a network, {remedy}");
    assert!(said.ends_with(&words), "{said}");
    if Path::new("/usr/bin/curl").exists() {
        let script = "curl -sS http://127.0.0.1:9/";
        let said = failure_of(&home, &["/bin/sh", "-c", script], &offline).await;
        assert!(said.ends_with(&format!("{network} | {remedy}")), "{said}");
    }
}

/// What helpers are made of works in a tree of its own with nothing granted.
#[tokio::test]
async fn curl_and_openssl_work_confined() {
    use std::io::{Read as _, Write as _};
    if !crate::has(&["curl", "openssl"]) {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(stream.read(&mut [0; 4096]));
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntoken")
            .unwrap();
    });
    let home = Home::new();
    let script = format!(
        "t=$(curl -s http://127.0.0.1:{port}/); s=$(printf x | openssl dgst -sha256 -hmac k -r); \
         echo \"$t ${{s%% *}}\""
    );
    let mut child = helper(&[]);
    let words = ["/bin/sh", "-c", &script].map(str::to_owned);
    child.command = keyway_transport::HelperCommand::Words(words.to_vec());
    child.isolation = home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    let output = child.run(DEADLINE).await.unwrap();
    let output = String::from_utf8_lossy(output.expose()).into_owned();
    let (token, digest) = output.trim().split_once(' ').unwrap();
    assert_eq!((token, digest.len()), ("token", 64), "{output}");
}

/// Like the command line tools of clouds, which read a profile in the home.
#[tokio::test]
async fn a_profile_in_the_home_is_read_hidden_or_confined_with_its_grant() {
    let home = Home::new();
    fs::create_dir(home.at(".aws")).unwrap();
    put(&home.at(".aws/config"), "[profile work]\n");
    let confined = home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    let level = launcher().probe(&confined).await.unwrap();
    if !level.is_confined() {
        println!("SKIPPED: {level}");
        return;
    }
    let mut granted = confined.clone();
    granted.read_only = vec![home.at(".aws")];
    let hidden = home.isolation(IsolationProfile::Hide, IsolationMechanism::Best);
    for (isolation, is_read) in [(hidden, true), (granted, true), (confined, false)] {
        let mut child = helper(&[]);
        let script = format!("cat {0}/.aws/config; echo x > {0}/.aws/new", home.text(""));
        let words = ["/bin/sh", "-c", &format!("{script}; exit 0")].map(str::to_owned);
        child.command = keyway_transport::HelperCommand::Words(words.to_vec());
        let is_hiding = isolation.profile == IsolationProfile::Hide;
        child.isolation = isolation;
        let output = child.run(DEADLINE).await.unwrap();
        assert_eq!(output.expose().starts_with(b"[profile"), is_read);
        assert_eq!(home.at(".aws/new").exists(), is_hiding);
        drop(fs::remove_file(home.at(".aws/new")));
    }
}

/// The same with the real thing, as helpers call it.
#[tokio::test]
async fn the_aws_command_line_reads_its_profile_hidden_or_confined_with_its_grant() {
    if !crate::has(&["aws"]) {
        return;
    }
    let home = Home::new();
    fs::create_dir(home.at(".aws")).unwrap();
    let profile = "[work]\naws_access_key_id = profile-key\n";
    put(&home.at(".aws/credentials"), profile);
    let confined = home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    let level = launcher().probe(&confined).await.unwrap();
    if !level.is_confined() {
        println!("SKIPPED: {level}");
        return;
    }
    let mut granted = confined.clone();
    granted.read_only = vec![home.at(".aws")];
    let hidden = home.isolation(IsolationProfile::Hide, IsolationMechanism::Best);
    for (isolation, expected) in [
        (hidden, "profile-key"),
        (granted, "profile-key"),
        (confined.clone(), ""),
    ] {
        let mut child = helper(&[]);
        let script = format!(
            "HOME={} /usr/bin/aws configure get aws_access_key_id --profile work; exit 0",
            home.text("")
        );
        let words = ["/bin/sh", "-c", &script].map(str::to_owned);
        child.command = keyway_transport::HelperCommand::Words(words.to_vec());
        child.isolation = isolation;
        let output = child.run(DEADLINE).await.unwrap();
        let output = String::from_utf8_lossy(output.expose()).into_owned();
        assert_eq!(output.trim(), expected);
    }
    // Without the grant it says which one is missing.
    let mut child = helper(&[]);
    let script = "aws configure get aws_access_key_id --profile work";
    child.command = keyway_transport::HelperCommand::Shell(script.to_owned());
    child.isolation = confined;
    child.isolation.home = Some(home.at(""));
    let said = failure(child).await;
    let remedy = format!("add `{}` to `read_only_grants`", home.text(".aws"));
    assert!(said.contains(&remedy), "{said}");
}

/// Threat E13: the mechanism that is asked for does not do what the profile promises.
#[tokio::test]
async fn e13_what_is_required_and_not_available_starts_nothing() {
    let home = Home::new();
    let mut weak = server();
    let marker = home.at("work/started");
    weak.program.command = "/bin/sh".to_owned().into();
    let script = format!("echo x > {}", marker.display());
    weak.program.args = ["-c", &script].map(|arg| arg.to_owned().into()).to_vec();
    weak.program.isolation =
        home.isolation(IsolationProfile::Confine, IsolationMechanism::Landlock);
    weak.program.isolation.require = true;
    let error = weak.open(&launcher()).await.unwrap_err();
    assert_eq!(error.code().as_str(), "isolation-unavailable", "{error}");
    assert!(!marker.exists());

    let mut strong = server();
    strong.program.isolation = home.isolation(IsolationProfile::Hide, IsolationMechanism::Best);
    strong.program.isolation.require = true;
    let level = home
        .level(IsolationProfile::Hide, IsolationMechanism::Best)
        .await;
    assert_eq!(
        strong.open(&launcher()).await.is_ok(),
        level.is_complete(),
        "{level}"
    );
}

#[tokio::test]
async fn a_folder_that_is_not_there_yet_is_made_so_that_it_can_be_hidden() {
    let home = Home::new();
    let mut isolation = home.isolation(IsolationProfile::Hide, IsolationMechanism::Best);
    isolation.hidden.push(home.at("later/deep"));
    launcher().probe(&isolation).await.unwrap();
    let mode = fs::metadata(home.text("later/deep"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}
