//! Policies in front of a server in memory that lists and changes what it likes.

use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_mcp::states::ServerProblem;
use keyway_mcp::tool_memory::ToolMemory;
use keyway_testkit::PATIENCE;
use keyway_transport::{
    Connection, Event, EventSender, Frame, Link, RequestId, TransportError, queue,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::access::Verdict;
use super::denial::Denial;
use super::digest::ListedTool;
use super::*;

/// A server whose tools are pages of JSON.
#[derive(Debug, Clone)]
struct Server {
    pages: Arc<Mutex<Vec<String>>>,
    /// The calls that reached it.
    called: Arc<Mutex<Vec<String>>>,
    lists: Arc<Mutex<usize>>,
    events: EventSender,
}

impl Link for Server {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let message: Value = serde_json::from_slice(frame.bytes()).unwrap();
            let envelope = frame.envelope().unwrap();
            let (Some(method), Some(id)) = (envelope.method.as_deref(), envelope.id()) else {
                return Ok(());
            };
            let result = match method {
                "tools/list" => {
                    *self.lists.lock().unwrap() += 1;
                    let at = message["params"]["cursor"].as_str().unwrap_or("0");
                    let at: usize = at.parse().unwrap();
                    let pages = self.pages.lock().unwrap();
                    let next = match at + 1 < pages.len() {
                        true => format!(r#","nextCursor":"{}""#, at + 1),
                        false => String::new(),
                    };
                    format!(
                        r#"{{"tools":[{}]{next},"big":12345678901234567890123}}"#,
                        pages[at]
                    )
                }
                "tools/call" => {
                    let text = String::from_utf8(frame.bytes().to_vec()).unwrap();
                    self.called.lock().unwrap().push(text);
                    r#"{"content":[]}"#.to_owned()
                }
                _ => "{}".to_owned(),
            };
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
                id.as_json()
            );
            self.say(&answer).await;
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Server {
    async fn say(&self, text: &str) {
        let frame = Frame::new(text.to_owned()).unwrap();
        self.events.send(Event::Frame(frame)).await.unwrap();
    }

    fn set(&self, pages: &[&str]) {
        *self.pages.lock().unwrap() = pages.iter().map(|it| (*it).to_owned()).collect();
    }
}

/// A client of a server, with what decides in between.
struct Client {
    policies: Arc<Policies>,
    server: Server,
    connection: Connection,
    last: u64,
}

impl Client {
    fn connect(policies: &Arc<Policies>, pages: &[&str]) -> Self {
        let (events, from_server) = queue(16);
        let server = Server {
            pages: Arc::default(),
            called: Arc::default(),
            lists: Arc::default(),
            events,
        };
        server.set(pages);
        let connection = Connection::new(Arc::new(server.clone()), from_server);
        let access = policies.access(Some("ci"), ("p", "s")).expect("a rule");
        Self {
            policies: Arc::clone(policies),
            server,
            connection: guarded(connection, access),
            last: 0,
        }
    }

    fn with(rules: &[(&str, ToolRule)], pages: &[&str]) -> Self {
        let policies = Arc::new(Policies::in_memory(&Settings::default()));
        for (tool, rule) in rules {
            let set = policies.set_rule(("p", "s"), (None, tool), Some(*rule), []);
            set.unwrap();
        }
        Self::connect(&policies, pages)
    }

    async fn send(&self, text: &str) {
        let frame = Frame::new(text.to_owned()).unwrap();
        self.connection.link.send(frame).await.unwrap();
    }

    /// Waits for the next message.
    async fn next(&mut self) -> Value {
        let event = timeout(PATIENCE, self.connection.events.recv()).await;
        match event.expect("a message") {
            Some(Event::Frame(frame)) => serde_json::from_slice(frame.bytes()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn request(&mut self, method: &str, params: &str) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ))
        .await;
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    async fn listed(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.request("tools/list", &params.to_string()).await;
            let tools = page["result"]["tools"].as_array().unwrap().iter();
            names.extend(tools.map(|tool| tool["name"].as_str().unwrap().to_owned()));
            match page["result"]["nextCursor"].as_str() {
                Some(next) => params = json!({ "cursor": next }),
                None => return names,
            }
        }
    }

    /// Calls a tool; returns why it was refused.
    async fn call(&mut self, name: &str) -> Option<String> {
        let answer = self
            .request("tools/call", &json!({ "name": name }).to_string())
            .await;
        let error = answer.get("error")?;
        assert_eq!(error["code"], -32051);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("can "), "it says who can act: {message}");
        Some(error["data"]["reason"].as_str().unwrap().to_owned())
    }

    /// Lets the server say that its tools have changed; the client has read it.
    async fn tell_change(&mut self) {
        let note = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        self.server.say(note).await;
        assert_eq!(
            self.next().await["method"],
            "notifications/tools/list_changed"
        );
    }

    fn calls(&self) -> usize {
        self.server.called.lock().unwrap().len()
    }
}

fn tool(name: &str) -> String {
    json!({ "name": name, "inputSchema": { "type": "object" } }).to_string()
}

const READ: &str = r#"{"name":"read","inputSchema":{"type":"object"}}"#;
const WRITE: &str = r#"{"name":"write","inputSchema":{"type":"object"}}"#;
const OTHER_WRITE: &str =
    r#"{"name":"write","inputSchema":{"type":"object","properties":{"to":{}}}}"#;

#[test]
fn without_a_rule_for_a_client_connections_are_not_touched() {
    let policies = Arc::new(Policies::in_memory(&Settings::default()));
    assert!(policies.access(Some("ci"), ("p", "s")).is_none());
    let set = policies.set_rule(("p", "s"), (Some("ci"), "x"), Some(ToolRule::Deny), []);
    set.unwrap();
    assert!(policies.access(Some("ci"), ("p", "s")).is_some());
    assert!(policies.access(Some("other"), ("p", "s")).is_none());
    assert!(policies.access(None, ("p", "s")).is_none());
    assert!(policies.access(Some("ci"), ("p", "t")).is_none());
    policies
        .set_rule(("p", "s"), (Some("ci"), "x"), None, [])
        .unwrap();
    assert!(policies.access(Some("ci"), ("p", "s")).is_none());
}

#[tokio::test]
async fn what_is_denied_is_neither_listed_nor_called_on_any_page() {
    let (a, b) = (format!("{READ},{WRITE}"), tool("more"));
    let mut client = Client::with(&[("write", ToolRule::Deny)], &[&a, WRITE, &b]);
    assert_eq!(client.listed().await, ["read", "more"]);
    assert_eq!(client.call("write").await.as_deref(), Some("listed-twice"));
    client.server.set(&[&a, &b]);
    client.tell_change().await;
    assert_eq!(client.call("write").await.as_deref(), Some("denied"));
    assert_eq!(client.call("read").await, None);
    assert_eq!(client.calls(), 1);
}

#[tokio::test]
async fn a_hidden_tool_is_denied_although_nothing_was_listed_before() {
    let mut client = Client::with(
        &[("*", ToolRule::Deny), ("read", ToolRule::Allow)],
        &[&format!("{READ},{WRITE}")],
    );
    assert_eq!(client.call("write").await.as_deref(), Some("denied"));
    assert_eq!(client.call("read").await, None);
    // One list served both.
    assert_eq!(*client.server.lists.lock().unwrap(), 1);
}

#[tokio::test]
async fn names_that_only_look_like_an_allowed_one_are_denied() {
    let mut client = Client::with(&[("write", ToolRule::Deny)], &[&format!("{READ},{WRITE}")]);
    for name in [
        "Write",
        "WRITE",
        "write ",
        " write",
        "write\u{200b}",
        "wr\u{456}te",
        "write\n",
        "w\u{0}rite",
        "ｗrite",
        "",
        "*",
    ] {
        assert_eq!(
            client.call(name).await.as_deref(),
            Some("unlisted"),
            "{name:?}"
        );
    }
    assert_eq!(client.calls(), 0);
}

#[tokio::test]
async fn a_call_that_names_two_tools_is_denied() {
    let mut client = Client::with(&[("write", ToolRule::Deny)], &[&format!("{READ},{WRITE}")]);
    for params in [
        r#"{"name":"read","name":"write"}"#,
        r#"{"name":"write","na\u006de":"read"}"#,
        r#"{"name":["write"]}"#,
        "[\"write\"]",
        "{}",
    ] {
        let answer = client.request("tools/call", params).await;
        assert_eq!(answer["error"]["data"]["reason"], "unreadable", "{params}");
    }
    for hidden in [
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"write"}}"#,
        r#"{"jsonrpc":"2.0","id":77,"method":"ping","method":"tools/call","params":{"name":"write"}}"#,
        r#"[{"jsonrpc":"2.0","id":78,"method":"tools/call","params":{"name":"write"}}]"#,
    ] {
        client.send(hidden).await;
    }
    assert_eq!(client.request("ping", "{}").await["result"], json!({}));
    assert_eq!(client.calls(), 0);
}

