//! `keyway login` where no browser can be opened, and what comes out of it: nothing secret.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use keyway_testkit::rig::{Rig, Settings};
use keyway_testkit::{Canary, Desk, Terminal, appears};
use url::Url;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// Goes to a page and returns where it leads, without going there.
fn leads_to(page: &str) -> String {
    let page = Url::parse(page).unwrap();
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", page.port().unwrap())).unwrap();
    let target = format!("{}?{}", page.path(), page.query().unwrap());
    let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let location = answer
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    location.unwrap().to_owned()
}

/// Returns the address that is printed on a line of its own.
fn printed_address(lines: impl Iterator<Item = String>) -> String {
    let mut lines = lines.map(|line| line.trim().to_owned());
    lines.find(|line| line.starts_with("http://")).unwrap()
}

#[test]
fn without_a_browser_the_redirect_is_pasted() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let mut login = desk.keyway(&["login", "s", "--no-browser"]).start();
    let stderr = login.child.stderr.take().unwrap();
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let page = printed_address(&mut lines);
    let redirect = leads_to(&page);
    let mut stdin = login.child.stdin.take().unwrap();
    // A wrong answer is reported, and the next line counts.
    let forged = redirect.replace("state=", "state=x");
    writeln!(stdin, "{forged}\n{redirect}").unwrap();
    let outcome = login.outcome();
    let said: String = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(outcome.code, 0, "{said}");
    assert!(said.contains("Not accepted"), "{said}");
    assert!(said.contains("another sign-in"), "{said}");
    assert!(desk.windows().is_empty());
    assert_eq!(desk.rig.seen("/token").len(), 1);
    assert!(desk.leaks(&said, &[]).is_empty(), "{said}");
    let call = desk
        .without_browser(&["call", "s", "echo", "message=x"])
        .run();
    assert_eq!(call.stdout, "Echo: x\n", "{}", call.everything());
}

#[test]
fn what_is_pasted_by_mistake_is_refused_once_on_a_line_of_its_own_with_an_example() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let words = "\"$KEYWAY\" login s --no-browser";
    let mut terminal = Terminal::start(&desk.without_browser(&[]), words);
    terminal.wait_for("left ");
    terminal.answer("left ", "rubbish\r");
    terminal.wait_for("Not accepted");
    terminal.answer("?code=…&state=…", "\u{3}");
    let shown = terminal.end();
    let (before, said) = shown.split_once("Not accepted").unwrap();
    // The countdown is gone from the line before anything is written there.
    assert!(before.ends_with("\r\u{1b}[K"), "{before:?}");
    assert_eq!(shown.matches("Not accepted").count(), 1, "{shown}");
    let line = said.lines().next().unwrap();
    assert_eq!(line.matches("not the ").count(), 1, "{line}");
    let example = said.lines().nth(1).unwrap();
    assert!(example.starts_with("  http://"), "{said}");
    assert!(example.contains("/callback/"), "{said}");
    assert!(example.contains("?code=…&state=…"), "{said}");
}

#[test]
fn signed_in_already_is_said_and_a_new_window_opens_only_if_wanted() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let windows = desk.windows().len();
    let words = "\"$KEYWAY\" login s";
    let mut terminal = Terminal::start(&desk.keyway(&[]), words);
    terminal.wait_for("Already signed in to `s`");
    terminal.answer("Sign in again? [y/N]", "n\r");
    drop(terminal.end());
    assert_eq!(desk.windows().len(), windows);
    let _person = desk.person();
    let again = desk.keyway(&["login", "s", "--force"]).run();
    assert_eq!(again.code, 0, "{}", again.everything());
    assert_eq!(desk.windows().len(), windows + 1);
}

/// No person is there to answer a page, so that a second sign-in would only time out.
#[test]
fn signed_in_already_is_said_without_a_terminal_and_nothing_opens() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let windows = desk.windows().len();
    let plain = desk.keyway(&["login", "s"]).run();
    assert_eq!(plain.code, 0, "{}", plain.everything());
    let expected = "Already signed in to `s`. `--force` signs in again.\n";
    assert_eq!(plain.stderr, expected);
    let object = desk.keyway(&["login", "s", "--format", "json"]).run();
    assert_eq!(object.code, 0, "{}", object.everything());
    let object: serde_json::Value = serde_json::from_str(&object.stdout).unwrap();
    assert_eq!(object["signed_in"], true);
    assert_eq!(desk.windows().len(), windows);
}

