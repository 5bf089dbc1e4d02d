//! Codes that only the client can show to a person, because no page can be opened here.

use std::sync::Arc;
use std::time::Duration;

use async_lock::Semaphore;
use futures_lite::future::zip;
use serde_json::json;

use crate::oauth::testing::{Kit, MCP, REGISTER, Reply, TOKEN, cause};
use crate::oauth::{OAuth, OAuthError, PromptPolicy, Server};

const DEVICE: &str = "https://as.example/device";

/// A server that offers codes, and a client that shows them.
fn kit(page: &str) -> Kit {
    let mut kit = Kit::new();
    kit.settings.client_shows_codes = true;
    kit.prompt_policy = PromptPolicy::AtMost(Duration::from_secs(45));
    kit.honest
        .say("device_authorization_endpoint", json!(DEVICE));
    let codes = json!({
        "device_code": "device-1", "user_code": "ABCD-EFGH", "interval": 5, "expires_in": 600,
        "verification_uri": page,
    });
    kit.world.route(DEVICE, [Reply::json(200, &codes)]);
    kit.clock.let_pass(1000);
    kit
}

/// A process in which no person can be asked.
fn unattended(kit: &Kit) -> OAuth {
    let server = Server::new("search".to_owned(), MCP.parse().unwrap(), kit.key.clone());
    let mut ports = kit.ports(&kit.shelf);
    ports.interaction = None;
    let settings = kit.settings.clone();
    OAuth::new(server, settings, ports, kit.prompt_policy, Vec::new())
}

const ACTIVATE: &str = "https://as.example/activate";

#[test]
fn a_sign_in_that_a_client_needs_gets_a_code_and_ends_when_it_was_typed() {
    let kit = kit(ACTIVATE);
    let issued = kit.honest.issue();
    let pending = || Reply::error(400, "authorization_pending");
    kit.world.route(TOKEN, [pending(), pending(), issued]);
    let oauth = unattended(&kit);
    let (entered, code) = kit.run(zip(oauth.enter(), oauth.device_code()));
    entered.unwrap();
    assert_eq!(code.code, "ABCD-EFGH");
    assert_eq!(code.page.as_str(), ACTIVATE);
    assert!(kit.stored().is_some());
    assert_eq!(kit.person.windows(), 0);
    let registered = kit.world.seen(REGISTER).remove(0).text();
    assert!(
        registered.contains("grant-type:device_code"),
        "{registered}"
    );
}

#[test]
fn a_request_is_answered_with_the_code_and_works_once_it_was_typed() {
    let kit = kit(ACTIVATE);
    let issued = kit.honest.issue();
    let typed = Arc::new(Semaphore::new(0));
    kit.world.route(TOKEN, [issued.behind(&typed)]);
    let oauth = unattended(&kit);
    for _ in 0..2 {
        let error = cause(kit.call(&oauth).unwrap_err());
        let OAuthError::CodeOfClient { page, code } = error else {
            panic!("{error}");
        };
        assert_eq!((page.as_str(), code.as_str()), (ACTIVATE, "ABCD-EFGH"));
    }
    assert_eq!(kit.world.seen(DEVICE).len(), 1);
    typed.add_permits(1);
    let signed_in = kit.run(async {
        loop {
            if let Ok(status) = kit.calling(&oauth).await {
                return status;
            }
        }
    });
    assert_eq!(signed_in, 200);
    assert_eq!(kit.world.seen(DEVICE).len(), 1);
}

#[test]
fn without_a_code_the_person_is_told_to_sign_in_elsewhere() {
    let mut silent = kit(ACTIVATE);
    silent.settings.client_shows_codes = false;
    let mut patient = kit(ACTIVATE);
    patient.prompt_policy = PromptPolicy::WhenNeeded;
    for kit in [silent, patient] {
        let error = cause(kit.call(&unattended(&kit)).unwrap_err());
        assert!(
            matches!(error, OAuthError::SignInRequired { .. }),
            "{error}"
        );
        assert_eq!(kit.world.seen(DEVICE).len(), 0);
    }
    let refusing = kit(ACTIVATE);
    let refused = Reply::error(400, "unauthorized_client");
    refusing.world.route(DEVICE, [refused.clone(), refused]);
    let error = refusing.run(unattended(&refusing).enter()).unwrap_err();
    let error = cause(error);
    assert!(
        matches!(error, OAuthError::SignInRequired { .. }),
        "{error}"
    );
}

/// Threat E9: no person is there to look at the host of the page.
#[test]
fn e09_a_code_for_a_page_of_another_host_is_not_shown_without_a_person() {
    let kit = kit("https://elsewhere.example/activate");
    let error = cause(kit.run(unattended(&kit).enter()).unwrap_err());
    assert!(matches!(error, OAuthError::ForeignPage { .. }), "{error}");
    assert_eq!(kit.world.seen(TOKEN).len(), 0);
}
