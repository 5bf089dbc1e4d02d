//! The person who can be asked, and how far a question to them is.
//!
//! ```text
//!   idle ──queue──▶ queued ──turn──▶ idle ──ask_on──▶ asked (page shown) ──answer──▶ idle
//!                                      └──ask_by_client──▶ asked (the client has the code) ──▶ idle
//! ```
//!
//! All states end with the future that they belong to, also if it is dropped.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_secret::Clock;

use crate::observer::{ServerObserver, Topic};
use crate::ports::{DeviceQuestion, Interaction};

/// Asks a person, if there is one.
#[derive(Debug)]
pub(super) struct Person {
    interaction: Option<Arc<dyn Interaction>>,
    clock: Arc<dyn Clock>,
    observer: ServerObserver,
    /// The consent page that the person is being asked on.
    /// Held for a copy or a replacement, never across an await.
    page: Mutex<Option<String>>,
    /// The code that the client has to show. Held like `page`.
    code: Mutex<Option<DeviceQuestion>>,
    /// Relaxed: it is looked at to word an answer, and guards no other data.
    is_queued: AtomicBool,
    /// How often a person was asked. Relaxed, for the same reason.
    asked: AtomicU32,
}

impl Person {
    pub(super) const fn new(
        interaction: Option<Arc<dyn Interaction>>,
        clock: Arc<dyn Clock>,
        observer: ServerObserver,
    ) -> Self {
        Self {
            interaction,
            clock,
            observer,
            page: Mutex::new(None),
            code: Mutex::new(None),
            is_queued: AtomicBool::new(false),
            asked: AtomicU32::new(0),
        }
    }

    /// Returns the way to ask, unless there is none right now.
    pub(super) fn available(&self) -> Option<&Arc<dyn Interaction>> {
        let interaction = self.interaction.as_ref();
        interaction.filter(|it| it.is_available())
    }

    /// Returns the consent page that the person is being asked on.
    pub(super) fn consent_page(&self) -> Option<String> {
        self.page().clone()
    }

    /// Remembers the page for as long as `asking` takes.
    pub(super) async fn ask_on<T>(&self, page: &str, asking: impl Future<Output = T>) -> T {
        *self.page() = Some(page.to_owned());
        let _shown = OnDrop(|| *self.page() = None);
        let started = self.clock.monotonic();
        let line = "a person is asked to agree";
        self.observer.note(Topic::OAuth, || line.to_owned());
        let answer = asking.await;
        self.observer.note(Topic::OAuth, || {
            let took = self.clock.monotonic().saturating_duration_since(started);
            format!("the question was settled after {} ms", took.as_millis())
        });
        answer
    }

    /// Returns the code that the client has to show.
    pub(super) fn code_of_client(&self) -> Option<DeviceQuestion> {
        self.code().clone()
    }

    /// Leaves the code with the client for as long as `asking` takes.
    pub(super) async fn ask_by_client<T>(
        &self,
        question: DeviceQuestion,
        asking: impl Future<Output = T>,
    ) -> T {
        let page = question.complete.as_ref().unwrap_or(&question.page);
        let page = page.to_string();
        *self.code() = Some(question);
        let _shown = OnDrop(|| *self.code() = None);
        self.ask_on(&page, asking).await
    }

    /// Waits for the right to ask.
    pub(super) async fn queue<T>(&self, turn: impl Future<Output = T>) -> T {
        self.is_queued.store(true, Ordering::Relaxed);
        let _queued = OnDrop(|| self.is_queued.store(false, Ordering::Relaxed));
        turn.await
    }

    /// Says whether another process asks the person, and this one waits for that.
    pub(super) fn is_queued(&self) -> bool {
        self.is_queued.load(Ordering::Relaxed)
    }

    /// Returns how often the person was asked.
    pub(super) fn times_asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Counts a question that is about to be asked.
    pub(super) fn count_question(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    fn code(&self) -> MutexGuard<'_, Option<DeviceQuestion>> {
        self.code.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn page(&self) -> MutexGuard<'_, Option<String>> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;
    use crate::oauth::testing::ManualClock;

    fn person() -> Person {
        Person::new(
            None,
            Arc::new(ManualClock::default()),
            ServerObserver::default(),
        )
    }

    #[test]
    fn a_dropped_question_shows_no_page_and_waits_for_no_turn() {
        let person = person();
        let mut context = Context::from_waker(Waker::noop());
        {
            let mut asking =
                pin!(person.ask_on("https://as.example/", std::future::pending::<()>()));
            assert!(asking.as_mut().poll(&mut context).is_pending());
            assert!(person.consent_page().is_some());
            let mut queue = pin!(person.queue(std::future::pending::<()>()));
            assert!(queue.as_mut().poll(&mut context).is_pending());
            assert!(person.is_queued());
        }
        assert_eq!(person.consent_page(), None);
        assert!(!person.is_queued());
    }
}
