//! A server for the server side of the official conformance suite, at both protocol versions that
//! the suite freezes. The suite fixes the names of tools, prompts and resources and what they return.

#![expect(deprecated, reason = "the suite tests what 2026-07-28 leaves out")]

mod inputs;
mod prompts;
mod resources;
mod tasks;
mod tools;

use std::error::Error;
use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, RequestStateCodec, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

/// Serves `/mcp` on a port of the loopback interface.
pub async fn serve(port: u16) -> Result<(), Box<dyn Error>> {
    let shared = Arc::new(Shared {
        tasks: TaskManager::new(),
        changes: broadcast::channel(16).0,
        // A process signs for itself alone: no state outlives it.
        states: RequestStateCodec::try_new([std::process::id().to_be_bytes(); 8].concat())?,
    });
    let service: StreamableHttpService<Fixture, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(Fixture(Arc::clone(&shared))),
        Arc::default(),
        StreamableHttpServerConfig::default().with_allowed_origins(LOCAL_ORIGINS),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("{}", listener.local_addr()?.port());
    Ok(axum::serve(listener, router).await?)
}

/// What outlives a request: in the stateless version each request has a handler of its own.
struct Shared {
    tasks: TaskManager,
    changes: broadcast::Sender<Change>,
    states: RequestStateCodec,
}

/// A list that changed.
#[derive(Clone, Copy)]
enum Change {
    Tools,
    Prompts,
}

struct Fixture(Arc<Shared>);

type Context = RequestContext<RoleServer>;

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "completions": {},
            "extensions": { "io.modelcontextprotocol/tasks": {} },
            "logging": {},
            "prompts": { "listChanged": true },
            "resources": { "subscribe": true },
            "tools": { "listChanged": true },
        });
        let capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("rust-peer-conformance", "0.0.0");
        config
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(asked.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.0.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The sink refuses what the filter leaves out; that is as it should be.
            drop(match change {
                Ok(Change::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            });
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()?))
    }

    // The transport compares `Mcp-Param-*` headers with the schema that this returns.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all()
            .ok()?
            .into_iter()
            .find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(&self.0, &call, &context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        prompts::list()
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list()
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::templates()
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&request.uri)
    }

    async fn get_task(&self, of: GetTaskParams, _: Context) -> Result<GetTaskResult, ErrorData> {
        self.0.tasks.get_task(&of.task_id).map(GetTaskResult::new)
    }

    async fn update_task(&self, of: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        self.0.tasks.update_task(&of.task_id, of.input_responses)
    }

    async fn cancel_task(&self, of: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        self.0.tasks.cancel_task(&of.task_id)
    }
}

/// Whether the request uses the version in which servers ask inside their results.
fn is_modern(context: &Context) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Makes a value of the SDK's out of its JSON: shorter than its builders, and as the suite has it.
fn made<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(internal)
}

/// Makes a result; the SDK takes `resultType` away again for versions that do not have it.
fn result<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = json!("complete");
    made(value)
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Pages on this machine, whatever their port.
const LOCAL_ORIGINS: [&str; 3] = ["http://localhost", "http://127.0.0.1", "http://[::1]"];
/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
