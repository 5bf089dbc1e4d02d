//! Servers in memory behind an aggregate, and a client that talks to it.

mod asking;
mod backpressure;
mod calls;
mod life;
mod lists;
mod members;
mod resources;
mod sign_in;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, OnceLock, Weak};

use keyway_transport::{Event, EventSender, Frame, Link, RequestId, TransportError, queue};
use serde_json::{Value, json};

use super::*;

/// A server in memory. Answers by method, always the same.
#[derive(Debug)]
struct Fake {
    name: String,
    this: Weak<Self>,
    offer: OfferedEras,
    replies: Mutex<HashMap<String, Reply>>,
    seen: Mutex<Vec<Value>>,
    texts: Mutex<Vec<String>>,
    abandoned: Mutex<Vec<RequestId>>,
    events: Mutex<Option<EventSender>>,
    /// What the next attempts at connecting come to, and when; then they succeed at once.
    attempts: Mutex<VecDeque<(Duration, Result<(), ServerProblem>)>>,
    connects: Mutex<usize>,
    /// The way in, where a person has to sign in.
    door: OnceLock<sign_in::Gate>,
    /// What remembers its tools.
    memory: OnceLock<Arc<life::SharedMemory>>,
    /// How long its first answer may take.
    start_limit: OnceLock<Duration>,
}

#[derive(Debug, Clone)]
enum Reply {
    /// JSON as the server writes it.
    Result(String),
    Error(Value),
    /// The credential is refused.
    Refused,
    Silence,
    /// One page after the other, the cursor counting them.
    Pages(Vec<String>),
    Late(Duration, String),
    /// These messages come first, `ID` state for the request's id.
    After(Vec<String>, String),
}

impl Fake {
    fn new(name: &str) -> Arc<Self> {
        Self::of(name, OfferedEras::Legacy)
    }

