//! Which era a server speaks: every decision of the negotiation, without I/O.
//!
//! ```text
//!                       discovering
//!    modern ◄── accepted ──┤
//!    no common version ◄───┤
//!              other era ──┴── silence
//!                  │              │
//!                  ▼              ▼
//!            initializing ◄──── both ───────────── initialize: other era ──┐
//!                  │              │ discover: accepted                     │
//!                  │              ▼                                        ▼
//!                  │          discovered ── initialize: no ──► modern   refused
//!                  │              │ initialize: accepted                   │ discover: accepted
//!                  ▼              ▼                                        ▼
//!               legacy ◄──────────┘                                     modern
//! ```
//!
//! Two edges drive it. A session of our own asks both questions itself and may choose the version,
//! repeat a question, and ask in both eras at once. For a client (`negotiation`), its own first
//! request is the first question; the second, in the other era, is asked to put an adapter in front
//! of the server (`eras::translate`), which is the end of it either way.

use keyway_transport::{Event, TransportError};

use crate::version::{ClientEra, Discovery, LEGACY, MODERN, MODERN_CODES, is_of_other_era};

/// A question whose answer shows the era of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// `server/discover`.
    Discover,
    /// `initialize`.
    Initialize,
}

/// What an answer says about the era of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The server takes part in the era of the question.
    Accepted,
    /// It is a modern server of another version; it may name those that it supports.
    OtherVersion(Vec<String>),
    /// It does not know the question, or refuses it as a server of the other era does.
    OtherEra,
    /// It says nothing about the era: the server is down, or refuses the credential.
    Failed,
}

impl Answer {
    /// Reads the answer to a request of a client that is passed on. What neither era explains is
    /// the client's to read, as is an acceptance.
    pub(crate) fn to_client(answer: &Event) -> Self {
        match is_of_other_era(answer) {
            true => Self::OtherEra,
            false => Self::Accepted,
        }
    }

    /// Reads why a `server/discover` of ours got no answer from the server itself.
    pub(crate) fn to_failed_discovery(error: &TransportError) -> Self {
        match error {
            // Asking a server that is asked too often a second question makes it worse.
            TransportError::Status { status: 429, .. } => Self::Failed,
            // An old server may even break at a question that it does not know.
            TransportError::Status { status, .. } if *status <= 501 => Self::OtherEra,
            _ => Self::Failed,
        }
    }

    /// Reads the code by which a server refused an `initialize` of ours.
    pub(crate) fn to_refused_initialize(code: i64) -> Self {
        match MODERN_CODES.contains(&code) {
            true => Self::OtherEra,
            false => Self::Failed,
        }
    }
}

impl From<Discovery> for Answer {
    fn from(discovery: Discovery) -> Self {
        match discovery {
            Discovery::Modern => Self::Accepted,
            Discovery::OtherVersion { supported } => Self::OtherVersion(supported),
            Discovery::Legacy => Self::OtherEra,
        }
    }
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask this, and report the answer. What was asked before is still awaited by a session.
    Ask(Question),
    /// Await what was asked before.
    Wait,
    /// Await what was asked before, and report silence after a while.
    WaitBriefly,
    /// The server speaks this era.
    Decided(ClientEra),
    /// It speaks neither; the answer to this question says why.
    Failed(Question),
    /// It is a modern server and supports only these versions.
    NoCommonVersion(Vec<String>),
}

/// Which edge asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asker {
    Session,
    Client,
}

/// Where a negotiation stands. The states are drawn at the head of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// `server/discover` was asked, and nothing else.
    Discovering,
    /// Only the answer to `initialize` counts any more.
    Initializing {
        /// Whether `server/discover` may still be asked.
        may_discover: bool,
    },
    /// Both questions are open.
    Both,
    /// The server is a modern one, unless it accepts the `initialize` that is still open: it has
    /// begun a session then.
    Discovered,
    /// `initialize` was refused as a modern server does, and the answer to `server/discover` counts.
    Refused,
}

/// The negotiation with one server.
#[derive(Debug)]
pub(crate) struct EraNegotiation {
    asker: Asker,
    state: State,
    /// Whether `server/discover` may be repeated.
    may_repeat: bool,
}

impl EraNegotiation {
    /// Begins that of a session of our own that offers both eras, with the first step.
    pub(crate) fn of_session() -> (Self, Step) {
        let negotiation = Self {
            asker: Asker::Session,
            state: State::Discovering,
            may_repeat: true,
        };
        (negotiation, Step::Ask(Question::Discover))
    }

