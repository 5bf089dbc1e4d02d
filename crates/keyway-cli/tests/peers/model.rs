//! A stand-in for the model of Claude Code: a function says which tools it calls next.
//!
//! It answers the Messages API on loopback. What it is sent of the conversation is what a model would
//! know: which tools there are, and the texts that the client showed it.

use keyway_testkit::{Answer, Request, Upstream};
use serde_json::{Value, json};

/// What the model knows when its turn comes.
pub(crate) struct Conversation {
    /// The names of the tools that it may call.
    pub(crate) tools: Vec<String>,
    /// The texts of all results so far, by turn.
    pub(crate) results: Vec<Vec<String>>,
}

/// What the model does in its turn.
pub(crate) enum Turn {
    /// Calls tools, all with the same message.
    Call(Vec<String>, String),
    /// Says something, and the session ends.
    Say(&'static str),
}

/// A model on loopback; it lives as long as the process.
pub(crate) struct Model {
    server: Upstream,
}

impl Model {
    /// Starts a model; `turn` may take as long as it wants, as models do.
    pub(crate) fn start(turn: impl Fn(&Conversation) -> Turn + Send + Sync + 'static) -> Self {
        let server = Upstream::start(move |request| answer(request, &turn));
        Self { server }
    }

    /// Returns where clients find it.
    pub(crate) fn url(&self) -> String {
        self.server.url("")
    }

    /// Returns the conversation as the client sent it last.
    pub(crate) fn last(&self) -> Conversation {
        let requests = self.server.seen();
        let all = requests.iter().filter_map(|request| read(&request.body));
        all.max_by_key(|it| it.results.len())
            .unwrap_or(Conversation {
                tools: Vec::new(),
                results: Vec::new(),
            })
    }
}

fn answer(request: &Request, turn: &impl Fn(&Conversation) -> Turn) -> Answer {
    if request.method != "POST" || request.path != "/v1/messages" {
        return Answer::json(200, &json!({ "input_tokens": 1 }));
    }
    // Clients take messages of one id for parts of one.
    let (number, turn) = match read(&request.body) {
        Some(conversation) => (conversation.results.len(), turn(&conversation)),
        // What a client asks beside the conversation, such as a title for it.
        None => (0, Turn::Say("fine")),
    };
    let message = message(&turn, number);
    let is_streamed = request.body.contains(r#""stream":true"#);
    match is_streamed {
        true => Answer {
            status: 200,
            headers: vec![("content-type", "text/event-stream".to_owned())],
            body: stream(&message),
        },
        false => Answer::json(200, &message),
    }
}

/// Reads what a client sent; `None` if it offers no tools.
fn read(body: &str) -> Option<Conversation> {
    let sent: Value = serde_json::from_str(body).ok()?;
    let tools = sent.get("tools")?.as_array()?;
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    let tools: Vec<String> = names.map(str::to_owned).collect();
    if tools.is_empty() {
        return None;
    }
    let mut results = Vec::new();
    for message in sent["messages"].as_array()? {
        let parts = message["content"].as_array().into_iter().flatten();
        let parts = parts.filter(|part| part["type"] == "tool_result");
        let texts: Vec<String> = parts.map(|part| text(&part["content"])).collect();
        if !texts.is_empty() {
            results.push(texts);
        }
    }
    Some(Conversation { tools, results })
}

/// Returns the text of a result, which is a string or a list of parts.
fn text(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => parts.join("\n"),
    }
}

fn blocks(turn: &Turn) -> Vec<Value> {
    match turn {
        Turn::Say(text) => vec![json!({ "type": "text", "text": text })],
        Turn::Call(tools, message) => {
            let calls = tools.iter().enumerate().map(|(number, tool)| {
                let id = format!("toolu_{message}_{number}");
                let input = json!({ "message": message });
                json!({ "type": "tool_use", "id": id, "name": tool, "input": input })
            });
            calls.collect()
        }
    }
}

fn message(turn: &Turn, number: usize) -> Value {
    let reason = match turn {
        Turn::Say(_) => "end_turn",
        Turn::Call(..) => "tool_use",
    };
    json!({
        "id": format!("msg_{number}"),
        "type": "message",
        "role": "assistant",
        "model": "stand-in",
        "content": blocks(turn),
        "stop_reason": reason,
        "stop_sequence": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    })
}

/// Writes the same as events.
fn stream(whole: &Value) -> String {
    let mut begin = whole.clone();
    begin["content"] = json!([]);
    begin["stop_reason"] = Value::Null;
    let mut events = vec![json!({ "type": "message_start", "message": begin })];
    let blocks = whole["content"].as_array().into_iter().flatten();
    for (index, block) in blocks.enumerate() {
        let mut empty = block.clone();
        let delta = match block["type"].as_str() {
            Some("tool_use") => {
                empty["input"] = json!({});
                let input = block["input"].to_string();
                json!({ "type": "input_json_delta", "partial_json": input })
            }
            _ => {
                empty["text"] = json!("");
                json!({ "type": "text_delta", "text": block["text"] })
            }
        };
        let block = empty;
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": whole["stop_reason"], "stop_sequence": null });
    let usage = &whole["usage"];
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    lines.collect()
}
