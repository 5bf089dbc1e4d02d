//! A server that does what it is told, one method each.

use std::io::{BufRead, Write};
use std::process::{Command, exit};
use std::time::Duration;

use serde_json::{Value, json};

use crate::probes;

pub(crate) fn run() {
    let stdin = std::io::stdin();
    for line in stdin.lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "echo" => params.clone(),
            "silence" => continue,
            "env" => environment(),
            "descriptors" => descriptors(),
            "big" => json!("x".repeat(usize::try_from(params.as_u64().unwrap()).unwrap())),
            "line" => {
                long_line(&message["id"], params.as_u64().unwrap());
                continue;
            }
            "endless" => loop {
                // Ends with the pipe.
                std::io::stdout().write_all(&[b'x'; 64 * 1024]).unwrap();
            },
            "probe" => probes::run(params),
            "shell" => shell(params.as_str().unwrap()),
            "grandchild" => grandchild(),
            "stubborn" => {
                stubborn();
                continue;
            }
            "noise" => {
                println!("listening on port 1\n[1]\n\"text\"\n\u{1b}[31mhunter2222\u{1b}[0m");
                json!("after the noise")
            }
            "die" => {
                eprintln!("warning: old\nfatal: hunter2222 is wrong");
                exit(3)
            }
            "split" => {
                split(&message["id"]);
                continue;
            }
            "close-output" => {
                rustix::stdio::dup2_stdout(std::fs::File::open("/dev/null").unwrap()).unwrap();
                continue;
            }
            other => panic!("unknown method {other}"),
        };
        answer(&message["id"], &result);
    }
}

fn answer(id: &Value, result: &Value) {
    let mut line = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    line.push('\n');
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// Writes an answer of this many bytes as fast as it is read.
fn long_line(id: &Value, bytes: u64) {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(format!("{{\"id\":{id},\"result\":\"").as_bytes())
        .unwrap();
    let piece = [b'x'; 64 * 1024];
    for _ in 0..bytes / 65536 {
        stdout.write_all(&piece).unwrap();
    }
    stdout.write_all(b"\"}\n").unwrap();
    stdout.flush().unwrap();
}

/// Writes an answer in three pieces that cut a character.
fn split(id: &Value) {
    let line = format!("{{\"id\":{id},\"result\":\"\u{1f511}\"}}\r\n");
    let cut = line.find('\u{1f511}').unwrap() + 2;
    for piece in [
        &line.as_bytes()[..cut],
        &line.as_bytes()[cut..cut + 1],
        &line.as_bytes()[cut + 1..],
    ] {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(piece).unwrap();
        stdout.flush().unwrap();
        // The pauses are what is tested: the pieces have to be read one by one.
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn environment() -> Value {
    let pairs = std::env::vars().map(|(name, value)| (name, Value::from(value)));
    Value::Object(pairs.collect())
}

fn descriptors() -> Value {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let mut numbers: Vec<u32> = open
        .map(|entry| {
            entry
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    numbers.sort_unstable();
    // The last one is that of the listing itself.
    numbers.pop();
    json!(numbers)
}

fn shell(script: &str) -> Value {
    let output = Command::new("/bin/sh")
        .args(["-c", script])
        .output()
        .unwrap();
    json!({
        "code": output.status.code(),
        "stdout": String::from_utf8_lossy(&output.stdout),
        "stderr": String::from_utf8_lossy(&output.stderr),
    })
}

fn grandchild() -> Value {
    let child = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
    json!(child.id())
}

/// Ignores the end of input and SIGTERM, by becoming a shell that does.
fn stubborn() {
    let script = "trap '' TERM; echo '{\"id\":1,\"result\":0}'; while :; do sleep 1000; done";
    let error =
        std::os::unix::process::CommandExt::exec(Command::new("/bin/sh").args(["-c", script]));
    panic!("{error}");
}
