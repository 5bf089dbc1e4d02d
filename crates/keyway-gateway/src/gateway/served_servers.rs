//! The servers that the gateway serves, and the port through which it reaches them.

use std::sync::Arc;

use keyway_auth::BoxFuture;
use keyway_auth::oauth::OAuth;
use keyway_code::Code;
use keyway_config::names::path_segment;
use keyway_transport::Connection;

use keyway::connect::{ConnectionFingerprint, FingerprintKey};
use keyway::sign_in::AccountPin;
use keyway_mcp::aggregate::{Connector, Opened};
use keyway_mcp::states::ServerProblem;
use keyway_people::{Person, PersonAction};

use super::dormant::InitializeAnswers;
use super::person_page::{PersonEntry, PersonNeed};

/// A server that is served.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServedServer {
    /// The name of its plugin.
    pub plugin: String,
    /// Its own name.
    pub name: String,
    /// What tells it apart from another of the same name: it changes with whatever a connection
    /// that was made before must not outlive.
    pub digest: [u8; 32],
    /// The same without the signed-in account: it changes with whatever a client's session must not
    /// outlive.
    pub entry_digest: [u8; 32],
    /// How to reach it.
    pub upstream: Arc<dyn Upstream>,
    /// What it answered to clients, if it is a program.
    pub(super) initialize_answers: InitializeAnswers,
}

impl ServedServer {
    /// Describes a server, whose sessions last as long as its connections.
    #[must_use]
    pub const fn new(
        plugin: String,
        name: String,
        digest: [u8; 32],
        upstream: Arc<dyn Upstream>,
    ) -> Self {
        Self {
            plugin,
            name,
            digest,
            entry_digest: digest,
            upstream,
            initialize_answers: InitializeAnswers::new(),
        }
    }

    /// Lets sessions last for as long as `entry_digest` stays the same.
    #[must_use]
    pub const fn with_entry_digest(mut self, entry_digest: [u8; 32]) -> Self {
        self.entry_digest = entry_digest;
        self
    }

    /// Returns the path at which clients reach it.
    #[must_use]
    pub fn path(&self) -> String {
        let (plugin, name) = (path_segment(&self.plugin), path_segment(&self.name));
        format!("/mcp/{plugin}/{name}")
    }

    /// Says whether connections to one are as good as connections to the other.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.has_same_name_as(other) && self.digest == other.digest
    }

    /// Returns the same server, to which no connection belongs yet.
    pub(super) fn reset(&self) -> Self {
        Self::new(
            self.plugin.clone(),
            self.name.clone(),
            self.digest,
            Arc::clone(&self.upstream),
        )
        .with_entry_digest(self.entry_digest)
    }

    /// Says whether the same path leads to both.
    pub(super) fn has_same_name_as(&self, other: &Self) -> bool {
        self.plugin == other.plugin && self.name == other.name
    }
}

/// Reaches one server, and knows whether a person has to do something first.
pub trait Upstream: Connector {
    /// Connects if the server can be talked to as it is: approved, and signed in to if need be.
    /// With `account` the connection keeps to that account.
    ///
    /// Cancel safety: dropped when the client goes away. An implementation must drop what it has
    /// opened so far, which kills a child.
    fn open<'a>(&'a self, account: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>>;

    /// Says whether each connection starts a program, which may wait until its client asks for
    /// something. Known once there was a connection. Must not block.
    fn may_start_later(&self) -> bool {
        false
    }

    /// Does what [`Connector::connect`] does, for a conversation that keeps to one account.
    ///
    /// Cancel safety: as [`Connector::connect`].
    fn connect_as<'a>(
        &'a self,
        account: &'a AccountPin,
    ) -> BoxFuture<'a, Result<Opened, ServerProblem>>;

    /// Connects with the sign-in of one account, for a job without a person: no person is asked, and
    /// no other sign-in is used. Where there is none of that account, nothing is connected to.
    ///
    /// Cancel safety: as [`Connector::connect`].
    fn connect_service<'a>(
        &'a self,
        account: &'a str,
        pin: Option<&'a AccountPin>,
    ) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        let _ = (account, pin);
        Box::pin(std::future::ready(Err(ServerProblem::new(
            Code::SignInRequired,
            "the server has no sign-ins for service accounts",
        ))))
    }

    /// Connects for a person: with what belongs to this person, or to all people of the gateway, and
    /// with nothing of another's. No sign-in is begun.
    ///
    /// Cancel safety: as [`Connector::connect`].
    fn connect_person<'a>(
        &'a self,
        person: &'a Person,
        pin: Option<&'a AccountPin>,
    ) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        let _ = (person, pin);
        Box::pin(std::future::ready(Err(ServerProblem::new(
            Code::Forbidden,
            "the server is not for people of other machines",
        ))))
    }

    /// Says whether a person can talk to the server as it is: it wants no sign-in, or has theirs.
    ///
    /// Cancel safety: must be cancel safe; nothing is changed.
    fn is_open_for<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, bool> {
        let _ = person;
        Box::pin(std::future::ready(true))
    }

    /// Returns the sign-in of a person at the server; `None` if it takes none.
    ///
    /// Cancel safety: must be cancel safe; nothing is changed.
    fn person_sign_in<'a>(
        &'a self,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Option<OAuth>, ServerProblem>> {
        let _ = person;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Says whether it may need something of a person beside a sign-in. Must not block.
    fn may_need_people(&self) -> bool {
        false
    }

    /// Returns what a person has to do on a page of their own before the server works for them.
    ///
    /// Cancel safety: must be cancel safe; nothing is changed.
    fn person_need<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, Option<PersonNeed>> {
        let _ = person;
        Box::pin(std::future::ready(None))
    }

    /// Waits until a person has done that.
    ///
    /// Cancel safety: must be cancel safe; it only waits.
    fn person_needs_no_more<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, ()> {
        let _ = person;
        Box::pin(std::future::pending())
    }

    /// Describes what the entry needs of a person; `None` where nothing is kept for people.
    ///
    /// Cancel safety: must be cancel safe; nothing is changed.
    fn person_entry<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, Option<PersonEntry>> {
        let _ = person;
        Box::pin(std::future::ready(None))
    }

    /// Does what a person asks for on their page; `false` if the entry has no such thing, or is not what
    /// was shown.
    ///
    /// Cancel safety: it may be done or not.
    fn act_for<'a>(
        &'a self,
        person: &'a Person,
        action: PersonAction,
    ) -> BoxFuture<'a, Result<bool, ServerProblem>> {
        let (_, _) = (person, action);
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Says whether a program of the server runs for a person now. Must not block.
    fn runs_program_of(&self, person: &Person) -> bool {
        let _ = person;
        false
    }

    /// Returns what a connection would depend on; `None` if there can be none. May block.
    fn fingerprint(&self, _key: &FingerprintKey) -> Option<ConnectionFingerprint> {
        None
    }
}
