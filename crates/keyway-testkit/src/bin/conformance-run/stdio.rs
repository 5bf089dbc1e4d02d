//! One client on the pipes of `keyway run`, in either era of the protocol.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, channel};

use keyway_testkit::conformance::{self, Connected};
use keyway_testkit::{Keyway, PATIENCE, Running};
use serde_json::{Map, Value, json};

use crate::Failure;

/// The server of the scenario, behind `keyway run`.
#[derive(Debug)]
pub(crate) struct Stdio {
    running: Running,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    version: String,
    capabilities: Value,
    last: u64,
}

impl Stdio {
    /// Starts the program; nothing is said yet.
    pub(crate) fn start(call: &Keyway, version: &str) -> Result<Self, Failure> {
        let mut running = call.start();
        let output = running.child.stdout.take();
        let output = output.ok_or(Failure::Silent("it has no output"))?;
        let (sender, messages) = channel();
        drop(std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str(&line) else {
                    eprintln!("not a message: {line}");
                    return;
                };
                if sender.send(message).is_err() {
                    return;
                }
            }
        }));
        Ok(Self {
            input: running.child.stdin.take(),
            running,
            messages,
            version: version.to_owned(),
            capabilities: Value::Null,
            last: 0,
        })
    }

    /// Asks what the server can do: by `server/discover`, or by the handshake before 2026-07-28.
    pub(crate) fn open(&mut self) -> Result<(), Failure> {
        let result = if self.is_stateless() {
            self.request("server/discover", Map::new())?
        } else {
            let params = json!({
                "protocolVersion": self.version,
                "capabilities": conformance::capabilities(),
                "clientInfo": client_info(),
            });
            let result = self.request("initialize", object(params))?;
            self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
            result
        };
        self.capabilities = result.get("capabilities").cloned().unwrap_or_default();
        Ok(())
    }

    /// Closes the input, and waits for the program to end as it should.
    pub(crate) fn close(mut self) -> Result<(), Failure> {
        drop(self.input.take());
        let outcome = self.running.outcome();
        eprint!("{}", outcome.stderr);
        match outcome.code {
            0 => Ok(()),
            code => Err(Failure::Exit(code)),
        }
    }

    fn is_stateless(&self) -> bool {
        self.version.as_str() >= "2026-07-28"
    }

    /// Sends a request and returns its result, once every question inside it is answered.
    fn request(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
    ) -> Result<Value, Failure> {
        let mut params = params;
        if self.is_stateless() {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": conformance::capabilities(),
            });
            params.insert("_meta".to_owned(), meta);
        }
        loop {
            let result = self.once(method, &params)?;
            if result.get("resultType") != Some(&json!("input_required")) {
                return Ok(result);
            }
            let requests = result.get("inputRequests").and_then(Value::as_object);
            let answers: Map<String, Value> = requests
                .into_iter()
                .flatten()
                .filter_map(|(key, request)| Some((key.clone(), answer(request)?)))
                .collect();
            params.insert("inputResponses".to_owned(), Value::Object(answers));
            match result.get("requestState") {
                Some(state) => params.insert("requestState".to_owned(), state.clone()),
                None => params.remove("requestState"),
            };
        }
    }

    fn once(
        &mut self,
        method: &'static str,
        params: &Map<String, Value>,
    ) -> Result<Value, Failure> {
        self.last += 1;
        let id = json!(self.last);
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let received = self.messages.recv_timeout(PATIENCE);
            let mut message = received.map_err(|_| Failure::Silent("no answer came"))?;
            let asks = message.get("method").is_some();
            match (message.get("id").cloned(), asks) {
                (Some(its), true) => self.reply(&its, &message)?,
                (Some(its), false) if its == id => {
                    return match message.get_mut("error") {
                        Some(error) => Err(Failure::Refused {
                            method,
                            error: error.take(),
                        }),
                        None => Ok(message.get("result").cloned().unwrap_or_default()),
                    };
                }
                _ => {}
            }
        }
    }

    /// Answers a request of the server.
    fn reply(&mut self, id: &Value, request: &Value) -> Result<(), Failure> {
        let mut reply = json!({ "jsonrpc": "2.0", "id": id });
        if let Some(reply) = reply.as_object_mut() {
            let refusal = json!({ "code": -32601, "message": "method not found" });
            match answer(request) {
                Some(result) => reply.insert("result".to_owned(), result),
                None => reply.insert("error".to_owned(), refusal),
            };
        }
        self.say(&reply)
    }

    fn say(&mut self, message: &Value) -> Result<(), Failure> {
        let input = self.input.as_mut();
        let written = input.map(|input| writeln!(input, "{message}"));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(Failure::Silent("it closed its input")),
        }
    }
}

impl Connected for Stdio {
    type Error = Failure;

    fn offers(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    // `keyway run` lists a tool to sign in first, and the server's own afterwards.
    fn is_sign_in(&self, tool: &str) -> bool {
        tool == "sign_in"
    }

    async fn list(
        &mut self,
        method: &'static str,
        key: &'static str,
    ) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        let mut params = Map::new();
        loop {
            let mut page = self.request(method, params)?;
            if let Some(Value::Array(more)) = page.get_mut(key).map(Value::take) {
                items.extend(more);
            }
            match page.get("nextCursor") {
                Some(cursor) if !cursor.is_null() => {
                    params = Map::from_iter([("cursor".to_owned(), cursor.clone())]);
                }
                _ => return Ok(items),
            }
        }
    }

    async fn ask(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
    ) -> Result<(), Failure> {
        match self.request(method, params) {
            Err(refused @ Failure::Refused { .. }) => {
                eprintln!("{refused}");
                Ok(())
            }
            other => other.map(drop),
        }
    }
}

/// Answers what a server asks, whether by a request or inside a result.
fn answer(request: &Value) -> Option<Value> {
    let method = request.get("method")?.as_str()?;
    let params = request.get("params").unwrap_or(&Value::Null);
    conformance::answer(method, params)
}

fn client_info() -> Value {
    json!({ "name": "keyway-conformance", "version": env!("CARGO_PKG_VERSION") })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
