//! `keyway run` for a server without a sign-in: it answers at once, lists what it can, and a call
//! starts a sign-in.

#![expect(
    clippy::indexing_slicing,
    reason = "tests stop where they cannot go on"
)]

mod device_code;
mod dropped;
mod signed_out;

use std::time::{Duration, Instant};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Client, Desk, visit};
use serde_json::{Value, json};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

fn desk() -> Desk {
    Desk::new(KEYWAY, Settings::default())
}

#[test]
fn t15_without_a_sign_in_a_client_gets_answers_at_once_and_one_tool_that_signs_in() {
    let desk = desk();
    let started = Instant::now();
    let mut client = Client::start(&desk.keyway(&["run", "--server", "s"]));
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "it waited for a person"
    );
    assert_eq!(client.tools(), ["sign_in"]);
    // Listing does not ask the person.
    assert_eq!(desk.windows().len(), 0);
    let person = desk.person();
    let answer = client.call("sign_in");
    assert_eq!(answer["result"]["isError"], Value::Null, "{answer}");
    client.wait_for("notifications/tools/list_changed");
    assert_eq!(client.tools(), ["echo"]);
    let answer = client.call("echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    drop(person);
    assert_eq!(desk.windows().len(), 1);
    assert_eq!(client.leave(), "");
}

#[test]
fn a_call_of_a_remembered_tool_signs_in_first_and_then_does_it() {
    let desk = desk();
    let _person = desk.person();
    let mut client = Client::start(&desk.keyway(&["run"]));
    assert_eq!(client.tools(), ["sign_in"]);
    client.call("sign_in");
    client.wait_for("notifications/tools/list_changed");
    assert_eq!(client.tools(), ["echo"]);
    drop(client.leave());
    let out = desk.keyway(&["logout", "s"]).run();
    assert_eq!(out.code, 0, "{}", out.everything());
    let mut client = Client::start(&desk.keyway(&["run"]));
    assert_eq!(client.tools(), ["echo"]);
    assert_eq!(desk.windows().len(), 1);
    let answer = client.call("echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    assert_eq!(desk.windows().len(), 2);
    let told = client.told.iter();
    let progress = told.filter(|it| it["method"] == "notifications/progress");
    assert!(progress.count() > 0);
}

#[test]
fn clients_that_call_at_once_share_one_window() {
    let desk = desk();
    let clients: Vec<_> = (0..3)
        .map(|_| Client::start(&desk.keyway(&["run", "--server", "s"])))
        .collect();
    let calls: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            std::thread::spawn(move || {
                let answer = client.call("sign_in");
                (client, answer)
            })
        })
        .collect();
    let window = desk.window(1);
    // Time for the others to open a second window, which none of them may do.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(visit(&window).unwrap().status, 200);
    for call in calls {
        let (mut client, answer) = call.join().unwrap();
        assert_eq!(answer["result"]["isError"], Value::Null, "{answer}");
        let answer = client.call("echo");
        assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    }
    assert_eq!(desk.windows().len(), 1);
}

#[test]
fn a_sign_in_by_another_process_is_noticed_within_a_second() {
    let desk = desk();
    let mut client = Client::start(&desk.without_browser(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["sign_in"]);
    desk.sign_in();
    // How often it looks is told by the tests of what looks.
    client.wait_for("notifications/tools/list_changed");
    assert_eq!(client.tools(), ["echo"]);
}

#[test]
fn where_no_person_can_be_asked_a_call_says_which_command_signs_in() {
    let desk = desk();
    let mut client = Client::start(&desk.without_browser(&["run", "--server", "s"]));
    let answer = client.call("sign_in");
    let text = answer.to_string();
    assert!(text.contains("keyway login"), "{text}");
    assert_eq!(desk.windows().len(), 0);
}

#[test]
fn one_server_without_a_sign_in_takes_nothing_from_the_others() {
    let desk = desk();
    let _other = beside(&desk);
    let mut client = Client::start(&desk.keyway(&["run"]));
    assert_eq!(client.tools(), ["s__sign_in", "t__echo"]);
    let answer = client.call("t__echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
}

/// Puts a second server, `t`, into the plugin, and signs in to that.
fn beside(desk: &Desk) -> Desk {
    let other = Desk::new(KEYWAY, Settings::default());
    let entries = json!({
        "s": { "type": "http", "url": desk.rig.mcp() },
        "t": { "type": "http", "url": other.rig.mcp() },
    });
    desk.folder.put(".mcp.json", entries.to_string());
    let _person = desk.person();
    let signed_in = desk.keyway(&["login", "t"]).run();
    assert_eq!(signed_in.code, 0, "{}", signed_in.everything());
    other
}