    /// Begins that of a session of our own that offers the legacy era only, with the first step.
    pub(crate) fn of_legacy_session() -> (Self, Step) {
        let negotiation = Self {
            asker: Asker::Session,
            state: State::Initializing {
                may_discover: false,
            },
            may_repeat: false,
        };
        (negotiation, Step::Ask(Question::Initialize))
    }

    /// Begins that of a client of an era. The question of its era is the first: the client's own
    /// request, or a `server/discover` in front of another request.
    pub(crate) const fn of_client(era: ClientEra) -> Self {
        let state = match era {
            ClientEra::Modern => State::Discovering,
            ClientEra::Legacy => State::Initializing { may_discover: true },
        };
        Self {
            asker: Asker::Client,
            state,
            may_repeat: false,
        }
    }

    /// Says whether [`EraNegotiation::silent`] is to be called if no answer comes for a while.
    pub(crate) const fn is_timed(&self) -> bool {
        matches!(self.state, State::Discovering | State::Discovered)
    }

    /// Takes note that no answer came for a while.
    pub(crate) fn silent(&mut self) -> Step {
        match (self.state, self.asker) {
            // An old server, or one that is still starting: the first answer decides.
            (State::Discovering, Asker::Session) => {
                self.state = State::Both;
                Step::Ask(Question::Initialize)
            }
            (State::Discovering, Asker::Client) => self.initialize(),
            (State::Discovered, _) => Step::Decided(ClientEra::Modern),
            (State::Initializing { .. } | State::Both | State::Refused, _) => Step::Wait,
        }
    }

    /// Takes an answer.
    pub(crate) fn answered(&mut self, question: Question, answer: Answer) -> Step {
        match question {
            Question::Discover => self.discovered(answer),
            Question::Initialize => self.initialized(&answer),
        }
    }

    fn discovered(&mut self, answer: Answer) -> Step {
        match (answer, self.state) {
            (Answer::Accepted, State::Both) => {
                self.state = State::Discovered;
                Step::WaitBriefly
            }
            (Answer::Accepted, _) => Step::Decided(ClientEra::Modern),
            (Answer::OtherVersion(supported), _) => self.other_version(supported),
            (Answer::OtherEra, _) => self.initialize(),
            (Answer::Failed, _) => Step::Failed(Question::Discover),
        }
    }

    fn initialized(&mut self, answer: &Answer) -> Step {
        match (answer, self.state) {
            (Answer::Accepted, _) => Step::Decided(ClientEra::Legacy),
            (_, State::Discovered) => Step::Decided(ClientEra::Modern),
            (Answer::OtherEra, State::Both) => {
                self.state = State::Refused;
                Step::Wait
            }
            (Answer::OtherEra, State::Initializing { may_discover: true }) => {
                self.state = State::Refused;
                Step::Ask(Question::Discover)
            }
            _ => Step::Failed(Question::Initialize),
        }
    }

    /// Decides what to do about a server that is modern and refuses our version.
    fn other_version(&mut self, supported: Vec<String>) -> Step {
        let names = |wanted: &[&str]| supported.iter().any(|it| wanted.contains(&it.as_str()));
        match self.asker {
            // Which modern version is spoken, client and server agree themselves.
            Asker::Client => Step::Decided(ClientEra::Modern),
            // The specification: after an unsupported version, pick one from the server's list and
            // retry. Of the stateless versions we know one, so the retry is with the same; such a
            // list comes from servers that are upgraded one after another behind one address. None
            // of the servers that we test with does it, but the official suite requires the retry.
            Asker::Session if self.may_repeat && names(&[MODERN]) => {
                self.may_repeat = false;
                Step::Ask(Question::Discover)
            }
            Asker::Session if names(&LEGACY) => self.initialize(),
            Asker::Session => Step::NoCommonVersion(supported),
        }
    }

    /// Goes on with `initialize` alone, after an answer that a legacy server gives.
    fn initialize(&mut self) -> Step {
        let step = match self.state {
            State::Discovering => Step::Ask(Question::Initialize),
            State::Both => Step::Wait,
            // It was asked and refused, and no other era is left.
            State::Initializing { .. } | State::Discovered | State::Refused => {
                return Step::Failed(Question::Initialize);
            }
        };
        self.state = State::Initializing {
            may_discover: false,
        };
        step
    }
}

#[cfg(test)]
mod tests;
