//! The SDK's own client lists and calls through Keyway, over http, ws and stdio; and of two processes
//! whose token has expired, one renews it.
//!
//! A program of its own: it is the launcher of local servers, the stdio server of the demo, and a
//! second host.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a test whose fixture is broken must stop"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keyway::Host;
use keyway::connect::{Isolation, Launcher};
use keyway::sign_in::PromptPolicy;
use keyway::vault::{Folders, KeySources, SourceKind};
use keyway_config::environment::Variables;
use keyway_demo::{Demo, DemoClock, Event, Open, STDIO_WORD, Settings, UserAgent};
use keyway_rmcp::KeywayTransport;
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;

const TOKEN_LIFE: Duration = Duration::from_mins(1);
const CALLER_WORD: &str = "caller";

fn main() {
    keyway::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [STDIO_WORD] => stdio_server(),
        [CALLER_WORD, plugin, home] => caller(Path::new(plugin), Path::new(home)),
        _ => tests(),
    }
}

/// Plays the server `local` of the demo, as the program `keyway` does.
fn stdio_server() {
    let folder = std::env::current_dir().unwrap();
    let variables = Variables::from_pairs(std::env::vars());
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    keyway_demo::serve_stdio(&variables, &folder, input, output).unwrap();
}

/// Is a second host: calls `docs` by the sign-in that another process made, a minute later.
fn caller(plugin: &Path, home: &Path) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let clock = Arc::new(DemoClock::default());
        clock.advance(TOKEN_LIFE);
        call(
            &host(plugin, home, Variables::default(), &clock),
            plugin,
            "docs",
        )
        .await;
    });
}

fn tests() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let clock = Arc::new(DemoClock::default());
        let demo = demo(&clock);
        let open = demo.open().unwrap();
        let variables = demo.variables().into_iter();
        let variables = variables.map(|(name, value)| (name, value.expose().clone()));
        let variables = Variables::from_pairs(variables);
        let host = host(&demo.plugin(), &demo.home(), variables, &clock);
        for (server, transport) in [("docs", "http"), ("live", "ws"), ("local", "stdio")] {
            call(&host, &demo.plugin(), server).await;
            println!("test the_sdk_lists_and_calls_over_{transport} ... ok");
        }
        two_processes_and_one_expiry_are_one_refresh(&demo, &open, &clock).await;
        println!("test two_processes_and_one_expiry_are_one_refresh ... ok");
    });
}

/// What the crate is for: the SDK's client on a connection of Keyway's.
async fn call(host: &Host, plugin: &Path, server: &str) {
    let plan = host.load(plugin).unwrap().plan(server).unwrap();
    let approved = plan.approve().await.unwrap();
    let client = ().serve(KeywayTransport::open(&approved).await.unwrap());
    let client = client.await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "echo"), "{tools:?}");
    let arguments = serde_json::json!({ "text": "hello" });
    let echo = CallToolRequestParams::new("echo");
    let echo = echo.with_arguments(arguments.as_object().cloned().unwrap());
    let answer = serde_json::to_value(client.call_tool(echo).await.unwrap()).unwrap();
    assert_eq!(answer["content"][0]["text"], "hello", "{answer}");
    client.cancel().await.unwrap();
}

async fn two_processes_and_one_expiry_are_one_refresh(demo: &Demo, open: &Open, clock: &DemoClock) {
    let refreshes = || open.journal.count("docs", Event::Refreshed);
    let before = refreshes();
    clock.advance(TOKEN_LIFE);
    let start = || {
        let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
        command.arg(CALLER_WORD).arg(demo.plugin()).arg(demo.home());
        command.spawn().unwrap()
    };
    let (mut one, mut other) = (start(), start());
    let (one, other) = tokio::join!(one.wait(), other.wait());
    assert!(one.unwrap().success() && other.unwrap().success());
    assert_eq!(refreshes() - before, 1);
    assert_eq!(open.journal.count("docs", Event::Consented), 1);
    assert_eq!(open.journal.count("docs", Event::Reused), 0);
}

fn demo(clock: &Arc<DemoClock>) -> Demo {
    Demo::prepare(Settings {
        binary: std::env::current_exe().unwrap(),
        environment: Vec::new(),
        isolation: Isolation::default(),
        presenter: Arc::new(UserAgent::default()),
        token_life: TOKEN_LIFE,
        events: keyway::events::Events::default(),
        now: SystemTime::now,
        clock: Arc::clone(clock),
    })
    .unwrap()
}

/// A host like any other; the plugin was written a moment ago, by the demo.
fn host(plugin: &Path, home: &Path, variables: Variables, clock: &Arc<DemoClock>) -> Host {
    Host::builder()
        .client("keyway-rmcp-test", "1.0.0")
        .launcher(Launcher::new(std::env::current_exe().unwrap()))
        .environment(variables)
        .project_dir(plugin.to_owned())
        .vault(
            Folders::below(home),
            KeySources::default().choosing(SourceKind::KeyFile),
        )
        .presenter(Arc::new(UserAgent::default()))
        .asking(PromptPolicy::WhenNeeded)
        .clock(Arc::clone(clock) as _)
        .dangerous_approve_all(true)
        .build()
        .unwrap()
}
