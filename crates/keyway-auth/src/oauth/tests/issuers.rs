//! The issuer that a client belongs to: what one issuer gave or was given, another never sees.

use std::time::Duration;

use keyway_code::Code;
use keyway_secret::Secret;
use serde_json::json;

use super::with_secret;
use crate::oauth::testing::{
    AS, Kit, MCP, META, PRM, REGISTER, Reply, TOKEN, cause, metadata, resource,
};
use crate::oauth::{
    Assertion, ClientOwner, ClientProof, ClientSettings, Endpoints, GrantKind, OAuthError,
};

const EVIL: &str = "https://evil.example";

/// Another authorization server, which gives out tokens as well.
fn open_evil(kit: &Kit) {
    let at = format!("{EVIL}/.well-known/oauth-authorization-server");
    kit.world.route(&at, [Reply::json(200, &metadata(EVIL))]);
    let honest = kit.honest.clone();
    kit.world
        .answer(&format!("{EVIL}/register"), move |_| honest.register());
    let honest = kit.honest.clone();
    kit.world
        .answer(&format!("{EVIL}/token"), move |_| honest.issue());
}

/// The server relies on the other one from now on.
fn move_to_evil(kit: &Kit) {
    open_evil(kit);
    kit.world.route(PRM, [Reply::json(200, &resource(EVIL))]);
}

fn nothing_of(kit: &Kit, secret: &str) {
    for seen in kit.world.seen_by("evil.example") {
        assert!(!seen.text().contains(secret), "{}", seen.text());
    }
}

#[test]
fn a9_a_new_issuer_sees_neither_the_old_refresh_token_nor_the_old_client() {
    let kit = Kit::new();
    let registered = json!({
        "client_id": "c-1", "client_secret": "CANARY-SECRET",
        "token_endpoint_auth_method": "client_secret_post",
    });
    kit.world.route(REGISTER, [Reply::json(201, &registered)]);
    let oauth = kit.signed_in();
    move_to_evil(&kit);
    kit.honest.reset();
    assert_eq!(
        kit.call(&oauth).unwrap(),
        200,
        "registered and signed in again"
    );
    nothing_of(&kit, "CANARY-SECRET");
    nothing_of(&kit, "rt-1");
    nothing_of(&kit, "c-1");
    assert_eq!(kit.world.seen(&format!("{EVIL}/register")).len(), 1);
    assert!(kit.world.redeemed("refresh_token").is_empty());
}

#[test]
fn a9_a_token_is_renewed_where_it_was_issued_whatever_the_server_says_now() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    move_to_evil(&kit);
    kit.run(oauth.sign_out()).unwrap();
    let oauth = {
        kit.world.route(PRM, [Reply::json(200, &resource(AS))]);
        kit.signed_in()
    };
    move_to_evil(&kit);
    kit.clock.advance(Duration::from_secs(3601));
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    let renewed = kit.world.redeemed("refresh_token");
    assert_eq!(renewed.len(), 1);
    assert_eq!(renewed[0].url.as_str(), TOKEN);
    nothing_of(&kit, "rt-");
}

#[test]
fn the_secret_for_one_issuer_is_not_sent_to_another() {
    let mut kit = Kit::new();
    let known = (AS.to_owned(), with_secret("given", "CANARY-SECRET"));
    kit.settings.issuers = vec![known];
    kit.signed_in();
    assert!(kit.world.seen(REGISTER).is_empty());
    move_to_evil(&kit);
    kit.honest.reset();
    kit.call(&kit.oauth()).unwrap();
    assert_eq!(kit.world.seen(&format!("{EVIL}/register")).len(), 1);
    let basic = "Z2l2ZW46Q0FOQVJZLVNFQ1JFVA==";
    assert!(kit.world.seen(TOKEN)[0].text().contains(basic));
    nothing_of(&kit, basic);
    nothing_of(&kit, "CANARY-SECRET");
}

#[test]
fn an_issuer_that_we_have_a_client_for_goes_first() {
    let mut kit = Kit::new();
    open_evil(&kit);
    let document = json!({ "resource": MCP, "authorization_servers": [EVIL, AS] });
    kit.world.route(PRM, [Reply::json(200, &document)]);
    kit.settings.issuers = vec![(AS.to_owned(), with_secret("given", "s"))];
    kit.signed_in();
    assert!(kit.world.seen_by("evil.example").is_empty());
}

