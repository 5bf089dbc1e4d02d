//! What a person or a program does with an approved server beyond connecting: sign in, call a tool,
//! and how an approval is stored.

use std::time::Duration;

use keyway_mcp::session::{Forward, Progress, Session};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Host;
use super::approved::Approved;
use super::error::Error;
use super::plan::Plan;
use crate::approval::{Agreement, Answer, Question};

/// What came of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignInOutcome {
    /// There is a sign-in now.
    SignedIn,
    /// The server answers without a credential and offers no sign-in.
    Unneeded,
}

impl Approved<Plan> {
    /// Signs in, unless it turns out that the server needs no sign-in. Asks by the interaction port
    /// of the host; `scopes` replace those that the server names.
    ///
    /// Cancel safety: the sign-in continues in a task of its own: the person is still asked, and a
    /// token that is issued is stored. Only the result is lost.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotOAuth`] or [`Error::SignIn`].
    pub async fn sign_in(&self, scopes: Option<Vec<String>>) -> Result<SignInOutcome, Error> {
        let server = self.server().to_owned();
        let Some(oauth) = self.oauth() else {
            let method = self.method();
            return Err(Error::NotOAuth { server, method });
        };
        let Err(error) = oauth.sign_in(scopes).await else {
            return Ok(SignInOutcome::SignedIn);
        };
        if oauth.is_unneeded().await {
            self.remember_open(true).await;
            return Ok(SignInOutcome::Unneeded);
        }
        Err(Error::SignIn { server, error })
    }

    /// Calls a tool over a session of this server. The arguments are written as JSON and sent as
    /// they are, long numbers included.
    ///
    /// Cancel safety: dropping the future tells the server that the call is cancelled.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Talk`].
    pub async fn call_tool(
        &self,
        session: &Session,
        (name, arguments): (&str, &str),
        (timeout, progress): (Duration, Option<Progress>),
    ) -> Result<Box<RawValue>, Error> {
        let name = Value::from(name);
        let params = format!(r#"{{"name":{name},"arguments":{arguments}}}"#);
        let mut request = Forward::new("tools/call", &params);
        request.timeout = timeout;
        request.progress = progress;
        let answer = session.forward(request).await;
        answer.map_err(|error| Error::talk(self.spec(), error))
    }
}

impl Host {
    /// Stores what a person agreed to.
    ///
    /// A question alone does not do:
    ///
    /// ```compile_fail
    /// # fn f(host: keyway::Host, plan: keyway::Plan) -> Result<(), keyway::Error> {
    /// if let Some(question) = plan.question() {
    ///     host.store_approval(question)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoHome`] where nothing is stored, and [`Error::Store`].
    pub fn store_approval(&self, agreement: &Agreement) -> Result<(), Error> {
        let store = self.approvals.store.as_deref().ok_or(Error::NoHome)?;
        Ok(store.approve(agreement)?)
    }

    /// Stores an approval that was not asked for. Only where the person has just written the entry
    /// themselves, or has seen all of it in some other way.
    ///
    /// ```
    /// # fn f(host: keyway::Host, plan: keyway::Plan) -> Result<(), keyway::Error> {
    /// if let Some(question) = plan.question() {
    ///     host.dangerous_store_approval(question)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Self::store_approval`].
    pub fn dangerous_store_approval(&self, question: &Question) -> Result<(), Error> {
        let agreement = question.dangerous_answer(Answer::Yes);
        agreement.map_or(Ok(()), |agreement| self.store_approval(&agreement))
    }
}
