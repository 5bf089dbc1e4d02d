//! A server that takes everybody: nobody has to sign in, and nobody is told that it is broken.

use keyway_testkit::{Answer, Folder, Upstream, mcp};
use serde_json::{Value, json};

use crate::house::{House, wait_for};

/// Starts a gateway over a server that answers without a credential, and knows nothing of OAuth.
fn house() -> House {
    let upstream = Upstream::start(|request| match request.path.as_str() {
        "/mcp" => mcp(request, |method, _| {
            let tool = json!({"name": "look", "inputSchema": {"type": "object"}});
            (method == "tools/list").then(|| json!({"tools": [tool]}))
        }),
        _ => Answer::empty(404),
    });
    let url = upstream.url("/mcp");
    let entry = format!(r#"{{"free": {{"type": "http", "url": "{url}"}}}}"#);
    House::over(Folder::new().file("p/.mcp.json", entry), &[], &[])
}

#[test]
fn login_says_that_no_sign_in_is_needed_and_that_is_no_failure() {
    let house = house();
    let words = ["login", "free", "--no-browser", "--config", "p"];
    let told = house.keyway(&words);
    assert_eq!(told.code, 0, "{}", told.everything());
    assert_eq!(
        told.stdout,
        "`free` needs no sign-in: it answers without a credential, and offers none.\n"
    );
    let told = house.keyway(&[&words[..], &["--format", "json"]].concat());
    assert_eq!(told.code, 0, "{}", told.everything());
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told.get("signed_in"), Some(&json!(false)));
}

#[test]
fn the_dashboard_says_so_and_offers_no_button_and_whoever_presses_it_breaks_nothing() {
    let house = house();
    let pass = house.enter(&house.open());
    let look = || house.get("/s/p/free", &pass);
    let page = wait_for("a connection", || {
        let page = look();
        page.contains("Connected").then_some(page)
    });
    let button = "/s/p/free/sign-in";
    assert!(page.contains("needs no sign-in"), "{page}");
    assert!(!page.contains(button), "{page}");
    assert!(!house.get("/", &pass).contains(button));
    // A page that was loaded before that was known still has it.
    let body = format!("_mark={}", house.mark(&pass));
    let answer = house.post(button, &pass, &body);
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    let page = look();
    assert!(page.contains("It needs no sign-in"), "{page}");
    let page = wait_for("a connection", || {
        let page = look();
        page.contains("Connected").then_some(page)
    });
    assert!(!page.contains("What is wrong"), "{page}");
}
