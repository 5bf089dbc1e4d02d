//! `keyway vault`, and where the vault's key comes from.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up must stop"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Instant;

use keyway_testkit::{Canary, Folder, KeyringSession, Keyway, Outcome, PATIENCE, Terminal};
use serde_json::Value;

/// A home in which several calls meet, each a process of its own.
struct Home {
    folder: Folder,
    variables: Vec<(&'static str, String)>,
}

impl Home {
    fn new() -> Self {
        Self {
            folder: Folder::with_entries("{}"),
            variables: Vec::new(),
        }
    }

    fn with(session: &KeyringSession) -> Self {
        let mut home = Self::new();
        home.set("DBUS_SESSION_BUS_ADDRESS", session.address());
        home
    }

    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.unset(name);
        self.variables.push((name, value.into()));
    }

    fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| *known != name);
    }

    /// Writes a private file and returns its path.
    fn secret(&self, name: &str, content: &str) -> String {
        self.folder.put(name, content);
        let path = self.folder.at(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), self.folder.path());
        let call = call
            .args(arguments.iter().copied())
            .env("KEYWAY_HOME", self.folder.at("keyway"));
        let variables = self.variables.iter();
        variables
            .fold(call, |call, (name, value)| call.env(name, value))
            .run()
    }

    fn done(&self, arguments: &[&str]) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.snapshot());
        outcome
    }

    /// Makes the vault, as the first command does that keeps anything.
    fn make(&self) {
        let made = self.done(&["trust", "reset"]);
        assert_eq!(
            made.stderr, "revoked 0 approvals\n",
            "nothing is said about it"
        );
    }

    fn status(&self) -> Value {
        let outcome = self.run(&["vault", "status", "--format", "json"]);
        let status: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let opens = status["diagnostics"].as_array().unwrap().is_empty();
        assert_eq!(outcome.code == 0, opens, "{}", outcome.snapshot());
        status
    }

    /// Every file that is kept, apart from the index that SQLite shares between processes.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut open = vec![self.folder.at("keyway")];
        let mut files = BTreeMap::new();
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if !path.ends_with("vault.db-shm") {
                    files.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        files
    }

    /// Has every command fail that opens the vault; returns its state and what people are told.
    fn fails_without_a_trace(&self) -> (String, String) {
        let before = self.files();
        let state = self.status()["state"].as_str().unwrap().to_owned();
        let mut told = String::new();
        for arguments in [&["vault", "verify"][..], &["trust", "list"]] {
            let start = Instant::now();
            let outcome = self.run(arguments);
            assert!(start.elapsed() < PATIENCE);
            assert_eq!(outcome.code, 1, "{}", outcome.snapshot());
            assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
            told = outcome.stderr;
        }
        assert_eq!(before, self.files(), "{state}");
        (state, told)
    }

    /// Counts the files with a key; a file without content only shows that there is a vault.
    fn key_files(&self) -> usize {
        let all = fs::read_dir(self.folder.at("keyway/config")).unwrap();
        let sizes = all.map(|entry| entry.unwrap().metadata().unwrap().len());
        sizes.filter(|size| *size > 0).count()
    }

    fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.folder.at("keyway/data/vault.db")).unwrap()
    }
}

#[test]
fn looking_at_nothing_makes_nothing() {
    let home = Home::new();
    assert_eq!(home.status()["state"], "absent");
    let outcome = home.done(&["vault", "status"]);
    assert!(
        outcome.stdout.contains("no vault yet"),
        "{}",
        outcome.stdout
    );
    for arguments in [
        &["vault", "verify"][..],
        &["vault", "rekey"],
        &["vault", "repair"],
    ] {
        let outcome = home.run(arguments);
        assert_eq!(outcome.code, 1);
        assert!(
            outcome.stderr.contains("no vault yet"),
            "{}",
            outcome.stderr
        );
    }
    assert!(!home.folder.at("keyway").exists());
}