/// A cron job has a log, and the log says what is waited for.
#[test]
fn a_window_that_opens_without_a_terminal_is_told_on_standard_error() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let _person = desk.person();
    let outcome = desk.keyway(&["tools", "s"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("Sign in for `s`"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("in your browser"),
        "{}",
        outcome.stderr
    );
    let page = outcome
        .stderr
        .lines()
        .find(|line| line.starts_with("http://"));
    assert_eq!(page.map(str::to_owned), desk.windows().pop());
}

/// What a scope means, only the server can say.
#[test]
fn scopes_are_shown_as_the_server_names_them() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let _person = desk.person();
    let outcome = desk.keyway(&["login", "s"]).run();
    let scopes = outcome
        .stderr
        .lines()
        .find(|line| line.contains("  scopes "));
    let scopes = scopes.unwrap_or_default();
    assert!(
        !scopes.is_empty() && !scopes.contains('('),
        "{}",
        outcome.stderr
    );
}

/// Threat B12, on a real terminal.
#[test]
fn b12_what_is_pasted_is_not_echoed() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let shown = desk.folder.at("home/shown");
    drop(File::create(&shown).unwrap());
    // A program that does not hide it, or this could not fail.
    let mut cat = script(&desk, "cat", &shown);
    cat.stdin.take().unwrap().write_all(b"visible\r").unwrap();
    drop(cat.wait());
    assert!(std::fs::read_to_string(&shown).unwrap().contains("visible"));
    let command = format!("{KEYWAY} login s --no-browser");
    let mut script = script(&desk, &command, &shown);
    let mut stdin = script.stdin.take().unwrap();
    let read = || std::fs::read_to_string(&shown).unwrap_or_default();
    let page = wait_for(|| {
        let text = read();
        let line = text.lines().find(|line| line.starts_with("http://"))?;
        // The whole line is there, and the invitation to paste after it.
        text.contains("press Enter").then(|| line.trim().to_owned())
    });
    let redirect = leads_to(&page);
    stdin.write_all(format!("{redirect}\r").as_bytes()).unwrap();
    stdin.flush().unwrap();
    let text = wait_for(|| {
        let text = read();
        text.contains("Signed in").then_some(text)
    });
    drop(stdin);
    drop(script.wait());
    for secret in desk.rig.secrets() {
        assert_eq!(
            Canary::hidden(&secret).whole_in(text.as_bytes()),
            None,
            "{text}"
        );
    }
    assert!(!text.contains("code="), "{text}");
}

