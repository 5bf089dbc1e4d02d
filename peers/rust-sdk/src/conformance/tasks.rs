//! Tools of the tasks extension: some run as a task where the client knows tasks, some only so.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateTaskResult, ErrorData, InputRequiredResult,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskOptions};
use serde_json::{Value, json};

use super::tools::said;
use super::{Context, Shared, inputs, internal, made};

pub const NAMES: &[&str] = &[
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

pub async fn call(
    shared: &Shared,
    call: &CallToolRequestParams,
    context: &Context,
) -> Result<CallToolResponse, ErrorData> {
    let given = |name: &str| call.arguments.as_ref().and_then(|all| all.get(name));
    let knows_tasks = context
        .client_capabilities()
        .is_some_and(|declared| declared.supports_tasks());
    let required = || {
        let required = ClientCapabilities::builder().enable_tasks().build();
        ErrorData::missing_required_client_capability(required)
    };
    match call.name.as_ref() {
        "greet" => {
            let name = given("name").and_then(Value::as_str).unwrap_or_default();
            return Ok(said(&format!("Hello, {name}!")));
        }
        "slow_compute" if !knows_tasks => {
            tokio::time::sleep(seconds(given("seconds"))).await;
            return Ok(said("computed"));
        }
        _ if !knows_tasks => return Err(required()),
        _ => {}
    }
    let operation: Box<dyn FnOnce(TaskContext) -> TaskFuture> = match call.name.as_ref() {
        "slow_compute" => {
            let time = seconds(given("seconds"));
            Box::new(move |task| {
                Box::pin(async move {
                    tokio::select! {
                        () = task.cancelled() => Err(TaskExit::Cancelled),
                        () = tokio::time::sleep(time) => Ok(text("computed")),
                    }
                })
            })
        }
        "failing_job" => Box::new(|_| {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(CallToolResult::error(vec![ContentBlock::text(
                    "the job failed",
                )]))
            })
        }),
        "protocol_error_job" => {
            Box::new(|_| Box::pin(async { Err(TaskExit::from(internal("the server failed"))) }))
        }
        "confirm_delete" => Box::new(|task| Box::pin(confirmed(task, &["confirm"]))),
        "multi_input" => Box::new(|task| Box::pin(confirmed(task, &["one", "two"]))),
        _ => {
            let responses = call.input_responses.as_ref();
            let Some(name) = inputs::field(responses, "user_name", "name") else {
                let form = inputs::form("What is your name?", "name", "string");
                let asked = inputs::requests(json!({ "user_name": form }))?;
                return Ok(InputRequiredResult::from_input_requests(asked).into());
            };
            Box::new(move |_| Box::pin(async move { Ok(text(&format!("Hello, {name}!"))) }))
        }
    };
    let task = shared.tasks.spawn(TaskOptions::new(), operation);
    Ok(CreateTaskResult::new(task).into())
}

/// Asks for several confirmations at once, and is done when all are there.
async fn confirmed(
    task: TaskContext,
    keys: &'static [&'static str],
) -> Result<CallToolResult, TaskExit> {
    let mut waiting = Vec::new();
    for key in keys {
        let request = made(inputs::form("Are you sure?", "confirm", "boolean"))?;
        let task = task.clone();
        waiting.push(tokio::spawn(async move {
            task.request_input(*key, request).await
        }));
    }
    let mut answers = Vec::new();
    for one in waiting {
        answers.push(one.await.map_err(internal)??);
    }
    Ok(text(&json!(answers).to_string()))
}

fn text(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn seconds(given: Option<&Value>) -> Duration {
    Duration::from_secs_f64(given.and_then(Value::as_f64).unwrap_or_default().max(0.0))
}
