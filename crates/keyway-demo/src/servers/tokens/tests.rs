//! What the authorization server does not do.

use super::*;

const LIFE: Duration = Duration::from_secs(60);
const VERIFIER: &str = "a-verifier-that-only-the-client-knows-0123456789";
const CALLBACK: &str = "http://localhost:1/callback";

fn asked() -> Asked {
    Asked {
        client: "client".to_owned(),
        redirect_uri: CALLBACK.to_owned(),
        challenge: URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes())),
        state: "state".to_owned(),
    }
}

fn code(tokens: &mut Tokens) -> String {
    let question = tokens.ask(asked()).unwrap();
    tokens.agree(&question).unwrap().1
}

fn signed_in(tokens: &mut Tokens) -> Issued {
    let code = code(tokens);
    let issued = tokens.exchange(&code, VERIFIER, ("client", CALLBACK), LIFE);
    issued.unwrap()
}

#[test]
fn a_code_needs_the_verifier_the_client_and_the_address_that_it_was_asked_with() {
    let mut tokens = Tokens::default();
    for (verifier, client, redirect_uri) in [
        ("another-verifier", "client", CALLBACK),
        (VERIFIER, "another", CALLBACK),
        (VERIFIER, "client", "http://localhost:2/callback"),
        ("", "client", CALLBACK),
    ] {
        let code = code(&mut tokens);
        let issued = tokens.exchange(&code, verifier, (client, redirect_uri), LIFE);
        assert!(issued.is_none(), "{verifier} {client} {redirect_uri}");
        // And it is used up by the attempt.
        let again = tokens.exchange(&code, VERIFIER, ("client", CALLBACK), LIFE);
        assert!(again.is_none());
    }
}

#[test]
fn a_question_and_a_code_are_good_once() {
    let mut tokens = Tokens::default();
    let question = tokens.ask(asked()).unwrap();
    let (_, code) = tokens.agree(&question).unwrap();
    assert!(tokens.agree(&question).is_none());
    let exchange =
        |tokens: &mut Tokens| tokens.exchange(&code, VERIFIER, ("client", CALLBACK), LIFE);
    assert!(exchange(&mut tokens).is_some());
    assert!(exchange(&mut tokens).is_none());
}

#[test]
fn a_refresh_token_that_comes_twice_ends_its_family() {
    let mut tokens = Tokens::default();
    let first = signed_in(&mut tokens);
    let other = signed_in(&mut tokens);
    let Rotation::Issued(second) = tokens.rotate(&first.refresh, "client", LIFE) else {
        panic!("the first use is good");
    };
    assert!(tokens.accepts(&second.access));
    let again = tokens.rotate(&first.refresh, "client", LIFE);
    assert!(matches!(again, Rotation::Reused), "{again:?}");
    assert!(!tokens.accepts(&second.access));
    let after = tokens.rotate(&second.refresh, "client", LIFE);
    assert!(matches!(after, Rotation::Unknown), "{after:?}");
    assert!(tokens.accepts(&other.access), "another sign-in lives on");
}

#[test]
fn a_refresh_token_of_another_client_is_unknown() {
    let mut tokens = Tokens::default();
    let issued = signed_in(&mut tokens);
    let rotation = tokens.rotate(&issued.refresh, "another", LIFE);
    assert!(matches!(rotation, Rotation::Unknown), "{rotation:?}");
}

#[test]
fn an_access_token_ends_by_its_clock_and_by_signing_out() {
    let clock = Arc::new(DemoClock::default());
    let mut tokens = Tokens::by(Arc::clone(&clock));
    let issued = signed_in(&mut tokens);
    clock.advance(LIFE);
    assert!(!tokens.accepts(&issued.access));
    let issued = signed_in(&mut tokens);
    assert!(tokens.accepts(&issued.access));
    assert!(tokens.revoke(&issued.refresh));
    assert!(!tokens.accepts(&issued.access));
    assert!(!tokens.revoke("unknown"));
}

#[test]
fn no_token_is_kept_as_it_is() {
    let mut tokens = Tokens::default();
    let issued = signed_in(&mut tokens);
    let kept = format!("{tokens:?}");
    assert!(!kept.contains(&issued.access) && !kept.contains(&issued.refresh));
}
