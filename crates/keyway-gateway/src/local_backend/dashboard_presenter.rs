//! Shows the question of a sign-in on the dashboard.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use keyway::connect::BoxFuture;
use keyway::sign_in::{ConsentQuestion, DeviceQuestion, InteractionError, Presenter, Typed};
use tokio::sync::Notify;

use super::server_records::ServerRecords;
use keyway_dashboard::{Consent, ServerId, WantedBy};

/// Shows questions on the pages of one server.
#[derive(Debug)]
pub(super) struct DashboardPresenter {
    id: ServerId,
    records: Arc<ServerRecords>,
    wanted_by: WantedBy,
    /// Is notified when the person gives up the question that is shown. Held only to swap it.
    giving_up: Mutex<Option<Arc<Notify>>>,
}

impl DashboardPresenter {
    pub(super) fn new(id: &ServerId, records: &Arc<ServerRecords>, wanted_by: WantedBy) -> Self {
        Self {
            id: id.clone(),
            records: Arc::clone(records),
            wanted_by,
            giving_up: Mutex::default(),
        }
    }

    fn ask(&self, consent: Consent) {
        let giving_up = self.records.ask(&self.id, consent);
        let before = self.lock().replace(giving_up);
        if let Some(before) = before {
            self.records.settle(&self.id, &before);
        }
    }

    fn ends_at(patience: Duration) -> Instant {
        let now = Instant::now();
        now.checked_add(patience).unwrap_or(now)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Notify>>> {
        self.giving_up
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Presenter for DashboardPresenter {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let (page, issuer) = (question.url.clone(), question.issuer.clone());
        let ends_at = Self::ends_at(question.patience);
        let mut consent = Consent::new(page, issuer, ends_at, self.wanted_by);
        consent.client = Some(question.client.clone());
        consent.scopes.clone_from(&question.scopes);
        consent.new_scopes.clone_from(&question.new_scopes);
        self.ask(consent);
        Ok(())
    }

    fn show_code(&self, question: &DeviceQuestion) -> Result<(), InteractionError> {
        let page = question.complete.as_ref().unwrap_or(&question.page);
        let ends_at = Self::ends_at(question.patience);
        let issuer = question.issuer.clone();
        let mut consent = Consent::new(page.clone(), issuer, ends_at, self.wanted_by);
        consent.scopes.clone_from(&question.scopes);
        consent.new_scopes.clone_from(&question.scopes);
        consent.code = Some(question.code.clone());
        self.ask(consent);
        Ok(())
    }

    fn typed(&self) -> BoxFuture<'_, Result<Typed, InteractionError>> {
        let giving_up = self.lock().clone();
        Box::pin(async move {
            match giving_up {
                Some(giving_up) => giving_up.notified().await,
                None => std::future::pending().await,
            }
            Err(InteractionError::Cancelled)
        })
    }

    fn settled(&self) {
        let shown = self.lock().take();
        if let Some(shown) = shown {
            self.records.settle(&self.id, &shown);
        }
    }

    fn is_available(&self) -> bool {
        self.records.is_watched()
    }
}

#[cfg(test)]
mod tests {
    use keyway::sign_in::{Interaction as _, Loopback};

    use super::*;

    fn code() -> DeviceQuestion {
        let page = "https://as.example/activate".parse().unwrap();
        let mut question = DeviceQuestion::new(page, "ABCD-EFGH".to_owned());
        question.server = "s".to_owned();
        question.issuer = "as.example".to_owned();
        question.scopes = vec!["read".to_owned()];
        question.patience = Duration::from_secs(600);
        question
    }

    #[tokio::test]
    async fn a_code_that_is_given_up_on_the_dashboard_is_waited_for_no_longer() {
        let records = Arc::<ServerRecords>::default();
        let id = ServerId::new("p", "s");
        let screen = DashboardPresenter::new(&id, &records, WantedBy::Person);
        let asking = Loopback::new(Arc::new(screen));
        let shown = asking.show_code(code()).await.unwrap();
        let consent = records.of(&id).consent().cloned().unwrap();
        assert_eq!(consent.code.as_deref(), Some("ABCD-EFGH"));
        records.cancel(&id);
        assert_eq!(shown.given_up().await, InteractionError::Cancelled);
        let shown = asking.show_code(code()).await.unwrap();
        assert!(records.asks(&id));
        drop(shown);
        assert!(!records.asks(&id), "it is settled");
    }
}