/// Starts a command on a terminal of its own; everything that is shown goes to a file.
#[expect(
    clippy::disallowed_methods,
    reason = "only a terminal shows what it echoes"
)]
fn script(desk: &Desk, command: &str, shown: &std::path::Path) -> std::process::Child {
    Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command", command])
        .arg(shown)
        .current_dir(desk.folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", desk.folder.at("home"))
        .env("KEYWAY_HOME", desk.folder.at("home/keyway"))
        .env("SHELL", "/bin/sh")
        .env("TERM", "dumb")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[track_caller]
fn wait_for<T>(look: impl Fn() -> Option<T>) -> T {
    appears("what is waited for", look)
}

/// T13 and threat C9: whatever command touches a sign-in, with everything said that can be said, no
/// token is printed, kept readable, or handed to another process.
#[test]
fn t13_c9_no_token_comes_out_of_any_command() {
    let settings = Settings::default();
    let desk = Desk::new(KEYWAY, settings);
    desk.rig.set(|settings| settings.expires_in = None);
    let watch = Watch::start();
    let person = desk.person();
    let mut printed = String::new();
    let run = |arguments: &[&str]| {
        let run = desk.keyway(arguments).env("RUST_LOG", "trace");
        run.env("RUST_BACKTRACE", "full").run()
    };
    let commands: &[&[&str]] = &[
        &["login", "s", "--force"],
        &["login", "s", "--force", "--format", "json"],
        &["call", "s", "echo", "message=hello"],
        &["call", "s", "echo", "message=hello", "--format", "json"],
        &["tools", "s"],
        &["tools", "s", "--format", "json"],
        &["status"],
        &["status", "--format", "json"],
        &["check"],
        &["trust", "list"],
    ];
    for verbose in [&[][..], &["--verbose"]] {
        for command in commands {
            let outcome = run(&[command, verbose].concat());
            assert_eq!(outcome.code, 0, "{command:?}: {}", outcome.everything());
            printed += &outcome.everything();
        }
    }
    // What goes wrong is said, without what it went wrong with.
    desk.rig.reset();
    printed += &run(&["call", "s", "echo"]).everything();
    desk.rig.set(|settings| settings.token_status = Some(500));
    desk.rig.reset();
    printed += &run(&["call", "s", "echo"]).everything();
    desk.rig.set(|settings| {
        settings.token_status = None;
        settings.rejects_all = true;
    });
    printed += &run(&["call", "s", "echo"]).everything();
    desk.rig.set(|settings| settings.rejects_all = false);
    printed += &converse(&desk);
    printed += &run(&["logout", "s"]).everything();
    drop(person);
    let seen = watch.end();
    assert!(desk.rig.secrets().len() > 10, "tokens were issued");
    let leaks = desk.leaks(&printed, &[]);
    assert!(leaks.is_empty(), "{leaks:?}");
    let environment = desk.folder.read("home/environment");
    assert!(
        environment.contains("RUST_LOG=trace"),
        "the browser's was kept"
    );
    assert!(seen.len() > 20, "processes were seen: {}", seen.len());
    for process in seen {
        for secret in desk.rig.secrets() {
            let leak = Canary::hidden(&secret).whole_in(&process);
            assert_eq!(leak, None, "{}", String::from_utf8_lossy(&process));
        }
    }
}

/// One conversation through `keyway run`; returns all that it printed.
fn converse(desk: &Desk) -> String {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#;
    let mut run = desk.keyway(&["run", "--server", "s"]).start();
    let mut stdin = run.child.stdin.take().unwrap();
    writeln!(stdin, "{hello}\n{call}").unwrap();
    let mut stdout = BufReader::new(run.child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains(r#""id":2"#) {
        assert!(stdout.read_line(&mut text).unwrap() > 0, "{text}");
    }
    drop(stdin);
    text + &run.outcome().stderr
}

/// Looks at the arguments and the environment of every process below this one, again and again.
struct Watch {
    over: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Watch {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let (is_over, found) = (Arc::clone(&over), Arc::clone(&seen));
        let thread = thread::spawn(move || {
            let mut known = std::collections::BTreeSet::new();
            while !is_over.load(Ordering::Relaxed) {
                for bytes in processes() {
                    if known.insert(bytes.clone()) {
                        found.lock().unwrap().push(bytes);
                    }
                }
                // Looks again and again for as long as the command runs.
                thread::sleep(Duration::from_millis(2));
            }
        });
        Self { over, thread, seen }
    }

    fn end(self) -> Vec<Vec<u8>> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.seen.lock().unwrap().clone()
    }
}

/// Returns what can be read of all processes of this session's folder: arguments and environment.
fn processes() -> Vec<Vec<u8>> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let is_process = name
            .to_string_lossy()
            .bytes()
            .all(|byte| byte.is_ascii_digit());
        if !is_process || name.to_string_lossy() == own {
            continue;
        }
        let mut bytes = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        bytes.extend(std::fs::read(entry.path().join("environ")).unwrap_or_default());
        if bytes
            .windows(12)
            .any(|window| window == b"keyway-test-" || window == b"debug/keyway")
        {
            found.push(bytes);
        }
    }
    found
}

