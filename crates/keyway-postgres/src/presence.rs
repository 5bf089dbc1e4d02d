//! The two sessions of a replica beside its pool: one shows that it lives, one hears what others
//! announce.
//!
//! ```text
//!   open ─▶ connected ─ lock, register ─▶ held ─ connection ends ─▶ lost ─ the listening session
//!                                          │ ▲                       │     takes the lock
//!                                          │ └───────────────────────┤
//!                                          │                         └─ connect ─▶ connected
//!                                          └─ stop: unregister, unlock ─▶ ended
//! ```
//!
//! On a server that took over, `connect` includes what `recent_commits` says.
//!
//! While the lock is lost, nothing is claimed: others may think that this replica died. It is
//! registered all that time; only [`end`](Session::end) takes the registration away, which others take
//! as the word of the replica itself that it is gone.
//!
//! They are two because the server learns in a known time that a host vanished only on a session on
//! which it sends nothing; and because others wait for a lost lock no longer than a busy machine may
//! need for a new connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc::SyncSender};

use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Config};

use crate::error::PostgresError;
use crate::recent_commits::{RecentCommits, all_are_back};
use crate::schema;
use crate::timeouts::{
    PRESENCE_CLOSE_TIMEOUT, PRESENCE_CONNECT_TIMEOUT, PRESENCE_FIRST_PAUSE,
    PRESENCE_HANDOVER_TIMEOUT, PRESENCE_MAX_PAUSE, PRESENCE_WAIT_TIMEOUT,
};
use crate::tls::Tls;

/// What the rest of the replica knows of its session.
#[derive(Debug)]
pub(crate) struct Presence {
    pub(crate) owner: i64,
    is_held: watch::Sender<bool>,
    /// Relaxed: a listener that misses an announcement is told so once the session listens again.
    hears: AtomicBool,
    /// Who wants to be told of which topic; the lock is never held across an await.
    listeners: Mutex<Listeners>,
}

/// The listeners by topic.
#[derive(Debug, Default)]
struct Listeners {
    topics: HashMap<String, Vec<Weak<dyn Listener>>>,
    /// At so many topics those of dropped listeners are removed: twice as many as were left the last
    /// time, so that many thousands of people do not make each one look at all.
    sweep_at: usize,
}

impl Listeners {
    fn add(&mut self, topic: String, listener: Weak<dyn Listener>) {
        let is_alive = |listener: &Weak<dyn Listener>| listener.strong_count() > 0;
        if self.topics.len() >= self.sweep_at {
            self.topics.retain(|_, of_topic| {
                of_topic.retain(is_alive);
                !of_topic.is_empty()
            });
            self.sweep_at = (2 * self.topics.len()).max(MIN_SWEEP);
        }
        let of_topic = self.topics.entry(topic).or_default();
        of_topic.retain(is_alive);
        of_topic.push(listener);
    }
}

/// Told of announcements.
pub(crate) trait Listener: Send + Sync + std::fmt::Debug {
    /// Something was announced, or may have been. Runs on the replica's runtime, never blocks.
    fn heard(&self, news: News);
}

/// Why a listener is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Announced,
    /// The session was lost for a while: perhaps nothing was announced.
    Missed,
}

/// How a session is started.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) config: Config,
    pub(crate) tls: Tls,
    pub(crate) presence: Arc<Presence>,
    /// The public names of the wrapping keys that this replica has.
    pub(crate) wrappers: Vec<Vec<u8>>,
    pub(crate) recent_commits: Arc<RecentCommits>,
}

/// Asks the keeper to end; it answers when others can see that.
pub(crate) type Stop = oneshot::Sender<SyncSender<()>>;

impl Presence {
    pub(crate) fn new(owner: i64) -> Self {
        Self {
            owner,
            is_held: watch::Sender::new(false),
            hears: AtomicBool::new(true),
            listeners: Mutex::default(),
        }
    }

    /// Tells whether the lock was held at the last word of the server.
    pub(crate) fn is_held(&self) -> bool {
        *self.is_held.borrow()
    }

    /// Tells whether what others announce is heard.
    pub(crate) fn hears(&self) -> bool {
        self.hears.load(Ordering::Relaxed)
    }