#[test]
fn machine_without_a_session_gets_a_key_file_and_an_honest_word_about_it() {
    let home = Home::new();
    home.make();
    let status = home.status();
    assert_eq!(status["state"], "open");
    assert_eq!(status["key_source"], "key-file");
    assert_eq!(status["schema"], 3);
    assert!(status["bytes"].as_u64().unwrap() > 0);
    let shown = home.done(&["vault", "status"]).stdout;
    let honest = "every program that can read your files can read this key";
    assert!(shown.contains(honest), "{shown}");
    let file = status["key_file"].as_str().unwrap();
    let file = file.replace("[PATH]", &home.folder.path().to_string_lossy());
    let key = Canary::hidden(fs::read_to_string(file).unwrap().trim());
    assert_eq!(key.leak(&shown), None, "{shown}");
    let verified = home.done(&["vault", "verify"]).stdout;
    assert_eq!(verified, "no damage: 0 entries and 0 sign-ins\n");
}

#[test]
fn listing_and_removing_make_no_vault() {
    let home = Home::new();
    for (command, list) in [
        ("trust", "approvals"),
        ("token", "tokens"),
        ("env", "variables"),
    ] {
        home.done(&[command, "list"]);
        let listed = home.done(&[command, "list", "--format", "json"]).stdout;
        let listed: Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed["schema_version"], 1);
        assert_eq!(listed[list], Value::Array(Vec::new()), "{command}");
        assert!(!home.folder.at("keyway").exists(), "{command}");
    }
    for (words, list) in [
        (
            ["token", "revoke", "nobody"],
            "hint: list them: keyway token list",
        ),
        (
            ["env", "unset", "NOTHING"],
            "hint: list them: keyway env list",
        ),
    ] {
        let absent = home.run(&[&words[..], &["--quiet"]].concat());
        assert_eq!(absent.code, 1, "{}", absent.snapshot());
        assert!(
            absent.stderr.contains("error: there is no such "),
            "{}",
            absent.stderr
        );
        assert!(absent.stderr.contains(list), "{}", absent.stderr);
        assert!(!home.folder.at("keyway").exists());
    }
    home.done(&["token", "new", "--name", "n", "--server", "p:s"]);
    let listed = home.done(&["token", "list", "--format", "json"]).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["tokens"][0]["name"], "n");
    assert_eq!(listed["tokens"][0]["servers"][0], "p:s");
}

#[test]
fn a_place_where_nothing_can_be_made_is_told_with_what_helps() {
    let mut home = Home::new();
    // No user can make folders there, not even the superuser.
    home.set("KEYWAY_HOME", "/sys/keyway");
    let outcome = home.run(&["trust", "reset"]);
    assert_eq!(outcome.code, 1, "{}", outcome.snapshot());
    let told = &outcome.stderr;
    assert!(
        told.contains("hint: set `KEYWAY_HOME` to a folder that you can write to"),
        "{told}"
    );
}

#[test]
fn four_states_have_four_messages_and_none_changes_anything() {
    let mut session = KeyringSession::new();
    session.log_in();
    let mut home = Home::with(&session);
    home.make();
    home.done(&["trust", "list"]);
    assert_eq!(home.status()["state"], "open");
    assert_eq!(home.status()["key_source"], "keyring");
    assert_eq!(home.key_files(), 0, "no key lies beside the keyring");

    session.lock();
    let (state, locked) = home.fails_without_a_trace();
    assert_eq!(state, "keyring-locked");
    assert!(locked.contains("error: the keyring is locked"), "{locked}");

    session.kill_keyring();
    let (state, absent) = home.fails_without_a_trace();
    assert_eq!(state, "keyring-absent");
    assert!(absent.contains("no keyring service"), "{absent}");

    session.log_in();
    assert_eq!(home.status()["state"], "open", "unlocked, it works again");
    session.freeze();
    let (before, start) = (home.files(), Instant::now());
    let outcome = home.run(&["vault", "verify", "--format", "json"]);
    assert!(start.elapsed() < PATIENCE);
    assert_eq!((outcome.code, before), (1, home.files()));
    let slow = outcome.stdout;
    assert!(slow.contains("\"keyring-timeout\""), "{slow}");
    assert!(slow.contains("within 3 seconds"), "{slow}");
    session.thaw();

    let mut other = KeyringSession::new();
    other.log_in();
    home.set("DBUS_SESSION_BUS_ADDRESS", other.address());
    let (state, wrong) = home.fails_without_a_trace();
    assert_eq!(state, "wrong-key");
    assert!(wrong.contains("a different key"), "{wrong}");
    home.set("DBUS_SESSION_BUS_ADDRESS", session.address());

    assert_eq!(home.status()["state"], "open");
    home.database()
        .execute("UPDATE data_keys SET wrapped = zeroblob(73)", [])
        .unwrap();
    let (state, corrupt) = home.fails_without_a_trace();
    assert_eq!(state, "vault-corrupt");
    assert!(corrupt.contains("is damaged"), "{corrupt}");

    let told = [locked, absent, slow, wrong, corrupt];
    for (at, one) in told.iter().enumerate() {
        assert!(!told[..at].contains(one), "{one}");
    }
}