    fn of(name: &str, offer: OfferedEras) -> Arc<Self> {
        let fake = Arc::new_cyclic(|this| Self {
            name: name.to_owned(),
            this: this.clone(),
            offer,
            replies: Mutex::default(),
            seen: Mutex::default(),
            texts: Mutex::default(),
            abandoned: Mutex::default(),
            events: Mutex::default(),
            attempts: Mutex::default(),
            connects: Mutex::default(),
            door: OnceLock::new(),
            memory: OnceLock::new(),
            start_limit: OnceLock::new(),
        });
        let capabilities = json!({"tools": {"listChanged": true}, "resources": {"subscribe": true},
            "prompts": {}, "completions": {}, "logging": {}});
        let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "serverInfo": {"name": "f", "version": "1"}});
        let fake = fake.on("initialize", &greeting.to_string());
        for (method, key) in [
            ("tools/list", "tools"),
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            fake.on(method, &format!(r#"{{"{key}":[]}}"#));
        }
        fake
    }

    fn on(self: &Arc<Self>, method: &str, result: &str) -> Arc<Self> {
        self.reply(method, Reply::Result(result.to_owned()))
    }

    fn reply(self: &Arc<Self>, method: &str, reply: Reply) -> Arc<Self> {
        self.replies
            .lock()
            .unwrap()
            .insert(method.to_owned(), reply);
        Arc::clone(self)
    }

    /// Lists tools of these names, and answers calls with its own name.
    fn tools(self: &Arc<Self>, names: &[&str]) -> Arc<Self> {
        let tools: Vec<_> = names
            .iter()
            .map(|name| format!(r#"{{"name":{}}}"#, json!(name)))
            .collect();
        self.on(
            "tools/list",
            &format!(r#"{{"tools":[{}]}}"#, tools.join(",")),
        );
        self.on("tools/call", &format!(r#"{{"from":"{}"}}"#, self.name))
    }

    /// Says what the next attempt at connecting comes to.
    fn attempt(self: &Arc<Self>, seconds: u64, outcome: Result<(), ServerProblem>) -> Arc<Self> {
        let attempt = (Duration::from_secs(seconds), outcome);
        self.attempts.lock().unwrap().push_back(attempt);
        Arc::clone(self)
    }

    fn seen(&self, method: &str) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let fits = |message: &&Value| message["method"] == method;
        seen.iter().filter(fits).cloned().collect()
    }

    /// Sends the client something by itself.
    async fn say(&self, text: &str) {
        let events = self.events.lock().unwrap().clone().unwrap();
        let frame = Frame::new(text.to_owned()).unwrap();
        events.send(Event::Frame(frame)).await.unwrap();
        settle().await;
    }

    async fn hang_up(&self) {
        self.hang_up_because(None).await;
    }

    async fn hang_up_because(&self, reason: Option<TransportError>) {
        let events = self.events.lock().unwrap().take().unwrap();
        events.send(Event::Closed(reason)).await.unwrap();
        settle().await;
    }

    fn connects(&self) -> usize {
        *self.connects.lock().unwrap()
    }
}

impl Connector for Fake {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async move {
            *self.connects.lock().unwrap() += 1;
            let attempt = self.attempts.lock().unwrap().pop_front();
            if let Some((wait, outcome)) = attempt {
                // Slow on command; its tests pause the clock.
                tokio::time::sleep(wait).await;
                outcome?;
            }
            let (sender, events) = queue(1024);
            *self.events.lock().unwrap() = Some(sender);
            let link: Arc<dyn Link> = Arc::new(FakeLink(self.this.upgrade().unwrap()));
            let connection = Connection::new(link, events);
            let limit = self.start_limit.get().copied();
            let opened = Opened::new(connection, self.offer);
            Ok(opened.within(limit.unwrap_or(REQUEST_TIMEOUT)))
        })
    }

    fn sign_in_port(&self) -> Option<&dyn SignInPort> {
        self.door.get().map(|door| door as &dyn SignInPort)
    }

    fn tool_memory(&self) -> Option<&dyn ToolMemory> {
        self.memory.get().map(|memory| &**memory as &dyn ToolMemory)
    }
}

#[derive(Debug)]
struct FakeLink(Arc<Fake>);

impl Link for FakeLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let text = String::from_utf8(frame.bytes().to_vec()).unwrap();
            let message: Value = serde_json::from_str(&text).unwrap();
            self.0.texts.lock().unwrap().push(text);
            self.0.seen.lock().unwrap().push(message.clone());
            let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
                return Ok(());
            };
            let reply = self.0.replies.lock().unwrap().get(method).cloned();
            let Some(events) = self.0.events.lock().unwrap().clone() else {
                return Err(TransportError::Closed);
            };
            let say = async |text: String| {
                let frame = Frame::new(text.replace("ID", &id.to_string())).unwrap();
                events.send(Event::Frame(frame)).await.unwrap();
            };
            let result = |text: &str| format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{text}}}"#);
            match reply {
                Some(Reply::Result(text)) => say(result(&text)).await,
                Some(Reply::Error(error)) => {
                    say(json!({"id": id, "error": error}).to_string()).await;
                }
                Some(Reply::Late(wait, text)) => {
                    let (events, text) =
                        (events.clone(), result(&text).replace("ID", &id.to_string()));
                    drop(tokio::spawn(async move {
                        // Slow on command; its tests pause the clock.
                        tokio::time::sleep(wait).await;
                        let _gone = events.send(Event::Frame(Frame::new(text).unwrap())).await;
                    }));
                }
                Some(Reply::After(messages, text)) => {
                    for message in messages {
                        say(message).await;
                    }
                    say(result(&text)).await;
                }
                Some(Reply::Pages(pages)) => {
                    let cursor = message["params"]["cursor"].as_str();
                    let page: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
                    say(result(&pages[page])).await;
                }
                Some(Reply::Refused) => {
                    let id = frame.envelope().unwrap().id().unwrap();
                    let error = refused();
                    events.send(Event::Failed { id, error }).await.unwrap();
                }
                Some(Reply::Silence) => {}
                None => {
                    let error = json!({"code": -32601, "message": "no such method"});
                    say(json!({"id": id, "error": error}).to_string()).await;
                }
            }
            Ok(())
        })
    }

    fn abandon(&self, id: &RequestId) {
        self.0.abandoned.lock().unwrap().push(id.clone());
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn as_members(fakes: &[&Arc<Fake>]) -> Vec<Member> {
    let member = |fake: &&Arc<Fake>| Member {
        name: fake.name.clone(),
        connector: Arc::clone(fake) as Arc<dyn Connector>,
        timeout: None,
        server_id: None,
    };
    fakes.iter().map(member).collect()
}

/// A client of an aggregate.
struct Client {
    connection: Connection,
    next_id: u64,
    /// Messages that came before the awaited answer.
    others: Vec<Value>,
}

impl Client {
    /// Connects to an aggregate of these servers, without `initialize`.
    fn of(fakes: &[&Arc<Fake>]) -> Self {
        Self::with_members(fakes).0
    }

    /// The same for servers that are going to change.
    fn with_members(fakes: &[&Arc<Fake>]) -> (Self, AggregateMembers) {
        let info = ClientInfo {
            name: "keyway".to_owned(),
            version: "1".to_owned(),
        };
        let (connection, members) =
            aggregate_with_members(as_members(fakes), AggregateSettings::new(info));
        let client = Self {
            connection,
            next_id: 1,
            others: Vec::new(),
        };
        (client, members)
    }

    async fn send(&self, text: impl Into<String>) {
        let frame = Frame::new(text.into()).unwrap();
        self.connection.link.send(frame).await.unwrap();
    }

    /// Sends a request and returns its id.
    async fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(message.to_string()).await;
        id
    }

    /// Waits for the answer to a request, as text.
    async fn answer_text(&mut self, id: u64) -> String {
        loop {
            let text = self.next_text().await;
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return text;
            }
            self.others.push(message);
        }
    }

    async fn answer(&mut self, id: u64) -> Value {
        let is_answer = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(server_id) = self.others.iter().position(is_answer) {
            return self.others.remove(server_id);
        }
        serde_json::from_str(&self.answer_text(id).await).unwrap()
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(id).await
    }

    async fn next_text(&mut self) -> String {
        let event = self.connection.events.recv().await;
        let Some(Event::Frame(frame)) = event else {
            panic!("no frame: {event:?}");
        };
        String::from_utf8(frame.bytes().to_vec()).unwrap()
    }

    /// Waits for a message that is not an answer.
    async fn next(&mut self) -> Value {
        if !self.others.is_empty() {
            return self.others.remove(0);
        }
        serde_json::from_str(&self.next_text().await).unwrap()
    }

    /// Returns the messages so far that are not answers.
    async fn arrived(&mut self) -> Vec<Value> {
        settle().await;
        while let Some(Event::Frame(frame)) = self.connection.events.try_recv() {
            let message = serde_json::from_slice(frame.bytes()).unwrap();
            self.others.push(message);
        }
        std::mem::take(&mut self.others)
    }

    async fn names(&mut self, method: &str, key: &str) -> Vec<String> {
        let answer = self.request(method, json!({})).await;
        let items = answer["result"][key].as_array().unwrap().clone();
        let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
        items.iter().map(name).collect()
    }

    async fn tools(&mut self) -> Vec<String> {
        self.names("tools/list", "tools").await
    }

    async fn call(&mut self, tool: &str) -> Value {
        self.request("tools/call", json!({ "name": tool })).await
    }
}

/// Runs every task until it waits.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

fn unreachable() -> ServerProblem {
    ServerProblem::from(&TransportError::Timeout { seconds: 30 })
}

fn refused() -> TransportError {
    TransportError::Refused {
        status: 401,
        error: None,
        error_description: None,
        scope: None,
    }
}
