//! Clients and servers of different eras, through a whole bridge.

use keyway_transport::TransportError;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
};
use tokio::task::JoinHandle;

use super::super::bridge;
use super::super::testing::memory_pipe;
use crate::eras::testing::Server;

/// A client on one side of a bridge and a server on the other.
struct Bridged {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: Server,
    bridge: JoinHandle<std::io::Result<()>>,
}

impl Bridged {
    fn new() -> Self {
        let (server, connection) = Server::new();
        let (client, read, write) = memory_pipe(1 << 16);
        let bridge = tokio::spawn(bridge(read, write, connection));
        let (output, input) = split(client);
        Self {
            input,
            output: BufReader::new(output).lines(),
            server,
            bridge,
        }
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn server_says(&self, message: Value) {
        self.server.says(&message.to_string()).await;
    }

    async fn end(self) {
        drop((self.input, self.output));
        self.bridge.await.unwrap().unwrap();
    }
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A legacy client sends `initialize` to a server that knows `server/discover` only.
async fn legacy_on_modern() -> Bridged {
    let mut bridged = Bridged::new();
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "c", "version": "1" },
    });
    bridged
        .send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }))
        .await;
    assert_eq!(bridged.server.next_json().await["method"], "initialize");
    let status = TransportError::Status {
        status: 400,
        retry_after: None,
    };
    bridged.server.fails("0", status).await;
    let question = bridged.server.next_json().await;
    assert_eq!(question["method"], "server/discover");
    let found = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
    });
    bridged
        .server_says(json!({ "jsonrpc": "2.0", "id": question["id"], "result": found }))
        .await;
    let greeted = bridged.next().await;
    assert_eq!(greeted["id"], 0);
    assert_eq!(greeted["result"]["protocolVersion"], "2025-06-18");
    bridged
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    bridged
}

#[tokio::test]
async fn legacy_client_calls_a_tool_of_a_modern_server_with_progress_and_a_question() {
    let mut bridged = legacy_on_modern().await;
    let params = json!({ "name": "t", "_meta": { "progressToken": 1 } });
    bridged
        .send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
        .await;
    let call = bridged.server.next_json().await;
    assert_eq!(call["params"]["_meta"][VERSION], "2026-07-28");
    assert_eq!(call["params"]["_meta"]["progressToken"], 1);
    let progress = json!({ "progressToken": 1, "progress": 0.5 });
    bridged
        .server_says(json!({ "method": "notifications/progress", "params": progress }))
        .await;
    assert_eq!(bridged.next().await["params"], progress);
    let asks = json!({
        "resultType": "input_required",
        "inputRequests": { "k": { "method": "elicitation/create", "params": { "message": "m" } } },
        "requestState": "s",
    });
    bridged
        .server_says(json!({ "id": 1, "result": asks }))
        .await;
    let question = bridged.next().await;
    assert_eq!(question["method"], "elicitation/create");
    let accepted = json!({ "action": "accept" });
    bridged
        .send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted }))
        .await;
    let again = bridged.server.next_json().await;
    assert_eq!(again["params"]["inputResponses"], json!({ "k": accepted }));
    assert_eq!(again["params"]["requestState"], "s");
    bridged
        .server_says(json!({ "id": again["id"], "result": { "content": [] } }))
        .await;
    assert_eq!(
        bridged.next().await,
        json!({ "id": 1, "result": { "content": [] } })
    );
    bridged.end().await;
}

#[tokio::test]
async fn legacy_client_cancels_a_call_of_a_modern_server() {
    let mut bridged = legacy_on_modern().await;
    bridged
        .send(json!({ "id": 1, "method": "tools/call" }))
        .await;
    bridged.server.next().await;
    let cancelled = json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } });
    bridged.send(cancelled.clone()).await;
    assert_eq!(bridged.server.next().await, "abandon 1");
    assert_eq!(bridged.server.next_json().await, cancelled);
    bridged.end().await;
}

