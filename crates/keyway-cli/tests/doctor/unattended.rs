//! Sign-ins without a person: what they need is not there, or is not accepted.

use keyway_testkit::Folder;
use serde_json::json;

use crate::doctor::server::{Answer, Server, mcp};
use crate::doctor::{assert_fault, assert_works, doctor};

/// A server that is its own authorization server, and gives its token for what `accepts` likes.
fn world(accepts: impl Fn(&str) -> bool + Send + Sync + 'static) -> Server {
    Server::start(move |request| {
        let host = request.lines().find_map(|line| line.strip_prefix("host: "));
        let origin = format!("http://{}", host.unwrap());
        let path = request.split(' ').nth(1).unwrap();
        let (status, value) = match path {
            "/mcp" if request.contains("authorization: Bearer CANARY-issued") => {
                return mcp(request);
            }
            "/mcp" => return Answer::empty(401, "www-authenticate: Bearer\r\n"),
            "/token" if accepts(request) => (
                200,
                json!({ "access_token": "CANARY-issued", "token_type": "Bearer", "expires_in": 600 }),
            ),
            "/token" => (401, json!({ "error": "invalid_client" })),
            path if path.starts_with("/.well-known/oauth-protected-resource") => (
                200,
                json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] }),
            ),
            path if path.starts_with("/.well-known/oauth-authorization-server") => (
                200,
                json!({
                    "issuer": origin,
                    "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"),
                    "code_challenge_methods_supported": ["S256"],
                    "response_types_supported": ["code"],
                }),
            ),
            _ => return Answer::empty(404, ""),
        };
        Answer {
            status,
            headers: String::new(),
            body: value.to_string(),
        }
    })
}

/// An entry with these settings of its own below `oauth`.
fn entry(server: &Server, settings: &str) -> Folder {
    let url = server.url();
    let folder = Folder::with_entries(&format!(r#"{{"s": {{"type": "http", "url": "{url}"}}}}"#));
    let plugin = folder.path().file_name().unwrap().to_str().unwrap();
    let settings = format!(
        "[servers.\"{plugin}:s\".oauth]\nsource = \"../..\"\nclient_id = \"c\"\n{settings}"
    );
    folder.put("home/config/config.toml", settings);
    folder.mode("home/config", 0o700)
}

fn asked_for_a_token(server: &Server) -> usize {
    let asked = server.asked();
    let is_token = |request: &&String| request.starts_with("POST /token");
    asked.iter().filter(is_token).count()
}

#[test]
fn a_token_of_the_platform_that_is_not_there_is_told_and_its_file_is_enough() {
    let server = world(|request| request.contains("assertion=CANARY-platform"));
    let settings = "grant = \"workload-identity\"\njwt_file = \"jwt\"\n";
    let folder = entry(&server, settings);
    let fix = "check in `config.toml` where it is taken from";
    let found = assert_fault(&doctor(&folder).run(), "no-assertion", 1, fix);
    assert_eq!(found["stage"], "token");
    assert_eq!(asked_for_a_token(&server), 0);
    folder.put("home/config/jwt", "CANARY-platform\n");
    // A sign-in that came about is not kept where others can look.
    let folder = folder.mode("home/config", 0o755);
    assert_fault(&doctor(&folder).run(), "vault", 1, "chmod 0700");
    let folder = folder.mode("home/config", 0o700);
    assert_works(&doctor(&folder).run());
}

/// An identity provider that has no client for us has said no; a person is not asked instead.
#[test]
fn an_identity_that_is_not_set_up_never_becomes_a_question_to_a_person() {
    let server = world(|_| true);
    let folder = entry(&server, "grant = \"id-jag\"\nid_token_env = \"ID_TOKEN\"\n");
    let fix = "check in `config.toml` where it is taken from";
    let call = doctor(&folder)
        .env("ID_TOKEN", "CANARY-id")
        .env("BROWSER", "/bin/true");
    assert_fault(&call.run(), "no-assertion", 1, fix);
    assert_eq!(asked_for_a_token(&server), 0);
}

#[test]
fn a_client_that_is_refused_is_told_and_the_right_secret_works() {
    // `c:CANARY-right` as RFC 7617 writes it.
    let server = world(|request| request.contains("authorization: Basic YzpDQU5BUlktcmlnaHQ=\n"));
    let settings = "grant = \"client-credentials\"\nclient_secret_env = \"CLIENT_SECRET\"\n";
    let folder = entry(&server, settings);
    let fix = "the variable behind `clientSecret`";
    let call = || doctor(&folder);
    let outcome = call().env("CLIENT_SECRET", "CANARY-wrong").run();
    let found = assert_fault(&outcome, "token-refused", 1, fix);
    assert_eq!(found["stage"], "token");
    assert!(
        found["message"]
            .as_str()
            .unwrap()
            .contains("invalid_client")
    );
    assert!(asked_for_a_token(&server) > 0);
    assert_works(&call().env("CLIENT_SECRET", "CANARY-right").run());
}