#[test]
fn the_issuer_that_the_person_chose_is_the_only_one() {
    let mut kit = Kit::new();
    open_evil(&kit);
    kit.settings.issuer = Some(AS.to_owned());
    kit.world.route(PRM, [Reply::json(200, &resource(EVIL))]);
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    assert!(
        matches!(error, OAuthError::IssuerMismatch { .. }),
        "{error}"
    );
    assert!(kit.world.seen_by("evil.example").is_empty());
    let both = json!({ "resource": MCP, "authorization_servers": [EVIL, AS] });
    kit.world.route(PRM, [Reply::json(200, &both)]);
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert!(kit.world.seen_by("evil.example").is_empty());
}

#[test]
fn a5_a_document_that_an_entry_names_speaks_for_its_own_origin_alone() {
    let mut kit = Kit::new();
    let known = (AS.to_owned(), with_secret("given", "CANARY-SECRET"));
    kit.settings.issuers = vec![known];
    let at = format!("{EVIL}/metadata.json");
    kit.settings.endpoints = Endpoints::Metadata(at.parse().unwrap());
    let mut document = metadata(EVIL);
    for issuer in [
        json!(AS),
        json!(""),
        json!(null),
        json!("https://evil.example:8443"),
    ] {
        document["issuer"] = issuer.clone();
        kit.world.route(&at, [Reply::json(200, &document)]);
        let error = kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(error.code(), Code::IssuerMismatch, "{issuer}");
        assert_eq!(kit.person.windows(), 0);
        nothing_of(&kit, "Basic");
    }
    open_evil(&kit);
    document["issuer"] = json!(format!("{EVIL}/tenant"));
    kit.world.route(&at, [Reply::json(200, &document)]);
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    nothing_of(&kit, "Basic");
}

#[test]
fn a5_a_registration_with_one_issuer_is_not_used_by_a_document_that_only_names_it() {
    let mut kit = Kit::new();
    registered(&mut kit);
    open_evil(&kit);
    kit.key = kit.key.clone().plugin("evil");
    let at = format!("{EVIL}/metadata.json");
    let mut document = metadata(EVIL);
    document["issuer"] = json!(AS);
    kit.world.route(&at, [Reply::json(200, &document)]);
    kit.settings.endpoints = Endpoints::Metadata(at.parse().unwrap());
    kit.call(&kit.oauth()).unwrap_err();
    nothing_of(&kit, "CANARY-SECRET");
    assert!(kit.world.seen(&format!("{EVIL}/token")).is_empty());
}

#[test]
fn a9_a_configured_client_is_not_sent_to_another_issuer_than_its_first() {
    let proofs = [
        ClientProof::Secret(Secret::new("CANARY-SECRET".to_owned())),
        ClientProof::Public,
    ];
    for proof in proofs {
        let mut kit = Kit::new();
        kit.settings.client = Some(ClientSettings {
            proof,
            ..with_secret("CANARY-GIVEN", "")
        });
        let oauth = kit.signed_in();
        move_to_evil(&kit);
        kit.honest.reset();
        let error = cause(kit.call(&oauth).unwrap_err());
        let OAuthError::ClientOfOther { issuer, found } = error else {
            panic!("{error}");
        };
        assert_eq!((issuer.as_str(), found.as_str()), (AS, EVIL));
        assert!(kit.world.seen(&format!("{EVIL}/token")).is_empty());
        assert_eq!(kit.person.windows(), 1, "no browser is sent there either");
        assert_eq!(kit.stored_access(), "at-1", "nothing is lost");
        kit.run(oauth.sign_out()).unwrap();
        assert_eq!(kit.call(&oauth).unwrap(), 200, "the person has let it go");
    }
}

