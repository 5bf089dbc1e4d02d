//! People who call their servers, each for themselves, through the proxy.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::{self, Reply};
use crate::people::SignIn;
use crate::seed::Seed;
use crate::timeouts::CALL_TIMEOUT;
use crate::upstream::{World, page};

/// What came of the calls.
pub(crate) struct Load {
    world: Arc<World>,
    port: u16,
    /// Relaxed: a figure.
    pub(crate) under_way: AtomicUsize,
    /// Relaxed: a figure.
    pub(crate) answered: AtomicUsize,
    /// Relaxed: it is enough that people see it soon.
    pub(crate) stops: AtomicBool,
    /// Held for one entry each.
    notes: Mutex<Notes>,
}

#[derive(Default)]
pub(crate) struct Notes {
    /// How calls failed.
    pub(crate) failures: BTreeMap<String, usize>,
    /// Answers with another person's page; there must be none.
    pub(crate) foreign: Vec<String>,
    /// When a person was asked to sign in for the first time; by family.
    pub(crate) asked: HashMap<usize, Duration>,
    /// How long calls took that were answered.
    pub(crate) times: Vec<Duration>,
    /// When a call began that failed because the wrapping key could not be used, and with which status.
    pub(crate) without_key: Vec<(Duration, u16)>,
    /// When calls began and ended that no gateway answered, or one that could not; and how they failed.
    pub(crate) cut: Vec<(Duration, Duration, String)>,
}

/// What an answer is.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Page,
    Foreign,
    SignIn,
    Failed(String),
}

impl Load {
    pub(crate) fn new(world: Arc<World>, port: u16) -> Arc<Self> {
        Arc::new(Self {
            world,
            port,
            under_way: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            stops: AtomicBool::new(false),
            notes: Mutex::default(),
        })
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the person of a sign-in call its server again and again, until the load stops: for the first
    /// time within some time.
    pub(crate) async fn person(
        self: Arc<Self>,
        sign_in: SignIn,
        mut seed: Seed,
        first_within: Duration,
    ) {
        let token = self.world.issuer.token(sign_in.person);
        let first_within = u64::try_from(first_within.as_millis()).unwrap_or(u64::MAX);
        let mut pause = Duration::from_millis(seed.next() % first_within);
        loop {
            tokio::time::sleep(pause).await;
            if self.stops.load(Ordering::Relaxed) {
                return;
            }
            self.under_way.fetch_add(1, Ordering::Relaxed);
            let (asked_at, began) = (Instant::now(), self.world.now());
            let reply = tokio::time::timeout(CALL_TIMEOUT, call(self.port, &token, sign_in)).await;
            self.under_way.fetch_sub(1, Ordering::Relaxed);
            let kind = match &reply {
                Err(_) => Kind::Failed("no answer".to_owned()),
                Ok(Err(error)) => Kind::Failed(format!("cut: {}", error.kind())),
                Ok(Ok(reply)) => kind(reply, sign_in),
            };
            pause = Duration::from_millis(1_000 + seed.next() % 1_000);
            let mut notes = self.notes();
            if let Ok(Ok(reply)) = &reply
                && reply.body.contains(NO_KEY)
            {
                notes.without_key.push((began, reply.status));
            }
            match kind {
                Kind::Page => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    notes.times.push(asked_at.elapsed());
                    pause = Duration::from_millis(8_000 + seed.next() % 44_000);
                }
                Kind::Foreign => {
                    let text = reply.map(|it| it.map(|it| it.body).unwrap_or_default());
                    notes
                        .foreign
                        .push(format!("{sign_in:?}: {}", text.unwrap_or_default()));
                }
                Kind::SignIn => {
                    // No person signs in again: each that is asked to has lost a sign-in.
                    notes
                        .asked
                        .entry(sign_in.family)
                        .or_insert_with(|| self.world.now());
                    pause = Duration::from_secs(20);
                }
                Kind::Failed(why) => {
                    if !why.starts_with("200 ") {
                        notes.cut.push((began, self.world.now(), why.clone()));
                    }
                    *notes.failures.entry(why).or_default() += 1;
                }
            }
        }
    }
}

/// Calls the server of a sign-in as a client of 2026-07-28.
async fn call(port: u16, token: &str, sign_in: SignIn) -> std::io::Result<Reply> {
    let body = json!({
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {
            "name": "page",
            "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "storm", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let head = format!(
        "POST /mcp/s{} HTTP/1.1\r\nauthorization: Bearer {token}\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: page\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n",
        sign_in.server
    );
    http::exchange(port, &head, &body.to_string()).await
}

fn kind(reply: &Reply, sign_in: SignIn) -> Kind {
    if reply
        .body
        .contains(&page(sign_in.person, sign_in.profile()))
    {
        return Kind::Page;
    }
    if reply.body.contains("page of ") {
        return Kind::Foreign;
    }
    let codes = ["sign-in-required", "refresh-failed", "needs-auth"];
    if codes
        .iter()
        .any(|code| reply.body.contains(&format!("\"{code}\"")))
    {
        return Kind::SignIn;
    }
    let code = reply.body.split("\"code\":\"").nth(1);
    let code = code.and_then(|rest| rest.split('"').next());
    // Without one it is the answer of the proxy, or of something unexpected.
    let said = || {
        reply
            .body
            .get(..60)
            .unwrap_or(&reply.body)
            .replace('\n', " ")
    };
    let code = code.map_or_else(said, str::to_owned);
    Kind::Failed(format!("{} {code}", reply.status))
}

/// What a gateway says of a wrapping key that does not answer.
pub(crate) const NO_KEY: &str = "the wrapping key cannot be used";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_of_another_person_or_server_is_noticed() {
        let sign_in = SignIn {
            family: 0,
            person: 1,
            server: 3,
        };
        let of = |person, server: usize| Reply {
            status: 200,
            body: page(person, crate::families::Profile::ALL[server]),
        };
        assert_eq!(kind(&of(1, 3), sign_in), Kind::Page);
        assert_eq!(kind(&of(11, 3), sign_in), Kind::Foreign);
        assert_eq!(kind(&of(1, 5), sign_in), Kind::Foreign);
        let asked = Reply {
            status: 200,
            body: r#"{"code":"refresh-failed"}"#.to_owned(),
        };
        assert_eq!(kind(&asked, sign_in), Kind::SignIn);
    }
}
