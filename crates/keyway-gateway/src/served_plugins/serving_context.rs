//! What served plugins need of the process they run in, and the hosts that are made of it.

use std::fmt;
use std::sync::Arc;

use keyway::Host;
use keyway::load::Loaded;
use keyway::sign_in::Presenter;
use keyway::vault::Folders;
use keyway_secret::Secret;

use crate::lazy_server::ServerHosts;
use crate::local_backend::LocalBackend;
use crate::team::Team;
use keyway_dashboard::ServerId;

/// What served plugins need of the process they run in.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServingContext {
    /// Where everything is stored.
    pub folders: Folders,
    /// Makes what asks a person at the terminal to sign in; `None` where no one would see it.
    pub terminal: MakeTerminal,
    /// Prints a note, in one line.
    pub print_note: Arc<dyn Fn(&str) + Send + Sync>,
    /// What else decides about connections of this process, for processes that share them.
    pub process_facts: Arc<[Secret<Vec<u8>>]>,
    /// What belongs to each person, if people are let in.
    pub team: Option<Team>,
}

impl ServingContext {
    /// A context without a terminal, in which notes are dropped.
    #[must_use]
    pub fn new(folders: Folders) -> Self {
        Self {
            folders,
            terminal: Arc::new(|| None),
            print_note: Arc::new(|_| {}),
            process_facts: Arc::default(),
            team: None,
        }
    }
}

impl fmt::Debug for ServingContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingContext").finish_non_exhaustive()
    }
}

/// The hosts of all servers, from which those of one server are made when it is first used.
pub(super) struct Hosts {
    /// Asks no person to sign in.
    pub(super) together: Host,
    pub(super) direct: Host,
    pub(super) backend: Arc<LocalBackend>,
    pub(super) terminal: MakeTerminal,
}

type MakeTerminal = Arc<dyn Fn() -> Option<Arc<dyn Presenter>> + Send + Sync>;

impl Hosts {
    /// Makes the hosts of one server, whose questions the dashboard shows.
    pub(super) fn of(&self, id: &ServerId, loaded: Arc<Loaded>) -> ServerHosts {
        let host = |host: &Host| self.backend.showing_questions(host, (self.terminal)(), id);
        ServerHosts {
            plugin: host(&self.together).plugin(loaded),
            direct: Some(host(&self.direct)),
        }
    }
}
