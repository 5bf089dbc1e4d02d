//! Calls that wait until a person allows them, for the dashboard to show.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

/// A call that waits for a person.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolQuestion {
    /// What it is answered by.
    pub id: u64,
    /// The server, as `PLUGIN:SERVER`.
    pub server: String,
    /// The client, by the name of its gateway token; `None` for a process of the same user.
    pub client: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments, as JSON; of very long ones the beginning.
    pub arguments: String,
    /// How many characters the arguments have in all.
    pub argument_chars: usize,
    /// Until when the call waits.
    pub ends_at: Instant,
}

/// The questions that wait.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    /// Held for one look or one change, never across an await.
    waiting: Mutex<Vec<Waiting>>,
    /// `Relaxed`: a number that is used once, which guards no other data.
    last: AtomicU64,
}

#[derive(Debug)]
struct Waiting {
    question: ToolQuestion,
    answer: oneshot::Sender<bool>,
}

impl Questions {
    /// Asks; `make` gets the number of the question. `None` if too many wait already.
    pub(crate) fn ask(
        &self,
        make: impl FnOnce(u64) -> ToolQuestion,
    ) -> Option<(u64, oneshot::Receiver<bool>)> {
        let mut waiting = self.lock();
        if waiting.len() >= MOST_WAITING {
            return None;
        }
        let id = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let (answer, answered) = oneshot::channel();
        waiting.push(Waiting {
            question: make(id),
            answer,
        });
        Some((id, answered))
    }

    /// Answers a question; says whether it still waited.
    pub(crate) fn answer(&self, id: u64, is_allowed: bool) -> bool {
        let found = self.take(id);
        found.is_some_and(|it| it.answer.send(is_allowed).is_ok())
    }

    /// Forgets a question that was answered elsewhere, or given up.
    pub(crate) fn settle(&self, id: u64) {
        drop(self.take(id));
    }

    pub(crate) fn all(&self) -> Vec<ToolQuestion> {
        self.lock().iter().map(|it| it.question.clone()).collect()
    }

    fn take(&self, id: u64) -> Option<Waiting> {
        let mut waiting = self.lock();
        let at = waiting.iter().position(|it| it.question.id == id)?;
        Some(waiting.remove(at))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client must not fill the page of a person.
const MOST_WAITING: usize = 32;
