//! The dashboard as a person uses it: in a real browser, over servers that check what they get.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start servers and a browser, and stop where they cannot"
)]

mod agreement;
mod approval;
mod buttons;
mod client;
mod faults;
mod hints;
mod house;
mod management;
mod masks;
mod people;
mod pictures;
mod policies;
mod unneeded;
mod waiting;

use serde_json::{Value, json};

use self::house::{Complaints, Demo, House, SECRET, browse, modules};
use keyway_testkit::{Canary, Folder};

/// In both themes and on a phone, with what would run and which variable goes where.
#[test]
fn a_person_sees_every_server_and_approves_one() {
    if modules().is_none() {
        return;
    }
    let demo = Demo::start();
    let steps = json!([
        {"size": [1280, 900]}, {"theme": "light"}, {"go": demo.link()},
        {"wait": "5 connected"}, {"read": true}, {"axe": true},
        {"theme": "dark"}, {"axe": true}, {"size": [360, 740]}, {"axe": true},
        {"size": [1280, 900]}, {"click": "Review and approve local"},
        {"wait": "__demo-stdio"}, {"wait": "DEMO_PASSWORD"}, {"axe": true},
        {"theme": "light"}, {"axe": true},
        {"click": "#approve"}, {"wait": "Connected"}, {"wait": "Echoes the message"},
        {"size": [360, 740]}, {"axe": true}, {"read": true},
    ]);
    let said = browse(&[steps], Complaints::None);
    is_usable(&said);
    // The link leaves the address bar.
    let pages = pages(&said);
    let url = pages[0]["url"].as_str().unwrap();
    let room = format!("{}/dashboard/at/", demo.origin());
    assert!(url.starts_with(&room), "{url}");
}

/// On the consent page of the authorization server; what comes of it comes by itself.
#[test]
fn a_person_signs_in_calls_a_tool_and_signs_out() {
    if modules().is_none() {
        return;
    }
    let demo = Demo::start();
    let sign_in = json!([
        {"size": [1280, 900]}, {"theme": "dark"}, {"go": demo.link()}, {"wait": "Servers"},
        {"click": "docs"}, {"wait": "Needs you"}, {"click": "Sign in docs"},
        {"wait": "Continue at 127.0.0.1"}, {"axe": true},
        {"tab": {"click": "#consent", "steps": [
            {"wait": "Allow"}, {"click": "Allow"}, {"wait": "You are signed in"},
        ]}},
        {"wait": "Connected"}, {"wait": "renews automatically"}, {"read": true}, {"axe": true},
        {"theme": "light"}, {"axe": true},
    ]);
    let call = json!([
        {"click": "add Adds two numbers"},
        {"type": ["#f0", "2"]}, {"type": ["#f1", "40"]}, {"press": "Enter"},
        {"wait": "Result"}, {"wait": "42"}, {"read": true}, {"axe": true},
        {"click": "docs"}, {"wait": "tools/call"},
    ]);
    let sign_out = json!([
        {"click": "Sign out docs"}, {"wait": "Signed out; the tokens were revoked and deleted"},
        {"wait": "Not signed in"}, {"read": true},
        {"click": "Close session"}, {"wait": "keyway open"}, {"read": true}, {"axe": true},
    ]);
    // The browser complains of the page at the end, which is refused.
    let said = browse(&[sign_in, call, sign_out], Complaints::Known(1));
    is_usable(&said);
    assert_eq!(pages(&said)[1]["focus"], "result");
    demo.saw("docs: a tool was called");
    demo.saw("docs: signed out: the tokens were revoked");
}

/// On a phone in the dark.
#[test]
fn a_person_without_a_mouse_gives_a_sign_in_up_and_reaches_what_comes_next() {
    if modules().is_none() {
        println!("skipped: no browser; `cargo xtask tools --setup` installs it");
        return;
    }
    let demo = Demo::start();
    let steps = json!([
        {"size": [360, 740]}, {"theme": "dark"}, {"go": demo.link()}, {"wait": "5 connected"},
        {"reach": "docs"}, {"press": "Enter"}, {"wait": "Not signed in."},
        {"reach": "Sign in docs"}, {"press": "Enter"},
        {"wait": "Continue at 127.0.0.1"}, {"wait": "min left"}, {"axe": true},
        {"reach": "Cancel docs"}, {"press": "Enter"}, {"wait": "The sign-in was cancelled."},
        {"gone": "Continue at 127.0.0.1"},
        {"reach": "Servers"}, {"press": "Enter"}, {"wait": "5 connected"},
        {"reach": "signed"}, {"press": "Enter"}, {"wait": "Authenticates by"},
        {"reach": "Run helper again signed"}, {"axe": true}, {"read": true},
    ]);
    let said = browse(&[steps], Complaints::None);
    is_usable(&said);
    let pages = pages(&said);
    let url = pages[0]["url"].as_str().unwrap();
    assert!(url.ends_with("/s/demo/signed"), "{url}");
}