/// Threat E14: the approval names the authorization server, whose metadata names any host.
#[test]
fn e14_a_client_secret_is_not_sent_to_a_token_endpoint_elsewhere() {
    let mut kit = Kit::new();
    kit.settings.client = Some(with_secret("given", "CANARY-SECRET"));
    open_evil(&kit);
    let elsewhere = format!("{EVIL}/token");
    kit.honest.say("token_endpoint", json!(elsewhere));
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    let OAuthError::SecretElsewhere { issuer, found } = error else {
        panic!("{error}");
    };
    assert_eq!((issuer.as_str(), found.as_str()), (AS, EVIL));
    assert_eq!(kit.person.windows(), 0);
    nothing_of(&kit, "CANARY-SECRET");
    // A client without a secret has nothing to lose there.
    kit.settings.client = Some(ClientSettings {
        proof: ClientProof::Public,
        ..with_secret("given", "")
    });
    let public = kit.call(&kit.oauth());
    assert!(!public.is_err_and(|error| matches!(cause(error), OAuthError::SecretElsewhere { .. })));
}

#[test]
fn a9_a_configured_client_follows_the_issuer_that_the_person_names() {
    let mut kit = Kit::new();
    kit.settings.client = Some(with_secret("given", "s"));
    kit.signed_in();
    move_to_evil(&kit);
    kit.honest.reset();
    kit.settings.issuer = Some(EVIL.to_owned());
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
}

#[test]
fn a9_the_token_of_a_workload_is_not_sent_to_another_issuer_than_its_first() {
    let mut kit = Kit::new();
    let assertion = Assertion::fixed(Secret::new("CANARY-JWT".to_owned()));
    kit.settings.grant = GrantKind::Workload(assertion);
    kit.settings.client = Some(with_secret("given", "s"));
    kit.honest.add(json!({ "refresh_token": null }));
    let oauth = kit.signed_in();
    move_to_evil(&kit);
    kit.honest.reset();
    let mut moved = kit.settings.clone();
    moved.client = Some(with_secret("new", "s"));
    kit.settings = moved;
    for oauth in [oauth, kit.oauth()] {
        kit.call(&oauth).unwrap_err();
        nothing_of(&kit, "CANARY-JWT");
    }
}

