//! Which keys of an issuer count.

use keyway_auth::oauth::DocumentError;

use super::*;

fn parse(text: &str) -> Result<(), KeySetError> {
    KeySet::parse(text.as_bytes()).map(|_| ())
}

#[test]
fn a_document_that_is_no_key_set_has_its_own_error() {
    let key = SigningKey::p256().jwk("1");
    let many: Vec<_> = std::iter::repeat_n(&key, 101).collect();
    let rows = [
        (json!({"keys": [key]}).to_string(), Ok(())),
        (json!({"keys": [1, {"kty": "?"}, key]}).to_string(), Ok(())),
        (
            json!({"keys": []}).to_string(),
            Err(KeySetError::NoUsableKey),
        ),
        (json!({"keys": {}}).to_string(), Err(KeySetError::NoKeys)),
        (json!({}).to_string(), Err(KeySetError::NoKeys)),
        (
            json!({"keys": many}).to_string(),
            Err(KeySetError::TooManyKeys),
        ),
        (
            "[]".to_owned(),
            Err(KeySetError::Document(DocumentError::NotObject)),
        ),
        (" ".repeat(256 * 1024 + 1), Err(KeySetError::TooLarge)),
        (
            "[".repeat(1000),
            Err(KeySetError::Document(DocumentError::TooDeep)),
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(&text), expected, "{text:.60}");
    }
    let twice = r#"{"keys":[],"keys":[]}"#;
    assert!(matches!(
        parse(twice),
        Err(KeySetError::Document(DocumentError::Repeated { .. }))
    ));
}

#[test]
fn keys_of_another_use_kind_or_size_are_left_out() {
    let key = SigningKey::p256();
    let changed = |changes| serde_json::from_str::<Value>(&with(key.jwk("1"), changes)).unwrap();
    let token = key.token(&header("ES256", "1").to_string(), &claims().to_string());
    let beside = SigningKey::ed25519().jwk("2");
    let rows = [
        (changed(json!({"use": "sig"})), true),
        (changed(json!({"alg": "ES256"})), true),
        (changed(json!({"key_ops": ["verify"]})), true),
        (changed(json!({"use": "enc"})), false),
        (changed(json!({"use": 1})), false),
        (changed(json!({"alg": "ES384"})), false),
        (changed(json!({"alg": "HS256"})), false),
        (changed(json!({"key_ops": ["sign"]})), false),
        (changed(json!({"crv": "P-384"})), false),
        (changed(json!({"x": "AAAA"})), false),
        (changed(json!({"kid": 1})), false),
        (json!({"kty": "oct", "kid": "1", "k": "c2VjcmV0"}), false),
        (
            json!({"kty": "RSA", "kid": "1", "n": encode([255; 128]), "e": "AQAB"}),
            false,
        ),
    ];
    for (jwk, is_used) in rows {
        let keys = key_set(&[jwk.clone(), beside.clone()]);
        let rules = TokenRules::new(AUDIENCE);
        let found = AccessTokenVerifier::verify_with(&rules, ISSUER, &keys, &token, now());
        let expected = (!is_used).then_some(TokenError::UnknownKey);
        assert_eq!(found.err(), expected, "{jwk}");
    }
}

#[test]
fn a_token_that_names_no_key_is_checked_with_the_only_one_that_fits() {
    let (one, other) = (SigningKey::p256(), SigningKey::p256());
    let header = with(header("ES256", "1"), json!({"kid": null}));
    let token = one.token(&header, &claims().to_string());
    let verify = |keys: &[Value]| {
        let (rules, keys) = (TokenRules::new(AUDIENCE), key_set(keys));
        AccessTokenVerifier::verify_with(&rules, ISSUER, &keys, &token, now()).map(|_| ())
    };
    let foreign = SigningKey::ed25519().jwk("3");
    assert_eq!(verify(&[one.jwk("1"), foreign]), Ok(()));
    let both = [one.jwk("1"), other.jwk("2")];
    assert_eq!(verify(&both), Err(TokenError::UnknownKey));
}