/// Returns the pages that were read; none holds a secret of the demo.
fn pages(said: &[Value]) -> Vec<&Value> {
    let pages = said.iter().filter(|line| line.get("html").is_some());
    let pages: Vec<&Value> = pages.collect();
    assert!(!pages.is_empty());
    for page in &pages {
        let html = page["html"].as_str().unwrap();
        assert!(!html.contains(SECRET), "{html}");
    }
    pages
}

/// A refused credential is explained, and everything can be read and done without a script.
#[test]
fn a_401_is_explained_and_nothing_needs_a_script() {
    if modules().is_none() {
        return;
    }
    let token = Canary::hidden("wT7kQ2vX9mLz4Rb7Yc3NpH5");
    let house = House::start(token.value());
    let link = house.open();
    let steps = json!([
        {"script": false}, {"size": [360, 740]}, {"go": link}, {"wait": "2 need you"},
        {"click": "Review and approve refusing"}, {"wait": "API_TOKEN"},
        {"click": "#approve"}, {"wait": "Approved"}, {"wait": "What is wrong"},
        {"wait": "401"}, {"wait": "Why"}, {"wait": "How to fix it"}, {"read": true},
        {"click": "Reconnect refusing"}, {"wait": "What is wrong"},
        {"script": true}, {"reload": true}, {"wait": "live"}, {"axe": true},
        {"theme": "dark"}, {"axe": true},
    ]);
    let said = browse(&[steps], Complaints::None);
    is_usable(&said);
    let page = said.iter().find(|line| line.get("html").is_some()).unwrap();
    let text = page["text"].as_str().unwrap();
    assert!(
        text.contains("token-refused") || text.contains("auth-rejected"),
        "{text}"
    );
    assert_eq!(token.leak(page["html"].as_str().unwrap()), None);
}

#[test]
fn no_byte_of_a_page_a_stream_or_a_cookie_is_confidential() {
    let token = Canary::hidden("uQ9x7Lk2Wp4Zt8Rb3Nc6Ym1Hd5");
    let house = House::start(token.value());
    let pass = house.enter(&house.open());
    let mark = house.mark(&pass);
    let pages = [
        "/",
        "/s/p/refusing",
        "/s/p/local",
        "/dashboard/script.js",
        "/dashboard/style.css",
        "/dashboard/icon.svg",
    ];
    let mut all = pass.cookie.clone();
    let look = |all: &mut String| {
        for page in pages {
            let answer = house.get(page, &pass);
            assert!(answer.starts_with("HTTP/1.1 200 "), "{page}: {answer}");
            all.push_str(&answer);
        }
        for page in ["/", "/s/p/refusing"] {
            all.push_str(&house.stream(page, &pass));
        }
    };
    look(&mut all);
    // Then approved and looked at, so that every program ran and every request was refused.
    for server in ["refusing", "local"] {
        let path = format!("/s/p/{server}");
        let page = house.get(&path, &pass);
        let (_, digest) = page.split_once("name=\"digest\" value=\"").unwrap();
        let digest = digest.split_once('"').unwrap().0;
        let body = format!("_mark={mark}&digest={digest}&answer=yes");
        let answer = house.post(&format!("{path}/approve"), &pass, &body);
        assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
        all.push_str(&answer);
    }
    look(&mut all);
    assert!(all.contains("What is wrong") && all.contains("API_TOKEN"));
    assert_eq!(token.leak(&all), None);
    assert!(!house.said().contains(token.value()));
}

