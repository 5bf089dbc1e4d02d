//! The person in front of the demo: gets the consent page in a browser, or its address.

use std::io::{self, IsTerminal as _, Write as _};

use keyway::sign_in::{ConsentQuestion, InteractionError, Presenter};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::browser::Browser;
use crate::timeouts::DEMO_CONSENT_TIMEOUT;

/// Shows the consent page to the person.
#[derive(Debug)]
pub(super) struct Person {
    browser: Option<Browser>,
    /// Told when the address was printed.
    asked: Notify,
}

impl Person {
    pub(super) fn new(browser: Option<Browser>) -> Self {
        Self {
            browser,
            asked: Notify::new(),
        }
    }

    /// Waits as long as the table waits for this person: a while if there is a browser, else until
    /// the address is printed.
    pub(super) async fn patience(&self) {
        match self.browser {
            Some(_) => sleep(DEMO_CONSENT_TIMEOUT).await,
            None => self.asked.notified().await,
        }
    }
}

impl Presenter for Person {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let url = question.url.as_str();
        let is_open = self.browser.as_ref().is_some_and(|found| found.open(url));
        let how = if is_open {
            "Your browser opens this page; press Allow there:"
        } else {
            "Open this page in a browser on this machine and press Allow:"
        };
        let mut stream = io::stderr().lock();
        let clear = if stream.is_terminal() {
            "\r\u{1b}[K"
        } else {
            ""
        };
        let text = format!("{clear}`docs` wants a sign-in. {how}\n{url}\n");
        drop(stream.write_all(text.as_bytes()));
        self.asked.notify_one();
        Ok(())
    }
}
