//! The server: echoes, counts with progress, asks for a name, has one resource.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ErrorData, InputRequest, InputRequests, InputRequiredResult, JsonObject,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::{Value, json};

/// Which protocol versions the server takes.
#[derive(Clone, Copy)]
pub enum Eras {
    Both,
    Modern,
    Legacy,
}

impl Eras {
    /// Reads the last words of a command line.
    pub fn read(words: &[&str]) -> Result<Self, String> {
        match words {
            [] | ["both"] => Ok(Self::Both),
            ["modern"] => Ok(Self::Modern),
            ["legacy"] => Ok(Self::Legacy),
            _ => Err(format!("no such eras: {}", words.join(" "))),
        }
    }
}

/// Serves standard input and output until they close.
pub async fn stdio(eras: Eras) -> Result<(), Box<dyn Error>> {
    let running = Peer(eras).serve(rmcp::transport::stdio()).await?;
    running.waiting().await?;
    Ok(())
}

/// Serves `/mcp` on a port of the loopback interface.
pub async fn http(port: u16, eras: Eras) -> Result<(), Box<dyn Error>> {
    let service: StreamableHttpService<Peer, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(Peer(eras)),
        Arc::default(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    Ok(axum::serve(listener, router).await?)
}

#[derive(Clone, Copy)]
struct Peer(Eras);

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources();
        ServerConfig::new(capabilities.build())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let is_taken = |version: &ProtocolVersion| match self.0 {
            Eras::Both => true,
            Eras::Modern => !version.has_initialize(),
            Eras::Legacy => version.has_initialize(),
        };
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        Cow::Owned(known.filter(|version| is_taken(version)).cloned().collect())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &'static str, schema: Value| Tool::new(name, name, object(schema));
        let tools = vec![
            tool(
                "echo",
                json!({"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}),
            ),
            tool(
                "count",
                json!({"type": "object", "properties": {"steps": {"type": "integer"}}, "required": ["steps"]}),
            ),
            tool("greet", json!({"type": "object"})),
        ];
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = Value::Object(request.arguments.clone().unwrap_or_default());
        match request.name.as_ref() {
            "echo" => {
                let message = given["message"].as_str().unwrap_or_default();
                Ok(text(format!("Echo: {message}")))
            }
            "count" => {
                let steps = given["steps"].as_u64().unwrap_or_default();
                count(steps, &context).await
            }
            "greet" => greet(&request, &context).await,
            _ => Err(ErrorData::invalid_params("no such tool", None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let greeting = Resource::new("peer://greeting", "greeting");
        Ok(ListResourcesResult::with_all_items(vec![greeting]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = ResourceContents::text("hello from rust", request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

async fn count(
    steps: u64,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(token) = context.meta.get_progress_token() {
        for step in 1..=steps {
            let progress = ProgressNotificationParam::new(token.clone(), step as f64);
            let sent = context
                .peer
                .notify_progress(progress.with_total(steps as f64));
            sent.await
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            // The TypeScript client drops progress that comes in one piece with the result.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(text(format!("counted to {steps}")))
}

/// Asks the client for a name: by a request of its own, or inside the result.
async fn greet(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let is_modern = context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Who is there?".into(),
        requested_schema: serde_json::from_value(json!({
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]
        }))
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
    };
    let name = if !is_modern {
        let asked = context.peer.create_elicitation(form).await;
        let answer = asked.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        answer.content.map(|content| json!(content)["name"].clone())
    } else if let Some(responses) = &request.input_responses {
        if request.request_state.as_deref() != Some("asked") {
            return Err(ErrorData::invalid_params("the state is another", None));
        }
        responses
            .get("name")
            .map(|answer| json!(answer)["content"]["name"].clone())
    } else {
        let mut requests = InputRequests::new();
        requests.insert(
            "name".to_owned(),
            InputRequest::Elicitation(ElicitRequest::new(form)),
        );
        return Ok(InputRequiredResult::new(Some(requests), Some("asked".into())).into());
    };
    let name = name.unwrap_or_default();
    Ok(text(format!("hello {}", name.as_str().unwrap_or_default())))
}

fn text(text: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