    /// Waits a little until the lock is held.
    pub(crate) async fn held(&self) -> Result<(), PostgresError> {
        let mut is_held = self.is_held.subscribe();
        let held = is_held.wait_for(|held| *held);
        match tokio::time::timeout(PRESENCE_WAIT_TIMEOUT, held).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(PostgresError::LostLock),
        }
    }

    /// Tells the listener of a topic until it is dropped.
    pub(crate) fn listen(&self, topic: String, listener: Weak<dyn Listener>) {
        self.lock().add(topic, listener);
    }

    /// Tells the listeners of one topic, or of all.
    fn tell(&self, topic: Option<&str>) {
        let all = self.lock();
        let news = topic.map_or(News::Missed, |_| News::Announced);
        let heard = |of_topic: &Vec<Weak<dyn Listener>>| {
            for listener in of_topic.iter().filter_map(Weak::upgrade) {
                listener.heard(news);
            }
        };
        match topic {
            Some(topic) => all.topics.get(topic).into_iter().for_each(heard),
            None => all.topics.values().for_each(heard),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Listeners> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that holds the lock of its owner, or listens.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// Reads what the server sends; ends with the connection.
    reader: JoinHandle<()>,
    owner: i64,
}

impl Session {
    /// Connects; nothing is held or heard yet.
    pub(crate) async fn begin(start: &Start) -> Result<Self, PostgresError> {
        let failed = || PostgresError::statement("show that this replica lives");
        let connecting = start.config.connect(start.tls.clone());
        let connected = tokio::time::timeout(PRESENCE_CONNECT_TIMEOUT, connecting).await;
        let connected = connected.map_err(|_| PostgresError::Unreachable { source: None })?;
        let (client, mut connection) = connected.map_err(failed())?;
        let presence = Arc::clone(&start.presence);
        let reader = tokio::spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|cx| connection.poll_message(cx)).await
            {
                if let AsyncMessage::Notification(told) = message {
                    presence.tell(Some(told.payload()));
                }
            }
        });
        Ok(Self {
            client,
            reader,
            owner: start.presence.owner,
        })
    }

    /// Begins to hear what others announce.
    pub(crate) async fn listen(&self) -> Result<(), PostgresError> {
        let listening = self.client.batch_execute("LISTEN keyway").await;
        listening.map_err(PostgresError::statement("listen to other replicas"))
    }

    /// Takes the lock, which a session of ours that the server still believes in may hold, and
    /// looks whether the database is still the one that it was.
    pub(crate) async fn hold(&self, wrappers: &[Vec<u8>]) -> Result<(), PostgresError> {
        let failed = || PostgresError::statement("show that this replica lives");
        let owner = self.owner;
        self.client
            .execute("SELECT pg_advisory_lock($1)", &[&owner])
            .await
            .map_err(failed())?;
        self.client
            .execute(
                "INSERT INTO keyway.replicas (owner, wrappers) VALUES ($1, $2)
                 ON CONFLICT (owner) DO UPDATE SET wrappers = EXCLUDED.wrappers",
                &[&owner, &wrappers],
            )
            .await
            .map_err(failed())?;
        schema::settle_copy(&self.client, owner).await
    }

    /// Takes the lock on the session that listened until now, which lives: so its server is the one
    /// that it was, and needs no new connection.
    async fn hold_instead(&self, start: &Start) -> Result<(), PostgresError> {
        let quiet = self.client.batch_execute("UNLISTEN *").await;
        quiet.map_err(PostgresError::statement("show that this replica lives"))?;
        self.hold(&start.wrappers).await
    }

    /// Takes the lock again. On a server that took over, only after our last commits were made again;
    /// and it counts as ours only when all others had the time for theirs.
    async fn rejoin(&self, start: &Start) -> Result<(), PostgresError> {
        let recent = &start.recent_commits;
        let server = recent.meet(&self.client).await;
        if server.is_other {
            // A restored dump is marked first: what is committed again counts.
            schema::settle_copy(&self.client, self.owner).await?;
            recent.repeat(&self.client, self.owner).await?;
            self.hold(&start.wrappers).await?;
            all_are_back(&self.client).await;
        } else {
            self.hold(&start.wrappers).await?;
        }
        // Last: a session that ends before has settled nothing.
        recent.accept(server);
        Ok(())
    }

    /// Says to others that this replica is gone.
    pub(crate) async fn end(self) {
        let owner = self.owner;
        // Whatever fails here: the lock ends with the session, and others find out by two looks.
        let ended = async {
            self.client
                .execute("DELETE FROM keyway.in_use WHERE owner = $1", &[&owner])
                .await?;
            self.client
                .execute("DELETE FROM keyway.replicas WHERE owner = $1", &[&owner])
                .await?;
            self.client
                .execute("SELECT pg_advisory_unlock($1)", &[&owner])
                .await
        };
        drop(tokio::time::timeout(PRESENCE_CLOSE_TIMEOUT, ended).await);
    }
}

