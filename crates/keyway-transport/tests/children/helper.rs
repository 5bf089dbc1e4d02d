//! Headers helpers as real programs (contract §5, threats D7 to D9).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use keyway_auth::ports::HelperRunner;
use keyway_auth::{HelperFault, parse_helper_output};
use keyway_transport::{
    ChildEnv, ChildKind, EnvRules, HELPER_TIMEOUT, Helper, HelperCommand, HostEnv,
};
use tempfile::TempDir;

use crate::{CHILD, DEADLINE, LogLines, PATH, is_alive, launcher, program, until};

/// The child of the tests as a helper, by its words.
pub(crate) fn helper(args: &[&str]) -> Helper {
    let program = program(&[]);
    let words = std::iter::once(CHILD).chain(args.iter().copied());
    let command = HelperCommand::Words(words.map(str::to_owned).collect());
    let mut helper = Helper::new(launcher(), command, program.env, "/".into());
    helper.isolation = program.isolation;
    helper.secrets = vec!["CANARY".to_owned().into()];
    helper
}

async fn run(helper: &Helper) -> Result<Vec<(String, String)>, HelperFault> {
    let output = helper.run(HELPER_TIMEOUT).await?;
    let headers = parse_helper_output(output.expose())?;
    let pairs = headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    Ok(pairs.collect())
}

async fn code(helper: &Helper) -> &'static str {
    run(helper).await.unwrap_err().code().as_str()
}

