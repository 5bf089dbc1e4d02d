//! Sessions of clients that continue while people sign in and out.

use std::io::{BufRead as _, BufReader, Lines};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use keyway_testkit::rig::{Family, Seen, Settings};
use keyway_testkit::{Desk, Gateway as Process, eventually};
use serde_json::{Value, json};

use crate::live::gateway::{Gateway, Session};
use crate::live::upstream::Upstream;

/// A gateway over a server that wants a sign-in.
pub(crate) struct Place {
    pub(crate) desk: Desk,
    pub(crate) gateway: Gateway,
}

impl Place {
    pub(crate) fn start(settings: Settings) -> Self {
        let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), settings);
        let token = Process::token(desk.keyway(&[]), &["--name", "t"]);
        let gateway = Gateway::at(&desk.folder.at("home/keyway"), &desk.folder, token);
        Self { desk, gateway }
    }

    /// Returns the paths to the server: its own, and that of all servers.
    pub(crate) fn paths(&self) -> [String; 2] {
        let name = self.desk.folder.path().file_name().unwrap();
        let own = format!("/mcp/{}/s", name.to_string_lossy());
        [own, "/mcp".to_owned()]
    }

    pub(crate) fn sign_out(&self) {
        let outcome = self.desk.keyway(&["logout", "s"]).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }
}

/// What a call comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum Came {
    Answer,
    SignInWanted,
    Over,
    Other(Value),
}

fn call(session: &Session<'_>) -> Came {
    let answer = session.ask("tools/call", &said_to("echo"));
    answer.map_or(Came::Over, came)
}

fn said_to(tool: &str) -> Value {
    json!({"name": tool, "arguments": {"message": "hello"}})
}

pub(crate) fn came(answer: Value) -> Came {
    let text = answer.to_string();
    if text.contains("Echo: hello") {
        Came::Answer
    } else if text.contains("keyway login") {
        Came::SignInWanted
    } else {
        Came::Other(answer)
    }
}

/// Waits until a call comes to something; until then the session is not over.
#[track_caller]
fn comes(session: &Session<'_>, expected: &Came) {
    eventually(&format!("{expected:?}"), || {
        let came = call(session);
        assert_ne!(came, Came::Over);
        came == *expected
    });
}

fn of_eras() -> [Settings; 2] {
    let mut old = Settings::default();
    old.modern = false;
    [Settings::default(), old]
}

#[test]
fn a_session_continues_over_sign_out_and_sign_in_elsewhere() {
    for settings in of_eras() {
        let place = Place::start(settings);
        place.desk.sign_in();
        let paths = place.paths();
        let sessions = paths.each_ref().map(|it| place.gateway.begin(it).unwrap());
        for session in &sessions {
            assert_eq!(call(session), Came::Answer);
        }
        for _ in 0..2 {
            place.sign_out();
            let revoked = place.desk.rig.families().last().unwrap().clone();
            place.desk.rig.forget();
            let late = place.gateway.begin(&paths[0]).unwrap();
            assert_eq!(call(&late), Came::SignInWanted);
            for session in &sessions {
                comes(session, &Came::SignInWanted);
                eventually("it is as for a new session", || {
                    session.tools() == late.tools()
                });
                assert!(session.ask("ping", &json!({})).is_some());
            }
            for seen in place.desk.rig.seen("/mcp") {
                assert_eq!(seen.request.header("authorization"), None, "{revoked:?}");
            }
            place.desk.sign_in();
            for session in sessions.iter().chain([&late]) {
                comes(session, &Came::Answer);
            }
        }
    }
}

#[test]
fn a_client_of_several_servers_keeps_the_session_and_the_others() {
    let place = Place::start(Settings::default());
    let (upstream, url) = (Upstream::start(), place.desk.rig.mcp());
    let other = upstream.entry("other", "a");
    let own = format!(r#""s": {{"type": "http", "url": "{url}"}}"#);
    let both = format!(r#"{{"mcpServers": {{{own}, {other}}}}}"#);
    place.desk.folder.put(".mcp.json", both);
    let [_, all] = place.paths();
    eventually("there are two", || {
        let tools = place.gateway.begin(&all).unwrap().tools();
        tools.contains(&"other__whoami".to_owned())
    });
    place.desk.sign_in();
    let session = place.gateway.begin(&all).unwrap();
    let call = || {
        let answer = session.ask("tools/call", &said_to("s__echo"));
        answer.map_or(Came::Over, came)
    };
    eventually("the account is signed in", || call() == Came::Answer);
    for _ in 0..2 {
        place.sign_out();
        eventually("the account is signed out", || call() == Came::SignInWanted);
        let others = session.ask("tools/call", &json!({"name": "other__whoami"}));
        assert!(others.unwrap()["result"].is_object());
        place.desk.sign_in();
        eventually("the account is signed in again", || call() == Came::Answer);
    }
}

/// A sign-out opens no window; only a call asks for the next sign-in.
#[test]
fn after_a_sign_out_nothing_but_a_call_opens_a_window() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    let token = Process::token(desk.keyway(&[]), &["--name", "t"]);
    let process = Process::start(desk.keyway(&[]), &[]);
    let gateway = Gateway { process, token };
    let place = Place { desk, gateway };
    place.desk.sign_in();
    let [own, _] = place.paths();
    let session = place.gateway.begin(&own).unwrap();
    assert_eq!(call(&session), Came::Answer);
    place.sign_out();
    let windows = place.desk.windows().len();
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        assert!(!session.is_over());
        assert_eq!(session.tools(), ["sign_in"]);
        assert_eq!(place.desk.windows().len(), windows);
    }
    let _person = place.desk.person();
    assert_eq!(call(&session), Came::Answer);
    assert_eq!(place.desk.windows().len(), windows + 1);
}

