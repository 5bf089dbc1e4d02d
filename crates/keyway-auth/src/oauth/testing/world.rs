//! Servers as data: which address answers what, and a journal of every request.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_lock::Semaphore;
use http::{HeaderMap, HeaderName, HeaderValue};
use keyway_secret::Secret;
use url::{Url, form_urlencoded};

use super::ManualClock;
use crate::BoxFuture;
use crate::ports::{HttpClient, HttpFailure, HttpRequest, HttpResponse, Redirects};

/// All servers there are.
pub(crate) struct World {
    routes: Mutex<HashMap<String, Route>>,
    journal: Mutex<Vec<Seen>>,
    clock: Arc<ManualClock>,
}

enum Route {
    /// One after the other; the last one for good.
    Script(VecDeque<Reply>),
    Answer(Arc<dyn Fn(&Seen) -> Reply + Send + Sync>),
}

/// A request as it arrived.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) redirects: Redirects,
}

impl Seen {
    /// A field of the form; empty if absent.
    pub(crate) fn field(&self, name: &str) -> String {
        let mut fields = form_urlencoded::parse(self.body.as_bytes());
        let found = fields.find(|(other, _)| other == name);
        found.map_or_else(String::new, |(_, value)| value.into_owned())
    }

    pub(crate) fn header(&self, name: &str) -> String {
        let found = self.headers.get(name).map(|value| value.to_str().unwrap());
        found.unwrap_or_default().to_owned()
    }

    /// Everything that was sent, as text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{} {}\n", self.method, self.url);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {}\n", value.to_str().unwrap()));
        }
        text + &self.body
    }
}

/// One answer, or none.
#[derive(Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    delay: Duration,
    gate: Option<Arc<Semaphore>>,
    failure: Option<HttpFailure>,
}

impl Reply {
    pub(crate) fn raw(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: body.into(),
            delay: Duration::ZERO,
            gate: None,
            failure: None,
        }
    }

    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::raw(status, body.to_string())
    }

    /// A refusal as RFC 6749 section 5.2 has it.
    pub(crate) fn error(status: u16, code: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": code }))
    }

    pub(crate) fn fails(failure: HttpFailure) -> Self {
        Self {
            failure: Some(failure),
            ..Self::raw(0, "")
        }
    }

    /// What the client reports of a server that drips.
    pub(crate) fn times_out() -> Self {
        Self::fails(HttpFailure::Timeout {
            host: "as.example".to_owned(),
            seconds: 5,
            sent: true,
        })
    }

    /// Says whether it says nothing at all.
    pub(crate) const fn is_empty(&self) -> bool {
        self.status == 0 && self.failure.is_none()
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).unwrap();
        self.headers.append(HeaderName::from_static(name), value);
        self
    }

    /// Answers after some time of the hand's.
    pub(crate) const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Answers once the gate lets it.
    pub(crate) fn behind(mut self, gate: &Arc<Semaphore>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }
}

impl World {
    pub(crate) fn new(clock: Arc<ManualClock>) -> Self {
        Self {
            routes: Mutex::default(),
            journal: Mutex::default(),
            clock,
        }
    }

    /// Sets what an address answers, whatever the method: one after the other, the last for good.
    pub(crate) fn route(&self, url: &str, replies: impl IntoIterator<Item = Reply>) {
        let script = Route::Script(replies.into_iter().collect());
        self.routes.lock().unwrap().insert(url.to_owned(), script);
    }

    /// Sets the function that answers at an address.
    pub(crate) fn answer(&self, url: &str, reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) {
        let answer = Route::Answer(Arc::new(reply));
        self.routes.lock().unwrap().insert(url.to_owned(), answer);
    }

    pub(crate) fn journal(&self) -> Vec<Seen> {
        self.journal.lock().unwrap().clone()
    }

    /// The requests to one address.
    pub(crate) fn seen(&self, url: &str) -> Vec<Seen> {
        let mut journal = self.journal();
        journal.retain(|seen| without_query(&seen.url) == url);
        journal
    }

    /// The requests to one host.
    pub(crate) fn seen_by(&self, host: &str) -> Vec<Seen> {
        let mut journal = self.journal();
        journal.retain(|seen| seen.url.host_str() == Some(host));
        journal
    }

    /// The requests to the token endpoint by one grant.
    pub(crate) fn redeemed(&self, grant_type: &str) -> Vec<Seen> {
        let mut journal = self.journal();
        journal.retain(|seen| seen.field("grant_type") == grant_type);
        journal
    }

    pub(crate) fn forget(&self) {
        self.journal.lock().unwrap().clear();
    }

    fn reply(&self, seen: &Seen) -> Reply {
        let answer = {
            let mut routes = self.routes.lock().unwrap();
            match routes.get_mut(&without_query(&seen.url)) {
                None => return Reply::raw(404, ""),
                Some(Route::Answer(answer)) => Arc::clone(answer),
                Some(Route::Script(script)) if script.len() > 1 => {
                    return script.pop_front().unwrap();
                }
                Some(Route::Script(script)) => return script.front().unwrap().clone(),
            }
        };
        answer(seen)
    }
}

impl HttpClient for World {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>> {
        let body = request.body.map(|body| body.expose().clone());
        let seen = Seen {
            method: request.method.to_string(),
            url: request.url,
            headers: request.headers,
            body: String::from_utf8(body.unwrap_or_default()).unwrap(),
            redirects: request.redirects,
        };
        let sent = request.sent;
        Box::pin(async move {
            sent.set();
            self.journal.lock().unwrap().push(seen.clone());
            let reply = self.reply(&seen);
            if let Some(gate) = &reply.gate {
                gate.acquire().await.forget();
            }
            if !reply.delay.is_zero() {
                self.clock.sleep(reply.delay).await;
            }
            match reply.failure {
                Some(failure) => Err(failure),
                None => Ok(HttpResponse {
                    status: reply.status,
                    headers: reply.headers,
                    body: Secret::new(reply.body),
                }),
            }
        })
    }
}

fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}