/// Lets a modern client ask a server that knows `initialize` only.
async fn modern_on_legacy() -> Bridged {
    let mut bridged = Bridged::new();
    bridged
        .send(json!({ "id": "d", "method": "server/discover", "params": meta(&json!({})) }))
        .await;
    assert_eq!(
        bridged.server.next_json().await["method"],
        "server/discover"
    );
    let unknown = json!({ "code": -32601, "message": "Method not found" });
    bridged
        .server_says(json!({ "id": "d", "error": unknown }))
        .await;
    let hello = bridged.server.next_json().await;
    assert_eq!(hello["method"], "initialize");
    assert_eq!(hello["params"]["capabilities"], json!({ "roots": {} }));
    let session = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "s", "version": "1" },
    });
    bridged
        .server_says(json!({ "id": hello["id"], "result": session }))
        .await;
    let found = bridged.next().await;
    assert_eq!(found["id"], "d");
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(
        bridged.server.next_json().await["method"],
        "notifications/initialized"
    );
    bridged
}

/// Parameters of a modern request.
fn meta(rest: &Value) -> Value {
    let mut params = rest.clone();
    params["_meta"][VERSION] = json!("2026-07-28");
    params["_meta"][CAPABILITIES] = json!({ "roots": {} });
    params
}

#[tokio::test]
async fn modern_client_calls_a_tool_of_a_legacy_server_with_progress_and_a_question() {
    let mut bridged = modern_on_legacy().await;
    let params = meta(&json!({ "name": "t", "_meta": { "progressToken": 1 } }));
    bridged
        .send(json!({ "id": 1, "method": "tools/call", "params": params }))
        .await;
    let call = bridged.server.next_json().await;
    assert_eq!(
        call["params"],
        json!({ "name": "t", "_meta": { "progressToken": 1 } })
    );
    let progress = json!({ "progressToken": 1, "progress": 0.5 });
    bridged
        .server_says(json!({ "method": "notifications/progress", "params": progress }))
        .await;
    assert_eq!(bridged.next().await["params"], progress);
    bridged
        .server_says(json!({ "id": 0, "method": "roots/list" }))
        .await;
    let asks = bridged.next().await;
    assert_eq!(asks["result"]["resultType"], "input_required");
    let asked = asks["result"]["inputRequests"].as_object().unwrap();
    let (key, question) = asked.iter().next().unwrap();
    assert_eq!(question["method"], "roots/list");
    let answer = json!({
        "name": "t",
        "inputResponses": { key.as_str(): { "roots": [] } },
        "requestState": asks["result"]["requestState"],
    });
    bridged
        .send(json!({ "id": 2, "method": "tools/call", "params": meta(&answer) }))
        .await;
    let answered = bridged.server.next_json().await;
    assert_eq!(
        answered,
        json!({ "jsonrpc": "2.0", "id": 0, "result": { "roots": [] } })
    );
    bridged
        .server_says(json!({ "id": call["id"], "result": { "content": [] } }))
        .await;
    let result = json!({ "content": [], "resultType": "complete" });
    assert_eq!(bridged.next().await, json!({ "id": 2, "result": result }));
    bridged.end().await;
}

#[tokio::test]
async fn modern_client_cancels_a_call_of_a_legacy_server() {
    let mut bridged = modern_on_legacy().await;
    let params = meta(&json!({ "name": "t" }));
    bridged
        .send(json!({ "id": 1, "method": "tools/call", "params": params }))
        .await;
    let id = bridged.server.next_json().await["id"].clone();
    let cancelled = json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } });
    bridged.send(cancelled).await;
    assert_eq!(bridged.server.next().await, format!("abandon {id}"));
    assert_eq!(
        bridged.server.next_json().await["params"],
        json!({ "requestId": id })
    );
    bridged.end().await;
}

#[tokio::test]
async fn client_gets_the_first_answer_if_the_server_speaks_no_era() {
    let mut bridged = Bridged::new();
    bridged
        .send(json!({ "id": 0, "method": "initialize", "params": {} }))
        .await;
    bridged.server.next().await;
    let unknown = json!({ "code": -32601, "message": "Method not found" });
    bridged
        .server_says(json!({ "id": 0, "error": unknown }))
        .await;
    let question = bridged.server.next_json().await;
    bridged
        .server_says(json!({ "id": question["id"], "error": unknown }))
        .await;
    assert_eq!(bridged.next().await, json!({ "id": 0, "error": unknown }));
    bridged.end().await;
}

