//! The client on a command: lists, calls, reads, and answers a question.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, Implementation, ProgressNotificationParam, ProtocolVersion,
    ReadResourceRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _};
use serde_json::{Value, json};
use tokio::process::Command;

/// Does what a client does and prints one line of JSON about it.
pub async fn run(era: &str, command: &str, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let lifecycle = match era {
        "legacy" => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
    };
    let mut child = Command::new(command);
    child.args(arguments);
    let person = Person::default();
    let client = person
        .clone()
        .serve_with_lifecycle(TokioChildProcess::new(child)?, lifecycle)
        .await?;
    let call = async |name: &'static str, arguments: Value| {
        let params = CallToolRequestParams::new(name);
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let result = client.call_tool(params.with_arguments(arguments)).await?;
        let text = json!(result)["content"][0]["text"].clone();
        Ok::<Value, Box<dyn Error>>(text)
    };
    let mut tools: Vec<_> = client.list_all_tools().await?;
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let echo = call("echo", json!({"message": "hello"})).await?;
    call("count", json!({"steps": 3})).await?;
    let greet = call("greet", json!({})).await?;
    let read = client
        .read_resource(ReadResourceRequestParams::new("peer://greeting"))
        .await?;
    let report = json!({
        "version": client.peer_info().map(|info| info.protocol_version.to_string()),
        "tools": tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<&str>>(),
        "echo": echo,
        "progress": person.progress.load(Ordering::SeqCst),
        "asked": person.asked.load(Ordering::SeqCst),
        "greet": greet,
        "read": json!(read)["contents"][0]["text"],
    });
    println!("{report}");
    client.cancel().await?;
    Ok(())
}

#[derive(Clone, Default)]
struct Person {
    asked: Arc<AtomicUsize>,
    progress: Arc<AtomicUsize>,
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("rust-peer", "0.0.0"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = ElicitResult::new(ElicitationAction::Accept);
        Ok(answer.with_content(json!({"name": "keyway"})))
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.fetch_add(1, Ordering::SeqCst);
    }
}
