//! What is shown to a program is what was granted and compared, whatever a path leads to by then.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use keyway_transport::{
    ChildEnv, ChildKind, EnvRules, HostEnv, Isolation, IsolationMechanism, IsolationProfile,
    KnownGrant, StdioServer, VerifyMoment,
};
use serde_json::json;
use tempfile::TempDir;

use crate::isolation::{Home, put};
use crate::stdio::{call, server};
use crate::{CHILD, launcher};

/// Every way to keep a program from things.
const WAYS: [(IsolationProfile, IsolationMechanism); 4] = {
    use IsolationMechanism::{Best, Landlock};
    use IsolationProfile::{Confine, Hide};
    [
        (Hide, Best),
        (Confine, Best),
        (Hide, Landlock),
        (Confine, Landlock),
    ]
};

fn isolated(home: &Home, isolation: Isolation) -> StdioServer {
    let mut server = server();
    server.program.folder = home.at("work");
    server.program.isolation = isolation;
    let child = std::path::Path::new(CHILD).parent().unwrap();
    server.program.isolation.read_only.push(child.to_owned());
    server
}

#[tokio::test]
async fn a_grant_that_leads_into_a_hidden_folder_starts_nothing() {
    let home = Home::new();
    symlink(home.at("keyway/config"), home.at("work/link")).unwrap();
    fs::create_dir(home.at("work/folder")).unwrap();
    symlink(home.at("keyway/config/key"), home.at("work/folder/key")).unwrap();
    for (profile, mechanism) in WAYS {
        if !home.level(profile, mechanism).await.hides_files() {
            println!("SKIPPED: no {mechanism:?} here");
            continue;
        }
        for path in [
            "work/link",
            "keyway/data",
            "keyway/data/plugins/p",
            "work/folder/key",
        ] {
            for give in [
                (|isolation, path| isolation.granted.push(path)) as fn(&mut Isolation, _),
                |isolation, path| isolation.read_only.push(path),
                |isolation, path| isolation.root = Some(path),
            ] {
                let mut isolation = home.isolation(profile, mechanism);
                give(&mut isolation, home.at(path));
                // A plugin's root is a folder.
                if isolation.root.as_ref().is_some_and(|root| root.is_file()) {
                    continue;
                }
                let error = isolated(&home, isolation).open(&launcher()).await;
                let error = error.unwrap_err();
                assert_eq!(error.code().as_str(), "grant-hidden", "{path}: {error}");
                assert!(error.to_string().contains(path), "{error}");
            }
        }
    }
}

/// Another program of the person exchanges the plugin right after its files were compared.
#[tokio::test]
async fn a_plugin_exchanged_after_its_files_were_compared_starts_nothing() {
    for (profile, mechanism) in WAYS {
        for target in ["keyway/config", "decoy"] {
            for is_link in [true, false] {
                let home = Home::new();
                if !home.level(profile, mechanism).await.hides_files() {
                    println!("SKIPPED: no {mechanism:?} here");
                    continue;
                }
                fs::create_dir(home.at("decoy")).unwrap();
                put(&home.at("decoy/key"), "CANARY");
                fs::create_dir(home.at("work/plugin")).unwrap();
                let mut isolation = home.isolation(profile, mechanism);
                isolation.root = Some(home.at("work/plugin"));
                let mut server = isolated(&home, isolation);
                let [plugin, away, target] =
                    ["work/plugin", "work/away", target].map(|path| home.at(path));
                server.verify = Some(Arc::new(move |moment| {
                    if moment == VerifyMoment::BeforeStart {
                        fs::rename(&plugin, &away).unwrap();
                        if is_link {
                            symlink(&target, &plugin).unwrap();
                        } else {
                            fs::create_dir(&plugin).unwrap();
                        }
                    }
                    Ok(())
                }));
                let error = server.open(&launcher()).await.unwrap_err();
                let code = error.code();
                let code = code.as_str();
                assert!(["grant-hidden", "pending-trust"].contains(&code), "{error}");
            }
        }
    }
}

