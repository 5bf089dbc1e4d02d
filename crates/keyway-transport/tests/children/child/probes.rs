//! The nine probes of a hostile child: what it can reach of the process that has it started.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::Command;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

/// Says for each probe whether it got through.
pub(crate) fn run(params: &Value) -> Value {
    let text = |name: &str| params[name].as_str().unwrap().to_owned();
    let parent = i32::try_from(params["host"].as_i64().unwrap()).unwrap();
    let of_parent = |what: &str| format!("/proc/{parent}/{what}");
    json!({
        "store": holds_canary(fs::read(text("store"))),
        "key": holds_canary(fs::read(text("key"))),
        "memory": fs::File::open(of_parent("mem")).is_ok(),
        "environ": fs::read(of_parent("environ")).is_ok(),
        "descriptors": (0..64).any(|fd| fs::read_link(of_parent(&format!("fd/{fd}"))).is_ok()),
        "trace": trace(parent),
        "socket": UnixStream::connect(text("socket")).is_ok(),
        "abstract socket": abstract_socket(&text("abstract")),
        "signal": test_kill_process(Pid::from_raw(parent).unwrap()).is_ok(),
        "arguments": fs::read(of_parent("cmdline")).is_ok_and(|bytes| !bytes.is_empty()),
        "root": fs::read_dir(of_parent("root")).is_ok(),
    })
}

fn holds_canary(bytes: std::io::Result<Vec<u8>>) -> bool {
    bytes.is_ok_and(|bytes| bytes.windows(6).any(|window| window == b"CANARY"))
}

fn abstract_socket(name: &str) -> bool {
    let address = SocketAddr::from_abstract_name(name).unwrap();
    UnixStream::connect_addr(&address).is_ok()
}

/// Needs a system call that no safe interface offers; `null` where there is no Python.
fn trace(parent: i32) -> Value {
    let script = format!(
        "import ctypes; libc = ctypes.CDLL(None); \
         attached = libc.ptrace({SEIZE}, {parent}, None, None) == 0; \
         print('attached' if attached else 'denied')"
    );
    let output = Command::new("python3").args(["-c", &script]).output();
    match output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()) {
        Ok(text) if text == "attached" => json!(true),
        Ok(text) if text == "denied" => json!(false),
        _ => Value::Null,
    }
}

/// Attaches without stopping the parent, and ends with the tracer.
const SEIZE: i32 = 0x4206;
