//! Shows the question of a sign-in on the dashboard, where the person came from.

use std::sync::Arc;

use keyway::connect::BoxFuture;
use keyway::dashboard::{Consent, ServerId};
use keyway::sign_in::{ConsentQuestion, DeviceQuestion, InteractionError, Presenter, Typed};
use tokio::sync::Notify;

use super::slots::Slots;

/// A person at the dashboard.
#[derive(Debug)]
pub(super) struct Screen {
    id: ServerId,
    slots: Arc<Slots>,
    giving_up: Arc<Notify>,
}

impl Screen {
    pub(super) fn new(id: &ServerId, slots: &Arc<Slots>) -> Self {
        Self {
            id: id.clone(),
            slots: Arc::clone(slots),
            giving_up: slots.giving_up(id),
        }
    }
}

impl Presenter for Screen {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let consent = Consent {
            page: question.url.clone(),
            issuer: question.issuer.clone(),
            client: Some(question.client.clone()),
            scopes: question.scopes.clone(),
            new_scopes: question.new_scopes.clone(),
            code: None,
        };
        self.slots.ask(&self.id, Some(consent));
        Ok(())
    }

    fn show_code(&self, question: &DeviceQuestion) -> Result<(), InteractionError> {
        let page = question.complete.as_ref().unwrap_or(&question.page);
        let consent = Consent {
            page: page.clone(),
            issuer: question.issuer.clone(),
            client: None,
            scopes: question.scopes.clone(),
            new_scopes: question.scopes.clone(),
            code: Some(question.code.clone()),
        };
        self.slots.ask(&self.id, Some(consent));
        Ok(())
    }

    fn typed(&self) -> BoxFuture<'_, Result<Typed, InteractionError>> {
        Box::pin(async move {
            self.giving_up.notified().await;
            Err(InteractionError::Cancelled)
        })
    }

    fn mistyped(&self, _: &str) {}

    fn settled(&self) {
        self.slots.ask(&self.id, None);
    }
}