/// Threat E9: metadata whose page is another's. Without `iss` nothing else would tell.
#[test]
fn e09_a_page_of_another_host_is_named_and_opened_only_if_the_person_says_so() {
    let kit = Kit::new();
    let mut document = metadata(AS);
    document["authorization_endpoint"] = json!("https://honest.example/authorize");
    kit.world.route(META, [Reply::json(200, &document)]);
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    assert!(matches!(error, OAuthError::ForeignPage { .. }), "{error}");
    assert_eq!(error.code(), Code::IssuerMismatch);
    assert_eq!(kit.person.windows(), 0);
    assert!(kit.world.seen(REGISTER).is_empty() && kit.world.seen(TOKEN).is_empty());
    let asked = kit.person.foreign_pages();
    let [asked] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(asked.page, "honest.example");
    assert_eq!(
        (&*asked.issuer, &*asked.redeemer),
        ("as.example", "as.example")
    );
    kit.person.go_anywhere();
    kit.world.route(META, [Reply::json(200, &document)]);
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn e09_each_issuer_that_we_register_with_has_a_redirect_of_its_own() {
    let kit = Kit::new();
    kit.signed_in();
    move_to_evil(&kit);
    kit.honest.reset();
    kit.call(&kit.oauth()).unwrap();
    let paths: Vec<String> = kit
        .person
        .questions()
        .iter()
        .map(|question| {
            let mut pairs = question.url.query_pairs();
            let (_, redirect) = pairs.find(|(name, _)| name == "redirect_uri").unwrap();
            redirect.rsplit('/').next().unwrap().to_owned()
        })
        .collect();
    let [one, other] = paths.as_slice() else {
        panic!("{paths:?}");
    };
    assert_ne!(one, other);
}

/// Signs in as a client with a secret, which was registered with the issuer.
fn registered(kit: &mut Kit) {
    let registered = json!({
        "client_id": "c-1", "client_secret": "CANARY-SECRET",
        "token_endpoint_auth_method": "client_secret_post",
    });
    kit.world.route(REGISTER, [Reply::json(201, &registered)]);
    kit.signed_in();
}

/// A file that any user of the issuer can put on its origin, and an entry that names it.
fn document_of_a_user(kit: &mut Kit) {
    open_evil(kit);
    let at = format!("{AS}/users/evil/metadata.json");
    let mut document = metadata(AS);
    document["token_endpoint"] = json!(format!("{EVIL}/token"));
    kit.world.route(&at, [Reply::json(200, &document)]);
    kit.settings.endpoints = Endpoints::Metadata(at.parse().unwrap());
}

#[test]
fn a9_a_document_on_the_issuers_origin_gets_no_client_that_the_issuer_knows() {
    let mut kit = Kit::new();
    registered(&mut kit);
    kit.key = kit.key.clone().plugin("evil");
    document_of_a_user(&mut kit);
    kit.person.go_anywhere();
    kit.world
        .route(REGISTER, [Reply::json(201, &json!({ "client_id": "c-2" }))]);
    kit.call(&kit.oauth()).unwrap();
    assert_eq!(kit.world.seen(&format!("{EVIL}/token")).len(), 1);
    nothing_of(&kit, "CANARY-SECRET");
    nothing_of(&kit, "c-1");
}

#[test]
fn a9_a_document_on_the_issuers_origin_gets_no_secret_that_the_person_configured() {
    let mut kit = Kit::new();
    document_of_a_user(&mut kit);
    kit.person.go_anywhere();
    kit.settings.issuers = vec![(AS.to_owned(), of_person(None))];
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    assert!(
        matches!(error, OAuthError::EndpointOfEntry { .. }),
        "{error}"
    );
    assert!(kit.world.seen(&format!("{EVIL}/token")).is_empty());
}

/// A client that the person has registered, and the token endpoint that the settings name.
fn of_person(token_endpoint: Option<&str>) -> ClientSettings {
    ClientSettings {
        owner: ClientOwner::Person {
            token_endpoint: token_endpoint.map(|it| Box::new(it.parse().unwrap())),
        },
        ..with_secret("given", "CANARY-SECRET")
    }
}

/// Where any user of the issuer can put a page, which is on its origin and not its endpoint.
#[test]
fn e14_an_endpoint_of_the_entrys_gets_no_client_of_the_persons() {
    let collect = format!("{AS}/users/evil/collect");
    let fixed = Endpoints::Fixed {
        authorization: format!("{AS}/authorize").parse().unwrap(),
        token: collect.parse().unwrap(),
    };
    let cases = [
        (vec![(AS.to_owned(), of_person(None))], None),
        (vec![(AS.to_owned(), of_person(Some(TOKEN)))], None),
        (Vec::new(), Some(of_person(None))),
    ];
    for (issuers, client) in cases {
        let mut kit = Kit::new();
        kit.settings.endpoints = fixed.clone();
        (kit.settings.issuers, kit.settings.client) = (issuers, client);
        kit.person.go_anywhere();
        let honest = kit.honest.clone();
        kit.world.answer(&collect, move |_| honest.issue());
        let error = cause(kit.call(&kit.oauth()).unwrap_err());
        assert!(
            matches!(error, OAuthError::EndpointOfEntry { .. }),
            "{error}"
        );
        assert!(error.hint().contains("`token_endpoint`"));
        assert_eq!(
            (kit.person.windows(), kit.world.seen(&collect).len()),
            (0, 0)
        );
    }
    let mut kit = Kit::new();
    kit.settings.endpoints = fixed;
    kit.settings.issuers = vec![(AS.to_owned(), of_person(Some(&collect)))];
    kit.person.go_anywhere();
    let honest = kit.honest.clone();
    kit.world.answer(&collect, move |_| honest.issue());
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200, "the person named it");
}

/// The page is the issuer's own, and what the person agrees to there would go elsewhere.
#[test]
fn e09_a_document_on_the_issuers_origin_sends_no_code_elsewhere_unasked() {
    let mut kit = Kit::new();
    document_of_a_user(&mut kit);
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    assert!(matches!(error, OAuthError::ForeignPage { .. }), "{error}");
    let asked = kit.person.foreign_pages();
    let [asked] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(
        (&*asked.page, &*asked.redeemer),
        ("as.example", "evil.example")
    );
    assert_eq!(kit.person.windows(), 0);
}

/// The issuer's token endpoint is down, and the entry's document names another.
#[test]
fn a9_a_refresh_token_does_not_follow_a_document_on_the_issuers_origin() {
    let mut kit = Kit::new();
    kit.signed_in();
    document_of_a_user(&mut kit);
    kit.world.route(TOKEN, [Reply::json(404, &json!({}))]);
    kit.clock.advance(Duration::from_secs(3601));
    kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(kit.world.redeemed("refresh_token").len(), 1);
    nothing_of(&kit, "rt-1");
}