#[test]
fn open_asks_the_gateway_of_the_same_user_and_its_link_works_once() {
    let house = House::start("x");
    let link = house.open();
    let pass = house.enter(&link);
    assert!(house.get("/", &pass).contains("<h1>Servers</h1>"));
    let again = house.follow(&link);
    assert!(again.starts_with("HTTP/1.1 403 "), "{again}");
    assert!(!again.contains("set-cookie"));
    // A browser gets a private file that leads there: every user can read its argument.
    let opened = house.keyway(&["open", "--browser"]);
    assert_eq!(opened.code, 0, "{}", opened.everything());
    assert_eq!((opened.stdout.as_str(), opened.stderr.as_str()), ("", ""));
    let (shown, link) = house.shown_link();
    assert!(!shown.contains("enter"), "{shown}");
    assert!(link.contains("/dashboard/enter/"), "{link}");
    assert!(house.follow(&link).starts_with("HTTP/1.1 200 "));
    let elsewhere = house.keyway(&["open", "--print", "--socket", "none.sock"]);
    assert_eq!(elsewhere.code, 1, "{}", elsewhere.everything());
    assert!(
        elsewhere.stderr.contains("keyway serve"),
        "{}",
        elsewhere.stderr
    );
}

/// Another user of this machine who got hold of a cookie and its path has no use for them.
#[test]
fn c10_the_cookie_is_of_no_use_to_another_user() {
    let house = House::start("x");
    let cookie = house.enter(&house.open());
    assert!(house.get("/", &cookie).starts_with("HTTP/1.1 200 "));
    match house.get_as_other_user("/", &cookie) {
        Some(answer) => assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}"),
        None => println!("skipped: only the superuser can become another user"),
    }
}

/// A person who only looks sees what is there; each program waits until it is asked for.
#[test]
fn opening_the_dashboard_starts_no_program_and_connect_starts_one() {
    let entry = |name: &str| {
        let script = format!("echo > \"$MARKS/{name}\"; exit 3");
        let args = json!(["-c", script]);
        json!({"command": "/bin/sh", "args": args, "env": {"MARKS": "${MARKS}"}})
    };
    let entries = json!({"one": entry("one"), "two": entry("two")});
    let folder = Folder::new()
        .file("p/.mcp.json", entries.to_string())
        .file("marks/none", "");
    let marks = folder.at("marks");
    let house = House::over(folder, &[("MARKS", marks.to_str().unwrap())], &["--trust"]);
    let pass = house.enter(&house.open());
    let mark = house.mark(&pass);
    let page = house.get("/", &pass);
    assert!(page.contains("2</strong> not connected"), "{page}");
    house.post("/s/p/two/check", &pass, &format!("_mark={mark}"));
    house::wait_for("the program that was asked for", || {
        marks.join("two").exists().then(String::new)
    });
    assert!(!marks.join("one").exists(), "it was not asked for");
}

#[test]
fn an_approval_counts_only_for_what_was_shown() {
    let house = House::start("x");
    let pass = house.enter(&house.open());
    let mark = house.mark(&pass);
    let body = format!("_mark={mark}&digest={}&answer=yes", "0".repeat(64));
    house.post("/s/p/local/approve", &pass, &body);
    let page = house.get("/s/p/local", &pass);
    assert!(page.contains("has changed since it was shown"), "{page}");
    assert!(page.contains("Approve what it does"));
    let listed = house.keyway(&["trust", "list"]);
    assert_eq!(listed.stdout, "no approvals\n");
}

/// Threats E7 and E13: marks, escapes and the level of isolation stand on the page that asks.
#[test]
fn e07_the_page_that_asks_shows_marks_escapes_and_the_level() {
    let folder = Folder::new()
        .file("p/.mcp.json", include_str!("../nastiest_plugin.json"))
        .file("p/settings.env", "API_HOST=collect.example\n")
        .executable("p/bin/git", "#!/bin/sh\n");
    let house = House::over(folder, &[("CORP_TOKEN", "CANARY-token")], &[]);
    let pass = house.enter(&house.open());
    for (server, marks) in [
        (
            "docs",
            &[
                "the plugin&#39;s own program",
                "decides which code runs",
                "LD_PRELOAD",
                r"\u{1b}[2K\u{200b}\u{202e}",
                "<dd id=\"isolation\">",
                "here: ",
            ][..],
        ),
        (
            "search",
            &[
                r"README\ntouch ~/.bashrc",
                "is a program itself: read it to its end",
            ],
        ),
        (
            "api",
            &[
                "from a file that the plugin chose",
                "https://collect.example",
                "you agree at https://honest.example",
            ],
        ),
    ] {
        let page = house.get(&format!("/s/p/{server}"), &pass);
        for mark in marks {
            assert!(page.contains(mark), "{server}: no {mark:?} in {page}");
        }
        for hidden in ['\u{1b}', '\u{200b}', '\u{202e}', '\u{7}'] {
            assert!(!page.contains(hidden), "{server}: {hidden:?}");
        }
        assert!(!page.contains("CANARY"), "{server}: {page}");
    }
}

