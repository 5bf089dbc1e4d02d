//! A person that can be told how to behave.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use keyway_secret::Secret;

use crate::BoxFuture;
use crate::ports::{
    Callback, Consent, ConsentQuestion, DeviceQuestion, Interaction, InteractionError, Redirect,
};

/// What the person does with the next window.
#[derive(Clone)]
pub(crate) enum Deed {
    Agree,
    Deny,
    Cancel,
    TimeOut,
    /// Agrees, and somebody on the way changes the answer.
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
    busy: HashSet<u16>,
    prepared: u16,
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
            let uri = redirect.uri.map_or(uri, String::from);
            let state = Arc::clone(&self.0);
            Ok(Box::new(Window { uri, state }) as Box<dyn Consent>)
        };
        Box::pin(std::future::ready(prepared))
    }

    fn show_code(&self, question: DeviceQuestion) -> BoxFuture<'_, Result<(), InteractionError>> {
        self.0.lock().unwrap().codes.push(question);
        Box::pin(std::future::ready(Ok(())))
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
        let answer = match state.deeds.pop_front().unwrap_or(Deed::Agree) {
            Deed::Agree => Ok(agreed),
            Deed::Tamper(how) => Ok(how(agreed)),
            Deed::Deny => Ok(Callback {
                error: Some("access_denied".to_owned()),
                ..Callback::default()
            }),
            Deed::Cancel => Err(InteractionError::Cancelled),
            Deed::TimeOut => Err(InteractionError::Timeout { seconds: 300 }),
        };
        Box::pin(std::future::ready(answer))
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
