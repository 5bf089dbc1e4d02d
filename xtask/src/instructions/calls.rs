//! The program below `callgrind`, and a client that calls a tool through it one time after the other.

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::http::Message;
use crate::error::XtaskError;
use crate::process;

/// How a call reaches the server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Run,
    Serve,
}

impl Way {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Serve => "serve",
        }
    }
}

/// The program that is measured.
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// A folder for its home, its plugin and its logs.
    pub(super) scratch: PathBuf,
}

impl Program {
    /// Returns how many instructions a run with this many calls takes.
    pub(super) fn count(
        &self,
        way: Way,
        upstream: SocketAddr,
        calls: u32,
    ) -> Result<u64, XtaskError> {
        self.prepare(upstream)
            .map_err(XtaskError::file(&self.scratch))?;
        let failed = |source| XtaskError::Measure {
            command: way.as_str(),
            log: self.log(),
            source,
        };
        match way {
            Way::Run => self.call_through_run(calls).map_err(failed)?,
            Way::Serve => {
                let token = self.token()?;
                self.call_through_serve(&token, calls).map_err(failed)?;
            }
        }
        let log = fs::read_to_string(self.log()).map_err(XtaskError::file(&self.log()))?;
        collected(&log).ok_or(XtaskError::Output {
            command: "valgrind".to_owned(),
            what: "it does not say how much it collected",
        })
    }

    /// Begins with an empty home: every run does the same.
    fn prepare(&self, upstream: SocketAddr) -> io::Result<()> {
        if self.scratch.exists() {
            fs::remove_dir_all(&self.scratch)?;
        }
        let plugin = self.plugin();
        fs::create_dir_all(&plugin)?;
        let file = json!({"mcpServers": {"up": {
            "type": "http",
            "url": format!("http://{upstream}/mcp"),
            "headers": {"Authorization": "Bearer ${TOKEN:-none}"},
        }}});
        fs::write(plugin.join(".mcp.json"), file.to_string())
    }

    fn call_through_run(&self, calls: u32) -> io::Result<()> {
        let mut child = self
            .counted(&["run", "--server", "up", "--trust", "--standalone"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut output = BufReader::new(output);
        for message in conversation(calls) {
            // In one piece: how often the program reads would be left to chance otherwise.
            input.write_all(format!("{message}\n").as_bytes())?;
            let Some(id) = message.get("id") else {
                continue;
            };
            // Other messages of the server may come in between.
            while answer(&next_line(&mut output)?)?.get("id") != Some(id) {}
        }
        drop(input);
        ended(child.wait()?)
    }

    fn call_through_serve(&self, token: &str, calls: u32) -> io::Result<()> {
        let mut child = self
            .counted(&["serve", "--listen", "127.0.0.1:0", "--trust"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut output = BufReader::new(output);
        let mut client = Client::connect(&next_line(&mut output)?, token)?;
        for message in conversation(calls) {
            client.send(&message)?;
        }
        drop(client);
        terminate(&child)?;
        ended(child.wait()?)
    }

    fn token(&self) -> Result<String, XtaskError> {
        let mut token = self.plain(
            Command::new(&self.path),
            &["token", "new", "--name", "client"],
        );
        Ok(process::capture(&mut token)?.trim().to_owned())
    }

    /// Returns the program below `callgrind`, with the plugin behind its first word.
    fn counted(&self, words: &[&str]) -> Command {
        let mut valgrind = Command::new("valgrind");
        valgrind
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(format!("--log-file={}", self.log().display()))
            .arg(&self.path)
            .stderr(File::create(self.scratch.join("stderr")).map_or(Stdio::null(), Into::into));
        let mut command = self.plain(valgrind, words.get(..1).unwrap_or_default());
        command.arg(self.plugin());
        command.args(words.get(1..).unwrap_or_default());
        command
    }

    fn plain(&self, mut command: Command, words: &[&str]) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.scratch)
            .env("KEYWAY_HOME", self.scratch.join("keyway"))
            .args(words);
        command
    }

    fn plugin(&self) -> PathBuf {
        self.scratch.join("plugin")
    }

    fn log(&self) -> PathBuf {
        self.scratch.join("valgrind")
    }
}

/// A client of the gateway, with one connection.
struct Client {
    stream: BufReader<TcpStream>,
    head: String,
    session: Option<String>,
}

impl Client {
    /// Connects to the address that the gateway prints.
    fn connect(printed: &str, token: &str) -> io::Result<Self> {
        let address = printed
            .trim()
            .strip_prefix("http://")
            .and_then(|rest| rest.split('/').next())
            .ok_or(io::ErrorKind::InvalidData)?;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            head: format!(
                "POST /mcp/up HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
                 Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            ),
            session: None,
        })
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let body = message.to_string();
        let session = self.session.as_ref().map_or_else(String::new, |session| {
            format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {VERSION}\r\n")
        });
        let request = format!(
            "{}{session}Content-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let response = Message::read(&mut self.stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if let Some(session) = response.header("mcp-session-id") {
            self.session = Some(session.to_owned());
        }
        if message.get("id").is_some() {
            answer(&String::from_utf8_lossy(&response.body))?;
        }
        Ok(())
    }
}

/// Returns what a client sends: `initialize`, then the same call again and again.
fn conversation(calls: u32) -> impl Iterator<Item = Value> {
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": {"name": "client", "version": "1"},
    }});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let text = "x".repeat(64);
    let call = move |id| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "echo", "arguments": {"text": text},
        }})
    };
    [initialize, initialized]
        .into_iter()
        .chain((1..=calls).map(call))
}

/// Reads an answer and refuses one that is an error.
fn answer(text: &str) -> io::Result<Value> {
    // In an event stream the message stands behind `data:`.
    let json = text
        .lines()
        .find_map(|line| line.strip_prefix("data:"))
        .unwrap_or(text);
    let answer: Value = serde_json::from_str(json)?;
    match answer.get("error") {
        Some(error) => Err(io::Error::other(error.to_string())),
        None => Ok(answer),
    }
}

fn next_line(from: &mut impl io::BufRead) -> io::Result<String> {
    let mut line = String::new();
    match from.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}

/// Asks `child` to end; killed, it would not say what it counted.
fn terminate(child: &Child) -> io::Result<()> {
    let id = child.id().to_string();
    ended(Command::new("kill").args(["-TERM", &id]).status()?)
}

fn ended(status: std::process::ExitStatus) -> io::Result<()> {
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(status.to_string())),
    }
}

/// Reads `==1== Collected : 123` from the log.
fn collected(log: &str) -> Option<u64> {
    let (_, after) = log.split_once("Collected :")?;
    after.split_whitespace().next()?.parse().ok()
}

/// The protocol version that both sides speak.
pub(super) const VERSION: &str = "2025-06-18";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_in_the_log() {
        let log = "==7== Events    : Ir\n==7== Collected : 207752989\n==7== \n";
        assert_eq!(collected(log), Some(207_752_989));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }

    #[test]
    fn an_answer_that_is_an_error_does_not_count_as_a_call() {
        assert!(answer(r#"{"id": 1, "result": {}}"#).is_ok());
        assert!(answer("event: message\ndata: {\"id\": 1, \"result\": {}}\n\n").is_ok());
        assert!(answer(r#"{"id": 1, "error": {"code": 1}}"#).is_err());
    }

    #[test]
    fn a_conversation_has_as_many_calls_as_asked_for() {
        let calls = conversation(3).filter(|message| message["method"] == "tools/call");
        assert_eq!(calls.count(), 3);
    }
}
