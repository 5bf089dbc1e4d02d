//! The servers in `servers/` judged by a third-party client, before ours are judged by them.

#![expect(clippy::disallowed_methods, reason = "a test that starts servers")]

use std::path::{Path, PathBuf};
use std::process::Command;

use keyway_testkit::Tools;

#[test]
fn the_official_client_signs_in_refreshes_and_loses_its_grant_by_reuse() {
    let Some(tools) = Tools::find(&["npm/node_modules/oidc-provider/package.json"]) else {
        return;
    };
    let modules = PathBuf::from(tools.modules());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/referee.mjs");
    let output = Command::new(modules.join(".bin/node"))
        .arg(script)
        .arg(&modules)
        .env("ACCESS_TOKEN_SECONDS", "2")
        .output()
        .unwrap();
    let (printed, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    for expected in [
        r#""title":"Signed in""#,
        r#""first":"alice read""#,
        r#""second":"alice read""#,
        r#""rotated":true"#,
        r#""reused":"invalid_grant""#,
        r#""after":"invalid_grant""#,
        r#""grants":["authorization_code","refresh_token","#,
        r#""windows":1"#,
    ] {
        assert!(printed.contains(expected), "{expected}: {printed} {errors}");
    }
}
