//! Where to sign in: what a server may say about that, and what it may not.

use keyway_code::Code;
use serde_json::json;

use crate::oauth::testing::{
    AS, Deed, Kit, MCP, META, PRM, PRM_ROOT, REGISTER, Reply, TOKEN, cause, metadata, resource,
};
use crate::oauth::{OAuthError, RequestTarget};
use crate::ports::{Barred, HttpFailure, Redirects};

/// The only hosts that the honest flow reaches.
fn only_honest_hosts(kit: &Kit) {
    for seen in kit.world.journal() {
        let origin = seen.url.origin().ascii_serialization();
        assert!(
            origin == "https://mcp.example" || origin == AS,
            "{}",
            seen.url
        );
    }
}

#[test]
fn a1_t10_metadata_at_another_origin_is_not_fetched_and_the_own_is_used_instead() {
    for hint in [
        "http://169.254.169.254/latest/meta-data",
        "http://10.66.0.1/",
        "http://127.0.0.1:9/.well-known/oauth-protected-resource",
        "https://evil.example/.well-known/oauth-protected-resource/mcp",
        "https://mcp.example:8443/.well-known/oauth-protected-resource/mcp",
        "http://mcp.example/.well-known/oauth-protected-resource/mcp",
        "https://mcp.example@evil.example/x",
        "//evil.example/x",
        "file:///etc/passwd",
        "",
    ] {
        let kit = Kit::new();
        kit.honest
            .challenge(&format!("Bearer resource_metadata=\"{hint}\""));
        assert_eq!(kit.call(&kit.oauth()).unwrap(), 200, "{hint}");
        assert_eq!(kit.world.seen(PRM).len(), 1, "{hint}");
        only_honest_hosts(&kit);
    }
}

#[test]
fn a1_metadata_elsewhere_in_the_same_origin_is_used() {
    let kit = Kit::new();
    let at = "https://mcp.example/elsewhere";
    kit.world.route(PRM, [Reply::raw(404, "")]);
    kit.world.route(at, [Reply::json(200, &resource(AS))]);
    kit.honest
        .challenge(&format!("Bearer resource_metadata=\"{at}\""));
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert_eq!(kit.world.seen(at).len(), 1);
    assert_eq!(kit.world.seen(PRM).len(), 0);
}

#[test]
fn a2_issuers_that_no_address_may_be_written_like_are_not_asked() {
    for issuer in [
        "http://10.66.0.1",
        "http://as.example",
        "http://[::ffff:169.254.169.254]",
        "http://0x7f000001",
        "https://0x7f000001",
        "https://127.1",
        "http://①②⑦.0.0.1",
        "http://localhost.",
        "https://good.example@evil.example",
        "https://evil.example/#f",
        "https://evil.example/?q",
        "https:\\\\evil.example",
        " https://evil.example",
        "file:///etc/passwd",
        "evil.example",
        "",
    ] {
        let kit = Kit::new();
        kit.world.route(PRM, [Reply::json(200, &resource(issuer))]);
        let error = kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(error.code(), Code::BadMetadata, "{issuer}");
        only_honest_hosts(&kit);
        assert_eq!(kit.person.windows(), 0, "{issuer}");
    }
}

#[test]
fn a2_endpoints_that_may_not_be_reached_are_refused_before_anything_is_sent() {
    for name in [
        "authorization_endpoint",
        "token_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
    ] {
        for address in [
            "http://10.66.0.1/x",
            "javascript:alert(1)",
            "file:///x",
            "/x",
        ] {
            let kit = Kit::new();
            kit.honest.say(name, json!(address));
            let error = cause(kit.call(&kit.oauth()).unwrap_err());
            let what = RequestTarget::ServerMetadata;
            assert!(
                matches!(error, OAuthError::Endpoint { what: found, .. } if found == what),
                "{name} {address}: {error}"
            );
            only_honest_hosts(&kit);
            assert!(
                kit.world
                    .journal()
                    .iter()
                    .all(|seen| seen.url.path() != "/register")
            );
            assert_eq!(kit.person.windows(), 0);
        }
    }
}