fn script(path: &Path, text: &str) {
    use std::io::Write;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = fs::File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[tokio::test]
async fn d07_every_kind_of_bad_output_is_refused() {
    for (output, expected) in [
        ("", "helper-output"),
        ("{}", "helper-empty"),
        ("[]", "helper-output"),
        ("{\"X\": 1}", "helper-output"),
        ("{\"X\": \"a\", \"x\": \"b\"}", "helper-output"),
        ("{\"X\": \"a\\r\\nHost: b\"}", "helper-output"),
        ("{\"X\": \"a\"} junk", "helper-output"),
        ("{\"Host\": \"a\"}", "helper-output"),
    ] {
        assert_eq!(
            code(&helper(&["helper", "print", output])).await,
            expected,
            "{output}"
        );
    }
    let good = helper(&["helper", "print", "{\"X\": \"a\"}"]);
    assert_eq!(run(&good).await.unwrap(), [pair("x", "a")]);
}

#[tokio::test]
async fn d07_too_much_output_is_refused_at_once() {
    for args in [vec!["helper", "bytes", "65537"], vec!["helper", "flood"]] {
        let begin = Instant::now();
        let fault = helper(&args).run(10 * DEADLINE).await.unwrap_err();
        assert!(matches!(
            fault,
            HelperFault::TooMuchOutput { limit: 65_536 }
        ));
        assert!(begin.elapsed() < DEADLINE);
    }
    let limit = helper(&["helper", "bytes", "65536"])
        .run(HELPER_TIMEOUT)
        .await
        .unwrap();
    assert_eq!(limit.expose().len(), 65_536);
}

#[tokio::test]
async fn d07_another_exit_code_than_zero_is_a_failure_whatever_was_printed() {
    let log = LogLines::default();
    let mut failing = helper(&["helper", "exit", "3"]);
    failing.log = Some(log.sink());
    let fault = run(&failing).await.unwrap_err();
    assert_eq!(
        fault,
        HelperFault::Exit {
            status: "exit code 3".to_owned()
        }
    );
    until(|| log.lines() == ["[redacted] on standard error"]).await;
    for code_word in ["126", "127"] {
        assert_eq!(
            code(&helper(&["helper", "exit", code_word])).await,
            "helper-not-executable"
        );
    }
}

#[tokio::test]
async fn d07_a_helper_that_takes_too_long_is_killed_with_its_children() {
    let folder = TempDir::new().unwrap();
    let pid_file = folder.path().join("pid");
    let slow = helper(&["helper", "sleep", pid_file.to_str().unwrap()]);
    // It takes its time until it has a child.
    let mut limit = 1;
    let child: u32 = loop {
        let fault = slow.run(Duration::from_secs(limit)).await.unwrap_err();
        assert_eq!(fault, HelperFault::Timeout { seconds: limit });
        let pid = fs::read_to_string(&pid_file).unwrap_or_default();
        match pid.parse() {
            Ok(pid) => break pid,
            Err(_) => limit *= 2,
        }
        assert!(limit < DEADLINE.as_secs(), "it never has one");
    };
    until(|| !is_alive(child)).await;
}

#[tokio::test]
async fn d07_leftover_children_of_a_helper_are_killed_and_do_not_delay_its_output() {
    let folder = TempDir::new().unwrap();
    let pid_file = folder.path().join("pid");
    let leaving = helper(&["helper", "leave-behind", pid_file.to_str().unwrap()]);
    assert_eq!(run(&leaving).await.unwrap(), [pair("x-a", "b")]);
    let child: u32 = fs::read_to_string(pid_file).unwrap().parse().unwrap();
    until(|| !is_alive(child)).await;
}

#[tokio::test]
async fn helper_has_empty_stdin_and_runs_in_its_directory() {
    assert_eq!(
        run(&helper(&["helper", "input"])).await.unwrap(),
        [pair("x-input", "[]")]
    );
    let mut elsewhere = helper(&["helper", "folder"]);
    elsewhere.folder = "/usr".into();
    assert_eq!(run(&elsewhere).await.unwrap(), [pair("x-folder", "/usr")]);
}

/// Threat D9.
#[tokio::test]
async fn d09_a_helper_gets_exactly_its_environment() {
    let mut dumping = helper(&["helper", "env"]);
    let mut host = HostEnv::default();
    host.plugin_root = Some("/p".into());
    host.server_name = Some("search".into());
    host.server_url = Some("https://search.example/mcp".into());
    let granted = ["SIGNING".to_owned()];
    let mut rules = EnvRules::new(ChildKind::Helper, &host);
    rules.granted = &granted;
    let person = [
        ("PATH", PATH),
        ("FOO_TOKEN", "CANARY"),
        ("SIGNING", "s"),
        ("DISPLAY", ":0"),
    ];
    dumping.env = ChildEnv::build(person.map(|(n, v)| (n.into(), v.into())), &rules);
    let output = dumping.run(HELPER_TIMEOUT).await.unwrap();
    let names: serde_json::Map<_, _> = serde_json::from_slice(output.expose()).unwrap();
    let names: Vec<&str> = names.keys().map(String::as_str).collect();
    let expected = [
        "X-CLAUDE_PLUGIN_ROOT",
        "X-HOST_MCP_SERVER_NAME",
        "X-HOST_MCP_SERVER_URL",
        "X-HOST_PLUGIN_ROOT",
        "X-PATH",
        "X-PLUGIN_ROOT",
        "X-SIGNING",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn d08_a_path_is_run_directly_and_never_leaves_the_plugin() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("plugin");
    let at = |path: &str| root.join(path);
    script(&folder.path().join("outside.sh"), "#!/bin/sh\n");
    script(
        &at("a b/h.sh"),
        "#!/bin/sh\nprintf '{\"X\": \"%s\"}' \"${1:-none}\"\n",
    );
    script(
        &at("plain.sh"),
        "#!/bin/sh\nprintf '{\"X\": \"%s\"}' \"$1\"\n",
    );
    fs::create_dir(at("folder")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", at("out")).unwrap();
    put_unexecutable(&at("data.sh"));
    let in_plugin = |text: &str| {
        let mut helper = helper(&[]);
        helper.command = HelperCommand::Program(text.to_owned());
        helper.folder.clone_from(&root);
        helper.root = Some(root.clone());
        helper
    };
    assert_eq!(
        run(&in_plugin("./a b/h.sh")).await.unwrap(),
        [pair("x", "none")]
    );
    let spliced = in_plugin("./plain.sh $(touch;pwn) x");
    assert_eq!(run(&spliced).await.unwrap(), [pair("x", "$(touch;pwn)")]);
    for (text, expected) in [
        ("./missing.sh", "helper-not-executable"),
        ("./a b/h.sh; touch pwn", "helper-not-executable"),
        ("../outside.sh", "helper-outside-plugin"),
        ("/bin/sh -c true", "helper-outside-plugin"),
        ("./out -c true", "helper-outside-plugin"),
        ("./folder", "helper-not-executable"),
        ("./data.sh", "helper-not-executable"),
        ("~/h.sh", "helper-not-executable"),
    ] {
        assert_eq!(code(&in_plugin(text)).await, expected, "{text}");
    }
    for text in ["../outside.sh", "/bin/sh -c true", "./out -c true"] {
        let fault = run(&in_plugin(text)).await.unwrap_err();
        let program = text.to_owned();
        assert_eq!(fault, HelperFault::OutsidePlugin { program });
    }
    let missing = run(&in_plugin("./missing.sh")).await.unwrap_err();
    assert!(matches!(missing, HelperFault::NotExecutable { .. }));
    assert!(!at("pwn").exists());
}

fn put_unexecutable(path: &Path) {
    script(path, "#!/bin/sh\n");
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

#[tokio::test]
async fn shell_line_is_run_by_the_shell_and_a_missing_command_is_reported() {
    let shell = |line: &str| {
        let mut helper = helper(&[]);
        helper.command = HelperCommand::Shell(line.to_owned());
        helper
    };
    let piped = shell("printf '{\"X\": \"%s\"}' \"$DECLARED\" | cat");
    assert_eq!(run(&piped).await.unwrap(), [pair("x", "value")]);
    assert_eq!(
        code(&shell("no-such-command-here")).await,
        "helper-not-executable"
    );
    assert_eq!(code(&shell("kill -9 $$")).await, "helper-failed");
}

/// Threat D11.
#[tokio::test]
async fn d11_changed_helper_is_not_run() {
    let mut changed = helper(&["helper", "print", "{\"X\": \"a\"}"]);
    changed.verify = Some(std::sync::Arc::new(|_| Err("h.sh".to_owned())));
    assert_eq!(code(&changed).await, "pending-trust");
}
