//! The catalogue of a hostile child: every trick that we know, with the outcome that is promised.
//!
//! The table in `docs/security-testing.md` is this one. After a change of it:
//! `KEYWAY_WRITE_TABLE=1 cargo test -p keyway-transport --test children escapes`.

mod daemons;
mod person;
mod tricks;

use std::fmt::Write as _;

use keyway_transport::{
    IsolationLevel, IsolationMechanism, IsolationProfile, StdioServer, harden_self,
};
use serde_json::json;

use self::person::{Offered, Person, User};
pub(crate) use self::tricks::TYPE;
use self::tricks::{TRICKS, Trick};
use crate::stdio::{call, server};
use crate::{CHILD, until};

/// What a trick comes up against; the columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Setting {
    title: &'static str,
    profile: IsolationProfile,
    mechanism: IsolationMechanism,
    offline: bool,
    offered: Offered,
    user: User,
}

const fn setting(
    title: &'static str,
    profile: IsolationProfile,
    mechanism: IsolationMechanism,
    user: User,
) -> Setting {
    Setting {
        title,
        profile,
        mechanism,
        offline: false,
        offered: Offered::Everything,
        user,
    }
}

const SETTINGS: [Setting; 12] = {
    use IsolationMechanism::{Best, Landlock, Mounts};
    use IsolationProfile::{Confine, Hide, None};
    use User::{Ordinary, Root};
    const fn without(title: &'static str, profile: IsolationProfile) -> Setting {
        Setting {
            offered: Offered::Neither,
            ..setting(title, profile, Best, Ordinary)
        }
    }
    [
        setting("hide", Hide, Best, Ordinary),
        setting("confine", Confine, Best, Ordinary),
        Setting {
            offline: true,
            ..setting("confine, no network", Confine, Best, Ordinary)
        },
        setting("hide, Landlock alone", Hide, Landlock, Ordinary),
        setting("confine, Landlock alone", Confine, Landlock, Ordinary),
        setting("hide, mounts alone", Hide, Mounts, Ordinary),
        setting("confine, mounts alone", Confine, Mounts, Ordinary),
        without("hide, neither", Hide),
        without("confine, neither", Confine),
        setting("off", None, Best, Ordinary),
        setting("hide as root", Hide, Best, Root),
        setting("confine as root", Confine, Best, Root),
    ]
};

impl Setting {
    fn server(self, person: &Person) -> StdioServer {
        let mut server = server();
        server.program.command = person.child().into();
        server.program.folder = person.at("../work");
        let isolation = &mut server.program.isolation;
        isolation.profile = self.profile;
        isolation.mechanism = self.mechanism;
        isolation.offline = self.offline;
        isolation.hidden = person.hidden();
        let granted = ["../work", "../bin", "../granted", "../repository"];
        isolation.granted = granted.map(|path| person.at(path)).to_vec();
        isolation.root = Some(person.at("../plugin"));
        isolation.read_only = vec![person.at("../repository/plugins/other")];
        server
    }

    /// Says whether this system offers what the column is about, or takes it away.
    fn is_in_force(self, level: IsolationLevel) -> bool {
        if self.profile == IsolationProfile::None {
            return true;
        }
        match (self.offered, self.mechanism) {
            (Offered::Neither, _) => !level.hides_files(),
            (_, IsolationMechanism::Landlock) => level.hides_processes(),
            _ => level.ends_with_host(),
        }
    }
}

/// Plays one trick; says whether it got through. `None` where this system cannot tell.
async fn play(trick: &'static Trick, setting: Setting) -> Option<bool> {
    let mut person = Person::new(setting.user)?;
    if let Some(daemon) = trick.daemon {
        person.start(daemon).await;
    }
    let mut output = String::new();
    for script in trick.scripts {
        let launcher = person.launcher(setting.offered);
        let opened = setting.server(&person).open(&launcher).await;
        let (mut connection, level) = match opened {
            Ok(opened) => opened,
            // Refusing to start is a way to deny.
            Err(error) => {
                writeln!(output, "{error}").unwrap();
                continue;
            }
        };
        if !setting.is_in_force(level) {
            return None;
        }
        let script = person.fill_in(script);
        let result = call(&mut connection, "shell", json!(script)).await;
        for stream in ["stdout", "stderr"] {
            output += result[stream].as_str().unwrap();
        }
        connection.link.close().await;
    }
    let is_through = output.contains("CANARY") || person.is_marked();
    println!(
        "{} / {}: {is_through}\n{output}",
        trick.title, setting.title
    );
    Some(is_through)
}