#[test]
fn dry_run_prints_what_a_sign_in_would_ask_for_and_does_not_sign_in() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let shown = desk.keyway(&["login", "s", "--dry-run"]).run();
    assert_eq!(shown.code, 0, "{}", shown.everything());
    let issuer = format!("issuer    {}", desk.rig.origin());
    for line in [
        issuer.as_str(),
        "client    registered at sign-in",
        "redirect  http://localhost:PORT/callback (PORT: any free port)",
    ] {
        assert!(
            shown.stdout.lines().any(|it| it == line),
            "{}",
            shown.stdout
        );
    }
    assert!(desk.windows().is_empty());
    assert!(desk.rig.seen("/register").is_empty());
    assert!(desk.rig.seen("/token").is_empty());
    let shown = desk
        .keyway(&[
            "login",
            "s",
            "--dry-run",
            "--format",
            "json",
            "--scopes",
            "a,b",
        ])
        .run();
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["scopes"], serde_json::json!(["a", "b"]));
}

#[test]
fn all_servers_are_signed_in_to_once() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let person = desk.person();
    for _ in 0..2 {
        let login = desk.keyway(&["login", "--all"]).run();
        assert_eq!(login.code, 0, "{}", login.everything());
        assert!(
            login.stdout.contains("Signed in to `s`"),
            "{}",
            login.stdout
        );
    }
    drop(person);
    assert_eq!(desk.windows().len(), 1);
    let both = desk.keyway(&["login", "s", "--all"]).run();
    assert_eq!(both.code, 2, "{}", both.everything());
}

