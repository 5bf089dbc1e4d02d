//! A headers helper that does what it is told.

use std::io::{Read, Write};
use std::process::{Command, exit};

use serde_json::{Value, json};

use crate::probes;

pub(crate) fn run(args: &[&str]) {
    match args {
        ["print", text] => print!("{text}"),
        ["env"] => print!("{}", environment()),
        ["input"] => {
            let mut input = String::new();
            std::io::stdin().read_to_string(&mut input).unwrap();
            print!("{}", json!({ "X-Input": format!("[{input}]") }));
        }
        ["folder"] => print!(
            "{}",
            json!({ "X-Folder": std::env::current_dir().unwrap() })
        ),
        ["exit", code] => {
            print!("{{\"X-A\": \"b\"}}");
            eprintln!("CANARY on standard error");
            exit(code.parse().unwrap())
        }
        ["bytes", count] => print!("{}", "x".repeat(count.parse().unwrap())),
        ["flood"] => flood(),
        ["sleep", pid_file] => sleep_with_children(pid_file),
        ["leave-behind", pid_file] => {
            leave_behind(pid_file);
            print!("{{\"X-A\": \"b\"}}");
        }
        ["probe", params] => {
            let params: Value = serde_json::from_str(params).unwrap();
            print!(
                "{}",
                json!({ "X-Probes": probes::run(&params).to_string() })
            );
        }
        other => panic!("unknown helper {other:?}"),
    }
}

fn environment() -> Value {
    let pairs = std::env::vars().map(|(name, value)| (format!("X-{name}"), value.into()));
    Value::Object(pairs.collect())
}

fn flood() -> ! {
    let block = [b'x'; 4096];
    loop {
        if std::io::stdout().write_all(&block).is_err() {
            stay();
        }
    }
}

fn leave_behind(pid_file: &str) {
    let child = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
    std::fs::write(pid_file, child.id().to_string()).unwrap();
}

fn sleep_with_children(pid_file: &str) {
    leave_behind(pid_file);
    stay();
}

/// Waits to be killed.
fn stay() -> ! {
    loop {
        std::thread::park();
    }
}