#[test]
fn a2_an_address_that_the_client_forbids_ends_the_flow() {
    let kit = Kit::new();
    let forbidden = HttpFailure::Forbidden {
        host: "as.example".to_owned(),
        why: Barred::LessPublic,
    };
    kit.world.route(META, [Reply::fails(forbidden)]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::ForbiddenAddress);
    assert_eq!(kit.world.seen_by("as.example").len(), 1);
}

#[test]
fn b1_a_server_elsewhere_may_not_point_the_browser_at_this_machine() {
    for page in [
        "http://localhost:8080/admin",
        "https://127.0.0.1/x",
        "http://[::1]/x",
    ] {
        let kit = Kit::new();
        kit.honest.say("authorization_endpoint", json!(page));
        kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(kit.person.windows(), 0, "{page}");
    }
}

#[test]
fn a4_whatever_may_hold_a_secret_follows_no_redirect() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    kit.run(oauth.sign_out()).unwrap();
    let posts = kit.world.seen_by("as.example");
    let posts: Vec<_> = posts.iter().filter(|seen| seen.method == "POST").collect();
    assert_eq!(posts.len(), 5, "register, code, refresh, two revocations");
    assert!(posts.iter().all(|seen| seen.redirects == Redirects::None));
}

#[test]
fn a4_a_redirect_of_the_token_endpoint_or_the_registration_is_a_failure() {
    for status in [301, 302, 303, 307, 308] {
        for at in [TOKEN, REGISTER] {
            let kit = Kit::new();
            let reply = Reply::raw(status, "").header("location", "https://evil.example/take");
            kit.world.route(at, [reply]);
            let error = cause(kit.call(&kit.oauth()).unwrap_err());
            assert!(matches!(error, OAuthError::Status { status: found, .. } if found == status));
            assert!(kit.world.seen_by("evil.example").is_empty());
            assert!(kit.stored().is_none());
        }
    }
}

#[test]
fn a5_t8_metadata_under_another_name_is_not_used() {
    for issuer in [
        json!("https://evil.example"),
        json!("https://as.example/"),
        json!("https://AS.example"),
        json!("HTTPS://as.example"),
        json!("https://as.example:443"),
        json!("https://as.example/%2e"),
        json!(""),
        json!(null),
    ] {
        let kit = Kit::new();
        kit.honest.say("issuer", issuer.clone());
        let error = cause(kit.call(&kit.oauth()).unwrap_err());
        assert!(
            matches!(error, OAuthError::IssuerMismatch { .. }),
            "{issuer}: {error}"
        );
        assert_eq!(kit.person.windows(), 0, "{issuer}");
        assert!(kit.world.seen(REGISTER).is_empty(), "{issuer}");
    }
}

#[test]
fn a5_an_exception_counts_for_the_one_pair_that_it_names() {
    let mut kit = Kit::new();
    kit.honest.say("issuer", json!("https://login.example"));
    let other = (AS.to_owned(), "https://other.example".to_owned());
    kit.settings.issuer_exceptions = vec![other];
    kit.call(&kit.oauth()).unwrap_err();
    let named = (AS.to_owned(), "https://login.example".to_owned());
    kit.settings.issuer_exceptions = vec![named];
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
}

#[test]
fn a6_t9_metadata_of_another_resource_leads_nowhere() {
    for spoof in [
        "https://honest.example/mcp",
        "https://mcp.example:8443/mcp",
        "http://mcp.example/mcp",
        "https://mcp.example/mc",
        "https://mcp.example/mcp/deeper",
        "https://mcp.example/other",
        "https://user@mcp.example/mcp",
        "https://:secret@mcp.example/mcp",
        "https://mcp.example/mcp#fragment",
        "https://mcp.example/\nmcp",
        "https:\\\\mcp.example/mcp",
        "mcp.example/mcp",
        "",
    ] {
        let kit = Kit::new();
        let mut document = resource(AS);
        document["resource"] = json!(spoof);
        kit.world.route(PRM, [Reply::json(200, &document)]);
        let error = cause(kit.call(&kit.oauth()).unwrap_err());
        assert!(
            matches!(error, OAuthError::ResourceMismatch { .. }),
            "{spoof}: {error}"
        );
        assert!(kit.world.seen_by("as.example").is_empty(), "{spoof}");
    }
}

