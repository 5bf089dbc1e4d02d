//! `--debug`: what happens, line by line, for a person who looks for a fault.
//!
//! Lines come from the same seam as events. They hold names, hosts, codes, lengths and times; what
//! looks like a token is masked once more before it is written.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::ValueEnum;
use keyway::events::{Event, Kind, Listener, Topic};

use keyway_lint::mask::in_words;

/// What to write about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum About {
    /// Files, entries, variables and approvals
    Config,
    /// Signing in and renewing
    Oauth,
    /// Headers helpers
    Helper,
    /// Requests, connections and processes
    Transport,
}

impl About {
    const fn topic(self) -> Topic {
        match self {
            Self::Config => Topic::Config,
            Self::Oauth => Topic::OAuth,
            Self::Helper => Topic::Helper,
            Self::Transport => Topic::Transport,
        }
    }
}

/// Writes lines about these topics, all if there are none, to a file or to standard error.
pub(crate) fn listener(about: &[About], file: Option<File>) -> Arc<dyn Listener> {
    let topics = match about {
        [] => Topic::ALL.to_vec(),
        some => some.iter().map(|about| about.topic()).collect(),
    };
    Arc::new(Debug {
        topics,
        file: file.map(Mutex::new),
        started: Instant::now(),
    })
}

#[derive(Debug)]
struct Debug {
    topics: Vec<Topic>,
    /// Held for one line, which is never torn; standard error has a lock of its own.
    file: Option<Mutex<File>>,
    started: Instant,
}

impl Debug {
    fn write(&self, topic: Topic, server: Option<&str>, line: &str) {
        let at = self.started.elapsed().as_millis();
        let server = server.map(|name| format!(" {name}")).unwrap_or_default();
        let line = in_words(line);
        let text = format!("[{at:>6} ms] {}{server}: {line}\n", topic.as_str());
        // Without a reader it is lost, which is not a failure.
        drop(match &self.file {
            Some(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.write_all(text.as_bytes())
            }
            None => io::stderr().lock().write_all(text.as_bytes()),
        });
    }
}

impl Listener for Debug {
    fn event(&self, event: &Event) {
        let topic = topic_of(event.kind);
        if self.wants(topic) {
            let code = event.code.map(|code| format!(" [{code}]"));
            let line = format!("{}{}", event.kind.as_str(), code.unwrap_or_default());
            self.write(topic, event.server.as_deref(), &line);
        }
    }

    fn wants(&self, topic: Topic) -> bool {
        self.topics.contains(&topic)
    }

    fn note(&self, topic: Topic, server: Option<&str>, line: &str) {
        self.write(topic, server, line);
    }
}

const fn topic_of(kind: Kind) -> Topic {
    match kind {
        Kind::ConfigLoaded | Kind::ConfigSkipped | Kind::TrustRequested | Kind::TrustDecided => {
            Topic::Config
        }
        Kind::ServerConnected | Kind::ServerFailed => Topic::Transport,
        Kind::HelperRan | Kind::HelperFailed => Topic::Helper,
        _ => Topic::OAuth,
    }
}
