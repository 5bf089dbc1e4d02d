//! How to fix a fault is a command that works wherever it is typed.

use std::process::Command;

use keyway_mcp::declaration_site::COMMANDS;
use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Folder, Gateway, Keyway};
use serde_json::Value;

use crate::client::Client;
use crate::house::{House, wait_for};
use crate::waiting::Waiting;

/// Types a command in another folder, as a person who copied it; returns everything it prints.
fn typed(command: &str, home: &std::path::Path) -> String {
    let elsewhere = Folder::new();
    let program = env!("CARGO_BIN_EXE_keyway");
    let line = format!("keyway() {{ \"$KEYWAY\" \"$@\"; }}; {command}");
    let output = Command::new("/bin/sh")
        .args(["-c", &line])
        .current_dir(elsewhere.path())
        .env("KEYWAY", program)
        .env("KEYWAY_HOME", home)
        .env_remove("DISPLAY")
        .env_remove("BROWSER")
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&printed).into_owned()
}

/// Returns the command behind the last colon of the hint in an answer.
fn hint(answer: &str) -> String {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body.trim()).expect(body);
    let places = [
        "/result/structuredContent/hint",
        "/error/data/hint",
        "/result/content/0/text",
    ];
    let mut found = places.iter().filter_map(|at| body.pointer(at));
    let hint = found.next().expect(answer).as_str().unwrap();
    hint.rsplit_once(": ").map_or(hint, |(_, it)| it).to_owned()
}

#[test]
fn a_client_and_the_dashboard_are_told_commands_that_name_the_plugins_folder() {
    let entries = r#"{"everything": {"command": "/bin/false"},
        "gone": {"type": "http", "url": "http://127.0.0.1:1/mcp", "oauth": false}}"#;
    let folder = Folder::new().file("it's mine/.mcp.json", entries);
    let home = folder.at("home");
    let call = || {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
        call.env("KEYWAY_HOME", &home)
    };
    let token = Gateway::token(call(), &["--name", "n"]);
    let house = House::of(Gateway::start(call(), &["it's mine"]));
    let mut client = Client::greet(&house.gateway, "/mcp", &token);
    let command = hint(&client.call("everything__status"));
    assert!(
        command.starts_with("keyway trust grant everything --config '"),
        "{command}"
    );
    // There is no terminal, so that it is shown and not approved.
    let printed = typed(&command, &home);
    assert!(printed.contains("/bin/false"), "{printed}");
    assert!(!printed.contains("no MCP configuration"), "{printed}");
    let opened = call().args(["open", "--print"]).run();
    let pass = house.enter(opened.stdout.trim());
    assert!(house.get("/", &pass).contains("<h1>Servers</h1>"));
    let plugin = "it%27s%20mine";
    let page = wait_for("a fault", || {
        let page = house.get(&format!("/s/{plugin}/gone"), &pass);
        page.contains("How to fix it").then_some(page)
    });
    assert!(page.contains(" gone --config "), "{page}");
}

#[test]
fn whoever_is_told_to_sign_in_is_told_how_from_everywhere() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    let home = desk.folder.at("home");
    let waiting = Waiting::at(desk);
    let answer = waiting.client().call("sign_in");
    let command = hint(&answer);
    assert!(
        command.starts_with("keyway login s --config /"),
        "{command}"
    );
    let printed = typed(&format!("{command} --help"), &home);
    assert!(printed.contains("Sign in to a server"), "{printed}");
}

/// Its client talks to the server itself, and the server stops to take the token.
#[test]
fn what_ends_a_call_under_way_is_told_with_the_name_and_the_place() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    desk.sign_in();
    let waiting = Waiting::at(desk);
    let mut client = waiting.client();
    assert!(client.call("echo").contains("Echo: hello"));
    waiting
        .desk
        .rig
        .set(|settings| settings.token_status = Some(400));
    waiting.desk.rig.reset();
    let answer = client.call("echo");
    assert!(!answer.contains("SERVER"), "{answer}");
    let command = hint(&answer);
    assert!(command.contains("--config /"), "{answer}");
}

#[test]
fn every_command_that_is_said_to_take_a_folder_takes_it() {
    let folder = Folder::new();
    for command in COMMANDS {
        let words = command.split(' ').chain(["--help"]);
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
        let told = call.args(words).run();
        assert!(told.stdout.contains("--config <PATH>"), "{command}");
    }
}

/// Two gateways of one person: each says how to get to itself.
#[test]
fn a_gateway_with_another_socket_says_which_command_opens_it_and_one_without_says_none() {
    let entry = r#"{"s": {"command": "/bin/false"}}"#;
    let folder = Folder::new().file("p/.mcp.json", entry);
    let home = folder.at("home");
    let start = |words: &[&str]| {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
        let call = call.env("KEYWAY_HOME", &home);
        let house = House::of(Gateway::start(call, &[&["p"], words].concat()));
        wait_for("a link", || {
            house.said().contains("/dashboard/enter/").then(String::new)
        });
        house
    };
    let command = |house: &House| {
        let said = house.said();
        let (_, line) = said.split_once("New link: ")?;
        Some(line.lines().next()?.to_owned())
    };
    let usual = start(&[]);
    let other = start(&["--socket", "my own.sock"]);
    let without = start(&[]);
    for house in [&usual, &other] {
        let command = wait_for("a command", || command(house));
        let link = typed(&format!("{command} --print"), &home);
        let port = format!(":{}/dashboard/enter/", house.gateway.port());
        assert!(link.contains(&port), "{command}: {link}");
    }
    // The page for refused requests says the same, but not where the socket is.
    let page = other.gateway.request("GET", "/", "", "");
    assert!(page.contains("keyway open --socket PATH"), "{page}");
    assert!(!page.contains("my own.sock"), "{page}");
    let page = without.gateway.request("GET", "/", "", "");
    assert!(!page.contains("keyway open"), "{page}");
    assert_eq!(command(&usual).as_deref(), Some("keyway open"));
    assert_eq!(command(&without), None);
}
