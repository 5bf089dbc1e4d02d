//! What an observer is told: each thing where it happens, once, and never a value.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyway_code::Code;
use serde_json::json;

use crate::oauth::PromptPolicy;
use crate::oauth::testing::{Deed, Kit, Reply, TOKEN};
use crate::observer::{Observer, ServerEvent, ServerObserver, Topic};

/// Writes everything down.
#[derive(Debug, Default)]
struct Diary {
    happenings: Mutex<Vec<ServerEvent>>,
    notes: Mutex<Vec<String>>,
}

impl Observer for Diary {
    fn emit(&self, server: &str, event: ServerEvent) {
        assert_eq!(server, "search");
        self.happenings.lock().unwrap().push(event);
    }

    fn wants(&self, topic: Topic) -> bool {
        topic == Topic::OAuth
    }

    fn note(&self, _: Topic, _: Option<&str>, line: &str) {
        self.notes.lock().unwrap().push(line.to_owned());
    }
}

impl Diary {
    fn taken(&self) -> Vec<ServerEvent> {
        std::mem::take(&mut *self.happenings.lock().unwrap())
    }

    fn notes(&self) -> String {
        self.notes.lock().unwrap().join("\n")
    }
}

fn watched() -> (Kit, Arc<Diary>) {
    let mut kit = Kit::new();
    let diary = Arc::new(Diary::default());
    kit.observer = ServerObserver::new(diary.clone(), "search");
    (kit, diary)
}

#[test]
fn a_sign_in_a_renewal_and_a_sign_out_are_told_once_each() {
    let (kit, diary) = watched();
    let oauth = kit.signed_in();
    assert_eq!(
        diary.taken(),
        [ServerEvent::Started, ServerEvent::Completed]
    );
    kit.honest.reset();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(diary.taken(), [ServerEvent::Refreshed]);
    kit.run(oauth.sign_out()).unwrap();
    assert_eq!(diary.taken(), [ServerEvent::Cleared]);
    kit.run(oauth.sign_out()).unwrap();
    assert_eq!(diary.taken(), [], "nothing was there any more");
    let notes = diary.notes();
    for part in [
        "signing in at as.example",
        "the registration: POST https://as.example, HTTP 201",
        "a person is asked to agree",
        "refused with HTTP 401, no reason, attempt 1",
        "renewing the token, which was refused",
        "the token endpoint: POST https://as.example, HTTP 200 after ",
    ] {
        assert!(notes.contains(part), "{part}\n{notes}");
    }
    for secret in ["at-", "rt-", "code-", "state=", "?"] {
        assert!(!notes.contains(secret), "{secret}\n{notes}");
    }
}

#[test]
fn a_renewal_that_another_process_made_is_not_reported_as_our_own() {
    let (mut kit, diary) = watched();
    let ours = kit.signed_in();
    kit.observer = ServerObserver::default();
    let theirs = kit.process(&kit.other_shelf());
    kit.honest.reset();
    assert_eq!(kit.call(&theirs).unwrap(), 200);
    diary.taken();
    assert_eq!(kit.call(&ours).unwrap(), 200);
    assert_eq!(diary.taken(), []);
}

#[test]
fn a_renewal_that_fails_is_told_and_whether_a_person_is_needed() {
    let (mut kit, diary) = watched();
    kit.signed_in();
    kit.prompt_policy = PromptPolicy::Never;
    diary.taken();
    for (status, body, expected) in [
        (
            503,
            json!({}),
            vec![ServerEvent::RefreshFailed {
                code: Code::AuthorizationServerError,
            }],
        ),
        (
            400,
            json!({ "error": "invalid_grant" }),
            vec![
                ServerEvent::RefreshFailed {
                    code: Code::RefreshFailed,
                },
                ServerEvent::Required {
                    code: Code::RefreshFailed,
                },
            ],
        ),
    ] {
        kit.honest.reset();
        kit.world.route(TOKEN, [Reply::json(status, &body)]);
        let oauth = kit.oauth();
        kit.call(&oauth).unwrap_err();
        assert_eq!(diary.taken(), expected);
        kit.clock.advance(Duration::from_secs(600));
    }
}

#[test]
fn a_needed_and_a_refused_sign_in_are_reported() {
    let (mut kit, diary) = watched();
    kit.prompt_policy = PromptPolicy::Never;
    kit.call(&kit.oauth()).unwrap_err();
    let required = ServerEvent::Required {
        code: Code::SignInRequired,
    };
    assert_eq!(diary.taken(), [required]);
    kit.prompt_policy = PromptPolicy::WhenNeeded;
    kit.person.will([Deed::Deny]);
    kit.call(&kit.oauth()).unwrap_err();
    let failed = ServerEvent::Failed {
        code: Code::AuthFailed,
    };
    assert_eq!(diary.taken(), [ServerEvent::Started, failed]);
}