#[tokio::test]
async fn e1_to_e4_every_trick_of_the_catalogue_ends_as_promised() {
    harden_self().unwrap();
    let mut surprises = Vec::new();
    for trick in TRICKS {
        if !crate::has(trick.needs) {
            continue;
        }
        let mut played = tokio::task::JoinSet::new();
        for (setting, promised) in SETTINGS.into_iter().zip(trick.gets_through()) {
            played.spawn(async move { (setting, promised, play(trick, setting).await) });
        }
        for (setting, promised, found) in played.join_all().await {
            match found {
                None => println!("SKIPPED `{}` / {}", trick.title, setting.title),
                Some(found) if found == promised => {}
                Some(found) => surprises.push(format!(
                    "{} / {}: through {found}, promised {promised}",
                    trick.title, setting.title
                )),
            }
        }
    }
    assert!(surprises.is_empty(), "{surprises:#?}");
}

#[test]
fn the_documented_table_is_this_one() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/security-testing.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let expected = rendered();
    if is_writing() {
        use std::io::Write as _;
        let page = format!("{before}{BEGIN}{expected}{END}{after}");
        let mut file = std::fs::File::create(path).unwrap();
        file.write_all(page.as_bytes()).unwrap();
        return;
    }
    assert_eq!(table, expected, "docs/security-testing.md is out of date");
}

#[expect(clippy::disallowed_methods, reason = "a switch for the test runner")]
fn is_writing() -> bool {
    std::env::var_os("KEYWAY_WRITE_TABLE").is_some()
}

fn rendered() -> String {
    let mut table = "\n| trick |".to_owned();
    for setting in SETTINGS {
        write!(table, " {} |", setting.title).unwrap();
    }
    table += "\n|---|";
    table += &"---|".repeat(SETTINGS.len());
    table += "\n";
    for trick in TRICKS {
        write!(table, "| {} |", trick.title).unwrap();
        for is_through in trick.gets_through() {
            table += if is_through {
                " **gets through** |"
            } else {
                " denied |"
            };
        }
        table += "\n";
    }
    table
}

/// Threat E1: while one child of a person exchanges folders as fast as it can, others start.
#[tokio::test]
async fn e1_no_child_sees_the_key_while_another_exchanges_folders() {
    harden_self().unwrap();
    if !crate::has(&["python3"]) {
        return;
    }
    for setting in SETTINGS {
        let is_promised =
            setting.profile != IsolationProfile::None && setting.offered == Offered::Everything;
        let Some(person) = Person::new(setting.user).filter(|_| is_promised) else {
            continue;
        };
        let launcher = person.launcher(Offered::Everything);
        let (mut hostile, level) = setting.server(&person).open(&launcher).await.unwrap();
        if !level.hides_files() {
            println!("SKIPPED: {level}");
            continue;
        }
        let exchange = person.fill_in(tricks::EXCHANGE_LOOP);
        call(
            &mut hostile,
            "shell",
            json!(format!("{{ {exchange} }} >/dev/null 2>&1 &")),
        )
        .await;
        let mut refused = 0;
        for _ in 0..starts() {
            let opened = setting.server(&person).open(&launcher).await;
            let Ok((mut connection, _)) = opened else {
                refused += 1;
                continue;
            };
            let look = person.fill_in("cat HOME/.config/keyway/key HOME/decoy/keyway/key");
            let result = call(&mut connection, "shell", json!(look)).await;
            assert!(
                !result.to_string().contains("CANARY"),
                "{}: {result}",
                setting.title
            );
        }
        println!("{}: {refused} of {} refused", setting.title, starts());
    }
}