/// Another program of the person exchanges a grant after the person was asked about it.
#[tokio::test]
async fn a_grant_exchanged_after_it_was_approved_starts_nothing() {
    use std::os::unix::fs::MetadataExt as _;

    for mechanism in [IsolationMechanism::Best, IsolationMechanism::Landlock] {
        for is_written in [true, false] {
            for exchange in [
                // Nothing, a link to elsewhere, a link around it, and another folder in its place.
                (|_: &Home| {}) as fn(&Home),
                |home| symlink(home.at("keys"), home.at("granted/folder")).unwrap(),
                |home| {
                    fs::create_dir_all(home.at("elsewhere/folder")).unwrap();
                    fs::rename(home.at("granted"), home.at("gone")).unwrap();
                    symlink(home.at("elsewhere"), home.at("granted")).unwrap();
                },
                |home| fs::rename(home.at("keys"), home.at("granted/folder")).unwrap(),
                |home| put(&home.at("granted/folder"), "a file"),
            ] {
                let home = Home::new();
                let level = home.level(IsolationProfile::Confine, mechanism).await;
                if !level.hides_files() {
                    println!("SKIPPED: {level}");
                    continue;
                }
                fs::create_dir_all(home.at("granted/folder")).unwrap();
                fs::create_dir(home.at("keys")).unwrap();
                put(&home.at("keys/id"), "CANARY");
                let mut isolation = home.isolation(IsolationProfile::Confine, mechanism);
                let grant = home.at("granted/folder");
                let real = grant.canonicalize().unwrap();
                let found = fs::metadata(&real).unwrap();
                let folder = Some((found.dev(), found.ino()));
                isolation.known_grants = vec![KnownGrant::new(&grant, real, folder)];
                match is_written {
                    true => isolation.granted.push(grant.clone()),
                    false => isolation.read_only.push(grant.clone()),
                }
                let mut server = isolated(&home, isolation);
                server.program.folder = "/".into();
                let home = Arc::new(home);
                let person = Arc::clone(&home);
                server.verify = Some(Arc::new(move |moment| {
                    if moment == VerifyMoment::BeforeStart {
                        let moved = person.at("granted/moved");
                        fs::rename(person.at("granted/folder"), &moved).unwrap();
                        exchange(&person);
                        if !person.at("granted/folder").exists() {
                            fs::rename(&moved, person.at("granted/folder")).unwrap();
                        }
                    }
                    Ok(())
                }));
                let opened = server.open(&launcher()).await;
                let now = fs::symlink_metadata(&grant).unwrap();
                if now.ino() == found.ino() {
                    assert!(opened.is_ok(), "it is the same: {:?}", opened.err());
                    continue;
                }
                let error = opened.unwrap_err();
                assert_eq!(error.code().as_str(), "pending-trust", "{error}");
                let words = format!("`{}` has changed since it was approved", grant.display());
                assert_eq!(error.to_string(), words);
            }
        }
    }
}

/// A program that may write the folder of its data must not be able to have another one shown there.
#[tokio::test]
async fn a_link_in_the_place_of_a_folder_that_the_host_made_starts_nothing() {
    let home = Home::new();
    symlink("../../config", home.at("keyway/data/plugins/link")).unwrap();
    for (profile, mechanism) in WAYS {
        if !home.level(profile, mechanism).await.hides_files() {
            println!("SKIPPED: no {mechanism:?} here");
            continue;
        }
        let mut isolation = home.isolation(profile, mechanism);
        isolation.own = vec![home.at("keyway/data/plugins/link")];
        let opened = isolated(&home, isolation).open(&launcher()).await;
        let error = opened.unwrap_err();
        assert_eq!(error.code().as_str(), "spawn-failed", "{error}");
    }
}