/// One after the other, each at its own authorization server; one that refuses does not keep the
/// others from being signed in to.
#[test]
fn all_of_several_servers_are_signed_in_to_and_each_is_told() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let (second, third) = (
        Rig::start(Settings::default()),
        Rig::start(Settings::default()),
    );
    second.set(|settings| settings.token_status = Some(400));
    let entries: Vec<String> = [("s", &desk.rig), ("refuses", &second), ("t", &third)]
        .iter()
        .map(|(name, rig)| format!(r#""{name}": {{"type": "http", "url": "{}"}}"#, rig.mcp()))
        .chain([r#""local": {"type": "stdio", "command": "true"}"#.to_owned()])
        .collect();
    desk.folder
        .put(".mcp.json", format!("{{{}}}", entries.join(", ")));
    let person = desk.person();
    let login = desk.keyway(&["login", "--all"]).run();
    let said = login.everything();
    assert_ne!(login.code, 0, "one was not signed in to: {said}");
    for name in ["s", "t"] {
        let line = format!("Signed in to `{name}`");
        assert!(login.stdout.contains(&line), "{said}");
    }
    assert!(said.contains("refuses"), "{said}");
    assert!(
        !said.contains("`local`"),
        "a program has no sign-in: {said}"
    );
    let live = |rig: &Rig| rig.live_refresh_tokens();
    assert_eq!((live(&desk.rig), live(&second), live(&third)), (1, 0, 1));
    // Only what is missing is asked for the next time.
    second.set(|settings| settings.token_status = None);
    let windows = desk.windows().len();
    let again = desk.keyway(&["login", "--all"]).run();
    drop(person);
    assert_eq!(again.code, 0, "{}", again.everything());
    assert_eq!(desk.windows().len(), windows + 1, "{:?}", desk.windows());
    assert_eq!((live(&desk.rig), live(&second), live(&third)), (1, 1, 1));
}

/// Without a person at a browser, the scopes are named; the next sign-in asks for them.
#[test]
fn scopes_that_a_server_wants_are_shown_by_status_and_asked_for_by_login() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig
        .set(|settings| settings.wants_scope = Some("birds:admin".to_owned()));
    let call = || {
        desk.without_browser(&["call", "s", "echo", "message=hello"])
            .run()
    };
    let refused = call();
    assert_eq!(refused.code, 3, "{}", refused.everything());
    assert!(refused.everything().contains("birds:admin"));
    let status = desk.keyway(&["status"]).run().stdout;
    assert!(
        status.contains("the server also wants birds:admin: run `keyway login s`"),
        "{status}"
    );
    desk.sign_in();
    assert_eq!(call().code, 0);
    let status = desk.keyway(&["status"]).run().stdout;
    assert!(!status.contains("also wants"), "{status}");
}

/// Signs in as another program would, and returns what it then has.
fn obtained(desk: &Desk) -> serde_json::Value {
    desk.sign_in();
    let secrets = desk.rig.secrets();
    let last = |kind: &str| secrets.iter().rfind(|it| it.contains(kind)).unwrap();
    let asked = desk.rig.seen("/token");
    let client = asked.first().unwrap().field("client_id").unwrap();
    serde_json::json!({
        "issuer": desk.rig.origin(),
        "client_id": client,
        "resource": desk.rig.mcp(),
        "scope": "tools",
        "access_token": last("access"),
        "refresh_token": last("refresh"),
        "expires_at": 4_000_000_000_u64,
    })
}

#[test]
fn tokens_from_standard_input_are_stored_once_a_list_call_has_succeeded_with_them() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let tokens = obtained(&desk);
    let other = |words: &[&str]| {
        let call = desk.without_browser(words);
        call.env("KEYWAY_HOME", desk.folder.at("home/other"))
    };
    let login = |tokens: &serde_json::Value| {
        let call = other(&["login", "s", "--from-stdin"]);
        call.stdin(tokens.to_string()).run()
    };
    let is_signed_in = || {
        let status = other(&["status", "s", "--format", "json"]).run();
        let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
        status["servers"][0]["scopes"] != serde_json::Value::Null
    };
    let changed = |name: &str, value: &str| {
        let mut changed = tokens.clone();
        changed[name] = value.into();
        changed
    };
    for (wrong, exit, said) in [
        (changed("access_token", "CANARY-wrong"), 3, "401"),
        (
            changed("issuer", "https://as.example"),
            1,
            "https://as.example",
        ),
        (
            changed("resource", "https://mcp.example"),
            1,
            "https://mcp.example",
        ),
        (changed("id_token", "x"), 2, "one JSON object"),
    ] {
        let outcome = login(&wrong);
        assert_eq!(outcome.code, exit, "{}", outcome.everything());
        assert!(outcome.stderr.contains(said), "{}", outcome.everything());
        assert!(!outcome.everything().contains("CANARY"));
        assert!(!is_signed_in(), "{said}");
    }
    desk.rig.forget();
    let outcome = login(&tokens);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(outcome.stdout.contains("It renews automatically."));
    assert!(desk.rig.seen("/token").is_empty(), "nothing was asked for");
    assert!(is_signed_in());
    let call = other(&["call", "s", "echo", "message=x"]).run();
    assert_eq!(call.stdout, "Echo: x\n", "{}", call.everything());
    // The refresh token is used as one that Keyway got itself.
    desk.rig.reset();
    let call = other(&["call", "s", "echo", "message=y"]).run();
    assert_eq!(call.stdout, "Echo: y\n", "{}", call.everything());
    assert_eq!(desk.rig.refreshes(), 1);
    assert!(desk.rig.families()[0].is_chain());
    let printed = outcome.everything();
    assert!(desk.leaks(&printed, &[]).is_empty(), "{printed}");
}

/// Threats B10 and E16: told after the sign-in, in every format.
#[test]
fn b10_e16_scopes_beyond_those_asked_for_are_shown_after_the_sign_in() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let _person = desk.person();
    let plain = desk.keyway(&["login", "s"]).run();
    assert_eq!(plain.code, 0, "{}", plain.everything());
    assert!(!plain.everything().contains("more scopes than requested"));
    let more = Some("admin everything".to_owned());
    desk.rig.set(|settings| settings.more_scopes = more);
    let shown = desk.keyway(&["login", "s", "--force"]).run();
    let line = "The authorization server granted more scopes than requested: admin everything\n";
    assert!(shown.stdout.contains(line), "{}", shown.everything());
    // What was granted once is asked for again, so that nothing is lost; from then on it was asked.
    assert_eq!(desk.keyway(&["logout", "s"]).run().code, 0);
    let told = desk.keyway(&["login", "s", "--format", "json"]).run();
    let told: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    let unrequested = told.pointer("/unrequested_scopes");
    let unrequested = unrequested.or_else(|| told.pointer("/servers/0/unrequested_scopes"));
    let unrequested = unrequested.and_then(|it| it.as_array()).unwrap();
    assert_eq!(unrequested.len(), 2, "{told}");
}