#[tokio::test]
async fn call_without_a_discovery_reaches_a_legacy_server_once_and_after_the_handshake() {
    let mut bridged = Bridged::new();
    let params = meta(&json!({ "name": "t" }));
    bridged
        .send(json!({ "id": 1, "method": "tools/call", "params": params }))
        .await;
    let probe = bridged.server.next_json().await;
    assert_eq!(probe["method"], "server/discover");
    assert_eq!(probe["params"], meta(&json!({})));
    let unknown = json!({ "code": -32601, "message": "Method not found" });
    bridged
        .server_says(json!({ "id": probe["id"], "error": unknown }))
        .await;
    let hello = bridged.server.next_json().await;
    assert_eq!(hello["method"], "initialize");
    let session = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    bridged
        .server_says(json!({ "id": hello["id"], "result": session }))
        .await;
    assert_eq!(
        bridged.server.next_json().await["method"],
        "notifications/initialized"
    );
    let call = bridged.server.next_json().await;
    assert_eq!(call["params"], json!({ "name": "t" }));
    bridged
        .server_says(json!({ "id": call["id"], "result": {} }))
        .await;
    let result = json!({ "resultType": "complete" });
    assert_eq!(bridged.next().await, json!({ "id": 1, "result": result }));
    bridged.end().await;
}

#[tokio::test]
async fn call_without_a_discovery_passes_unchanged_to_a_modern_server() {
    for known in [
        json!({ "result": { "supportedVersions": ["2026-07-28"] } }),
        json!({ "error": { "code": -32022, "message": "Unsupported protocol version" } }),
    ] {
        let mut bridged = Bridged::new();
        let call = json!({ "id": 1, "method": "tools/call", "params": meta(&json!({})) });
        bridged.send(call.clone()).await;
        let mut answer = known;
        answer["id"] = bridged.server.next_json().await["id"].clone();
        bridged.server_says(answer).await;
        assert_eq!(bridged.server.next_json().await, call);
        bridged.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_discovery_gets_initialize() {
    let mut bridged = Bridged::new();
    bridged
        .send(json!({ "id": "d", "method": "server/discover", "params": meta(&json!({})) }))
        .await;
    assert_eq!(
        bridged.server.next_json().await["method"],
        "server/discover"
    );
    assert_eq!(bridged.server.next_json().await["method"], "initialize");
    bridged.bridge.abort();
}

fn discovery() -> Value {
    let meta = json!({ VERSION: "2026-07-28", CAPABILITIES: {} });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": { "_meta": meta } })
}

fn discovered() -> Value {
    let found = json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } });
    json!({ "jsonrpc": "2.0", "id": 0, "result": found })
}

#[tokio::test(start_paused = true)]
async fn modern_server_that_is_slow_to_start_is_not_translated() {
    let mut bridged = Bridged::new();
    bridged.send(discovery()).await;
    assert_eq!(
        bridged.server.next_json().await["method"],
        "server/discover"
    );
    let greeting = bridged.server.next_json().await;
    assert_eq!(greeting["method"], "initialize");
    bridged.server_says(discovered()).await;
    let refusal = json!({ "code": -32022, "message": "this connection is modern" });
    bridged
        .server_says(json!({ "jsonrpc": "2.0", "id": greeting["id"], "error": refusal }))
        .await;
    assert_eq!(bridged.next().await, discovered());
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    bridged.send(list.clone()).await;
    assert_eq!(bridged.server.next_json().await, list);
    bridged.end().await;
}

#[tokio::test(start_paused = true)]
async fn client_that_does_not_wait_for_a_discovery_is_served_in_the_era_it_falls_back_to() {
    let mut bridged = Bridged::new();
    bridged.send(discovery()).await;
    assert_eq!(
        bridged.server.next_json().await["method"],
        "server/discover"
    );
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    bridged.send(hello.clone()).await;
    assert_eq!(bridged.server.next_json().await, hello);
    let welcome =
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": "2025-11-25" } });
    bridged.server_says(welcome.clone()).await;
    assert_eq!(bridged.next().await, welcome);
    bridged.end().await;
}

#[tokio::test(start_paused = true)]
async fn requests_that_do_not_wait_for_a_discovery_are_sent_after_its_answer() {
    let mut bridged = Bridged::new();
    bridged.send(discovery()).await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    bridged.send(list.clone()).await;
    assert_eq!(
        bridged.server.next_json().await["method"],
        "server/discover"
    );
    bridged.server_says(discovered()).await;
    assert_eq!(bridged.next().await, discovered());
    assert_eq!(bridged.server.next_json().await, list);
    bridged.end().await;
}
