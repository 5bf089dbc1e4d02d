//! A person that can be told how to behave.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_lock::Semaphore;
use keyway_secret::Secret;
use keyway_store::GrantKey;
use url::Url;

use crate::BoxFuture;
use crate::ports::{
    Callback, Consent, ConsentQuestion, Declined, DeviceQuestion, ForeignPage, Interaction,
    InteractionError, Redirect, ShownCode, Turn,
};

/// What the person does with the next window.
#[derive(Clone)]
pub(crate) enum Deed {
    Agree,
    Deny,
    Cancel,
    TimeOut,
    /// Does it once the gate is opened.
    After(Arc<Semaphore>, Box<Self>),
    /// Agrees, and an attacker on the way changes the answer.
    Tamper(Arc<dyn Fn(Callback) -> Callback + Send + Sync>),
}

impl Deed {
    pub(crate) fn tamper(how: impl Fn(Callback) -> Callback + Send + Sync + 'static) -> Self {
        Self::Tamper(Arc::new(how))
    }

    /// Agrees, and the answer names an issuer.
    pub(crate) fn with_iss(iss: &str) -> Self {
        let iss = Some(iss.to_owned());
        Self::tamper(move |mut callback| {
            callback.iss.clone_from(&iss);
            callback
        })
    }
}

/// Agrees to everything unless told otherwise, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Person(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    deeds: VecDeque<Deed>,
    questions: Vec<ConsentQuestion>,
    codes: Vec<DeviceQuestion>,
    /// Pages of other hosts that they were asked about, and whether they go there.
    foreign: Vec<ForeignPage>,
    goes_anywhere: bool,
    busy: HashSet<u16>,
    prepared: u16,
    turns: Option<Turns>,
}

/// Whose turn it is to ask, among all processes that ask this person.
#[derive(Clone, Default)]
struct Turns {
    lock: Arc<async_lock::Mutex<()>>,
    endings: Arc<Mutex<Vec<Declined>>>,
    waiting: Arc<AtomicUsize>,
}

impl Person {
    /// Says what to do with the next windows, one each.
    pub(crate) fn will(&self, deeds: impl IntoIterator<Item = Deed>) {
        self.0.lock().unwrap().deeds.extend(deeds);
    }

    pub(crate) fn windows(&self) -> usize {
        self.0.lock().unwrap().questions.len()
    }

    pub(crate) fn questions(&self) -> Vec<ConsentQuestion> {
        self.0.lock().unwrap().questions.clone()
    }

    pub(crate) fn codes(&self) -> Vec<DeviceQuestion> {
        self.0.lock().unwrap().codes.clone()
    }

    /// Returns the pages of other hosts that they were asked about.
    pub(crate) fn foreign_pages(&self) -> Vec<ForeignPage> {
        self.0.lock().unwrap().foreign.clone()
    }

    /// From now on they go to pages of other hosts.
    pub(crate) fn go_anywhere(&self) {
        self.0.lock().unwrap().goes_anywhere = true;
    }

    /// From now on one process asks at a time.
    pub(crate) fn take_turns(&self) {
        self.0.lock().unwrap().turns = Some(Turns::default());
    }

    /// Returns how many processes wait for their turn.
    pub(crate) fn waiting(&self) -> usize {
        let state = self.0.lock().unwrap();
        let turns = state.turns.as_ref();
        turns.map_or(0, |turns| turns.waiting.load(Ordering::SeqCst))
    }

    /// Takes a port away.
    pub(crate) fn occupy(&self, port: u16) {
        self.0.lock().unwrap().busy.insert(port);
    }
}

