//! How a person is asked: a listener for the answer, and a presenter that shows the question.

use std::fmt::Debug;
use std::sync::Arc;

use keyway_auth::BoxFuture;
#[cfg(feature = "vault")]
use keyway_auth::ports::Turn;
use keyway_auth::ports::{
    Callback, Consent, ConsentQuestion, DeviceQuestion, ForeignPage, Interaction, InteractionError,
    Redirect, ShownCode,
};
use keyway_secret::Secret;
#[cfg(feature = "vault")]
use keyway_store::GrantKey;
use keyway_transport::{CallbackListener, read_redirect};

#[cfg(feature = "vault")]
use super::turn;
#[cfg(feature = "vault")]
use crate::vault::KeptVault;

/// What a person typed, which holds a code.
pub type Typed = Secret<String>;

/// Shows questions to a person.
pub trait Presenter: Send + Sync + Debug {
    /// Shows a question and opens the page, if it can; returns at once.
    ///
    /// # Errors
    ///
    /// Returns [`InteractionError::Unavailable`] where no person would see it.
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError>;

    /// Shows a code for another device; returns at once. By default, no code is shown.
    ///
    /// # Errors
    ///
    /// As [`Self::show`].
    fn show_code(&self, question: &DeviceQuestion) -> Result<(), InteractionError> {
        let _unseen = question;
        Err(InteractionError::Unavailable)
    }

    /// Waits for the address that the page led to, typed in by hand; forever, where no person
    /// types.
    ///
    /// # Errors
    ///
    /// Returns [`InteractionError::Cancelled`] if the person gives up.
    ///
    /// Cancel safety: dropped when the answer comes by another way, or the sign-in ends. Nothing
    /// that is typed later may be taken for an answer.
    fn typed(&self) -> BoxFuture<'_, Result<Typed, InteractionError>> {
        Box::pin(std::future::pending())
    }

    /// Says that the typed text is not an answer, and why.
    fn mistyped(&self, why: &str) {
        let _unsaid = why;
    }

    /// Says that the question is settled, one way or the other.
    fn settled(&self) {}

    /// Asks whether to go to a page that is neither the issuer's nor that of the host which gets
    /// what the person agrees to there; by default, and where no person can be asked, `false`.
    ///
    /// Cancel safety: dropped only with the runtime, because a sign-in runs in a task of its own.
    /// The question must no longer be shown then.
    fn confirm_page(&self, page: ForeignPage) -> BoxFuture<'_, bool> {
        drop(page);
        Box::pin(std::future::ready(false))
    }

    /// Says whether a person would see a question now.
    fn is_available(&self) -> bool {
        true
    }

    /// Says that another process asks the same already, and that its answer is waited for.
    fn waiting(&self) {}
}

/// Asks through a page that leads back to a listener of ours.
#[derive(Debug, Clone)]
pub struct Loopback {
    presenter: Arc<dyn Presenter>,
    #[cfg(feature = "vault")]
    shared: Option<Arc<KeptVault>>,
}

impl Loopback {
    /// Questions are shown by `presenter`.
    #[must_use]
    pub fn new(presenter: Arc<dyn Presenter>) -> Self {
        Self {
            presenter,
            #[cfg(feature = "vault")]
            shared: None,
        }
    }

    /// Asks nothing that another process with the same vault is asking.
    #[cfg(feature = "vault")]
    #[must_use]
    pub fn in_turn(mut self, vault: Arc<KeptVault>) -> Self {
        self.shared = Some(vault);
        self
    }
}

impl Interaction for Loopback {
    fn prepare(
        &self,
        redirect: Redirect,
    ) -> BoxFuture<'_, Result<Box<dyn Consent>, InteractionError>> {
        Box::pin(async move {
            let listener = CallbackListener::bind(&redirect)?;
            let presenter = Arc::clone(&self.presenter);
            Ok(Box::new(Listening {
                listener,
                presenter,
            }) as Box<dyn Consent>)
        })
    }

    fn show_code(
        &self,
        question: DeviceQuestion,
    ) -> BoxFuture<'_, Result<Box<dyn ShownCode>, InteractionError>> {
        Box::pin(async move {
            self.presenter.show_code(&question)?;
            Ok(Box::new(Shown(Arc::clone(&self.presenter))) as Box<dyn ShownCode>)
        })
    }

    fn confirm_page(&self, page: ForeignPage) -> BoxFuture<'_, bool> {
        self.presenter.confirm_page(page)
    }

    fn is_available(&self) -> bool {
        self.presenter.is_available()
    }

    #[cfg(feature = "vault")]
    fn turn(&self, key: &GrantKey) -> BoxFuture<'_, Option<Box<dyn Turn>>> {
        let key = key.clone();
        Box::pin(async move {
            let vault = self.shared.as_ref()?;
            let turn = turn::take(vault, &key, || self.presenter.waiting()).await?;
            Some(Box::new(turn) as Box<dyn Turn>)
        })
    }
}

#[derive(Debug)]
struct Listening {
    listener: CallbackListener,
    presenter: Arc<dyn Presenter>,
}

impl Consent for Listening {
    fn redirect_uri(&self) -> &str {
        self.listener.redirect_uri()
    }

    fn ask(
        self: Box<Self>,
        question: ConsentQuestion,
    ) -> BoxFuture<'static, Result<Callback, InteractionError>> {
        Box::pin(async move {
            let Self {
                listener,
                presenter,
            } = *self;
            presenter.show(&question)?;
            let _settled = Shown(Arc::clone(&presenter));
            let redirect_uri = listener.redirect_uri().to_owned();
            let received = listener.wait(&question.state, question.patience);
            let typed = type_in(&presenter, &redirect_uri, &question.state);
            // Not biased: both answers carry the same state, so either may count. A redirect that
            // loses closes the port with the listener; a line that loses is no longer read.
            tokio::select! {
                outcome = received => outcome,
                outcome = typed => outcome,
            }
        })
    }
}

/// Tells the presenter that the question is settled, however it ends, also by cancellation.
#[derive(Debug)]
struct Shown(Arc<dyn Presenter>);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.settled();
    }
}

impl ShownCode for Shown {
    fn given_up(&self) -> BoxFuture<'_, InteractionError> {
        Box::pin(async move {
            loop {
                // Nothing that is typed here answers a code.
                if let Err(error) = self.0.typed().await {
                    return error;
                }
            }
        })
    }
}

/// Reads what the person types until it is an answer.
async fn type_in(
    presenter: &Arc<dyn Presenter>,
    redirect_uri: &str,
    state: &Secret<String>,
) -> Result<Callback, InteractionError> {
    loop {
        let typed = presenter.typed().await?;
        match read_redirect(&typed, redirect_uri, state) {
            Ok(callback) => return Ok(callback),
            Err(fault) => presenter.mistyped(&fault.to_string()),
        }
    }
}
