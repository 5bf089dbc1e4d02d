//! How other gateways are started and told of the server.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use keyway_testkit::{Folder, free_port};
use serde_json::json;
use tokio::runtime::Builder;

use super::{Ended, Target};
use crate::figures::client::Client;
use crate::timeouts::{RIVAL_POLL, RIVAL_START_TIMEOUT};

/// A gateway in a virtual environment of Python.
#[derive(Debug)]
pub(super) enum Rival {
    ContextForge(PathBuf),
    LiteLlm(PathBuf),
}

/// What each of them is told.
pub(super) struct Surroundings<'a> {
    /// The address of the server.
    pub(super) upstream: &'a str,
    /// Role, host and database of a PostgreSQL.
    pub(super) database: String,
    pub(super) folder: &'a Folder,
}

impl Rival {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("contextforge", folder)) => Ok(Self::ContextForge(folder.into())),
            Some(("litellm", folder)) => Ok(Self::LiteLlm(folder.into())),
            _ => Err("not `contextforge=FOLDER` or `litellm=FOLDER`".to_owned()),
        }
    }

    /// Starts it in front of a server, and waits until it answers.
    pub(super) fn start(self, around: &Surroundings<'_>) -> Result<Target, String> {
        let port = free_port();
        let (upstream, folder) = (around.upstream, around.folder);
        match self {
            Self::ContextForge(environment) => {
                let program = environment.join("bin/mcpgateway");
                let mut command = Command::new(program);
                for (name, value) in forge_settings(&around.database) {
                    command.env(name, value);
                }
                command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
                let process = run(command, folder, "contextforge", port)?;
                let token = forge_token(&environment, &around.database)?;
                let headers = format!("authorization: Bearer {token}\r\n");
                let body = json!({
                    "name": "figures",
                    "url": upstream,
                    "transport": "STREAMABLEHTTP",
                });
                post(port, "/gateways", (&headers, &body.to_string()))?;
                Ok(Target {
                    name: "ContextForge".to_owned(),
                    port,
                    path: "/mcp/",
                    headers,
                    tool: String::new(),
                    _process: Some(process),
                })
            }
            Self::LiteLlm(environment) => {
                let config = json!({
                    "model_list": [],
                    "general_settings": { "master_key": SECRET },
                    "mcp_servers": { "figures": { "url": upstream, "transport": "http" } },
                });
                // JSON is YAML.
                folder.put("litellm.yaml", config.to_string());
                let mut command = Command::new(environment.join("bin/litellm"));
                command
                    .args([
                        "--host",
                        "127.0.0.1",
                        "--port",
                        &port.to_string(),
                        "--config",
                    ])
                    .arg(folder.at("litellm.yaml"))
                    .env("LITELLM_LOG", "ERROR");
                let process = run(command, folder, "litellm", port)?;
                Ok(Target {
                    name: "LiteLLM".to_owned(),
                    port,
                    path: "/mcp/",
                    headers: format!("x-litellm-api-key: Bearer {SECRET}\r\n"),
                    tool: String::new(),
                    _process: Some(process),
                })
            }
        }
    }
}

/// Starts a program and waits until its health address answers.
pub(crate) fn run(
    mut command: Command,
    folder: &Folder,
    name: &str,
    port: u16,
) -> Result<Ended, String> {
    let path = folder.at(&format!("{name}.log"));
    let log = File::create(&path).expect("a log");
    let home = folder.at(name);
    std::fs::create_dir_all(&home).expect("a folder");
    let child = command
        .current_dir(&home)
        .env("HOME", &home)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log)
        .spawn();
    let mut process = Ended(child.map_err(|error| error.to_string())?);
    let deadline = Instant::now() + RIVAL_START_TIMEOUT;
    while Instant::now() < deadline && process.0.try_wait().ok().flatten().is_none() {
        // FastAPI listens when it has started.
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(process);
        }
        std::thread::sleep(RIVAL_POLL);
    }
    let said = std::fs::read_to_string(path).unwrap_or_default();
    let tail = said.get(said.len().saturating_sub(SHOWN)..);
    Err(tail.unwrap_or_default().replace(['\n', '|'], " "))
}

pub(crate) fn forge_settings(database: &str) -> [(&'static str, String); 13] {
    let text = str::to_owned;
    [
        ("DATABASE_URL", format!("postgresql+psycopg://{database}")),
        ("JWT_SECRET_KEY", text(SECRET)),
        ("AUTH_ENCRYPTION_SECRET", text(SECRET)),
        ("BASIC_AUTH_PASSWORD", text(SECRET)),
        ("PLATFORM_ADMIN_EMAIL", text(ADMIN)),
        ("PLATFORM_ADMIN_PASSWORD", text(SECRET)),
        ("DEFAULT_USER_PASSWORD", text(SECRET)),
        // The server that all share is on this machine.
        ("SSRF_ALLOW_LOCALHOST", text("true")),
        ("MCPGATEWAY_UI_ENABLED", text("false")),
        // It would refuse most calls after a moment.
        ("RATE_LIMITING_ENABLED", text("false")),
        ("TOOL_RATE_LIMIT", text("1000000")),
        ("CACHE_TYPE", text("memory")),
        ("LOG_LEVEL", text("ERROR")),
    ]
}

pub(crate) fn forge_token(environment: &Path, database: &str) -> Result<String, String> {
    let mut command = Command::new(environment.join("bin/python"));
    for (name, value) in forge_settings(database) {
        command.env(name, value);
    }
    let made = command
        .args([
            "-m",
            "mcpgateway.utils.create_jwt_token",
            "--username",
            ADMIN,
        ])
        .args([
            "--exp", "600", "--secret", SECRET, "--algo", "HS256", "--admin",
        ])
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&made.stdout);
    let token = text.lines().rfind(|line| line.starts_with("ey"));
    let error = || String::from_utf8_lossy(&made.stderr).replace('\n', " ");
    token.map(str::to_owned).ok_or_else(error)
}

/// Posts to an administrative address.
fn post(port: u16, path: &str, (headers, body): (&str, &str)) -> Result<(), String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let mut client = Client::new(port);
    let reply = runtime.block_on(client.post(path, headers, body));
    let reply = reply.map_err(|error| error.to_string())?;
    match reply.status {
        200..300 => Ok(()),
        status => Err(format!("{path}: {status} {}", reply.body)),
    }
}

pub(crate) const ADMIN: &str = "admin@example.com";
/// Long enough for each of them.
pub(crate) const SECRET: &str = "sk-figures-0123456789-ABCDEFGHIJKLMNOP!";
const SHOWN: usize = 400;