/// Whichever account is signed in now: data of one is never taken for data of the other.
#[test]
fn a_session_never_continues_as_another_account() {
    let as_ada = |settings: &mut Settings| settings.account = Some("ada".to_owned());
    let as_bob = |settings: &mut Settings| settings.account = Some("bob".to_owned());
    let place = Place::start(Settings::default());
    place.desk.rig.set(as_ada);
    place.desk.sign_in();
    let [own, all] = place.paths();
    let sessions = [&own, &all].map(|it| place.gateway.begin(it).unwrap());
    let [first, other] = &sessions;
    assert_eq!(call(first), Came::Answer);
    assert_eq!(call(other), Came::Answer);
    place.sign_out();
    comes(first, &Came::SignInWanted);
    place.desk.sign_in();
    for session in &sessions {
        comes(session, &Came::Answer);
    }
    place.sign_out();
    let early = place.gateway.begin(&own).unwrap();
    for session in &sessions {
        comes(session, &Came::SignInWanted);
        eventually("the gateway noticed", || session.tools() == early.tools());
    }
    place.desk.rig.set(as_bob);
    place.desk.sign_in();
    let before = calls(&place.desk);
    for session in &sessions {
        eventually("the session is over", || {
            let came = call(session);
            assert_ne!(came, Came::Answer);
            came == Came::Over
        });
    }
    assert_eq!(calls(&place.desk), before, "nothing was sent");
    comes(&early, &Came::Answer);
    assert_eq!(call(&place.gateway.begin(&own).unwrap()), Came::Answer);
}

/// Without a sign-out in between.
#[test]
fn another_account_in_the_place_of_the_first_ends_the_session() {
    let place = Place::start(Settings::default());
    place.desk.rig.set(|it| it.account = Some("ada".to_owned()));
    place.desk.sign_in();
    let [own, _] = place.paths();
    let session = place.gateway.begin(&own).unwrap();
    assert_eq!(call(&session), Came::Answer);
    // Until the gateway looks, it does not know the account, and uses the token that it has.
    std::thread::sleep(Duration::from_secs(3));
    place.desk.rig.set(|it| it.account = Some("bob".to_owned()));
    place.desk.sign_in();
    eventually("the session is over", || session.is_over());
    assert_eq!(call(&place.gateway.begin(&own).unwrap()), Came::Answer);
}

/// Counts the calls that reached the server.
fn calls(desk: &Desk) -> usize {
    let seen = desk.rig.seen("/mcp");
    let is_call = |seen: &&Seen| seen.status == 200 && seen.request.body.contains("tools/call");
    seen.iter().filter(is_call).count()
}

#[test]
fn a_token_that_another_process_renews_is_taken_over_inside_the_session() {
    let place = Place::start(Settings::default());
    place.desk.rig.set(|it| it.expires_in = Some(3));
    place.desk.sign_in();
    let [own, _] = place.paths();
    let session = place.gateway.begin(&own).unwrap();
    assert_eq!(call(&session), Came::Answer);
    for _ in 0..3 {
        // The token grows old by the clock of the processes that use it.
        std::thread::sleep(Duration::from_millis(1200));
        let other = place.desk.call().run();
        assert_eq!(other.code, 0, "{}", other.everything());
        assert_eq!(call(&session), Came::Answer);
    }
    assert!(place.desk.rig.refreshes() > 0);
    assert!(place.desk.rig.families().iter().all(Family::is_chain));
}

#[test]
fn a_session_over_http_with_sse_continues_as_well() {
    let place = Place::start(Settings::default());
    place.desk.sign_in();
    let [own, _] = place.paths();
    let mut old = Old::begin(&place.gateway, &own);
    assert_eq!(old.call(), Came::Answer);
    place.sign_out();
    eventually("signed out", || old.call() == Came::SignInWanted);
    let late = place.gateway.begin(&own).unwrap().tools();
    eventually("it is as for a new session", || old.tools() == late);
    place.desk.sign_in();
    eventually("signed in", || old.call() == Came::Answer);
}

/// A client of 2024-11-05.
struct Old<'a> {
    gateway: &'a Gateway,
    endpoint: String,
    lines: Lines<BufReader<TcpStream>>,
    asked: u64,
}

impl<'a> Old<'a> {
    fn begin(gateway: &'a Gateway, path: &str) -> Self {
        let stream = gateway.stream(&format!("{path}/sse"));
        let mut lines = BufReader::new(stream).lines();
        let is_endpoint = |line: &String| line.starts_with("data: /");
        let endpoint = lines.by_ref().map(Result::unwrap).find(is_endpoint);
        let endpoint = endpoint.unwrap()["data: ".len()..].to_owned();
        let mut old = Self {
            gateway,
            endpoint,
            lines,
            asked: 0,
        };
        let hello = json!({"protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}});
        assert!(old.ask("initialize", &hello)["result"].is_object());
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        gateway.post(&old.endpoint, "", &told);
        old
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.asked, "method": method,
            "params": params});
        let (head, _) = self.gateway.post(&self.endpoint, "", &message);
        assert!(head.starts_with("HTTP/1.1 202"), "{head}");
        loop {
            let line = self.lines.next().expect("more of the stream").unwrap();
            let message = line.strip_prefix("data: ").unwrap_or("null");
            let message: Value = serde_json::from_str(message).unwrap();
            if message["id"] == self.asked {
                return message;
            }
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array();
        let names = tools.into_iter().flatten().map(|tool| &tool["name"]);
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn call(&mut self) -> Came {
        came(self.ask("tools/call", &said_to("echo")))
    }
}
