//! Signals in the middle of an exchange, to every command that makes one: the first lets it finish,
//! the second does not wait, and neither costs the sign-in.

use std::time::{Duration, Instant};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Gateway, Running, eventually};
use rustix::process::{Pid, Signal, kill_process};

use super::{KEYWAY, carriers_have_ended, initialize, pause_between_signals};

/// A command that exchanges a code or a refresh token.
#[derive(Debug, Clone, Copy)]
enum Exchanging {
    Run,
    Call,
    Serve,
    Login,
}

const COMMANDS: [Exchanging; 4] = [
    Exchanging::Run,
    Exchanging::Call,
    Exchanging::Serve,
    Exchanging::Login,
];
const SIGNALS: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// A command in the middle of its exchange, with what it needs to stay there.
struct Exchange {
    desk: Desk,
    running: Running,
    /// When the request had arrived.
    began: Instant,
    _kept: Vec<Box<dyn std::any::Any>>,
}

impl Exchanging {
    /// Starts the command, and waits until its request is at the token endpoint, which answers
    /// after `delay`.
    fn begin(self, delay: Duration) -> Exchange {
        let desk = Desk::new(KEYWAY, Settings::default());
        let mut kept: Vec<Box<dyn std::any::Any>> = Vec::new();
        if !matches!(self, Self::Login) {
            desk.sign_in();
            desk.rig.reset();
        }
        let sent = desk.rig.seen("/token").len();
        desk.rig.set(|settings| settings.token_delay = delay);
        let running = match self {
            Self::Run => {
                let mut run = desk.without_browser(&["run", "--server", "s"]).start();
                let mut stdin = run.child.stdin.take().unwrap();
                initialize(&mut stdin);
                kept.push(Box::new(stdin));
                run
            }
            Self::Call => desk.call().start(),
            Self::Serve => {
                let words = ["--trust", "--quiet"];
                let token = Gateway::token(desk.without_browser(&[]), &["--name", "n"]);
                let gateway = Gateway::start(desk.without_browser(&[]), &words);
                let headers = format!(
                    "authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
                     accept: application/json, text/event-stream\r\n"
                );
                let stream = gateway.send("POST", "/mcp", &headers, INITIALIZE);
                kept.push(Box::new(stream));
                gateway.running
            }
            Self::Login => {
                kept.push(Box::new(desk.person()));
                desk.keyway(&["login", "s"]).start()
            }
        };
        eventually("the request has arrived", || {
            desk.rig.seen("/token").len() > sent
        });
        Exchange {
            desk,
            running,
            began: Instant::now(),
            _kept: kept,
        }
    }
}

impl Exchange {
    fn signal(&self, signal: Signal) {
        // It may have ended by the signal before.
        let _gone: Result<(), _> = kill_process(Pid::from_child(&self.running.child), signal);
    }

    /// What is stored is the answer of this exchange, and can be renewed.
    fn is_kept(&self, what: &str) {
        let desk = &self.desk;
        desk.rig
            .set(|settings| settings.token_delay = Duration::ZERO);
        let refreshes = desk.rig.refreshes();
        let call = || desk.without_browser(&["call", "s", "echo", "message=hello"]);
        eventually("the answer is stored", || call().run().code == 0);
        assert_eq!(desk.rig.refreshes(), refreshes, "{what}: redeemed again");
        desk.rig.reset();
        let renewed = call().run();
        assert_eq!(renewed.code, 0, "{what}: {}", renewed.everything());
        let families = desk.rig.families();
        assert!(families.first().unwrap().is_chain(), "{what}: {families:?}");
        assert_eq!(desk.windows().len(), 1, "{what}");
        assert_eq!(desk.rig.live_refresh_tokens(), 1, "{what}");
        carriers_have_ended(desk);
    }
}

/// Runs a case for every command and signal, the signals side by side.
fn for_each(case: fn(Exchanging, Signal)) {
    for command in COMMANDS {
        std::thread::scope(|scope| {
            for signal in SIGNALS {
                scope.spawn(move || case(command, signal));
            }
        });
    }
}

#[test]
fn one_signal_lets_the_exchange_finish_and_ends_the_command() {
    for_each(|command, signal| {
        let what = format!("{command:?} {signal:?}");
        let delay = Duration::from_secs(2);
        let mut exchange = command.begin(delay);
        exchange.signal(signal);
        let outcome = exchange.running.outcome();
        // The answer came after the signal, and the command was still there to take it.
        let ended = exchange.began.elapsed();
        assert!(ended + SLACK >= delay, "{what}: ended after {ended:?}");
        assert!(ended < LONGEST, "{what}: {ended:?} {outcome:?}");
        exchange.is_kept(&what);
    });
}

#[test]
fn second_signal_does_not_wait_and_costs_no_sign_in() {
    for_each(|command, signal| {
        let what = format!("{command:?} {signal:?}");
        let delay = Duration::from_secs(12);
        let mut exchange = command.begin(delay);
        exchange.signal(signal);
        pause_between_signals();
        exchange.signal(signal);
        let outcome = exchange.running.outcome();
        let ended = exchange.began.elapsed();
        assert!(ended < delay, "{what}: {ended:?} {outcome:?}");
        exchange.is_kept(&what);
    });
}

/// Between the arrival of the request and when the test sees it.
const SLACK: Duration = Duration::from_millis(900);
/// The answer, and an end in good order, on a busy machine.
const LONGEST: Duration = Duration::from_secs(40);
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