/// The short form; the long one is asked for by number.
#[expect(clippy::disallowed_methods, reason = "a switch for the test runner")]
fn starts() -> u32 {
    let asked = std::env::var("KEYWAY_EXCHANGE_STARTS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(5)
}

/// Threat E1: what is done from outside is noticed as well.
#[tokio::test]
async fn e1_nothing_starts_once_a_folder_was_replaced() {
    let person = Person::new(User::Own).unwrap();
    let launcher = person.launcher(Offered::Everything);
    let first = SETTINGS[0].server(&person);
    // A clone knows the folders that the first start met.
    let isolation = first.program.isolation.clone();
    let again = || {
        let mut server = SETTINGS[0].server(&person);
        server.program.isolation = isolation.clone();
        server
    };
    drop(first.open(&launcher).await.unwrap());
    std::fs::rename(person.at(".config"), person.at(".moved")).unwrap();
    let error = again().open(&launcher).await.unwrap_err();
    assert_eq!(error.code(), keyway_code::Code::FolderReplaced, "{error}");
    assert!(
        !person.at(".config").exists(),
        "nothing is made in its place"
    );
    std::fs::rename(person.at(".moved"), person.at(".config")).unwrap();
    assert!(again().open(&launcher).await.is_ok());
}

/// A place of another process that goes away while a program is started stops no start: the places are
/// looked up once more.
#[tokio::test]
async fn e2_a_place_that_goes_away_during_a_start_is_looked_up_again() {
    let person = Person::new(User::Own).unwrap();
    let launcher = person.launcher(Offered::Everything);
    for round in 0..10 {
        let place = person.at(&format!("../place-{round}"));
        let mut server = SETTINGS[0].server(&person);
        // Made by the look before the start, where it is not there yet.
        server.program.isolation.also_hidden = vec![place.clone()];
        let ending = std::thread::spawn(move || {
            // Once only, as soon as it is there: before the launcher looks.
            while std::fs::remove_dir(&place).is_err() {
                std::thread::yield_now();
            }
        });
        let started = server.open(&launcher).await;
        assert!(started.is_ok(), "round {round}: {:?}", started.err());
        ending.join().unwrap();
    }
}

/// Names on the way to a hidden folder are fixed; files still move across them.
#[tokio::test]
async fn e1_files_can_be_moved_and_linked_beside_fixed_folders() {
    let person = Person::new(User::Own).unwrap();
    let mut server = SETTINGS[0].server(&person);
    server.program.isolation.mechanism = IsolationMechanism::Mounts;
    let (mut connection, level) = server
        .open(&person.launcher(Offered::Everything))
        .await
        .unwrap();
    if !level.hides_files() {
        println!("SKIPPED: {level}");
        return;
    }
    let script = person.fill_in(
        "echo x > HOME/a && python3 -c 'import os; os.rename(\"HOME/a\", \"HOME/.config/a\"); \
         os.link(\"HOME/.config/a\", \"HOME/.local/b\")' && cat HOME/.local/b",
    );
    let result = call(&mut connection, "shell", json!(script)).await;
    assert_eq!(result["stdout"], "x\n", "{result}");
    // The names on the way are fixed for this child only.
    std::fs::rename(person.at(".local"), person.at(".moved")).unwrap();
}

/// The tricks use a copy of the child that every user may execute.
#[tokio::test]
async fn the_catalogue_is_played_by_an_ordinary_user() {
    let Some(person) = Person::new(User::Ordinary) else {
        println!("SKIPPED: cannot become another user here");
        return;
    };
    let mut connection = {
        let setting = SETTINGS[0];
        setting
            .server(&person)
            .open(&person.launcher(Offered::Everything))
            .await
            .unwrap()
            .0
    };
    let result = call(&mut connection, "shell", json!("id -u")).await;
    let user = result["stdout"].as_str().unwrap().trim().to_owned();
    assert_eq!(user, person.uid().to_string());
    assert_ne!(user, "0");
    until(|| std::path::Path::new(CHILD).exists()).await;
}

const BEGIN: &str = "<!-- escapes:begin -->";
const END: &str = "<!-- escapes:end -->";
