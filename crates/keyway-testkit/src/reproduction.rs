//! Threats E1 to E16, each played against a program that is given by its path.
//!
//! A play does what a hostile plugin does and looks at what came of it: files that were taken,
//! requests that arrived, programs that ran. It asks nothing of the program but what a person types,
//! so that it can be played against any version; where a version has no digest, a bare `trust grant`
//! is its approval. Before each attack the same plugin does something harmless that must work, so
//! that nothing holds only because nothing runs.

mod approval;
mod bounds;
mod confinement;
mod exceptions;
mod scene;
mod sign_in;

use std::panic::{self, AssertUnwindSafe};

/// One attack.
#[derive(Debug, Clone, Copy)]
pub struct Play {
    /// The number of the threat.
    pub threat: &'static str,
    /// What is done, for the table.
    pub played: &'static str,
    play: fn(&str) -> Verdict,
}

/// What came of a play.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The attack had no effect.
    Held(String),
    /// The attacker got what they wanted.
    Broke(String),
    /// It could not be played, and why.
    NotPlayed(String),
}

impl Play {
    /// Plays against a program, which is named by an absolute path.
    #[must_use]
    pub fn against(&self, program: &str) -> Verdict {
        let played = panic::catch_unwind(AssertUnwindSafe(|| (self.play)(program)));
        played.unwrap_or_else(|fault| {
            let words = fault.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| fault.downcast_ref::<&str>().copied());
            Verdict::NotPlayed(words.unwrap_or("it stopped").to_owned())
        })
    }
}

/// Returns all of them, in the order of their numbers.
#[must_use]
pub fn plays() -> Vec<Play> {
    let all = [
        confinement::PLAYS,
        approval::PLAYS,
        sign_in::PLAYS,
        exceptions::PLAYS,
        bounds::PLAYS,
    ];
    let mut all: Vec<Play> = all.concat();
    all.sort_by_key(|play| play.threat.trim_start_matches('E').parse::<u32>().ok());
    all
}

/// The attack got through, if `is_broken`.
fn broke_if(is_broken: bool, broken: &str, held: &str) -> Verdict {
    if is_broken {
        Verdict::Broke(broken.to_owned())
    } else {
        Verdict::Held(held.to_owned())
    }
}
