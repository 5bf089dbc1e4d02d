//! A first sign-in and a disk that is full: before a person is asked, and between the request and
//! the commit.

use std::time::Duration;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Keyway, eventually};

use crate::KEYWAY;
use crate::disk::SmallDisk;

/// A person whose vault is on a small disk and has no sign-in; `None` where none can be mounted.
fn unsigned() -> Option<(Desk, SmallDisk)> {
    let desk = Desk::new(KEYWAY, Settings::default());
    let disk = SmallDisk::mount(&desk)?;
    // There is a vault, so that it is the sign-in that finds no room.
    let script = "echo value | \"$0\" env set NAME";
    let made = disk.program(&desk, &["sh", "-c", script, KEYWAY]).run();
    assert_eq!(made.code, 0, "{}", made.everything());
    Some((desk, disk))
}

fn login(desk: &Desk, disk: &SmallDisk) -> Keyway {
    disk.program(desk, &[KEYWAY, "login", "s"])
        .env("BROWSER", desk.folder.at("home/browser"))
}

#[test]
fn first_sign_in_survives_a_disk_that_fills_during_the_exchange() {
    let Some((desk, disk)) = unsigned() else {
        return crate::skipped("no disk can be mounted here");
    };
    desk.rig
        .set(|settings| settings.token_delay = Duration::from_secs(2));
    let _person = desk.person();
    let mut login = login(&desk, &disk).start();
    eventually("the code is redeemed", || {
        !desk.rig.seen("/token").is_empty()
    });
    disk.fill(&desk);
    let outcome = login.outcome();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    disk.empty(&desk);
    let call = disk
        .program(&desk, &[KEYWAY, "call", "s", "echo", "message=hello"])
        .run();
    assert_eq!(call.code, 0, "{}", call.everything());
    assert_eq!(desk.windows().len(), 1);
}

#[test]
fn no_window_opens_for_a_sign_in_that_a_full_disk_could_not_take() {
    let Some((desk, disk)) = unsigned() else {
        return crate::skipped("no disk can be mounted here");
    };
    disk.fill(&desk);
    let outcome = login(&desk, &disk).run();
    assert_ne!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("disk") || outcome.stderr.contains("space"),
        "{}",
        outcome.everything()
    );
    assert!(desk.rig.families().is_empty());
    assert!(desk.windows().is_empty());
}

/// What cannot be stored is not asked for: the refused token is not redeemed, and the reason has a
/// name.
#[test]
fn refused_token_on_a_read_only_disk_is_not_renewed_and_the_reason_is_named() {
    let Some((desk, disk)) = unsigned() else {
        return crate::skipped("no disk can be mounted here");
    };
    {
        let _person = desk.person();
        let outcome = login(&desk, &disk).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }
    disk.make_read_only(&desk);
    let words = [KEYWAY, "call", "s", "echo", "message=hello"];
    let call = disk.program(&desk, &words).run();
    assert_eq!(call.code, 0, "a valid token: {}", call.everything());
    desk.rig.reset();
    let call = disk.program(&desk, &words).run();
    let said = call.everything();
    assert_ne!(call.code, 0, "{said}");
    assert!(
        said.contains("cannot be changed: the file system is read-only"),
        "{said}"
    );
    assert!(said.contains("hint: mount it for writing"), "{said}");
    assert_eq!(desk.rig.refreshes(), 0, "nothing was sent: {said}");
}