/// A confined program cannot put another plugin in the place of its own by way of a grant around it.
#[tokio::test]
async fn names_between_a_grant_and_the_plugin_in_it_are_fixed() {
    for mechanism in [IsolationMechanism::Best, IsolationMechanism::Landlock] {
        let home = Home::new();
        let level = home.level(IsolationProfile::Confine, mechanism).await;
        if !level.hides_files() {
            println!("SKIPPED: {level}");
            continue;
        }
        fs::create_dir_all(home.at("work/a/b/plugin")).unwrap();
        put(&home.at("work/a/b/plugin/lib.js"), "approved");
        let mut isolation = home.isolation(IsolationProfile::Confine, mechanism);
        isolation.granted = vec![home.at("work")];
        isolation.root = Some(home.at("work/a/b/plugin"));
        isolation.read_only = vec![CHILD.into()];
        let script = "mv HOME/work/a/b/plugin HOME/work/x; mv HOME/work/a/b HOME/work/x; \
                      mv HOME/work/a HOME/work/x; \
                      unshare -rm sh -c 'mount -t tmpfs none /mnt; mkdir /mnt/w /mnt/o; \
                      mount --rbind HOME/work /mnt/w; cd /mnt; pivot_root . o; umount -l o; \
                      mv w/a w/x'; \
                      mkdir -p HOME/work/a/b/plugin; echo EVIL > HOME/work/a/b/plugin/lib.js; \
                      cat HOME/work/a/b/plugin/lib.js";
        let (output, code) = home.shell(isolation.clone(), script).await;
        assert_eq!(code, 0, "it is still there to read: {output}");
        let text = fs::read_to_string(home.at("work/a/b/plugin/lib.js")).unwrap();
        assert_eq!(text, "approved", "{mechanism:?}: {output}");
        if mechanism == IsolationMechanism::Best {
            // Beside them everything is as in a folder of its own, moves across them included.
            let script = "cd HOME/work && echo x > f && python3 -c 'import os; \
                          os.rename(\"f\", \"a/f\"); os.rename(\"a/f\", \"a/b/f\")' && cat a/b/f";
            let (output, code) = home.shell(isolation, script).await;
            assert_eq!((output.as_str(), code), ("x\n", 0));
        }
    }
}

/// Containers have homes such as `/opt/app-root/src`.
#[tokio::test]
async fn a_home_in_a_system_folder_is_empty_for_a_confined_program() {
    let home = Home::new();
    let confined = home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    let level = launcher().probe(&confined).await.unwrap();
    let (Ok(person), true) = (TempDir::new_in("/opt"), level.is_confined()) else {
        println!("SKIPPED: `/opt` may not be written, or {level}");
        return;
    };
    put(&person.path().join("id_rsa"), "CANARY");
    let file = person.path().join("id_rsa").display().to_string();
    let mut isolation = confined;
    isolation.home = Some(person.path().to_owned());
    isolation.granted = vec![home.at("work")];
    isolation.read_only = vec![CHILD.into()];
    let script = format!("cat {file}; echo x > {file}.new && cat {file}.new");
    let (output, code) = home.shell(isolation.clone(), &script).await;
    assert!(!output.contains("CANARY") && code == 0, "{output}");
    assert!(!person.path().join("id_rsa.new").exists(), "in memory");
    // What is granted is there.
    isolation.granted.push(person.path().to_owned());
    let (output, _) = home.shell(isolation, &script).await;
    assert!(output.contains("CANARY"), "{output}");
}

