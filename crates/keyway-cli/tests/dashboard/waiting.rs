//! A client's call waits for a sign-in: a person who looks at the dashboard sees it.

use std::net::TcpStream;
use std::thread::JoinHandle;

use keyway_config::names::path_segment;
use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Gateway, visit};

use crate::client::Client;
use crate::house::{House, Pass, wait_for};

/// A gateway over a server without a sign-in, where no browser can be opened.
pub(crate) struct Waiting {
    pub(crate) house: House,
    pub(crate) desk: Desk,
    token: String,
}

impl Waiting {
    fn start() -> Self {
        Self::at(Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default()))
    }

    /// Starts it at a desk that was prepared.
    pub(crate) fn at(desk: Desk) -> Self {
        let token = Gateway::token(desk.without_browser(&[]), &["--name", "n"]);
        let gateway = Gateway::start(desk.without_browser(&[]), &["--trust"]);
        Self {
            house: House::of(gateway),
            token,
            desk,
        }
    }

    /// Greets as a client.
    pub(crate) fn client(&self) -> Client<'_> {
        Client::greet(&self.house.gateway, "/mcp", &self.token)
    }

    /// Calls a tool as a client of its own.
    fn call(&self, tool: &str) -> String {
        self.client().call(tool)
    }

    /// Returns a link of `keyway open`.
    pub(crate) fn link(&self) -> String {
        let opened = self.desk.without_browser(&["open", "--print"]).run();
        assert_eq!(opened.code, 0, "{}", opened.everything());
        opened.stdout.trim().to_owned()
    }

    /// Opens a page as a browser does, which keeps a stream of what changes.
    pub(crate) fn open(&self) -> (Pass, TcpStream) {
        let pass = self.house.enter(&self.link());
        let path = format!("{}/events?page=/", pass.base);
        let cookie = format!("cookie: {}\r\n", pass.cookie);
        let stream = self.house.gateway.send("GET", &path, &cookie, "");
        // It is there when it says something.
        assert_eq!(stream.peek(&mut [0; 1]).unwrap(), 1);
        (pass, stream)
    }

    /// Returns the page of the server.
    pub(crate) fn page(&self, pass: &Pass) -> String {
        self.house.get(&format!("/s/{}/s", self.plugin()), pass)
    }

    /// Waits until the page of the server asks; returns it.
    fn asks(&self, pass: &Pass) -> String {
        wait_for("a question on the page", || {
            let page = self.page(pass);
            page.contains("id=\"consent\"").then_some(page)
        })
    }

    fn plugin(&self) -> String {
        path_segment(plugin(&self.desk).as_bytes())
    }
}

/// Returns the name of the plugin of a desk.
pub(crate) fn plugin(desk: &Desk) -> String {
    let name = desk.folder.path().file_name().unwrap();
    name.to_string_lossy().into_owned()
}

#[test]
fn a_sign_in_that_a_call_waits_for_is_on_the_dashboard_and_can_be_given_up_there() {
    let waiting = Waiting::start();
    let (pass, _stream) = waiting.open();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| waiting.call("sign_in"));
        let page = waiting.asks(&pass);
        for part in ["A client is calling", "127.0.0.1", "min left", "Cancel"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let mark = waiting.house.mark(&pass);
        let path = format!("/s/{}/s/cancel", waiting.plugin());
        let done = waiting.house.post(&path, &pass, &format!("_mark={mark}"));
        assert!(done.starts_with("HTTP/1.1 303 "), "{done}");
        let answer = call.join().unwrap();
        assert!(answer.contains("cancelled"), "{answer}");
    });
    // The next call asks again, and the page of the dashboard leads to the end.
    std::thread::scope(|scope| {
        let call = scope.spawn(|| waiting.call("sign_in"));
        let page = waiting.asks(&pass);
        drop(visit(&consent_page(&page)));
        let answer = call.join().unwrap();
        assert!(!answer.contains("isError"), "{answer}");
    });
    let path = format!("/s/{}/s", waiting.plugin());
    wait_for("what came of it", || {
        let page = waiting.house.get(&path, &pass);
        let is_in = page.contains("Sign out") && page.contains("Connected");
        is_in.then_some(page)
    });
    assert_eq!(waiting.desk.windows().len(), 0);
}

#[test]
fn several_calls_that_wait_for_one_sign_in_ask_once() {
    let waiting = Waiting::start();
    let (pass, _stream) = waiting.open();
    let waiting = std::sync::Arc::new(waiting);
    let call = || {
        let waiting = std::sync::Arc::clone(&waiting);
        std::thread::spawn(move || waiting.call("sign_in"))
    };
    let calls: Vec<JoinHandle<String>> = (0..3).map(|_| call()).collect();
    let page = waiting.asks(&pass);
    drop(visit(&consent_page(&page)));
    for call in calls {
        let answer = call.join().unwrap();
        assert!(!answer.contains("isError"), "{answer}");
    }
}

#[test]
fn without_an_open_page_a_call_says_at_once_which_command_signs_in() {
    let waiting = Waiting::start();
    let answer = waiting.call("sign_in");
    assert!(answer.contains("keyway login"), "{answer}");
}

/// Everything by the buttons of the dashboard, while a client has a session.
#[test]
fn a_client_keeps_its_session_while_a_person_signs_out_and_in_again() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    desk.sign_in();
    let waiting = Waiting::at(desk);
    let client = waiting.client();
    assert!(client.call_here("echo").contains("Echo: hello"));
    let pass = waiting.house.enter(&waiting.link());
    let mark = waiting.house.mark(&pass);
    let press = |button: &str| {
        let path = format!("/s/{}/s/{button}", waiting.plugin());
        let done = waiting.house.post(&path, &pass, &format!("_mark={mark}"));
        assert!(done.starts_with("HTTP/1.1 303 "), "{done}");
    };
    for _ in 0..2 {
        press("sign-out");
        wait_for("how to sign in", || {
            let answer = client.call_here("echo");
            assert!(!answer.contains("Echo: hello"), "{answer}");
            answer.contains("keyway login").then_some(answer)
        });
        let page = wait_for("a question on the page", || {
            // It does nothing while the server is looked at.
            press("sign-in");
            let page = waiting.page(&pass);
            page.contains("id=\"consent\"").then_some(page)
        });
        drop(visit(&consent_page(&page)));
        wait_for("an answer", || {
            let answer = client.call_here("echo");
            answer.contains("Echo: hello").then_some(answer)
        });
    }
    assert_eq!(waiting.desk.rig.families().len(), 3, "three sign-ins");
}

/// Returns where a page leads a person to agree.
fn consent_page(page: &str) -> String {
    let (_, link) = page.split_once("id=\"consent\" href=\"").unwrap();
    link.split_once('"').unwrap().0.replace("&amp;", "&")
}
