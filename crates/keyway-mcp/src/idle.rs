//! A program that ends while its client asks for nothing, and is started again by the next request.
//!
//! A client that keeps its session open all day keeps its programs too. One that was idle for long
//! is ended where its client cannot tell: the next request starts another, which gets the client's
//! own `initialize` first. What a program knows beside that would be lost, so one keeps running for
//! good once its client has subscribed to a resource, has set a log level or has begun a task, and
//! once the program has spoken unasked.

mod traffic;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_transport::{
    Connection, Event, EventReceiver, EventSender, Frame, Link, RequestId, TransportError, queue,
};
use tokio::sync::RwLock;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout};

use self::traffic::{Handshake, Traffic};

/// Starts the program again.
pub type Reopen =
    Box<dyn Fn() -> BoxFuture<'static, Result<Connection, TransportError>> + Send + Sync>;

/// Ends what is behind a connection whenever it was idle for so long; see the module.
///
/// A program that is started again answers within `start_limit`.
pub fn end_when_idle(
    connection: Connection,
    idle_timeout: Duration,
    start_limit: Duration,
    reopen: Reopen,
) -> Connection {
    let Connection {
        link,
        events,
        watch,
        ..
    } = connection;
    let (client, outer) = queue(QUEUE);
    let idle = Arc::new_cyclic(|this| IdleLink {
        program: RwLock::new(None),
        traffic: Arc::new(Mutex::new(Traffic::new())),
        client,
        reopen,
        idle_timeout,
        start_limit,
        this: Weak::clone(this),
    });
    let running = idle.run(link, events);
    // Nothing else has the lock yet.
    if let Ok(mut program) = idle.program.try_write() {
        *program = Some(running);
    }
    let mut connection = Connection::new(idle, outer);
    connection.watch = watch;
    connection
}

/// The sending side.
///
/// ```text
///   running ──idle, and nothing would be lost──▶ ended ──a request──▶ starting
///      ▲  │                                                              │
///      └──┼──────────── `initialize` answered as before ─────────────────┤
///         │ the program, or its client, closes                           │ answered otherwise
///         ▼                                                              ▼
///        over ◀──────────────────────────────────────────────────────────┘
/// ```
struct IdleLink {
    /// Read for as long as a message is being sent, written while the program is started. To end
    /// it, the lock is only tried: a writer that waits would stop every message behind one that the
    /// program does not read.
    program: RwLock<Option<Running>>,
    /// Held for one look or one change, never across an await; taken inside the other.
    traffic: Arc<Mutex<Traffic>>,
    client: EventSender,
    reopen: Reopen,
    idle_timeout: Duration,
    start_limit: Duration,
    this: Weak<Self>,
}

/// A program, and the task that passes on what it says.
struct Running {
    link: Arc<dyn Link>,
    pump: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl fmt::Debug for IdleLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleLink").finish_non_exhaustive()
    }
}

impl Link for IdleLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            loop {
                let program = self.program.read().await;
                if let Some(running) = &*program {
                    // Noted before it is sent, and under the lock: it is not ended in between.
                    let request = self.lock().client_sent(&frame);
                    let sent = running.link.send(frame).await;
                    if let (Err(_), Some(id)) = (&sent, &request) {
                        self.lock().settled(id);
                    }
                    return sent;
                }
                drop(program);
                if self.lock().is_closed {
                    return Err(TransportError::Closed);
                }
                let envelope = frame.envelope()?;
                if !envelope.is_request() {
                    // A program that is not there needs no note, and waits for no answer.
                    return Ok(());
                }
                drop(envelope);
                self.start().await?;
            }
        })
    }

    fn abandon(&self, id: &RequestId) {
        self.lock().settled(id);
        if let Ok(program) = self.program.try_read()
            && let Some(running) = &*program
        {
            running.link.abandon(id);
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.lock().is_closed = true;
            let program = self.program.read().await;
            match &*program {
                Some(running) => running.link.close().await,
                None => {
                    self.client.deliver(Event::Closed(None)).await;
                }
            }
        })
    }
}