#[test]
fn vault_made_with_the_keyring_opens_with_nothing_else() {
    let mut session = KeyringSession::new();
    session.log_in();
    let mut home = Home::with(&session);
    home.make();
    let key = home.secret("key", &"4b".repeat(32));
    home.set("KEYWAY_KEY_FILE", key);
    assert_eq!(home.fails_without_a_trace().0, "key-source-differs");
    home.unset("KEYWAY_KEY_FILE");
    home.unset("DBUS_SESSION_BUS_ADDRESS");
    assert_eq!(home.fails_without_a_trace().0, "keyring-absent");
    home.set("KEYWAY_KEY_SOURCE", "file");
    assert_eq!(home.fails_without_a_trace().0, "keyring-absent");
    let phrase = home.secret("phrase", "correct horse\n");
    home.set("KEYWAY_PASSPHRASE_FILE", phrase);
    assert_eq!(home.fails_without_a_trace().0, "keyring-absent");
}

#[test]
fn named_key_comes_from_a_file_a_command_or_the_service_manager() {
    let digits = "4b".repeat(32);
    let mut home = Home::new();
    let key = home.secret("key", &digits);
    home.set("KEYWAY_KEY_FILE", key.clone());
    home.make();
    assert_eq!(home.status()["key_source"], "explicit");
    home.unset("KEYWAY_KEY_FILE");
    assert_eq!(home.fails_without_a_trace().0, "key-unavailable");

    home.set("KEYWAY_KEY_COMMAND", format!("cat {key}"));
    assert_eq!(home.status()["state"], "open");
    home.set(
        "KEYWAY_KEY_COMMAND",
        format!("printf %s {}", "4c".repeat(32)),
    );
    assert_eq!(home.fails_without_a_trace().0, "wrong-key");
    home.set("KEYWAY_KEY_COMMAND", format!("echo {digits} >&2; exit 4"));
    assert_eq!(home.status()["state"], "key-not-supplied");
    home.set("KEYWAY_KEY_FILE", key);
    let outcome = home.run(&["trust", "list"]);
    assert_eq!(outcome.code, 2, "{}", outcome.snapshot());
    home.unset("KEYWAY_KEY_FILE");
    home.unset("KEYWAY_KEY_COMMAND");

    home.secret("credentials/keyway-key", &digits);
    let credentials = home.folder.at("credentials");
    home.set("CREDENTIALS_DIRECTORY", credentials.to_string_lossy());
    assert_eq!(home.status()["state"], "open");
}

/// `threats.md` P2, for the key that a service manager hands out.
#[test]
fn program_of_a_plugin_cannot_read_the_credential() {
    let digits = "4b".repeat(32);
    let mut home = Home::new();
    home.secret("credentials/keyway-key", &digits);
    home.secret("elsewhere", "seen");
    let credentials = home.folder.at("credentials");
    home.set("CREDENTIALS_DIRECTORY", credentials.to_string_lossy());
    let at = |name| home.folder.at(name).to_string_lossy().into_owned();
    let script = format!(
        "cat {} {} > {}",
        at("credentials/keyway-key"),
        at("elsewhere"),
        at("loot")
    );
    let entry = serde_json::json!({"local": {"command": "sh", "args": ["-c", script]}});
    home.folder.put(".mcp.json", entry.to_string());
    home.done(&["trust", "grant", "local"]);
    assert_ne!(home.run(&["tools", "local"]).code, 0, "not a server");
    assert_eq!(home.folder.read("loot"), "seen", "it ran, and saw no key");
}

