//! Lists without an end, and the smaller ones: E15 and E16.

#![expect(clippy::expect_used, reason = "a play that cannot be set up must stop")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};

use serde_json::json;

use super::scene::Scene;
use super::{Play, Verdict, broke_if};
use crate::{Answer, Folder, Gateway, Keyway, Request, Terminal, Upstream, mcp};

pub(super) const PLAYS: &[Play] = &[
    Play {
        threat: "E15",
        played: "a server answers `tools/list` with 64 pages of 1 MiB, each with another cursor",
        play: a_list_without_an_end,
    },
    Play {
        threat: "E16",
        played: "another program of the user looks at `vault rekey` while it waits for a passphrase",
        play: a_passphrase_is_typed,
    },
    Play {
        threat: "E16",
        played: "a variable of the address's path has a line break",
        play: a_line_break_in_an_address,
    },
    Play {
        threat: "E16",
        played: "`/metrics` is asked with a gateway token for one server",
        play: metrics_for_one_server,
    },
];

const PAGES: usize = 64;

fn a_list_without_an_end(program: &str) -> Verdict {
    let upstream = Upstream::start(|request| {
        mcp(request, |method, params| {
            let at = params
                .get("cursor")
                .and_then(|it| it.as_str()?.parse().ok());
            let next = at.unwrap_or(0) + 1;
            // Where it counts and is not printed.
            let filler = json!({ "filler": "x".repeat(1 << 20) });
            let cursor = (next < PAGES).then(|| next.to_string());
            let page = match cursor {
                Some(cursor) => json!({ "tools": [], "_meta": filler, "nextCursor": cursor }),
                None => json!({ "tools": [], "_meta": filler }),
            };
            (method == "tools/list").then_some(page)
        })
    });
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "{}"}}}}"#,
        upstream.url("/mcp")
    );
    let scene = Scene::new(program, &entry);
    let listed = scene.tools("s");
    let is_page = |request: &&Request| request.body.contains("\"tools/list\"");
    let pages = upstream.seen().iter().filter(is_page).count();
    assert!(pages > 0, "no list was asked for: {}", listed.everything());
    broke_if(
        pages >= PAGES,
        &format!("all {PAGES} pages were read into memory"),
        &format!("refused after {pages} pages"),
    )
}

fn a_passphrase_is_typed(program: &str) -> Verdict {
    let folder = Folder::new().file("home/.keep", "").mode("", 0o755);
    // Root may look at everything, so that the command runs as a user who may not.
    let is_root = fs::metadata("/proc/self").expect("this process").uid() == 0;
    let wrapper = if is_root {
        chown(folder.at("home"), Some(NOBODY), Some(NOBODY)).expect("a folder of its own");
        "setpriv --reuid=65534 --regid=65534 --clear-groups"
    } else {
        ""
    };
    let call = Keyway::new(program, folder.path()).env("KEYWAY_HOME", folder.at("home/keyway"));
    let words = format!(
        "echo $$ > pid; {wrapper} \"$KEYWAY\" env set A </dev/null; \
         exec {wrapper} \"$KEYWAY\" vault rekey --to passphrase"
    );
    let mut terminal = Terminal::start(&call, &words);
    // Later versions ask first.
    let (question, prompt) = ("Change the key?", "New passphrase of the vault: ");
    if terminal.wait_for_any(&[question, prompt]) == 0 {
        terminal.answer(question, "y\n");
    }
    terminal.wait_for(prompt);
    let pid = folder.read("pid");
    let environment = format!("/proc/{}/environ", pid.trim());
    let owner = fs::metadata(environment).expect("the process").uid();
    terminal.answer(prompt, "\u{3}");
    drop(terminal.end());
    broke_if(
        owner != 0,
        "its memory can be read",
        "it is closed to other programs",
    )
}

const NOBODY: u32 = 65534;

fn a_line_break_in_an_address(program: &str) -> Verdict {
    let upstream = Upstream::start(|_| Answer::empty(404));
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "{}/${{TENANT}}"}}}}"#,
        upstream.url("")
    );
    let scene = Scene::new(program, &entry);
    let call = |tenant: &str, words: &[&str]| scene.keyway(words).env("TENANT", tenant).run();
    drop(call("a", &["trust", "grant", "s"]));
    drop(call("a", &["tools", "s"]));
    let before = upstream.connections();
    assert!(before > 0, "no request without a line break either");
    drop(call("a\r\nb", &["trust", "grant", "s"]));
    drop(call("a\r\nb", &["tools", "s"]));
    broke_if(
        upstream.connections() > before,
        "encoded and sent",
        "refused; nothing is sent",
    )
}

fn metrics_for_one_server(program: &str) -> Verdict {
    let scene = Scene::new(
        program,
        r#"{"s": {"command": "true"}, "t": {"command": "true"}}"#,
    );
    let token = |words: &[&str]| Gateway::token(scene.keyway(&[]), words);
    let all = token(&["--name", "all"]);
    let one = token(&["--name", "one", "--server", "s"]);
    let gateway = Gateway::start(scene.keyway(&[]), &[]);
    let opens = |token: &str| {
        let header = format!("authorization: Bearer {token}\r\n");
        let answer = gateway.request("GET", "/metrics", &header, "");
        answer.starts_with("HTTP/1.1 200")
    };
    assert!(opens(&all), "not with a token for all of them either");
    broke_if(
        opens(&one),
        "answered with the figures of all servers",
        "refused",
    )
}
