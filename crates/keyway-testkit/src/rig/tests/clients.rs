//! Clients with a secret: only the right one, shown in the right way, gets or ends anything.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

const CLIENT: &str = "known client";
const SECRET: &str = "s3cret&+ ü";
const REDIRECT: &str = "http://localhost:0/callback";
const BOTH: [SecretMethod; 2] = [
    SecretMethod::ClientSecretBasic,
    SecretMethod::ClientSecretPost,
];

fn rig(method: SecretMethod) -> Rig {
    let mut settings = Settings::default();
    let client = Confidential::new(SECRET, method);
    settings.clients.insert(CLIENT.to_owned(), client);
    Rig::start(settings)
}

fn shown(method: SecretMethod, client: &str, secret: &str) -> Shown {
    match method {
        SecretMethod::ClientSecretBasic => {
            let encoded = |text: &str| {
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
            };
            let pair = STANDARD.encode(format!("{}:{}", encoded(client), encoded(secret)));
            Shown {
                headers: format!("authorization: Basic {pair}\r\n"),
                fields: Vec::new(),
            }
        }
        SecretMethod::ClientSecretPost => Shown {
            headers: String::new(),
            fields: vec![("client_secret", secret.to_owned())],
        },
    }
}

/// Everything but the right secret in the right way.
fn wrong(method: SecretMethod) -> Vec<Shown> {
    let other = BOTH.into_iter().find(|other| *other != method).unwrap();
    let mut twice = shown(SecretMethod::ClientSecretBasic, CLIENT, SECRET);
    twice.fields = shown(SecretMethod::ClientSecretPost, CLIENT, SECRET).fields;
    vec![
        Shown::default(),
        shown(method, CLIENT, "another"),
        shown(method, CLIENT, ""),
        shown(other, CLIENT, SECRET),
        twice,
        shown(SecretMethod::ClientSecretBasic, "another client", SECRET),
        Shown {
            headers: "authorization: Basic !\r\n".to_owned(),
            fields: Vec::new(),
        },
    ]
}

#[test]
fn a_client_with_a_secret_gets_tokens_by_its_own_method_and_by_no_other() {
    for method in BOTH {
        let rig = rig(method);
        let right = shown(method, CLIENT, SECRET);
        for wrong in wrong(method) {
            let (status, body) = exchange(&rig, (CLIENT, REDIRECT), &wrong);
            assert_eq!((status, &body["error"]), (401, &"invalid_client".into()));
        }
        assert!(rig.families().is_empty());
        let (status, tokens) = exchange(&rig, (CLIENT, REDIRECT), &right);
        assert_eq!(status, 200, "{tokens}");
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
        ];
        for wrong in wrong(method) {
            assert_eq!(ask(&rig, CLIENT, &fields, &wrong).0, 401);
        }
        assert_eq!(ask(&rig, CLIENT, &fields, &right).0, 200);
        assert!(rig.families()[0].is_chain());
    }
}

#[test]
fn only_the_client_itself_ends_what_was_issued_to_it() {
    for method in BOTH {
        let rig = rig(method);
        let right = shown(method, CLIENT, SECRET);
        let (_, tokens) = exchange(&rig, (CLIENT, REDIRECT), &right);
        let token = tokens["refresh_token"].as_str().unwrap();
        for wrong in wrong(method) {
            assert_eq!(revoke(&rig, CLIENT, token, &wrong), 401);
        }
        let stranger = sign_in(&rig);
        let stranger = stranger["client_id"].as_str().unwrap();
        assert_eq!(revoke(&rig, stranger, token, &Shown::default()), 400);
        assert_eq!(rig.families()[0].ended, None);
        assert_eq!(revoke(&rig, CLIENT, token, &right), 200);
        assert_eq!(rig.families()[0].ended, Some(End::SignOut));
    }
}

#[test]
fn a_client_with_a_secret_is_answered_on_this_machine_alone() {
    let rig = rig(SecretMethod::ClientSecretBasic);
    let right = shown(SecretMethod::ClientSecretBasic, CLIENT, SECRET);
    for redirect in ["http://x.example/callback", "https://localhost/callback"] {
        assert_eq!(exchange(&rig, (CLIENT, redirect), &right).0, 400);
    }
    assert!(rig.secrets().is_empty());
}

#[test]
fn what_a_client_shows_stands_in_the_journal() {
    for method in BOTH {
        let rig = rig(method);
        let secret = "CANARY-client-0123456789";
        exchange(&rig, (CLIENT, REDIRECT), &shown(method, CLIENT, secret));
        let canary = crate::Canary::hidden(secret);
        let journal = serde_json::to_vec(&rig.journal()).unwrap();
        assert!(canary.whole_in(&journal).is_some(), "{method:?}");
    }
}

fn revoke(rig: &Rig, client: &str, token: &str, shown: &Shown) -> u16 {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("token", token)
        .append_pair("client_id", client)
        .extend_pairs(&shown.fields);
    let to = format!("{}/revoke", rig.origin());
    post(&to, &form.finish(), &shown.headers).0
}