#[test]
fn passphrase_is_taken_from_its_file_and_missed_without() {
    let mut home = Home::new();
    let phrase = home.secret("phrase", "correct horse\n");
    home.set("KEYWAY_PASSPHRASE_FILE", phrase.clone());
    home.make();
    assert_eq!(home.status()["key_source"], "passphrase");
    assert_eq!(home.status()["state"], "open");
    home.unset("KEYWAY_PASSPHRASE_FILE");
    assert_eq!(home.status()["state"], "passphrase-needed");
    let outcome = home.run(&["vault", "verify", "--format", "json"]);
    assert!(
        outcome.stdout.contains("key-unavailable"),
        "{}",
        outcome.stdout
    );
    let other = home.secret("other", "correct house\n");
    home.set("KEYWAY_PASSPHRASE_FILE", other.clone());
    assert_eq!(home.fails_without_a_trace().0, "wrong-key");

    home.set("KEYWAY_PASSPHRASE_FILE", phrase);
    home.done(&["vault", "rekey", "--passphrase-file", &other]);
    assert_eq!(home.fails_without_a_trace().0, "wrong-key");
    home.set("KEYWAY_PASSPHRASE_FILE", other);
    assert_eq!(home.status()["state"], "open");
}

#[test]
fn key_moves_where_it_is_told_to_and_stays_where_that_fails() {
    let mut session = KeyringSession::new();
    session.log_in();
    let mut home = Home::new();
    home.make();
    let outcome = home.run(&["vault", "rekey", "--to", "keyring"]);
    assert_eq!(outcome.code, 1, "{}", outcome.snapshot());
    assert!(
        outcome.stderr.contains("no session bus"),
        "{}",
        outcome.stderr
    );
    assert_eq!(home.status()["state"], "open");

    home.set("DBUS_SESSION_BUS_ADDRESS", session.address());
    assert_eq!(
        home.status()["key_source"],
        "key-file",
        "not moved by itself"
    );
    home.done(&["vault", "rekey", "--to", "keyring"]);
    assert_eq!(session.items().len(), 1);
    assert_eq!(home.status()["key_source"], "keyring");
    assert_eq!(home.key_files(), 0);

    session.lock();
    let outcome = home.run(&["vault", "rekey", "--to", "file"]);
    assert_eq!(outcome.code, 1, "{}", outcome.snapshot());
    session.kill_keyring();
    session.log_in();
    assert_eq!(home.status()["state"], "open");

    let key = home.secret("key", &"4b".repeat(32));
    let outcome = home.done(&["vault", "rekey", "--key-file", &key]);
    assert!(
        outcome.stdout.contains("KEYWAY_KEY_FILE"),
        "{}",
        outcome.stdout
    );
    assert_eq!(session.items().len(), 0);
    home.set("KEYWAY_KEY_FILE", key);
    assert_eq!(home.status()["state"], "open");
    let outcome = home.run(&["vault", "rekey"]);
    assert_eq!(outcome.code, 2, "{}", outcome.snapshot());
    let done = home.done(&["vault", "rekey", "--to", "file", "--format", "json"]);
    let done: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(done["key_source"], "key-file");
    assert_eq!(done["old_key_remains"], true);
    home.unset("KEYWAY_KEY_FILE");
    home.done(&["vault", "verify"]);
}

#[test]
fn vault_moves_to_another_machine_with_its_key_file_and_not_without() {
    let (old, new) = (Home::new(), Home::new());
    old.make();
    old.done(&["vault", "backup", "copy.db"]);
    let copy = old.folder.at("copy.db").to_string_lossy().into_owned();
    let refused = new.run(&["vault", "restore", &copy]);
    assert_eq!(refused.code, 1, "{}", refused.everything());
    let config = old.folder.at("keyway/config");
    let files = fs::read_dir(config).unwrap().map(|file| file.unwrap());
    let key = files.map(|file| file.file_name().into_string().unwrap());
    let key = key.into_iter().find(|name| name.ends_with(".key")).unwrap();
    let key = format!("keyway/config/{key}");
    new.secret(&key, &old.folder.read(&key));
    new.done(&["vault", "restore", &copy]);
    new.done(&["vault", "verify"]);
}

/// The old key is deleted, and older backups are lost with it: said before, and asked on a terminal.
#[test]
fn rekey_says_that_older_backups_are_lost_before_it_deletes_their_key() {
    let home = Home::new();
    home.make();
    home.done(&["vault", "backup", "before.db"]);
    let warning = "this deletes the current key; backups made with it can no longer be opened";
    let refused = on_a_terminal(&home, "vault rekey", &[("Change the key? [y/N]", "n\r")]);
    let said = refused.find(warning).unwrap();
    assert!(said < refused.find("Change the key?").unwrap(), "{refused}");
    home.done(&["vault", "verify"]);
    home.done(&["vault", "restore", "before.db"]);
    let done = home.done(&["vault", "rekey"]);
    assert!(done.stderr.contains(warning), "{}", done.stderr);
    assert!(done.stdout.contains("make a new backup"), "{}", done.stdout);
    let lost = home.run(&["vault", "restore", "before.db"]);
    assert_eq!(lost.code, 1, "{}", lost.everything());
    // A key that is not Keyway's is not deleted, and nothing is asked.
    let key = home.secret("key", &"4b".repeat(32));
    home.done(&["vault", "rekey", "--key-file", &key]);
    let mut home = home;
    home.set("KEYWAY_KEY_FILE", key);
    let kept = home.done(&["vault", "rekey", "--to", "file"]);
    assert!(
        !kept.everything().contains(warning),
        "{}",
        kept.everything()
    );
}

