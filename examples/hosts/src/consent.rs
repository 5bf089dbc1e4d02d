//! Asking a person in one's own way: an approval, and the page of a sign-in.

use std::sync::{Arc, Mutex, PoisonError};

use keyway::approval::{Answer, Question};
use keyway::connect::BoxFuture;
use keyway::sign_in::{ConsentQuestion, InteractionError, Presenter};
use keyway::{ApprovalPrompt, HostBuilder};

/// A window of this host. Here it is a list of what the person saw, and the answer they give.
#[derive(Debug, Default)]
pub struct Window {
    shown: Mutex<Vec<String>>,
    agrees: bool,
    /// Opens a page in the person's browser.
    open: Option<fn(&str)>,
}

impl Window {
    /// A person who agrees to everything, and whose browser is `open`.
    #[must_use]
    pub fn agreeing(open: fn(&str)) -> Self {
        Self {
            shown: Mutex::default(),
            agrees: true,
            open: Some(open),
        }
    }

    /// Returns what the person saw.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.clone()
    }

    /// Lets a host ask here.
    pub fn on(self: &Arc<Self>, builder: HostBuilder) -> HostBuilder {
        builder
            .approval_prompt(Arc::clone(self) as _)
            .presenter(Arc::clone(self) as _)
    }

    fn show(&self, text: String) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.push(text);
    }
}

impl ApprovalPrompt for Window {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            for fact in &question.facts {
                self.show(format!("{} {}", fact.kind.label(), fact.text()));
            }
            Answer::yes_if(self.agrees)
        })
    }
}

impl Presenter for Window {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        self.show(format!("sign in at {}", question.issuer));
        if let Some(open) = self.open {
            open(question.url.as_str());
        }
        Ok(())
    }
}
