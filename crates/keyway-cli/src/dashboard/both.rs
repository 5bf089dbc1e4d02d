//! A question that a client's call leads to: asked as this process asks, and shown on the dashboard.

use keyway::connect::BoxFuture;
use keyway::sign_in::{ConsentQuestion, DeviceQuestion, InteractionError, Presenter, Typed};

use super::screen::Screen;
use crate::consent::Terminal;

/// A person at a terminal or in front of a browser, who may look at the dashboard as well.
#[derive(Debug)]
pub(super) struct Both {
    terminal: Option<Terminal>,
    screen: Screen,
}

impl Both {
    pub(super) const fn new(terminal: Option<Terminal>, screen: Screen) -> Self {
        Self { terminal, screen }
    }

    /// Shows something on both; where the terminal reaches nobody, somebody has to look at the
    /// dashboard.
    fn each(
        &self,
        show: impl Fn(&dyn Presenter) -> Result<(), InteractionError>,
    ) -> Result<(), InteractionError> {
        let terminal = self.terminal.as_ref();
        let told = terminal.map_or(Err(InteractionError::Unavailable), |it| show(it));
        if told.is_err() && !self.screen.is_available() {
            return told;
        }
        show(&self.screen)
    }
}

impl Presenter for Both {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        self.each(|one| one.show(question))
    }

    fn show_code(&self, question: &DeviceQuestion) -> Result<(), InteractionError> {
        self.each(|one| one.show_code(question))
    }

    fn typed(&self) -> BoxFuture<'_, Result<Typed, InteractionError>> {
        let Some(terminal) = &self.terminal else {
            return self.screen.typed();
        };
        Box::pin(async move {
            tokio::select! {
                typed = terminal.typed() => typed,
                given_up = self.screen.typed() => given_up,
            }
        })
    }

    fn mistyped(&self, why: &str) {
        if let Some(terminal) = &self.terminal {
            terminal.mistyped(why);
        }
    }

    fn settled(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.settled();
        }
        self.screen.settled();
    }

    fn is_available(&self) -> bool {
        self.terminal.is_some() || self.screen.is_available()
    }

    fn waiting(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.waiting();
        }
    }
}