#[test]
fn other_processes_continue_while_the_key_changes() {
    let home = Home::new();
    home.make();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..15 {
                        home.done(&["trust", "list"]);
                    }
                })
            })
            .collect();
        for _ in 0..10 {
            home.done(&["vault", "rekey"]);
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
    home.done(&["vault", "verify"]);
    let key_files = fs::read_dir(home.folder.at("keyway/config")).unwrap();
    assert_eq!(key_files.count(), 1, "one key is left");
}

#[test]
fn damage_is_named_and_not_mended() {
    let home = Home::new();
    home.folder.put(
        ".mcp.json",
        // Of a package no files are recorded.
        r#"{"local": {"type": "stdio", "command": "npx", "args": ["server"]}}"#,
    );
    home.done(&["trust", "grant", "local"]);
    let verified = home.done(&["vault", "verify"]).stdout;
    assert_eq!(verified, "no damage: 1 entry and 0 sign-ins\n");
    assert_eq!(home.status()["entries"]["trust"], 1);
    home.database()
        .execute("UPDATE records SET sealed = zeroblob(99)", [])
        .unwrap();
    let before = home.files();
    let outcome = home.run(&["vault", "verify"]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("1 damaged value among 1 entry"));
    assert!(outcome.stderr.contains("is damaged"), "{}", outcome.stderr);
    let outcome = home.run(&["vault", "verify", "--format", "json"]);
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &found["ok"]), (1, &Value::Bool(false)));
    assert_eq!(found["diagnostics"][0]["code"], "vault-corrupt");
    assert_eq!(before, home.files());
}

/// Each hint is followed, and the last one ends at a vault that works.
#[test]
fn damage_is_repaired_as_the_hints_say() {
    let home = Home::new();
    home.folder.put(
        ".mcp.json",
        r#"{"local": {"type": "stdio", "command": "npx", "args": ["server"]}, "other": {"type": "stdio", "command": "npx", "args": ["server"]}}"#,
    );
    home.done(&["trust", "grant", "local"]);
    home.done(&["trust", "grant", "other"]);
    let sound = home.done(&["vault", "repair"]).stderr;
    assert_eq!(sound, "no damage; nothing was changed\n");
    let damaged = "UPDATE records SET sealed = zeroblob(99) WHERE key LIKE '%other%'";
    assert_eq!(home.database().execute(damaged, []).unwrap(), 1);
    let before = fs::read(home.folder.at("keyway/data/vault.db")).unwrap();
    let verified = home.run(&["vault", "verify"]);
    assert_eq!(verified.code, 1, "{}", verified.snapshot());
    assert!(
        verified.stderr.contains("hint: `keyway vault repair`"),
        "{}",
        verified.stderr
    );
    let repaired = home.done(&["vault", "repair"]).stderr;
    assert!(
        repaired.starts_with("repaired: 1 entry and 0 sign-ins kept\n"),
        "{repaired}"
    );
    assert!(repaired.contains("gone: entry `"), "{repaired}");
    assert!(
        repaired.contains("`keyway trust grant SERVER`"),
        "{repaired}"
    );
    let aside = fs::read_dir(home.folder.at("keyway/data")).unwrap();
    let mut aside = aside.map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("old-") && name.ends_with(".db")
    });
    let aside = aside.next().unwrap();
    let name = aside.file_name().unwrap().to_str().unwrap();
    assert!(repaired.contains(name), "{repaired}");
    assert_eq!(fs::read(aside).unwrap(), before, "not written to");
    home.done(&["vault", "verify"]);
    home.done(&["trust", "grant", "other"]);
    assert_eq!(home.status()["entries"]["trust"], 2);
}