#[tokio::test]
async fn a_tool_that_changed_is_denied_until_it_was_looked_at() {
    let mut client = Client::with(&[("*", ToolRule::Allow)], &[WRITE]);
    assert_eq!(client.listed().await, ["write"]);
    assert_eq!(client.call("write").await, None);
    // Between the list that the client saw, and its call.
    client.server.set(&[OTHER_WRITE]);
    client.tell_change().await;
    assert_eq!(client.call("write").await.as_deref(), Some("changed"));
    assert!(client.listed().await.is_empty(), "it is not listed either");
    let raw = serde_json::value::RawValue::from_string(OTHER_WRITE.to_owned()).unwrap();
    let digest = ToolDigest::of(&raw).unwrap();
    let state = client.policies.tool_state(("p", "s"), "write", digest);
    assert_eq!(state, ToolState::Changed);
    client
        .policies
        .look_at(("p", "s"), "write", digest)
        .unwrap();
    assert_eq!(client.call("write").await, None);
    assert_eq!(client.listed().await, ["write"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_not_told_is_found_within_a_minute() {
    let mut client = Client::with(&[("*", ToolRule::Allow)], &[WRITE]);
    assert_eq!(client.call("write").await, None);
    client.server.set(&[OTHER_WRITE]);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(client.call("write").await.as_deref(), Some("changed"));
}

#[tokio::test]
async fn a_tool_that_appears_later_is_denied_until_it_was_looked_at() {
    let mut client = Client::with(&[("write", ToolRule::Deny)], &[&format!("{READ},{WRITE}")]);
    assert_eq!(client.listed().await, ["read"]);
    // The same under another name.
    client.server.set(&[&format!("{READ},{}", tool("write2"))]);
    client.tell_change().await;
    assert_eq!(client.call("write2").await.as_deref(), Some("new"));
    assert_eq!(client.listed().await, ["read"]);
    assert_eq!(client.calls(), 0);
}

#[tokio::test]
async fn a_tool_that_says_something_twice_is_neither_listed_nor_called() {
    let twice = r#"{"name":"read","name":"write","inputSchema":{}}"#;
    let mut client = Client::with(&[("write", ToolRule::Deny)], &[&format!("{READ},{twice}")]);
    assert_eq!(client.listed().await, ["read"]);
    assert_eq!(client.call("write").await.as_deref(), Some("unlisted"));
}

#[tokio::test]
async fn what_stays_of_a_list_is_as_the_server_wrote_it() {
    let mut client = Client::with(&[("write", ToolRule::Deny)], &[&format!("{READ},{WRITE}")]);
    client
        .send(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#)
        .await;
    let event = timeout(PATIENCE, client.connection.events.recv()).await;
    let Some(Event::Frame(frame)) = event.unwrap() else {
        panic!("a list");
    };
    let text = std::str::from_utf8(frame.bytes()).unwrap();
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":"l","result":{{"tools":[{READ}],"big":12345678901234567890123}}}}"#
    );
    assert_eq!(text, expected);
}

#[tokio::test]
async fn the_stricter_of_config_and_dashboard_counts() {
    let mut settings = Settings::default();
    let policy = settings.policies.entry("p:s".to_owned()).or_default();
    policy.tools.insert("write".to_owned(), ToolRule::Deny);
    let policies = Arc::new(Policies::in_memory(&settings));
    for (tool, rule) in [("write", ToolRule::Allow), ("read", ToolRule::Deny)] {
        let set = policies.set_rule(("p", "s"), (Some("ci"), tool), Some(rule), []);
        set.unwrap();
    }
    let mut client = Client::connect(&policies, &[&format!("{READ},{WRITE}")]);
    assert_eq!(client.call("write").await.as_deref(), Some("denied"));
    assert_eq!(client.call("read").await.as_deref(), Some("denied"));
    let views = policies.rules("p", "s");
    assert_eq!(views.iter().filter(|it| it.is_in_config).count(), 1);
    assert_eq!(views.len(), 3);
}

/// Calls `write`, for which a person is asked.
async fn begin_call(client: &Client) {
    client
        .send(r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write","arguments":{"to":"x"}}}"#)
        .await;
}

async fn question(policies: &Policies) -> ToolQuestion {
    let mut changes = policies.changes();
    loop {
        if let Some(question) = policies.questions().pop() {
            return question;
        }
        assert!(timeout(PATIENCE, changes.changed()).await.unwrap());
    }
}

#[tokio::test]
async fn a_person_on_the_dashboard_allows_a_call_or_does_not() {
    for is_allowed in [true, false] {
        let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
        assert_eq!(client.listed().await, ["write"]);
        begin_call(&client).await;
        let asked = question(&client.policies).await;
        assert_eq!(
            (asked.server.as_str(), asked.client.as_deref()),
            ("p:s", Some("ci"))
        );
        assert_eq!(asked.arguments, r#"{"to":"x"}"#);
        assert_eq!(client.calls(), 0);
        assert!(client.policies.answer(asked.id, is_allowed));
        let answer = client.next().await;
        assert_eq!(answer["id"], 9);
        assert_eq!(answer["error"].is_null(), is_allowed, "{answer}");
        assert_eq!(client.calls(), usize::from(is_allowed));
        assert!(client.policies.questions().is_empty());
        assert!(!client.policies.answer(asked.id, true), "once");
    }
}

#[tokio::test(start_paused = true)]
async fn no_answer_within_a_minute_is_a_no() {
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    let begun = tokio::time::Instant::now();
    assert_eq!(
        client.call_patiently("write").await.as_deref(),
        Some("unanswered")
    );
    assert_eq!(begun.elapsed().as_secs(), 60);
    assert!(client.policies.questions().is_empty());
    assert_eq!(client.calls(), 0);
}

impl Client {
    /// Calls a tool, however long it takes.
    async fn call_patiently(&mut self, name: &str) -> Option<String> {
        let params = json!({ "name": name });
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        self.send(&request.to_string()).await;
        let Some(Event::Frame(frame)) = self.connection.events.recv().await else {
            panic!("an answer");
        };
        let answer: Value = serde_json::from_slice(frame.bytes()).unwrap();
        Some(answer["error"]["data"]["reason"].as_str()?.to_owned())
    }
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{}}}}"#;

#[tokio::test]
async fn a_client_that_can_ask_its_person_does_and_only_accept_is_a_yes() {
    for (answer, is_allowed) in [
        (r#""result":{"action":"accept","content":{}}"#, true),
        (r#""result":{"action":"decline"}"#, false),
        (r#""result":{"action":"cancel"}"#, false),
        (r#""result":{"action":"accept","action":"decline"}"#, false),
        (r#""result":{}"#, false),
        (r#""error":{"code":-1,"message":"no"}"#, false),
    ] {
        let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
        client.send(HELLO).await;
        assert_eq!(client.next().await["id"], 0);
        begin_call(&client).await;
        let form = client.next().await;
        assert_eq!(form["method"], "elicitation/create");
        let message = form["params"]["message"].as_str().unwrap();
        assert!(message.contains("`write` of `p:s`") && message.contains(r#"{"to":"x"}"#));
        let id = &form["id"];
        client
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#))
            .await;
        let result = client.next().await;
        assert_eq!(result["id"], 9, "{result}");
        assert_eq!(result["error"].is_null(), is_allowed, "{answer}: {result}");
        assert_eq!(client.calls(), usize::from(is_allowed), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_on_the_dashboard_withdraws_the_form_at_the_client() {
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    client.send(HELLO).await;
    client.next().await;
    begin_call(&client).await;
    let form = client.next().await;
    let asked = question(&client.policies).await;
    client.policies.answer(asked.id, true);
    let withdrawn = client.next().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], form["id"]);
    assert_eq!(client.next().await["id"], 9);
}

#[tokio::test]
async fn a_tool_that_changes_while_a_person_is_asked_is_denied() {
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    assert_eq!(client.listed().await, ["write"]);
    begin_call(&client).await;
    let asked = question(&client.policies).await;
    client.server.set(&[OTHER_WRITE]);
    client.tell_change().await;
    client.policies.answer(asked.id, true);
    assert_eq!(client.next().await["error"]["data"]["reason"], "changed");
    assert_eq!(client.calls(), 0);
}

#[tokio::test]
async fn a_cancelled_call_is_not_made_when_it_is_allowed_later() {
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    begin_call(&client).await;
    let asked = question(&client.policies).await;
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#)
        .await;
    // The question goes away with its call, whose task is dropped by the runtime.
    while !client.policies.questions().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(!client.policies.answer(asked.id, true));
    assert_eq!(client.request("ping", "{}").await["result"], json!({}));
    assert_eq!(client.calls(), 0);
}

fn modern_params(more: &str) -> String {
    format!(
        r#"{{"name":"write","arguments":{{"to":"x"}},{more}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{"form":{{}}}}}}}}}}"#
    )
}

#[tokio::test]
async fn a_modern_client_repeats_the_call_with_the_answer_of_its_person() {
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    let asked = client.request("tools/call", &modern_params("")).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(
        result["inputRequests"]["keyway"]["method"],
        "elicitation/create"
    );
    let state = result["requestState"].to_string();
    let accept = r#""inputResponses":{"keyway":{"action":"accept"}},"#;
    // A state that was never given, and an answer without a question, only lead to the question.
    for forged in [
        accept.to_owned(),
        format!(r#"{accept}"requestState":"keyway-1","#),
    ] {
        let answer = client.request("tools/call", &modern_params(&forged)).await;
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    }
    assert_eq!(client.calls(), 0);
    // What the person saw is what is called.
    let repeated = modern_params(&format!(r#"{accept}"requestState":{state},"#));
    let repeated = repeated.replace(r#""to":"x""#, r#""to":"y""#);
    let answer = client.request("tools/call", &repeated).await;
    assert!(answer["result"]["content"].is_array(), "{answer}");
    let called = client.server.called.lock().unwrap().concat();
    assert!(
        called.contains(r#""to":"x""#) && !called.contains(r#""to":"y""#),
        "{called}"
    );
    assert!(!called.contains("requestState"), "{called}");
    // Once.
    let answer = client.request("tools/call", &repeated).await;
    assert_eq!(answer["result"]["resultType"], "input_required");
    assert_eq!(client.calls(), 1);
}

#[tokio::test]
async fn a_modern_client_whose_person_says_no_is_refused() {
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    let asked = client.request("tools/call", &modern_params("")).await;
    let state = asked["result"]["requestState"].to_string();
    let no =
        format!(r#""inputResponses":{{"keyway":{{"action":"decline"}}}},"requestState":{state},"#);
    let answer = client.request("tools/call", &modern_params(&no)).await;
    assert_eq!(answer["error"]["data"]["reason"], "answered-no");
    assert_eq!(client.calls(), 0);
}

/// Repeats the parked call of `write` under the name of another tool that is only asked about.
async fn repeat_as_read(client: &mut Client, state: &Value) -> Value {
    let accept = r#""inputResponses":{"keyway":{"action":"accept"}},"#;
    let repeated = modern_params(&format!(r#"{accept}"requestState":{state},"#));
    let repeated = repeated.replace(r#""name":"write""#, r#""name":"read""#);
    client.request("tools/call", &repeated).await
}

#[tokio::test]
async fn a_call_that_is_repeated_under_another_name_is_judged_by_its_own() {
    let rules = [("write", ToolRule::Ask), ("read", ToolRule::Ask)];
    let tools = format!("{READ},{WRITE}");
    for (changed, reason) in [(false, "denied"), (true, "changed")] {
        let mut client = Client::with(&rules, &[&tools]);
        let asked = client.request("tools/call", &modern_params("")).await;
        match changed {
            false => {
                let of = (None, "write");
                let deny = Some(ToolRule::Deny);
                client.policies.set_rule(("p", "s"), of, deny, []).unwrap();
            }
            true => {
                client.server.set(&[&format!("{READ},{OTHER_WRITE}")]);
                client.tell_change().await;
            }
        }
        let answer = repeat_as_read(&mut client, &asked["result"]["requestState"]).await;
        assert_eq!(answer["error"]["data"]["reason"], reason, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("`write`"), "{message}");
        assert_eq!(client.calls(), 0);
    }
}

#[tokio::test]
async fn a_tool_that_changes_between_the_question_and_the_repeated_call_is_denied() {
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    let asked = client.request("tools/call", &modern_params("")).await;
    let state = asked["result"]["requestState"].to_string();
    client.server.set(&[OTHER_WRITE]);
    client.tell_change().await;
    // A person looked at the tool as it is now, and not at this call of it.
    let raw = RawValue::from_string(OTHER_WRITE.to_owned()).unwrap();
    let digest = ToolDigest::of(&raw).unwrap();
    client
        .policies
        .look_at(("p", "s"), "write", digest)
        .unwrap();
    let accept = r#""inputResponses":{"keyway":{"action":"accept"}},"#;
    let repeated = modern_params(&format!(r#"{accept}"requestState":{state},"#));
    let answer = client.request("tools/call", &repeated).await;
    assert_eq!(answer["error"]["data"]["reason"], "changed", "{answer}");
    assert_eq!(client.calls(), 0);
}

/// Arguments that begin harmlessly, and what they end with.
fn long_arguments() -> (String, &'static str) {
    let filler = "x".repeat(1_200);
    (format!(r#"{{"a":"{filler}","to":"y"}}"#), r#""to":"y"}"#)
}

#[tokio::test]
async fn a_form_says_how_much_it_shows_and_offers_the_rest() {
    let (arguments, end) = long_arguments();
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    client.send(HELLO).await;
    client.next().await;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"write","arguments":{arguments}}}}}"#
    );
    client.send(&call).await;
    let form = client.next().await;
    let message = form["params"]["message"].as_str().unwrap();
    let chars = arguments.len();
    assert!(
        message.contains(&format!("characters 1 to 1000 of the {chars}")),
        "{message}"
    );
    assert!(!message.contains(end), "{message}");
    let fields = &form["params"]["requestedSchema"]["properties"];
    assert_eq!(fields["show_more"]["type"], "boolean");
    let on_dashboard = question(&client.policies).await;
    assert_eq!(
        (on_dashboard.arguments, on_dashboard.argument_chars),
        (arguments, chars)
    );
    let answer = async |client: &Client, form: &Value, content: &str| {
        let id = &form["id"];
        let result = format!(r#"{{"action":"accept","content":{content}}}"#);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        client.send(&text).await;
    };
    answer(&client, &form, r#"{"show_more":true}"#).await;
    let form = client.next().await;
    assert_eq!(form["method"], "elicitation/create", "{form}");
    let message = form["params"]["message"].as_str().unwrap();
    assert!(
        message.contains(end) && message.contains("characters 1001 to"),
        "{message}"
    );
    assert_eq!(form["params"]["requestedSchema"]["properties"], json!({}));
    assert_eq!(client.calls(), 0);
    answer(&client, &form, r#"{"show_more":false}"#).await;
    assert_eq!(client.next().await["id"], 9);
    assert_eq!(client.calls(), 1);
}

#[tokio::test]
async fn a_modern_client_gets_the_rest_of_the_arguments_before_it_answers() {
    let (arguments, end) = long_arguments();
    let params = |more: &str| modern_params(more).replace(r#"{"to":"x"}"#, &arguments);
    let answered = |content: &str, state: &Value| {
        let accept = format!(r#"{{"action":"accept","content":{content}}}"#);
        params(&format!(
            r#""inputResponses":{{"keyway":{accept}}},"requestState":{state},"#
        ))
    };
    let message = |asked: &Value| {
        let form = &asked["result"]["inputRequests"]["keyway"]["params"];
        form["message"].as_str().unwrap().to_owned()
    };
    let mut client = Client::with(&[("write", ToolRule::Ask)], &[WRITE]);
    let first = client.request("tools/call", &params("")).await;
    assert!(!message(&first).contains(end));
    let more = answered(r#"{"show_more":true}"#, &first["result"]["requestState"]);
    let second = client.request("tools/call", &more).await;
    assert!(message(&second).contains(end), "{second}");
    assert_eq!(client.calls(), 0);
    let state = &second["result"]["requestState"];
    assert_ne!(*state, first["result"]["requestState"]);
    let yes = answered("{}", state);
    let answer = client.request("tools/call", &yes).await;
    assert!(answer["result"]["content"].is_array(), "{answer}");
    assert_eq!(client.calls(), 1);
    // There is nothing behind the last page.
    let first = client.request("tools/call", &modern_params("")).await;
    let state = first["result"]["requestState"].to_string();
    let accept = r#"{"action":"accept","content":{"show_more":true}}"#;
    let more = format!(r#""inputResponses":{{"keyway":{accept}}},"requestState":{state},"#);
    let answer = client.request("tools/call", &modern_params(&more)).await;
    assert_eq!(answer["error"]["data"]["reason"], "answered-no", "{answer}");
    assert_eq!(client.calls(), 1);
}

#[tokio::test]
async fn a_client_is_told_when_rules_change_and_goes_by_the_new_ones() {
    let mut client = Client::with(&[("write", ToolRule::Deny)], &[&format!("{READ},{WRITE}")]);
    assert_eq!(client.listed().await, ["read"]);
    let rule = Some(ToolRule::Allow);
    client
        .policies
        .set_rule(("p", "s"), (None, "write"), rule, [])
        .unwrap();
    assert_eq!(
        client.next().await["method"],
        "notifications/tools/list_changed"
    );
    assert_eq!(client.listed().await, ["read", "write"]);
    assert_eq!(client.call("write").await, None);
}

#[test]
fn rules_and_tools_that_were_looked_at_outlive_the_process() {
    let home = tempfile::tempdir().unwrap();
    let folders = keyway_vault::Folders::below(home.path().join("k"));
    let open = || {
        let vault = Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
        Policies::new(&Settings::default(), Arc::new(vault)).unwrap()
    };
    let raw = serde_json::value::RawValue::from_string(WRITE.to_owned()).unwrap();
    let digest = ToolDigest::of(&raw).unwrap();
    let shown = [("write".to_owned(), digest)];
    let set = open().set_rule(
        ("p", "s"),
        (Some("ci"), "write"),
        Some(ToolRule::Ask),
        shown,
    );
    set.unwrap();
    let again = open();
    let rules = again.rules("p", "s");
    assert_eq!((rules.len(), rules[0].rule), (1, ToolRule::Ask));
    assert_eq!(
        again.tool_state(("p", "s"), "write", digest),
        ToolState::Known
    );
    assert_eq!(again.tool_state(("p", "s"), "read", digest), ToolState::New);
}

/// Two plugins whose names and servers make one text with a colon between.
#[test]
fn rules_of_one_server_are_not_those_of_another_whose_names_hold_colons() {
    let policies = Arc::new(Policies::in_memory(&Settings::default()));
    let (one, other) = (("a", "b:c"), ("a:b", "c"));
    let allow = Some(ToolRule::Allow);
    policies
        .set_rule(other, (None, "write"), allow, [])
        .unwrap();
    assert!(policies.rules(one.0, one.1).is_empty());
    assert!(policies.access(None, one).is_none());
    policies.set_rule(one, (None, "read"), allow, []).unwrap();
    let tools = |(plugin, server)| -> Vec<String> {
        let rules = policies.rules(plugin, server);
        rules.into_iter().map(|it| it.tool).collect()
    };
    assert_eq!(
        (tools(one), tools(other)),
        (vec!["read".into()], vec!["write".into()])
    );
    assert_eq!(policies.servers(), ["a%3Ab:c", "a:b:c"]);
}

/// What an earlier version kept was made for either of both servers.
#[test]
fn a_rule_of_an_earlier_version_denies_to_both_servers_and_allows_to_one() {
    let home = tempfile::tempdir().unwrap();
    let folders = keyway_vault::Folders::below(home.path().join("k"));
    let vault = Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
    let rows = vault.sealed(Namespace::new(NAMESPACE).unwrap());
    let row = br#"{"rules":{"all":{"*":"deny","read":"allow","write":"ask"}}}"#;
    rows.put("a:b:c", row).unwrap();
    drop(rows);
    let policies = Arc::new(Policies::new(&Settings::default(), Arc::new(vault)).unwrap());
    let digest = ToolDigest::of(&RawValue::from_string(WRITE.to_owned()).unwrap()).unwrap();
    let decide = |server, tool| policies.access(None, server).unwrap().decide(tool, digest);
    let denied = Verdict::Deny(Denial::Rule);
    for server in [("a", "b:c"), ("a:b", "c")] {
        assert_eq!(decide(server, "other"), denied);
        assert_eq!(decide(server, "write"), Verdict::Ask);
    }
    assert_eq!(decide(("a", "b:c"), "read"), Verdict::Allow);
    assert_eq!(decide(("a:b", "c"), "read"), denied);
    assert_eq!(policies.rules("a", "b:c").len(), 3);
    assert_eq!(policies.rules("a:b", "c").len(), 2);
}

#[test]
fn a_record_that_cannot_be_read_denies() {
    let home = tempfile::tempdir().unwrap();
    let folders = keyway_vault::Folders::below(home.path().join("k"));
    let vault = Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
    let rows = vault.sealed(Namespace::new(NAMESPACE).unwrap());
    rows.put("p:s", br#"{"rules":{"all":{"x":"later"}}}"#)
        .unwrap();
    drop(rows);
    let policies = Arc::new(Policies::new(&Settings::default(), Arc::new(vault)).unwrap());
    assert_eq!(policies.rules("p", "s")[0].rule, ToolRule::Deny);
    assert!(policies.access(None, ("p", "s")).is_some());
}

/// A server that is away, and what it listed last.
#[derive(Debug)]
struct Away {
    tools: Mutex<Vec<String>>,
}

impl keyway_mcp::aggregate::Connector for Away {
    fn connect(&self) -> BoxFuture<'_, Result<keyway_mcp::aggregate::Opened, ServerProblem>> {
        Box::pin(std::future::pending())
    }

    fn tool_memory(&self) -> Option<&dyn ToolMemory> {
        Some(self)
    }
}

impl ToolMemory for Away {
    fn recall(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>> {
        let tools = self.tools.lock().unwrap().clone();
        let raw = |tool: String| RawValue::from_string(tool).unwrap();
        Box::pin(async move { Some(tools.into_iter().map(raw).collect()) })
    }

    fn remember(&self, tools: &[Box<RawValue>]) {
        let tools = tools.iter().map(|it| it.get().to_owned());
        *self.tools.lock().unwrap() = tools.collect();
    }
}

#[tokio::test]
async fn what_is_denied_is_not_listed_from_memory_either() {
    let policies = Arc::new(Policies::in_memory(&Settings::default()));
    let away = Arc::new(Away {
        tools: Mutex::new(vec![READ.to_owned(), WRITE.to_owned()]),
    });
    let server = || ("p".to_owned(), "s".to_owned());
    let guarded =
        |client| GuardedConnector::new(Arc::clone(&away) as _, &policies, client, server());
    let (ci, other) = (guarded(Some("ci")), guarded(Some("other")));
    let recalled = async |connector: &GuardedConnector| -> Vec<String> {
        let memory = keyway_mcp::aggregate::Connector::tool_memory(connector).unwrap();
        let tools = memory.recall().await.unwrap();
        let names = tools.iter().map(|it| ListedTool::read(it).unwrap().name);
        names.collect()
    };
    assert_eq!(recalled(&ci).await, ["read", "write"]);
    let digest =
        |text: &str| ToolDigest::of(&RawValue::from_string(text.to_owned()).unwrap()).unwrap();
    let shown = [
        ("read".to_owned(), digest(READ)),
        ("write".to_owned(), digest(WRITE)),
    ];
    let of = (Some("ci"), "write");
    policies
        .set_rule(("p", "s"), of, Some(ToolRule::Deny), shown)
        .unwrap();
    assert_eq!(recalled(&ci).await, ["read"]);
    assert_eq!(recalled(&other).await, ["read", "write"]);
    // What one client may see does not become what all are shown.
    let memory = keyway_mcp::aggregate::Connector::tool_memory(&ci).unwrap();
    memory.remember(&[RawValue::from_string(READ.to_owned()).unwrap()]);
    assert_eq!(recalled(&other).await, ["read", "write"]);
    // Neither is a tool that has changed since it was looked at.
    let of = (Some("ci"), "write");
    policies
        .set_rule(("p", "s"), of, Some(ToolRule::Allow), [])
        .unwrap();
    *away.tools.lock().unwrap() = vec![READ.to_owned(), OTHER_WRITE.to_owned()];
    assert_eq!(recalled(&ci).await, ["read"]);
}

#[test]
fn rules_that_another_process_sets_are_found_and_nothing_else_is_told() {
    let home = tempfile::tempdir().unwrap();
    let folders = keyway_vault::Folders::below(home.path().join("k"));
    let open = || Arc::new(Vault::open(&folders, keyway_vault::KeySources::default()).unwrap());
    let settings = Settings::default();
    let here = Policies::new(&settings, open()).unwrap();
    let other = Policies::new(&settings, open()).unwrap();
    assert_eq!(here.refresh().unwrap(), []);
    let deny = Some(ToolRule::Deny);
    other
        .set_rule(("p", "s"), (None, "write_*"), deny, [])
        .unwrap();
    assert_eq!(here.refresh().unwrap(), [("p".to_owned(), "s".to_owned())]);
    assert_eq!(here.rules("p", "s"), other.rules("p", "s"));
    assert_eq!(here.servers(), ["p:s"]);
    assert_eq!(here.refresh().unwrap(), []);
    // What this process writes is no news to it.
    here.set_rule(("p", "t"), (None, "x"), deny, []).unwrap();
    assert_eq!(here.refresh().unwrap(), []);
    other
        .set_rule(("p", "s"), (None, "write_*"), None, [])
        .unwrap();
    assert_eq!(here.refresh().unwrap().len(), 1);
    assert_eq!(here.servers(), ["p:t"]);
}
