//! A question that a client's call leads to: asked at the terminal, and shown on the dashboard.

use std::sync::Arc;

use keyway::connect::BoxFuture;
use keyway::sign_in::{
    ConsentQuestion, DeviceQuestion, ForeignPage, InteractionError, Presenter, Typed,
};

use super::dashboard_presenter::DashboardPresenter;

/// A person at a terminal, who may look at the dashboard as well.
#[derive(Debug)]
pub(super) struct SharedPresenter {
    terminal: Option<Arc<dyn Presenter>>,
    screen: DashboardPresenter,
}

impl SharedPresenter {
    pub(super) fn new(terminal: Option<Arc<dyn Presenter>>, screen: DashboardPresenter) -> Self {
        Self { terminal, screen }
    }

    /// Shows something on both; it fails if the terminal cannot show it and no page is open.
    fn each(
        &self,
        show: impl Fn(&dyn Presenter) -> Result<(), InteractionError>,
    ) -> Result<(), InteractionError> {
        let terminal = self.terminal.as_ref();
        let told = terminal.map_or(Err(InteractionError::Unavailable), |it| show(it.as_ref()));
        if told.is_err() && !self.screen.is_available() {
            return told;
        }
        show(&self.screen)
    }
}

impl Presenter for SharedPresenter {
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
            // Whichever answers first counts; both futures only wait, so dropping one loses nothing.
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

    fn confirm_page(&self, page: ForeignPage) -> BoxFuture<'_, bool> {
        // On the dashboard a person could agree in passing; such a page is rare, and asked about
        // where the whole text is read.
        match &self.terminal {
            Some(terminal) => terminal.confirm_page(page),
            None => self.screen.confirm_page(page),
        }
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
