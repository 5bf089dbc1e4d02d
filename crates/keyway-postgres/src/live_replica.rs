//! A replica that runs: its connections, its lock, its thread, and the keys that it knows.

use std::fmt;
use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use keyway_store::OwnerId;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::error::PostgresError;
use crate::key_wrapper::Wrappers;
use crate::owners::Owners;
use crate::person_keys::PersonKeys;
use crate::pooler::refuse_pooler;
use crate::presence::{self, Presence, Session, Start, Stop};
use crate::recent_commits::RecentCommits;
use crate::schema;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::takeovers::Takeovers;
use crate::timeouts::REPLICA_CLOSE_TIMEOUT;

/// What the stores of a replica share.
pub(crate) struct LiveReplica {
    /// Taken when the replica ends.
    runtime: Option<Runtime>,
    pub(crate) sessions: Sessions,
    pub(crate) presence: Arc<Presence>,
    pub(crate) owners: Owners,
    pub(crate) recent_commits: Arc<RecentCommits>,
    pub(crate) keys: PersonKeys,
    pub(crate) takeovers: Takeovers,
    pub(crate) settings: Settings,
    /// Taken once, by the drop of the replica; a lock only because the replica is shared.
    stop: Mutex<Option<Stop>>,
}

impl LiveReplica {
    /// Connects, brings the schema up to date and takes the lock.
    pub(crate) fn start(settings: &Settings, wrappers: Wrappers) -> Result<Self, PostgresError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("keyway-postgres")
            .enable_all()
            .build()
            .map_err(|source| PostgresError::Thread { source })?;
        match Self::join(&runtime, settings, PersonKeys::new(wrappers)) {
            Ok(mut replica) => {
                replica.runtime = Some(runtime);
                Ok(replica)
            }
            Err(error) => {
                // Dropping a runtime waits for its tasks, and panics in asynchronous code.
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    /// Does what [`Self::start`] does, with a runtime that it does not keep.
    fn join(
        runtime: &Runtime,
        settings: &Settings,
        keys: PersonKeys,
    ) -> Result<Self, PostgresError> {
        let (config, tls) = settings.session()?;
        let ids = keys.wrappers().ids();
        let start = Start {
            config: config.clone(),
            tls: tls.clone(),
            presence: Arc::new(Presence::new(random_number()?)),
            wrappers: ids.iter().map(|id| id.as_bytes().to_vec()).collect(),
            recent_commits: Arc::default(),
        };
        let (session, listening) = wait_on(runtime, async {
            let both = tokio::try_join!(Session::begin(&start), Session::begin(&start));
            let (mut first, second) = both?;
            refuse_pooler(&first.client, &second.client).await?;
            schema::prepare(&mut first.client).await?;
            first.hold(&start.wrappers).await?;
            if let Err(error) = schema::bind_wrapper(&first.client, &ids).await {
                first.end().await;
                return Err(error);
            }
            let server = start.recent_commits.meet(&first.client).await;
            start.recent_commits.accept(server);
            second.listen().await?;
            Ok::<_, PostgresError>((first, second))
        })?;
        let sessions = {
            // The pool finds its runtime by the thread that makes it.
            let _entered = runtime.enter();
            Sessions::new(config, tls, settings.connections)?
        };
        let presence = Arc::clone(&start.presence);
        let recent_commits = Arc::clone(&start.recent_commits);
        let (stop, stopped) = oneshot::channel();
        runtime.spawn(presence::keep(start, session, listening, stopped));
        Ok(Self {
            runtime: None,
            sessions,
            presence,
            owners: Owners::default(),
            recent_commits,
            keys,
            takeovers: Takeovers::default(),
            settings: settings.clone(),
            stop: Mutex::new(Some(stop)),
        })
    }

    /// Runs a call on the calling thread while the replica's own thread moves the bytes.
    pub(crate) fn wait<T>(
        &self,
        call: impl Future<Output = Result<T, PostgresError>>,
    ) -> Result<T, PostgresError> {
        let Some(runtime) = &self.runtime else {
            return Err(PostgresError::Unreachable { source: None });
        };
        wait_on(runtime, call)
    }

    /// Runs something that no caller waits for, or only for a while.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(task);
        }
    }

    pub(crate) fn is_me(&self, owner: i64) -> bool {
        owner == self.presence.owner
    }

    /// Tells whether another replica said that it ends.
    pub(crate) async fn has_ended(&self, owner: i64) -> Result<bool, PostgresError> {
        Ok(!self.is_me(owner) && Owners::has_ended(&self.sessions, owner).await?)
    }

    /// Tells whether another replica died; this one has not.
    pub(crate) async fn is_dead(&self, owner: i64) -> Result<bool, PostgresError> {
        Ok(!self.is_me(owner) && self.owners.is_dead(&self.sessions, owner).await?)
    }
}

impl Drop for LiveReplica {
    fn drop(&mut self) {
        let stop = self
            .stop
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(stop) = stop {
            let (done, ended) = sync_channel(1);
            if stop.send(done).is_ok() {
                // Not waited for any longer than this: others find out by two looks then.
                let _ = ended.recv_timeout(REPLICA_CLOSE_TIMEOUT);
            }
        }
        if let Some(runtime) = self.runtime.take() {
            // Dropping a runtime waits for its tasks, and panics in asynchronous code.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for LiveReplica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica")
            .field("owner", &owner_id(self.presence.owner))
            .finish_non_exhaustive()
    }
}

/// Waits for a future on the calling thread; its timers and connections are the runtime's.
///
/// Unlike `Runtime::block_on` it does not refuse to be called inside of another runtime: some
/// callers there may wait for a store, as they do for a disk.
fn wait_on<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    let _entered = runtime.enter();
    // Not by the budget of the task around: it is renewed only when that task yields.
    let mut work = std::pin::pin!(tokio::task::unconstrained(work));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done;
        }
        // A wake-up since the poll makes this return at once.
        thread::park();
    }
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(crate) fn owner_id(owner: i64) -> OwnerId {
    OwnerId::new(format!("{:016x}", owner.cast_unsigned()))
}

/// Reads what [`owner_id`] wrote; `None` for the owner of another store.
pub(crate) fn parse_owner(id: &OwnerId) -> Option<i64> {
    let number = u64::from_str_radix(id.as_str(), 16).ok()?;
    Some(number.cast_signed())
}

/// Returns a number that is not used twice: 63 random bits, and never zero.
pub(crate) fn random_number() -> Result<i64, PostgresError> {
    let bytes = keyway_store::seal::random_bytes::<8>()?;
    Ok((i64::from_le_bytes(bytes) & i64::MAX).max(1))
}