/// The digest of the question that a page shows.
fn digest(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"digest\" value=\"").expect(page);
    rest.split_once('"').unwrap().0
}

#[test]
fn the_confined_button_approves_with_the_programs_confined() {
    let house = House::start("x");
    let pass = house.enter(&house.open());
    let mark = house.mark(&pass);
    let page = house.get("/s/p/local", &pass);
    assert!(
        page.contains("id=\"approve-confined\" name=\"answer\" value=\"confined\""),
        "{page}"
    );
    assert!(
        page.contains("nothing else of yours unless config.toml grants it"),
        "{page}"
    );
    let body = format!("_mark={mark}&digest={}&answer=confined", digest(&page));
    house.post("/s/p/local/approve", &pass, &body);
    let page = house.get("/s/p/local", &pass);
    assert!(
        page.contains("Approved as it is now, confined; a change asks again."),
        "{page}"
    );
    let listed = house.keyway(&["trust", "list", "--format", "json"]);
    assert!(
        listed.stdout.contains(r#""confined":true"#),
        "{}",
        listed.everything()
    );
    let status = house.keyway_with(
        &["status", "--config", "p", "--format", "json"],
        &[("API_TOKEN", "x")],
    );
    assert!(
        status.stdout.contains("confined to"),
        "{}",
        status.everything()
    );
}

/// What changed since the person said yes stands before all that it does: facts and files by name.
#[test]
fn an_entry_that_changed_shows_what_changed_since_it_was_approved() {
    let entry =
        |word: &str| format!(r#"{{"s": {{"command": "sh", "args": ["run.sh", "{word}"]}}}}"#);
    let folder = Folder::new()
        .file("p/.mcp.json", entry("first"))
        .file("p/run.sh", "exit 3\n");
    let house = House::over(folder, &[], &[]);
    let pass = house.enter(&house.open());
    let mark = house.mark(&pass);
    let page = house.get("/s/p/s", &pass);
    assert!(!page.contains("class=\"changes\""), "{page}");
    let body = format!("_mark={mark}&digest={}&answer=yes", digest(&page));
    house.post("/s/p/s/approve", &pass, &body);

    house.folder.put("p/.mcp.json", entry("second"));
    house.folder.put("p/run.sh", "exit 4\n");
    let page = house::wait_for("the question", || {
        let page = house.get("/s/p/s", &pass);
        // The entry is read again a moment after its file has changed.
        let is_read = page.contains("second") && page.contains("run.sh (changed)");
        is_read.then_some(page)
    });
    let (_, changes) = page.split_once("<h3>Since you approved it</h3>").unwrap();
    let (changes, all) = changes.split_once("<h3>All of it</h3>").unwrap();
    let removed = changes.lines().find(|line| line.contains("first")).unwrap();
    let added = changes
        .lines()
        .find(|line| line.contains("second"))
        .unwrap();
    assert!(removed.contains("- "), "{changes}");
    assert!(added.starts_with("+ "), "{changes}");
    assert!(changes.contains("run.sh (changed)"), "{changes}");
    assert!(
        all.contains("second") && !all.contains("run.sh first"),
        "{all}"
    );
    // What was approved no longer counts, and the new question can be answered.
    let body = format!("_mark={mark}&digest={}&answer=yes", digest(&page));
    house.post("/s/p/s/approve", &pass, &body);
    let page = house.get("/s/p/s", &pass);
    assert!(
        page.contains("Approved as it is now; a change asks again."),
        "{page}"
    );
}

/// Nothing that axe calls serious or critical, and nothing to scroll sideways for.
fn is_usable(said: &[Value]) {
    let looks: Vec<&Value> = said
        .iter()
        .filter(|line| line.get("axe").is_some())
        .collect();
    assert!(!looks.is_empty());
    for look in looks {
        assert_eq!(look["wide"], false, "{look:#}");
        let grave: Vec<&Value> = look["axe"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|found| {
                ["serious", "critical"].contains(&found["impact"].as_str().unwrap_or(""))
            })
            .collect();
        assert!(grave.is_empty(), "{look:#}");
    }
}