/// A vault of which nothing opens: each hint leads somewhere, to the backup or to a new vault.
#[test]
fn damage_beyond_repair_ends_in_a_backup_or_in_a_new_vault_as_the_hints_say() {
    for damage in [&b"S"[..], &[0x5a; 9000]] {
        let home = Home::new();
        home.folder.put(
            ".mcp.json",
            r#"{"local": {"type": "stdio", "command": "npx", "args": ["server"]}}"#,
        );
        home.done(&["trust", "grant", "local"]);
        home.done(&["vault", "backup", "copy"]);
        let path = home.folder.at("keyway/data/vault.db");
        home.folder.put("keyway/data/vault.db", damage);
        let repaired = home.run(&["vault", "repair"]);
        assert_eq!(repaired.code, 1, "{}", repaired.snapshot());
        assert!(
            repaired.stderr.contains("damaged beyond repair"),
            "{}",
            repaired.stderr
        );
        assert_eq!(fs::read(&path).unwrap(), damage, "not written to");
        let hint = repaired.stderr.split_once("hint: ").unwrap().1;
        assert!(hint.contains("`keyway vault restore FILE`"), "{hint}");
        assert!(
            hint.contains("the files `vault-*` of the configuration folder"),
            "{hint}"
        );
        // The second hint first: everything is moved away, and the first use makes a new vault.
        let aside = home.folder.at("aside");
        fs::create_dir(&aside).unwrap();
        fs::rename(&path, aside.join("vault.db")).unwrap();
        let keys = fs::read_dir(home.folder.at("keyway/config")).unwrap();
        let keys = keys.map(|entry| entry.unwrap().path());
        let is_key = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("vault-")
        };
        for key in keys.filter(is_key) {
            fs::rename(&key, aside.join(key.file_name().unwrap())).unwrap();
        }
        home.done(&["trust", "grant", "local"]);
        home.done(&["vault", "verify"]);
        // And with everything put back, the first hint.
        fs::remove_dir_all(home.folder.at("keyway")).unwrap();
        home.done(&["trust", "grant", "local"]);
        home.done(&["vault", "backup", "second"]);
        home.folder.put("keyway/data/vault.db", damage);
        home.done(&["vault", "restore", "second"]);
        home.done(&["vault", "verify"]);
        assert_eq!(home.status()["entries"]["trust"], 1);
    }
}

/// Runs the program on a terminal of its own and answers each question.
fn on_a_terminal(home: &Home, arguments: &str, answers: &[(&str, &str)]) -> String {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), home.folder.path())
        .env("KEYWAY_HOME", home.folder.at("keyway"))
        .env("TENANT", "acme");
    let mut terminal = Terminal::start(&call, &format!("\"$KEYWAY\" {arguments}"));
    for (question, answer) in answers {
        terminal.answer(question, answer);
    }
    terminal.end()
}

/// What hardens the process also disables its core file, which a test can see.
#[test]
fn the_process_is_protected_before_it_asks_for_a_new_passphrase() {
    let home = Home::new();
    home.make();
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), home.folder.path())
        .env("KEYWAY_HOME", home.folder.at("keyway"))
        .env("TENANT", "acme");
    let words = "ulimit -S -c 4096; echo $$ > pid; exec \"$KEYWAY\" vault rekey --to passphrase";
    let mut terminal = Terminal::start(&call, words);
    terminal.answer("Change the key? [y/N]", "y\r");
    terminal.wait_for("New passphrase of the vault: ");
    let pid = home.folder.read("pid");
    let limits = fs::read_to_string(format!("/proc/{}/limits", pid.trim())).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let soft = core.unwrap().split_whitespace().nth(4);
    assert_eq!(soft, Some("0"), "{limits}");
    terminal.answer("New passphrase of the vault: ", "\u{3}");
    drop(terminal.end());
}