impl Interaction for Person {
    fn prepare(
        &self,
        redirect: Redirect,
    ) -> BoxFuture<'_, Result<Box<dyn Consent>, InteractionError>> {
        let mut state = self.0.lock().unwrap();
        state.prepared += 1;
        let port = redirect.port.unwrap_or(FIRST_PORT + state.prepared);
        let prepared = if state.busy.contains(&port) {
            Err(InteractionError::PortBusy { port })
        } else {
            let uri = format!("http://localhost:{port}/callback");
            let with_port = |mut uri: Url| {
                let port = uri.port().unwrap_or(port);
                uri.set_port(Some(port)).unwrap();
                String::from(uri)
            };
            let uri = redirect.uri.map_or(uri, with_port);
            let state = Arc::clone(&self.0);
            Ok(Box::new(Window { uri, state }) as Box<dyn Consent>)
        };
        Box::pin(std::future::ready(prepared))
    }

    fn show_code(
        &self,
        question: DeviceQuestion,
    ) -> BoxFuture<'_, Result<Box<dyn ShownCode>, InteractionError>> {
        let mut state = self.0.lock().unwrap();
        state.codes.push(question);
        let deed = state.deeds.pop_front().unwrap_or(Deed::Agree);
        let shown = Box::new(Code(deed)) as Box<dyn ShownCode>;
        Box::pin(std::future::ready(Ok(shown)))
    }

    fn confirm_page(&self, page: ForeignPage) -> BoxFuture<'_, bool> {
        let mut state = self.0.lock().unwrap();
        state.foreign.push(page);
        Box::pin(std::future::ready(state.goes_anywhere))
    }

    fn turn(&self, _key: &GrantKey) -> BoxFuture<'_, Option<Box<dyn Turn>>> {
        let turns = self.0.lock().unwrap().turns.clone();
        Box::pin(async move { Some(Box::new(turns?.take().await) as Box<dyn Turn>) })
    }
}

impl Turns {
    async fn take(self) -> Right {
        let before = self.endings.lock().unwrap().len();
        if let Some(lock) = self.lock.try_lock_arc() {
            return Right {
                _lock: lock,
                declined: None,
                endings: self.endings,
            };
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let lock = self.lock.lock_arc().await;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let declined = self
            .endings
            .lock()
            .unwrap()
            .get(before..)
            .and_then(<[_]>::last)
            .copied();
        Right {
            _lock: lock,
            declined,
            endings: self.endings,
        }
    }
}

#[derive(Debug)]
struct Right {
    _lock: async_lock::MutexGuardArc<()>,
    declined: Option<Declined>,
    endings: Arc<Mutex<Vec<Declined>>>,
}

impl Turn for Right {
    fn declined(&self) -> Option<Declined> {
        self.declined
    }

    fn decline(&self, how: Declined) {
        self.endings.lock().unwrap().push(how);
    }
}

/// A code on the person's screen, and what they do about it.
struct Code(Deed);

impl ShownCode for Code {
    fn given_up(&self) -> BoxFuture<'_, InteractionError> {
        Box::pin(async {
            let deed = match &self.0 {
                Deed::After(gate, deed) => {
                    gate.acquire().await.forget();
                    deed
                }
                deed => deed,
            };
            match deed {
                Deed::Cancel => InteractionError::Cancelled,
                _ => std::future::pending().await,
            }
        })
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

struct Window {
    uri: String,
    state: Arc<Mutex<State>>,
}

impl Consent for Window {
    fn redirect_uri(&self) -> &str {
        &self.uri
    }

    fn ask(
        self: Box<Self>,
        question: ConsentQuestion,
    ) -> BoxFuture<'static, Result<Callback, InteractionError>> {
        let mut state = self.state.lock().unwrap();
        state.questions.push(question);
        let code = format!("code-{}", state.questions.len());
        let agreed = Callback {
            code: Some(Secret::new(code)),
            ..Callback::default()
        };
        let deed = state.deeds.pop_front().unwrap_or(Deed::Agree);
        Box::pin(async move {
            let deed = match deed {
                Deed::After(gate, deed) => {
                    gate.acquire().await.forget();
                    *deed
                }
                deed => deed,
            };
            answer(deed, agreed)
        })
    }
}

fn answer(deed: Deed, agreed: Callback) -> Result<Callback, InteractionError> {
    match deed {
        Deed::Agree | Deed::After(..) => Ok(agreed),
        Deed::Tamper(how) => Ok(how(agreed)),
        Deed::Deny => Ok(Callback {
            error: Some("access_denied".to_owned()),
            ..Callback::default()
        }),
        Deed::Cancel => Err(InteractionError::Cancelled),
        Deed::TimeOut => Err(InteractionError::Timeout { seconds: 300 }),
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person").finish_non_exhaustive()
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").finish_non_exhaustive()
    }
}

const FIRST_PORT: u16 = 40_000;
