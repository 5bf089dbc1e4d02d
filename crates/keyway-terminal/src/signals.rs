//! The signals that end a process: which parts handle them, and what happens to unhandled ones.
//!
//! Listening once disables a signal's default effect for good. A process that starts the [`watch`]
//! therefore still ends with a signal that no other part of it waits for.

use std::io;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Resource, getrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Every Ctrl-C since this was made; none is lost between two looks.
#[derive(Debug)]
pub struct Interrupts {
    signal: Option<Signal>,
    _waiter: SignalWaiter,
}

impl Interrupts {
    /// Listens from now on: the process is not ended by it any more.
    pub fn listen() -> Self {
        let kind = SignalKind::interrupt();
        let _waiter = SignalWaiter::start(kind);
        let signal = signal(kind).ok();
        TAKERS.fetch_add(1, Ordering::Relaxed);
        Self { signal, _waiter }
    }

    /// Waits for the next.
    ///
    /// Cancel safety: a signal that was not returned is returned by the next call.
    pub async fn next(&mut self) {
        match &mut self.signal {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
        SignalWaiter::start(SignalKind::interrupt()).keep();
        count();
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        TAKERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A signal that ends a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndingSignal {
    /// SIGINT, which a terminal sends for Ctrl-C.
    Interrupt,
    /// SIGTERM, from clients and service managers.
    Terminate,
    /// SIGHUP: the terminal was closed.
    Hangup,
    /// SIGQUIT, which a terminal sends for Ctrl-\.
    Quit,
}

impl EndingSignal {
    fn kind(self) -> SignalKind {
        match self {
            Self::Interrupt => SignalKind::interrupt(),
            Self::Terminate => SignalKind::terminate(),
            Self::Hangup => SignalKind::hangup(),
            Self::Quit => SignalKind::quit(),
        }
    }
}

/// Waits for any signal that ends a process: Ctrl-C if the command does not take it for something
/// else, the end of the terminal, and what clients and service managers send.
///
/// Cancel safety: dropping the future loses no signal that came before and was not returned, but
/// the signals stay handled: unlike before the call, none ends the process by itself.
pub async fn ended() -> EndingSignal {
    // In no particular order: each ends the process.
    tokio::select! {
        () = interrupted_for_good() => EndingSignal::Interrupt,
        () = received(SignalKind::terminate()) => EndingSignal::Terminate,
        () = received(SignalKind::hangup()) => EndingSignal::Hangup,
        () = received(SignalKind::quit()) => EndingSignal::Quit,
    }
}

/// Returns how many signals this process was told to end by so far, cancelled calls and prompts
/// included.
pub fn heard() -> usize {
    HEARD.load(Ordering::Relaxed)
}

fn count() {
    HEARD.fetch_add(1, Ordering::Relaxed);
}

/// Ends the process with the status that a shell shows for a signal.
#[expect(
    clippy::exit,
    reason = "this is what the signal would have done, had it not been listened to"
)]
pub fn exit_after(signal: EndingSignal) -> ! {
    process::exit(BY_SIGNAL.saturating_add(signal.kind().as_raw_value()))
}

/// Waits for a Ctrl-C that no part of the command waits for: cancelling a call or a prompt comes
/// first, and ends the command in its own way.
async fn interrupted_for_good() {
    let kind = SignalKind::interrupt();
    let Ok(mut signal) = signal(kind) else {
        return std::future::pending().await;
    };
    let waiter = SignalWaiter::start(kind);
    loop {
        signal.recv().await;
        if TAKERS.load(Ordering::Relaxed) == 0 {
            count();
            return waiter.keep();
        }
    }
}

/// What a signal comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Another part of the process waits for it, and ends in its own way.
    ByOthers,
    /// The process ends as soon as this is dealt with.
    ToEndNow,
}

/// Calls `told` with every signal that ends a process, from now on; only the first call counts.
///
/// # Errors
///
/// Returns that the system refuses another thread: then nothing may be hidden.
pub(crate) fn watch(told: fn(Told)) -> io::Result<()> {
    // Held until signals are listened to: a second caller hides nothing before either.
    static IS_WATCHED: Mutex<bool> = Mutex::new(false);
    let mut is_watched = IS_WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_watched {
        return Ok(());
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    drop(thread::Builder::new().spawn(move || {
        // Dropped as soon as signals are listened to, or cannot be.
        let ready = sender;
        drop(watched(told, move || drop(ready)));
    })?);
    // A signal before that has its own effect, which is why nothing is hidden before.
    let _ready: Result<(), _> = receiver.recv();
    *is_watched = true;
    Ok(())
}

/// Lets a write that exceeds the limit on the size of files (`ulimit -f`) fail, so that it is
/// reported: without a handler the system ends the process without a word.
pub fn survive_file_limit() {
    if getrlimit(Resource::Fsize).current.is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    if let Ok(runtime) = runtime {
        let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        runtime.block_on(async { drop(signal(kind)) });
    }
}

fn watched(told: fn(Told), ready: impl FnOnce()) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let signal = runtime.block_on(async {
        let [mut interrupt, mut terminate, mut hangup, mut quit] = all()?;
        ready();
        loop {
            // In no particular order: of two signals at once the other comes with the next turn.
            let signal = tokio::select! {
                _ = interrupt.recv() => EndingSignal::Interrupt,
                _ = terminate.recv() => EndingSignal::Terminate,
                _ = hangup.recv() => EndingSignal::Hangup,
                _ = quit.recv() => EndingSignal::Quit,
            };
            if !lock().contains(&signal.kind()) {
                return io::Result::Ok(signal);
            }
            told(Told::ByOthers);
        }
    })?;
    told(Told::ToEndNow);
    exit_after(signal)
}

fn all() -> io::Result<[Signal; 4]> {
    Ok([
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
        signal(SignalKind::quit())?,
    ])
}

async fn received(kind: SignalKind) {
    let Ok(mut signal) = signal(kind) else {
        return std::future::pending().await;
    };
    let waiter = SignalWaiter::start(kind);
    signal.recv().await;
    count();
    waiter.keep();
}

/// Registers that a part of the process waits for a signal.
#[derive(Debug)]
struct SignalWaiter(SignalKind);

impl SignalWaiter {
    fn start(kind: SignalKind) -> Self {
        lock().push(kind);
        Self(kind)
    }

    /// It stays registered: the watch may look only now.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for SignalWaiter {
    fn drop(&mut self) {
        let mut all = lock();
        if let Some(at) = all.iter().position(|kind| *kind == self.0) {
            all.swap_remove(at);
        }
    }
}

fn lock() -> MutexGuard<'static, Vec<SignalKind>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every signal that a part of the process waits for, once for each waiter.
static AWAITED: Mutex<Vec<SignalKind>> = Mutex::new(Vec::new());
/// How many signals a part of the process took as its end.
/// Relaxed: it guards no other data, and is only compared with a number.
static HEARD: AtomicUsize = AtomicUsize::new(0);
/// How many parts of the command take Ctrl-C for themselves right now.
/// Relaxed: it guards no other data, and a person's Ctrl-C comes long after it changed.
static TAKERS: AtomicUsize = AtomicUsize::new(0);
/// What a shell adds to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;