#[test]
fn typed_passphrase_is_not_echoed() {
    let home = Home::new();
    home.make();
    let phrase = Canary::hidden("xQ7vLk2Wp4Zt8");
    let line = format!("{}\r", phrase.value());
    let first = ("New passphrase of the vault: ", line.as_str());
    let answers = [
        ("Change the key? [y/N]", "y\r"),
        (first.0, "short\r"),
        (first.0, "long enough\r"),
        ("Repeat it: ", "but another\r"),
        first,
        ("Repeat it: ", line.as_str()),
    ];
    let shown = on_a_terminal(&home, "vault rekey --to passphrase", &answers);
    assert!(shown.contains("the passphrases differ"), "{shown}");
    assert_eq!(phrase.leak(&shown), None, "{shown}");
    assert_eq!(home.status()["key_source"], "passphrase", "{shown}");

    let asked = "Passphrase of the vault: ";
    let shown = on_a_terminal(&home, "vault verify", &[(asked, &line)]);
    assert!(shown.contains("no damage"), "{shown}");
    assert_eq!(phrase.leak(&shown), None, "{shown}");
    let shown = on_a_terminal(&home, "vault verify", &[(asked, "wrong horse\r")]);
    assert!(shown.contains("a different key"), "{shown}");
    let shown = on_a_terminal(&home, "vault verify", &[(asked, "half\u{3}")]);
    assert!(shown.contains("not available"), "{shown}");
}

#[test]
fn passphrase_is_asked_for_once_where_the_vault_is_opened_twice() {
    let mut home = Home::new();
    // No server listens there; approval and sign-in are both looked up before that is found out.
    home.folder.put(
        ".mcp.json",
        r#"{"far": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"X-Tenant-ID": "${TENANT}"}}}"#,
    );
    home.set("TENANT", "acme");
    home.done(&["trust", "grant", "far"]);
    let phrase = home.secret("phrase", "correct horse\n");
    home.done(&["vault", "rekey", "--passphrase-file", &phrase]);
    let asked = "Passphrase of the vault: ";
    let shown = on_a_terminal(&home, "tools far", &[(asked, "correct horse\r")]);
    assert_eq!(shown.matches(asked).count(), 1, "{shown}");
    assert!(shown.contains("far"), "{shown}");
}

#[test]
fn a_full_or_read_only_disk_leaves_what_is_stored_usable_and_is_named() {
    let home = Home::new();
    let mounts = |script: &str| {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), home.folder.path());
        let script =
            format!("mkdir -p disk && mount -t tmpfs -o size=512k,mode=700 none disk && {script}");
        call.env("KEYWAY_HOME", home.folder.at("disk/home"))
            .started_by([
                "unshare",
                "--map-root-user",
                "--mount",
                "/bin/sh",
                "-c",
                &script,
            ])
            .run()
    };
    let probe = mounts("true");
    if probe.code != 0 {
        println!("skipped: this system permits no mounts: {}", probe.stderr);
        return;
    }
    let store = "echo CANARY | \"$0\" env set NAME && ";
    let look = "; \"$0\" env list; echo \"code $?\"; \"$0\" vault status --format json; \
        echo OTHER | \"$0\" env set OTHER; echo \"code $?\"";
    for (obstacle, words) in [
        ("cat /dev/zero > disk/filler", "the disk is full"),
        ("mount -o remount,ro disk", "the file system is read-only"),
    ] {
        let outcome = mounts(&format!("{store}{obstacle}{look}"));
        let text = outcome.everything();
        assert!(outcome.stdout.contains("NAME"), "{text}");
        assert!(outcome.stdout.contains("code 0"), "{text}");
        assert!(outcome.stdout.ends_with("code 1\n"), "{text}");
        assert!(outcome.stderr.contains(words), "{text}");
        assert!(
            outcome.stderr.contains("cannot be changed"),
            "vault-unwritable: {text}"
        );
    }
}

#[test]
fn a_copy_is_restored_after_the_vault_was_lost_as_the_hint_says() {
    let home = Home::new();
    home.make();
    let copy = home.folder.at("copy");
    home.done(&["vault", "backup", &copy.to_string_lossy()]);
    let again = home.run(&["vault", "backup", &copy.to_string_lossy()]);
    assert_eq!(again.code, 1, "{}", again.snapshot());
    fs::remove_file(home.folder.at("keyway/data/vault.db")).unwrap();
    for command in [
        &["env", "list"][..],
        &["vault", "verify"],
        &["token", "list"],
    ] {
        let lost = home.run(command);
        assert_eq!(lost.code, 1, "{}", lost.snapshot());
        assert!(
            lost.stderr.contains("is missing, but there was one"),
            "{}",
            lost.stderr
        );
        assert!(
            lost.stderr.contains("keyway vault restore FILE"),
            "{}",
            lost.stderr
        );
    }
    home.done(&["vault", "restore", &copy.to_string_lossy()]);
    home.done(&["vault", "verify"]);
}
