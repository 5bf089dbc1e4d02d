//! What a token may be, and the error of each that is not.

use keyway_auth::oauth::DocumentError;

use super::*;
use crate::TokenError as E;

fn verify(rules: &TokenRules, keys: &KeySet, token: &str) -> Result<VerifiedPerson, TokenError> {
    AccessTokenVerifier::verify_with(rules, ISSUER, keys, token, now())
}

#[test]
fn a_token_of_each_algorithm_says_whose_it_is() {
    let ada = Person::new(ISSUER, "ada").unwrap();
    let rows = [
        ("RS256", SigningKey::rsa()),
        ("PS256", SigningKey::rsa()),
        ("ES256", SigningKey::p256()),
        ("ES384", SigningKey::p384()),
        ("EdDSA", SigningKey::ed25519()),
    ];
    for (algorithm, key) in rows {
        let keys = key_set(&[key.jwk("1")]);
        let token = key.token(&header(algorithm, "1").to_string(), &claims().to_string());
        let found = verify(&TokenRules::new(AUDIENCE), &keys, &token).unwrap();
        assert_eq!(found.person, ada, "{algorithm}");
        assert_eq!(found.expires_at, now() + Duration::from_secs(300));
        assert!(!found.is_admin);
        let only = TokenRules {
            algorithms: vec![Algorithm::from_name(algorithm).unwrap()],
            ..TokenRules::new(AUDIENCE)
        };
        assert_eq!(verify(&only, &keys, &token).unwrap().person, ada);
        let others = Algorithm::ALL
            .into_iter()
            .filter(|it| it.name() != algorithm);
        let others = TokenRules {
            algorithms: others.collect(),
            ..TokenRules::new(AUDIENCE)
        };
        let refused = verify(&others, &keys, &token);
        assert_eq!(refused, Err(TokenError::AlgorithmNotListed), "{algorithm}");
    }
}