/// Keeps the lock for as long as the replica lives, and listens.
///
/// Dropping the future closes the sessions without a word, as a crash would.
pub(crate) async fn keep(
    start: Start,
    mut session: Session,
    listening: Session,
    mut stop: oneshot::Receiver<SyncSender<()>>,
) {
    let presence = Arc::clone(&start.presence);
    let mut listening = Some(listening);
    presence.is_held.send_replace(true);
    loop {
        tokio::select! {
            // Stopping wins over a connection that ends at the same moment.
            biased;
            done = &mut stop => {
                presence.is_held.send_replace(false);
                session.end().await;
                return acknowledge(done);
            }
            _ = &mut session.reader => {}
            () = keep_listening(&start, &mut listening) => {}
        }
        presence.is_held.send_replace(false);
        session = tokio::select! {
            // Stopping wins: a lock that is taken in the same moment is given back by the drop of
            // its session.
            biased;
            done = &mut stop => return acknowledge(done),
            session = regain(&start, listening.take()) => session,
        };
        presence.is_held.send_replace(true);
    }
}

/// Opens the listening session again whenever it is gone; never ends. Dropping the future loses no
/// session: what is open stays in its place.
async fn keep_listening(start: &Start, listening: &mut Option<Session>) {
    let presence = &start.presence;
    loop {
        if let Some(session) = listening {
            // The task only reads; however it ends, the session is over.
            let _ended = (&mut session.reader).await;
            *listening = None;
        }
        presence.hears.store(false, Ordering::Relaxed);
        *listening = Some(listen_again(start).await);
        presence.hears.store(true, Ordering::Relaxed);
        // What was announced in between was not heard.
        presence.tell(None);
    }
}

/// Tries until there is a session that listens.
async fn listen_again(start: &Start) -> Session {
    let mut pause = PRESENCE_FIRST_PAUSE;
    loop {
        if let Ok(session) = Session::begin(start).await
            && session.listen().await.is_ok()
        {
            return session;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PRESENCE_MAX_PAUSE);
    }
}

/// Takes the lock again: at once on the session that listened, if that lives, or on a new one.
async fn regain(start: &Start, listened: Option<Session>) -> Session {
    if let Some(session) = listened {
        let held = session.hold_instead(start);
        let held = tokio::time::timeout(PRESENCE_HANDOVER_TIMEOUT, held).await;
        if matches!(held, Ok(Ok(()))) {
            return session;
        }
    }
    again(start).await
}

fn acknowledge(done: Result<SyncSender<()>, oneshot::error::RecvError>) {
    if let Ok(done) = done {
        // The receiver is gone: there is no caller left to tell.
        let _ = done.try_send(());
    }
}

/// Tries until there is a session that holds the lock.
async fn again(start: &Start) -> Session {
    let mut pause = PRESENCE_FIRST_PAUSE;
    loop {
        if let Ok(session) = Session::begin(start).await
            && session.rejoin(start).await.is_ok()
        {
            return session;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PRESENCE_MAX_PAUSE);
    }
}

const MIN_SWEEP: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Deaf;

    impl Listener for Deaf {
        fn heard(&self, _: News) {}
    }

    /// Each person listens several times; looking at all of them each time made ten thousand slow.
    #[test]
    fn topics_of_dropped_listeners_are_removed_while_others_listen_on() {
        let mut listeners = Listeners::default();
        let kept: Arc<dyn Listener> = Arc::new(Deaf);
        listeners.add("kept".to_owned(), Arc::downgrade(&kept));
        let mut most = 0;
        for number in 0..10 * MIN_SWEEP {
            let dropped: Arc<dyn Listener> = Arc::new(Deaf);
            listeners.add(number.to_string(), Arc::downgrade(&dropped));
            most = most.max(listeners.topics.len());
        }
        assert!(most <= 2 * MIN_SWEEP, "{most}");
        assert!(listeners.topics.contains_key("kept"));
        for _ in 0..10 {
            let dropped: Arc<dyn Listener> = Arc::new(Deaf);
            listeners.add("kept".to_owned(), Arc::downgrade(&dropped));
        }
        assert!(
            listeners.topics["kept"].len() <= 2,
            "its dropped listeners go as well"
        );
    }
}