/// RFC 9728 sections 2 and 3.3: without its name a document could be that of any server.
#[test]
fn a6_metadata_that_names_no_resource_leads_nowhere() {
    for named in [json!(null), json!(7), json!([MCP])] {
        let kit = Kit::new();
        let mut document = resource(AS);
        document["resource"] = named.clone();
        kit.world.route(PRM, [Reply::json(200, &document)]);
        let error = cause(kit.call(&kit.oauth()).unwrap_err());
        assert_eq!(error.code(), Code::BadMetadata, "{named}: {error}");
        document.as_object_mut().unwrap().remove("resource");
        kit.world.route(PRM, [Reply::json(200, &document)]);
        let error = cause(kit.call(&kit.oauth()).unwrap_err());
        assert!(error.to_string().contains("resource"), "{error}");
        assert!(kit.world.seen_by("as.example").is_empty());
    }
}

#[test]
fn a6_the_origin_and_a_path_above_the_server_are_its_own_names() {
    for own in [
        MCP,
        "https://mcp.example",
        "https://mcp.example/",
        "https://mcp.example/mcp/",
        "https://MCP.example/mcp",
    ] {
        let kit = Kit::new();
        let mut document = resource(AS);
        document["resource"] = json!(own);
        kit.world.route(PRM, [Reply::json(200, &document)]);
        assert_eq!(kit.call(&kit.oauth()).unwrap(), 200, "{own}");
        let asked = kit.world.redeemed("authorization_code");
        assert_eq!(asked[0].field("resource"), own, "byte for byte");
    }
}

#[test]
fn a8_no_browser_is_sent_to_a_server_that_does_not_advertise_s256() {
    for methods in [json!(null), json!([]), json!(["plain"]), json!(["s256"])] {
        let kit = Kit::new();
        kit.honest
            .say("code_challenge_methods_supported", methods.clone());
        let error = kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(error.code(), Code::PkceUnsupported, "{methods}");
        assert_eq!(kit.person.windows(), 0);
        assert!(kit.world.seen(REGISTER).is_empty());
    }
}

#[test]
fn a8_the_page_gets_the_challenge_and_the_token_endpoint_the_verifier() {
    let kit = Kit::new();
    kit.signed_in();
    let [question] = &kit.person.questions()[..] else {
        panic!("one window");
    };
    let of_page = |name: &str| {
        let mut pairs = question.url.query_pairs();
        let found = pairs.find(|(other, _)| other == name);
        found.map(|(_, value)| value.into_owned()).unwrap()
    };
    assert_eq!(of_page("code_challenge_method"), "S256");
    assert_eq!(of_page("state"), *question.state.expose());
    assert_eq!(of_page("state").len(), 43);
    let redeemed = kit.world.redeemed("authorization_code");
    let verifier = redeemed[0].field("code_verifier");
    assert_eq!(verifier.len(), 43);
    assert!(!question.url.as_str().contains(&verifier));
    let hash = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    let hash = base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, hash);
    assert_eq!(of_page("code_challenge"), hash);
    assert_eq!(redeemed[0].field("redirect_uri"), of_page("redirect_uri"));
}

#[test]
fn a8_a_server_without_any_document_still_gets_s256() {
    let kit = Kit::new();
    kit.world.route(PRM, [Reply::raw(404, "")]);
    let honest = kit.honest.clone();
    kit.world
        .answer("https://mcp.example/register", move |_| honest.register());
    let honest = kit.honest.clone();
    kit.world
        .answer("https://mcp.example/token", move |seen| honest.token(seen));
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    let question = kit.person.questions().remove(0);
    assert!(
        question
            .url
            .as_str()
            .starts_with("https://mcp.example/authorize?")
    );
    assert!(question.url.as_str().contains("code_challenge_method=S256"));
}