#[test]
fn each_header_that_is_not_one_of_an_access_token_has_its_own_error() {
    let key = SigningKey::p256();
    let keys = key_set(&[key.jwk("1")]);
    let check = |header: &str, error: Option<E>| {
        let token = key.token(header, &claims().to_string());
        let found = verify(&TokenRules::new(AUDIENCE), &keys, &token);
        assert_eq!(found.err(), error, "{header}");
    };
    let rows = [
        ("{}", None),
        (r#"{"typ": "application/at+jwt"}"#, None),
        (r#"{"typ": "AT+JWT"}"#, None),
        (r#"{"alg": "none"}"#, Some(E::Unsigned)),
        (r#"{"alg": "nOnE"}"#, Some(E::Unsigned)),
        (r#"{"alg": null}"#, Some(E::Unsigned)),
        (r#"{"alg": "HS256"}"#, Some(E::SharedSecret)),
        (r#"{"alg": "HS512"}"#, Some(E::SharedSecret)),
        (r#"{"alg": "ES512"}"#, Some(E::AlgorithmNotListed)),
        (r#"{"alg": "es256"}"#, Some(E::AlgorithmNotListed)),
        (r#"{"typ": "JWT"}"#, Some(E::WrongType)),
        (r#"{"typ": null}"#, Some(E::WrongType)),
        (r#"{"typ": "logout+jwt"}"#, Some(E::WrongType)),
        (r#"{"crit": ["x"], "x": 1}"#, Some(E::Critical)),
        (r#"{"crit": []}"#, Some(E::Critical)),
        (r#"{"kid": "../../1"}"#, Some(E::UnknownKey)),
        (r#"{"kid": "1' OR '1'='1"}"#, Some(E::UnknownKey)),
        (r#"{"kid": "2"}"#, Some(E::UnknownKey)),
        (r#"{"kid": ""}"#, Some(E::UnknownKey)),
        (r#"{"kid": 1}"#, Some(not_text("kid"))),
        // Of another kind than the key.
        (r#"{"alg": "EdDSA"}"#, Some(E::UnknownKey)),
    ];
    for (changes, error) in rows {
        let changes = serde_json::from_str(changes).unwrap();
        check(&with(header("ES256", "1"), changes), error);
    }
    let long = with(header("ES256", "1"), json!({"kid": "1".repeat(257)}));
    check(&long, Some(E::KeyIdTooLong));
    let twice = header("ES256", "1").to_string();
    let twice = twice.replacen('{', "{\"alg\":\"none\",", 1);
    check(&twice, Some(repeated("alg")));
    check("{", Some(E::Header(DocumentError::NotJson)));
    check("[]", Some(E::Header(DocumentError::NotObject)));
}

fn not_text(field: &'static str) -> TokenError {
    TokenError::Header(DocumentError::NotText { field })
}

fn repeated(field: &str) -> TokenError {
    let field = field.to_owned();
    TokenError::Header(DocumentError::Repeated { field })
}

#[test]
fn each_claim_that_is_not_for_us_has_its_own_error() {
    let key = SigningKey::p256();
    let keys = key_set(&[key.jwk("1")]);
    let check = |claims: &str, error: Option<E>| {
        let token = key.token(&header("ES256", "1").to_string(), claims);
        let found = verify(&TokenRules::new(AUDIENCE), &keys, &token);
        assert_eq!(found.err(), error, "{claims}");
    };
    let length = E::Subject(PersonError::SubjectLength);
    let characters = E::Subject(PersonError::SubjectCharacters);
    let no_time = |claim| Some(E::NotTime { claim });
    let rows = [
        (json!({"aud": ["a", AUDIENCE]}), None),
        (json!({"exp": NOW - 59}), None),
        (json!({"nbf": NOW + 60}), None),
        (json!({"iat": NOW + 60}), None),
        (json!({"exp": 1_800_000_100.5}), None),
        (json!({"aud": "x"}), Some(E::WrongAudience)),
        (
            json!({"aud": "https://gateway.example/x"}),
            Some(E::WrongAudience),
        ),
        (json!({"aud": null}), Some(E::WrongAudience)),
        (json!({"aud": [1]}), Some(E::WrongAudience)),
        (
            json!({"iss": "https://evil.example"}),
            Some(E::IssuerNotListed),
        ),
        (
            json!({"iss": format!("{ISSUER}/")}),
            Some(E::IssuerNotListed),
        ),
        (json!({"iss": null}), Some(E::NoIssuer)),
        (json!({"exp": NOW - 60}), Some(E::Expired)),
        (json!({"exp": null}), Some(E::NoExpiry)),
        (json!({"exp": "1900000000"}), no_time("exp")),
        (json!({"exp": -1}), no_time("exp")),
        (json!({"exp": 1e300}), no_time("exp")),
        (json!({"nbf": NOW + 61}), Some(E::NotYetValid)),
        (json!({"nbf": "0"}), no_time("nbf")),
        (json!({"iat": NOW + 61}), Some(E::IssuedInFuture)),
        (json!({"sub": null, "email": "ada@x"}), Some(E::NoSubject)),
        (json!({"sub": ""}), Some(length.clone())),
        (json!({"sub": "a".repeat(256)}), Some(length)),
        (json!({"sub": "a\0"}), Some(characters)),
        (json!({"cnf": {"jkt": "x"}}), Some(E::BoundToKey)),
    ];
    for (changes, error) in rows {
        check(&with(claims(), changes), error);
    }
    let twice = |text: &str| claims().to_string().replacen('{', text, 1);
    let repeated = |field: &str| {
        let field = field.to_owned();
        Some(E::Claims(DocumentError::Repeated { field }))
    };
    check(&twice("{\"sub\":\"eve\","), repeated("sub"));
    check(&twice("{\"aud\":\"x\","), repeated("aud"));
    check(&twice("{\"s\\u0075b\":\"eve\","), repeated("sub"));
    check("x", Some(E::Claims(DocumentError::NotJson)));
}

#[test]
fn each_text_that_is_no_token_has_its_own_error() {
    let key = SigningKey::p256();
    let keys = key_set(&[key.jwk("1")]);
    let good = key.token(&header("ES256", "1").to_string(), &claims().to_string());
    let (text, signature) = good.rsplit_once('.').unwrap();
    let other = SigningKey::p256().token(&header("ES256", "1").to_string(), &claims().to_string());
    let swapped = format!("{text}.{}", other.rsplit_once('.').unwrap().1);
    let padded = key.token(
        &header("ES256", "1").to_string(),
        &with(claims(), json!({"x": "a".repeat(16 * 1024)})),
    );
    let rows = [
        ("megabyte", "a".repeat(1_000_000), TokenError::TooLong),
        ("17 KiB", padded, TokenError::TooLong),
        ("empty", String::new(), TokenError::NotThreeParts),
        ("two parts", text.to_owned(), TokenError::NotThreeParts),
        (
            "encrypted",
            format!("{good}.a.b"),
            TokenError::NotThreeParts,
        ),
        (
            "not base64",
            format!("{text}.{signature}="),
            TokenError::NotBase64,
        ),
        (
            "line break",
            good.replacen('.', ".\n", 1),
            TokenError::NotBase64,
        ),
        ("no signature", format!("{text}."), TokenError::BadSignature),
        (
            "signature of another key",
            swapped,
            TokenError::BadSignature,
        ),
        (
            "cut signature",
            format!("{text}.{}", encode([1; 63])),
            TokenError::BadSignature,
        ),
        (
            "zero signature",
            format!("{text}.{}", encode([0; 64])),
            TokenError::BadSignature,
        ),
    ];
    for (name, token, error) in rows {
        let found = verify(&TokenRules::new(AUDIENCE), &keys, &token);
        assert_eq!(found, Err(error), "{name}");
    }
}

#[test]
fn a_public_key_is_no_shared_secret() {
    let key = SigningKey::rsa();
    let jwk = key.jwk("1");
    let keys = key_set(std::slice::from_ref(&jwk));
    let text = format!(
        "{}.{}",
        encode(header("HS256", "1").to_string()),
        encode(claims().to_string())
    );
    let public = jwk["n"].as_str().unwrap();
    let mac = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public.as_bytes());
    let token = format!("{text}.{}", encode(ring::hmac::sign(&mac, text.as_bytes())));
    let found = verify(&TokenRules::new(AUDIENCE), &keys, &token);
    assert_eq!(found, Err(TokenError::SharedSecret));
}

#[test]
fn a_changed_claim_breaks_the_signature() {
    let key = SigningKey::ed25519();
    let keys = key_set(&[key.jwk("1")]);
    let good = key.token(&header("EdDSA", "1").to_string(), &claims().to_string());
    let changed = with(claims(), json!({"sub": "eve"}));
    let parts: Vec<_> = good.split('.').collect();
    let forged = format!("{}.{}.{}", parts[0], encode(changed), parts[2]);
    let found = verify(&TokenRules::new(AUDIENCE), &keys, &forged);
    assert_eq!(found, Err(TokenError::BadSignature));
}

#[test]
fn scopes_members_and_admins_are_what_the_settings_say() {
    let key = SigningKey::ed25519();
    let keys = key_set(&[key.jwk("1")]);
    let rule = |claim: &str, value: &str| ClaimRule::new(claim.into(), vec![value.into()]);
    let rules = TokenRules {
        scopes: vec!["mcp".to_owned()],
        members: Some(rule("groups", "team")),
        admins: Some(rule("role", "keyway-admin")),
        ..TokenRules::new(AUDIENCE)
    };
    let rows = [
        (
            json!({"scope": "openid mcp", "groups": ["team"]}),
            Ok(false),
        ),
        (
            json!({"scope": "mcp", "groups": "team", "role": ["keyway-admin"]}),
            Ok(true),
        ),
        (
            json!({"scope": "mcp", "groups": ["team"], "role": "keyway-admins"}),
            Ok(false),
        ),
        (
            json!({"scope": "mcpx", "groups": ["team"]}),
            Err(TokenError::MissingScope),
        ),
        (json!({"groups": ["team"]}), Err(TokenError::MissingScope)),
        (
            json!({"scope": "mcp", "groups": ["others"]}),
            Err(TokenError::NotMember),
        ),
        (
            json!({"scope": "mcp", "groups": {"team": 1}}),
            Err(TokenError::NotMember),
        ),
        (
            json!({"scope": "mcp", "groups": "team others"}),
            Err(TokenError::NotMember),
        ),
    ];
    for (changes, expected) in rows {
        let token = key.token(
            &header("EdDSA", "1").to_string(),
            &with(claims(), changes.clone()),
        );
        let found = verify(&rules, &keys, &token).map(|found| found.is_admin);
        assert_eq!(found, expected, "{changes}");
        assert!(found.err().is_none_or(|error| error.is_forbidden()));
    }
}

#[test]
fn no_error_holds_anything_of_the_token() {
    let key = SigningKey::p256();
    let keys = key_set(&[key.jwk("1")]);
    let canary = "CANARY-7f3a";
    for token in [
        key.token(
            &with(header("ES256", "1"), json!({"kid": canary})),
            &claims().to_string(),
        ),
        key.token(
            &with(header("ES256", "1"), json!({"alg": canary})),
            &claims().to_string(),
        ),
        key.token(
            &header("ES256", "1").to_string(),
            &with(claims(), json!({"iss": canary})),
        ),
        key.token(
            &header("ES256", "1").to_string(),
            &with(claims(), json!({"aud": canary})),
        ),
        key.token(
            &header("ES256", "1").to_string(),
            &with(claims(), json!({"exp": canary})),
        ),
        canary.to_owned(),
    ] {
        let error = verify(&TokenRules::new(AUDIENCE), &keys, &token).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(canary), "{error:?}");
    }
}
