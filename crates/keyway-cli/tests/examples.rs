//! The plugins in `examples/`: they lint clean, their READMEs are generated, their scripts run, and
//! each reaches a server that demands its credential ([`live`]).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test whose fixture is broken must stop"
)]

mod live;
mod world;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keyway::load::Loader;
use keyway_lint::readme;
use keyway_testkit::{Folder, Keyway};
use serde_json::Value;

fn examples() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    folder.canonicalize().unwrap()
}

/// Returns every example plugin but the one that is there to be found fault with.
///
/// An example of the library is a crate, and one of the control API a script, not a plugin.
fn good() -> Vec<PathBuf> {
    let folders = fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut good: Vec<PathBuf> = folders
        .filter(|path| path.is_dir() && !path.ends_with("broken") && !path.ends_with("embed"))
        .filter(|path| !path.join("Cargo.toml").exists())
        .collect();
    good.sort();
    assert!(good.len() >= 8, "{good:?}");
    good
}

#[test]
fn examples_lint_clean() {
    for folder in good() {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), &folder);
        let outcome = call.args(["check", "--strict", "--format", "json"]).run();
        assert_eq!(outcome.code, 0, "{}", outcome.stdout);
        let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
        for found in report["diagnostics"].as_array().unwrap() {
            assert_eq!(found["severity"], "info", "{found:#}");
        }
    }
}

#[test]
fn every_readme_holds_the_section_that_is_made_from_its_entries() {
    for folder in good() {
        let loaded = Loader::default().load(&folder).unwrap();
        let file = folder.join("README.md");
        let text = fs::read_to_string(&file).unwrap();
        let expected = readme::merge(&text, &readme::section(&loaded.plugin));
        assert_eq!(text, expected, "{}", file.display());
    }
}

#[test]
fn broken_example_is_reported_without_its_tokens() {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), examples().parent().unwrap());
    let outcome = call.args(["check", "examples/broken"]).run();
    assert_eq!(outcome.code, 1);
    assert!(!outcome.everything().contains("a-real-token-4711"));
    insta::assert_snapshot!("broken_example", outcome.snapshot());
}

#[test]
fn signing_script_prints_the_time_and_its_signature() {
    if !has_openssl() {
        return;
    }
    let script = examples().join("dynamic-hmac/scripts/sign.sh");
    // Shorter than a block, as long as one, and longer, which is hashed first.
    let long = "0123456789abcdef".repeat(4);
    for secret in [
        "not-a-real-secret",
        "grün\\ $x\"%s",
        &long,
        &format!("{long}+"),
    ] {
        let environment = [("SIGNING_SECRET", secret), ("API_KEY", "not-a-real-key")];
        let headers = run(&mut program(&script, &environment), b"");
        let headers: Value = serde_json::from_slice(&headers).unwrap();
        let time = headers["X-Timestamp"].as_str().unwrap();
        let shape: String = time
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect();
        assert_eq!(shape, "0000-00-00T00:00:00+00:00");
        let mut openssl = program(Path::new("openssl"), &[]);
        openssl.args(["dgst", "-sha256", "-hmac", secret, "-r"]);
        let expected = String::from_utf8(run(&mut openssl, time.as_bytes())).unwrap();
        let expected = expected.split(' ').next().unwrap();
        assert_eq!(headers["X-Signature"], expected, "{secret}");
        assert_eq!(headers["X-API-Key"], "not-a-real-key");
        assert_eq!(headers.as_object().unwrap().len(), 3);
    }
}

#[test]
fn token_script_prints_a_token_that_verifies_and_lives_five_minutes() {
    if !has_openssl() {
        return;
    }
    let folder = Folder::new();
    let (key, public) = (folder.at("key.pem"), folder.at("public.pem"));
    let openssl = |words: &str| {
        let mut openssl = program(Path::new("openssl"), &[]);
        openssl.args(words.split(' ')).current_dir(folder.path());
        openssl
    };
    run(&mut openssl("genrsa -out key.pem 2048"), b"");
    run(&mut openssl("rsa -in key.pem -pubout -out public.pem"), b"");
    assert!(public.is_file());
    let script = examples().join("dynamic-jwt/scripts/get-jwt.sh");
    let key = key.to_string_lossy();
    let environment = [("REPORTS_ACCOUNT", "robot"), ("REPORTS_KEY_FILE", &*key)];
    let headers = run(&mut program(&script, &environment), b"");
    let headers: Value = serde_json::from_slice(&headers).unwrap();
    let header = headers["Authorization"].as_str().unwrap();
    let token = header.strip_prefix("Bearer ").unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let decode = |text: &str| {
        let padding = "=".repeat((4 - text.len() % 4) % 4);
        let text = format!("{}{padding}", text.replace('-', "+").replace('_', "/"));
        run(&mut openssl("base64 -d -A"), text.as_bytes())
    };
    folder.put("signature", decode(signature));
    let verify = "dgst -sha256 -verify public.pem -signature signature";
    let verdict = run(&mut openssl(verify), signed.as_bytes());
    assert_eq!(verdict, b"Verified OK\n");
    let (_, claims) = signed.split_once('.').unwrap();
    let claims: Value = serde_json::from_slice(&decode(claims)).unwrap();
    assert_eq!(claims["iss"], "robot");
    let lifetime = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    assert_eq!(lifetime, 300);
}

fn has_openssl() -> bool {
    let found = program(Path::new("openssl"), &[])
        .arg("version")
        .output()
        .is_ok();
    if !found {
        println!("skipped: no openssl");
    }
    found
}

/// A program with nothing of our environment, as a host starts it.
#[expect(
    clippy::disallowed_methods,
    reason = "the scripts of the examples are really run"
)]
fn program(path: &Path, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(path);
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .envs(environment.iter().copied());
    command
}

fn run(command: &mut Command, input: &[u8]) -> Vec<u8> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}