#[test]
fn a10_no_more_than_five_issuers_are_looked_at() {
    let kit = Kit::new();
    let issuers: Vec<String> = (1..=900)
        .map(|n| format!("https://as{n}.example"))
        .collect();
    let document = json!({ "resource": MCP, "authorization_servers": issuers });
    kit.world.route(PRM, [Reply::json(200, &document)]);
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    assert!(matches!(error, OAuthError::NoMetadata { .. }), "{error}");
    let elsewhere = |host: &&str| *host != "mcp.example";
    let journal = kit.world.journal();
    let hosts = journal.iter().filter_map(|seen| seen.url.host_str());
    let hosts: std::collections::BTreeSet<&str> = hosts.filter(elsewhere).collect();
    assert_eq!(hosts.len(), 5);
    assert!(journal.len() < 5 * 3 + 5);
}

#[test]
fn a10_an_absurd_number_of_issuers_is_an_error() {
    let kit = Kit::new();
    let issuers = vec![AS; 1001];
    let document = json!({ "resource": MCP, "authorization_servers": issuers });
    kit.world.route(PRM, [Reply::json(200, &document)]);
    kit.world.route(PRM_ROOT, [Reply::json(200, &document)]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::BadMetadata);
    assert!(kit.world.seen_by("as.example").is_empty());
}

#[test]
fn a10_a_dripping_server_ends_the_flow_at_the_first_time_out() {
    for at in [PRM, META, REGISTER, TOKEN] {
        let kit = Kit::new();
        kit.world.route(at, [Reply::times_out()]);
        let error = kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(error.code(), Code::NetworkError, "{at}");
        assert_eq!(kit.world.seen(at).len(), 1, "{at}");
        let last = kit.world.journal().pop().unwrap();
        assert_eq!(last.url.as_str(), at, "nothing was asked afterwards");
    }
}

#[test]
fn a_server_that_is_asked_too_often_is_not_taken_for_one_without_metadata() {
    for (at, status) in [(PRM, 429), (PRM, 408), (META, 429), (META, 503)] {
        let kit = Kit::new();
        kit.world.route(at, [Reply::raw(status, "")]);
        let error = cause(kit.call(&kit.oauth()).unwrap_err());
        assert!(error.is_transient(), "{at} {status}: {error}");
        assert!(kit.world.seen(REGISTER).is_empty());
        assert_eq!(kit.person.windows(), 0);
    }
}

#[test]
fn b3_the_question_names_the_issuer_in_ascii() {
    let kit = Kit::new();
    let issuer = "https://аpple.example";
    kit.world.route(PRM, [Reply::json(200, &resource(issuer))]);
    let at = "https://xn--pple-43d.example/.well-known/oauth-authorization-server";
    kit.world.route(at, [Reply::json(200, &metadata(issuer))]);
    kit.person.will([Deed::Cancel]);
    kit.world.answer("https://xn--pple-43d.example/register", {
        let honest = kit.honest.clone();
        move |_| honest.register()
    });
    kit.call(&kit.oauth()).unwrap_err();
    let question = kit.person.questions().remove(0);
    assert_eq!(question.issuer, "xn--pple-43d.example");
    assert!(question.url.as_str().is_ascii());
}

/// RFC 8414 section 3.1 and OpenID Connect Discovery section 4: inserted, inserted, appended.
#[test]
fn an_issuer_with_a_path_is_asked_in_the_order_of_the_specification() {
    let issuer = "https://as.example/tenant";
    let places = [
        "https://as.example/.well-known/oauth-authorization-server/tenant",
        "https://as.example/.well-known/openid-configuration/tenant",
        "https://as.example/tenant/.well-known/openid-configuration",
    ];
    for (last, place) in places.iter().enumerate() {
        let kit = Kit::new();
        kit.world.route(PRM, [Reply::json(200, &resource(issuer))]);
        for place in places {
            kit.world.route(place, [Reply::raw(404, "")]);
        }
        let mut document = kit.honest.metadata();
        document["issuer"] = json!(issuer);
        kit.world.route(place, [Reply::json(200, &document)]);
        kit.signed_in();
        let asked: Vec<_> = places.iter().map(|at| kit.world.seen(at).len()).collect();
        let expected: Vec<_> = (0..places.len())
            .map(|at| usize::from(at <= last))
            .collect();
        assert_eq!(asked, expected, "{place}");
    }
}