impl IdleLink {
    fn lock(&self) -> MutexGuard<'_, Traffic> {
        lock(&self.traffic)
    }

    /// Passes on what a program says, and watches how long nothing is asked of it.
    fn run(&self, link: Arc<dyn Link>, events: EventReceiver) -> Running {
        let (traffic, client) = (Arc::clone(&self.traffic), self.client.clone());
        let pump = tokio::spawn(pump(events, traffic, client)).abort_handle();
        drop(tokio::spawn(end_when_due(Weak::clone(&self.this))));
        Running { link, pump }
    }

    /// Starts the program, unless another request just did.
    ///
    /// Cancel safety: one that is being started ends with the future; the next request tries again.
    async fn start(&self) -> Result<(), TransportError> {
        let mut program = self.program.write().await;
        if program.is_some() || self.lock().is_closed {
            return Ok(());
        }
        let mut connection = (self.reopen)().await?;
        let handshake = self.lock().handshake.clone();
        let replayed = timeout(self.start_limit, replay(&mut connection, &handshake)).await;
        let seconds = self.start_limit.as_secs();
        if !replayed.unwrap_or(Err(TransportError::Timeout { seconds }))? {
            // It is not the server any more that the client knows: the client has to begin again.
            self.lock().is_closed = true;
            connection.link.close().await;
            self.client.deliver(Event::Closed(None)).await;
            return Err(TransportError::Closed);
        }
        self.lock().used_at = Instant::now();
        let Connection { link, events, .. } = connection;
        *program = Some(self.run(link, events));
        Ok(())
    }

    /// Ends the program if it is due, and returns when to look again otherwise.
    async fn end_if_due(&self) -> Option<Instant> {
        let ended = {
            let Ok(mut program) = self.program.try_write() else {
                return Some(Instant::now() + self.idle_timeout);
            };
            let due = self.lock().due(self.idle_timeout)?;
            if Instant::now() < due {
                return Some(due);
            }
            program.take()
        };
        if let Some(running) = ended {
            // First, so that this end is not passed on as that of the connection.
            running.pump.abort();
            running.link.close().await;
        }
        None
    }
}

/// Looks whenever the program could be due, until it has ended or is gone.
async fn end_when_due(link: Weak<IdleLink>) {
    let Some(mut next) = link.upgrade().map(|it| Instant::now() + it.idle_timeout) else {
        return;
    };
    loop {
        sleep_until(next).await;
        let Some(link) = link.upgrade() else { return };
        match link.end_if_due().await {
            Some(later) => next = later,
            None => return,
        }
    }
}

async fn pump(mut events: EventReceiver, traffic: Arc<Mutex<Traffic>>, client: EventSender) {
    while let Some(event) = events.recv().await {
        let noted = lock(&traffic).note(&event);
        if !client.deliver(event).await {
            return;
        }
        // After the client has it: a program whose answer still waits is not idle.
        lock(&traffic).server_sent(noted);
    }
}

/// Sends what the client began with; says whether the program answers as the one before.
async fn replay(
    connection: &mut Connection,
    handshake: &Handshake,
) -> Result<bool, TransportError> {
    let Some((initialize, id)) = &handshake.initialize else {
        return Ok(true);
    };
    connection.link.send(initialize.clone()).await?;
    let answer = loop {
        match connection.events.recv().await {
            Some(Event::Frame(frame)) => {
                let envelope = frame.envelope()?;
                if envelope.method.is_none() && envelope.id().as_ref() == Some(id) {
                    drop(envelope);
                    break frame;
                }
            }
            Some(Event::Failed { id: of, error }) if of == *id => return Err(error),
            Some(Event::Closed(reason)) => return Err(reason.unwrap_or(TransportError::Closed)),
            Some(_) => {}
            None => return Err(TransportError::Closed),
        }
    };
    if !handshake.is_answered_as_before(&answer) {
        return Ok(false);
    }
    if let Some(initialized) = &handshake.initialized {
        connection.link.send(initialized.clone()).await?;
    }
    Ok(true)
}

fn lock(traffic: &Mutex<Traffic>) -> MutexGuard<'_, Traffic> {
    traffic.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many events wait for a slow client, beside those of the transport itself.
const QUEUE: usize = 16;

#[cfg(test)]
mod tests;