/// The entry decides about `HOME` and `TMPDIR` of its program.
#[tokio::test]
async fn a_home_that_leads_out_of_the_tree_makes_nothing_and_weakens_nothing() {
    let home = Home::new();
    let isolation = home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    let level = launcher().probe(&isolation).await.unwrap();
    if !level.is_confined() {
        println!("SKIPPED: {level}");
        return;
    }
    let outside = home.at("outside");
    let work = home.at("work/new");
    for value in [
        format!("/..{}", outside.display()),
        work.display().to_string(),
        "/dev/null".to_owned(),
        "/etc/passwd".to_owned(),
        "/etc/keyway-test-none/x".to_owned(),
        "/".to_owned(),
        "relative".to_owned(),
    ] {
        let mut server = isolated(&home, isolation.clone());
        server.program.isolation.granted = vec![home.at("work")];
        let names = ["HOME", "TMPDIR"];
        let declared = names.map(|name| (name.to_owned(), value.clone().into()));
        let host = HostEnv::default();
        let mut rules = EnvRules::new(ChildKind::Server, &host);
        rules.declared = &declared;
        server.program.env = ChildEnv::build([], &rules);
        let (mut connection, level) = server.open(&launcher()).await.unwrap();
        assert!(level.is_confined(), "{value}: {level}");
        let result = call(&mut connection, "shell", json!("/bin/echo ok")).await;
        assert_eq!(result["stdout"], "ok\n", "{value}");
        assert!(!outside.exists() && !work.exists(), "{value}");
        assert!(!std::path::Path::new("/etc/keyway-test-none").exists());
    }
}

/// A socket can be connected to wherever it is seen, also where nothing may be written.
#[tokio::test]
async fn sockets_in_system_folders_are_out_of_reach_of_a_confined_program() {
    let home = Home::new();
    let mut isolation = home.isolation(IsolationProfile::Confine, IsolationMechanism::Best);
    let level = launcher().probe(&isolation).await.unwrap();
    let (Ok(folder), true) = (TempDir::new_in("/opt"), level.is_confined()) else {
        println!("SKIPPED: `/opt` may not be written, or {level}");
        return;
    };
    if !crate::has(&["python3"]) {
        return;
    }
    let path = folder.path().join("daemon.sock");
    let _daemon = UnixListener::bind(&path).unwrap();
    isolation.read_only = vec![CHILD.into()];
    isolation.granted = vec![home.at("work")];
    let connect = |path: &str| {
        format!(
            "python3 -c 'import socket as s; c = s.socket(s.AF_UNIX); c.connect(\"{path}\"); \
             print(\"CONNECTED\")'"
        )
    };
    for offline in [true, false] {
        isolation.offline = offline;
        let script = connect(path.to_str().unwrap());
        let (output, code) = home.shell(isolation.clone(), &script).await;
        assert!(!output.contains("CONNECTED") && code == 1, "{output}");
    }
    // What lies in a folder that was granted is meant to be used.
    let _own = UnixListener::bind(home.at("work/own.sock")).unwrap();
    let (output, _) = home.shell(isolation, &connect("HOME/work/own.sock")).await;
    assert!(output.contains("CONNECTED"), "{output}");
}

/// `AF_VSOCK` leads to the host of a virtual machine from every network namespace, and a ring of the
/// kernel's would open a socket past the filter.
#[tokio::test]
async fn a_confined_program_has_sockets_of_usual_families_alone() {
    if !crate::has(&["python3"]) || !cfg!(target_arch = "x86_64") {
        println!("SKIPPED: no Python here, or another processor");
        return;
    }
    let home = Home::new();
    let script = format!("python3 -c '{FAMILIES}'");
    for mechanism in [IsolationMechanism::Best, IsolationMechanism::Landlock] {
        for offline in [true, false] {
            let mut isolation = home.isolation(IsolationProfile::Confine, mechanism);
            isolation.read_only = vec![CHILD.into()];
            isolation.granted = vec![home.at("work")];
            isolation.offline = offline;
            let (output, code) = home.shell(isolation, &script).await;
            assert_eq!((output.as_str(), code), ("[1, 2, 10, 16]\n38\n", 0));
        }
    }
}

/// Prints the families of which a socket can be opened, and how the kernel refuses a ring.
const FAMILIES: &str = r#"
import ctypes, errno, socket
def opens(family):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
            return True
        except OSError as error:
            if error.errno != errno.EAFNOSUPPORT:
                return True
    return False
print([family for family in range(64) if opens(family)])
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(425, 1, None)
print(ctypes.get_errno())
"#;
