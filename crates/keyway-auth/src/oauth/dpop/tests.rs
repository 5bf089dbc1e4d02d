//! Proofs of possession and nonces, by the rules of RFC 9449.

use std::collections::HashSet;
use std::time::{Duration, Instant, UNIX_EPOCH};

use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

use super::nonce::{MAX_NONCE, MAX_ORIGINS};
use super::*;
use crate::Credential;

#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn monotonic(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000)
    }
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap()
}

/// Checks a proof as a server does, by the key that it names itself; returns key and claims.
fn accepted(proof: &str) -> (Value, Value) {
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
    let (input, signature) = proof.rsplit_once('.').unwrap();
    let (header, claims) = input.split_once('.').unwrap();
    let json = |part: &str| serde_json::from_slice::<Value>(&decode(part)).unwrap();
    let (header, claims) = (json(header), json(claims));
    assert_eq!(header["typ"], "dpop+jwt");
    assert_eq!(header["alg"], "ES256");
    let jwk = header["jwk"].clone();
    assert_eq!(header.as_object().unwrap().len(), 3);
    assert_eq!(jwk.as_object().unwrap().len(), 4, "{jwk}");
    let coordinate = |name: &str| decode(jwk[name].as_str().unwrap());
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(input.as_bytes(), &decode(signature))
        .unwrap();
    (jwk, claims)
}

fn proof(key: &DpopKey, url: &Url, token: Option<&Secret<String>>, nonce: Option<&str>) -> Value {
    let subject = Subject {
        method: &Method::POST,
        url,
        access_token: token,
        nonce,
    };
    let proof = key.proof(&subject, Stopped.wall()).unwrap();
    accepted(proof.expose()).1
}

#[test]
fn a_proof_is_about_one_method_one_address_and_one_token() {
    let key = DpopKey::generate().unwrap();
    let address = url("https://user:pw@MCP.example:443/a/b%20c?x=CANARY#CANARY");
    let claims = proof(&key, &address, None, None);
    let names: HashSet<_> = claims.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["htm", "htu", "iat", "jti"]
            .map(String::from)
            .iter()
            .collect()
    );
    assert_eq!(claims["htm"], "POST");
    assert_eq!(claims["htu"], "https://mcp.example/a/b%20c");
    assert_eq!(claims["iat"], 1_700_000_000);

    // The token and its hash stand in RFC 9449 section 7.1.
    let token = secret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
    let claims = proof(&key, &url("http://127.0.0.1:8080"), Some(&token), Some("n"));
    assert_eq!(claims["htu"], "http://127.0.0.1:8080/");
    assert_eq!(claims["ath"], "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
    assert_eq!(claims["nonce"], "n");
}

#[test]
fn no_two_proofs_have_the_same_name() {
    let key = DpopKey::generate().unwrap();
    let address = url("https://a.example/");
    let names = (0..50).map(|_| proof(&key, &address, None, None)["jti"].to_string());
    assert_eq!(names.collect::<HashSet<_>>().len(), 50);
}

#[test]
fn a_key_that_was_sealed_proves_the_same() {
    let key = DpopKey::generate().unwrap();
    let again = DpopKey::from_pkcs8(key.pkcs8().clone()).unwrap();
    assert_eq!(again.thumbprint(), key.thumbprint());
    assert_eq!(again.algorithm(), "ES256");
    assert!(DpopKey::from_pkcs8(Secret::new(b"CANARY".to_vec())).is_err());
}

#[test]
fn every_request_gets_a_proof_of_its_own_with_the_nonce_of_its_origin() {
    let nonces = Arc::new(Nonces::default());
    let key = Arc::new(DpopKey::generate().unwrap());
    let credential = Credential::new(Vec::new(), 1).with_proof(Arc::new(RequestProof {
        key,
        access_token: secret("CANARY"),
        nonces: Arc::clone(&nonces),
        clock: Arc::new(Stopped),
    }));
    let address = url("https://mcp.example/mcp");
    let claims = |method: &Method| {
        let (name, value) = credential.proof_for(method, &address).unwrap();
        assert_eq!(name, HEADER);
        assert!(value.is_sensitive());
        accepted(value.to_str().unwrap()).1
    };
    let before = claims(&Method::GET);
    assert_eq!(before["htm"], "GET");
    assert!(before["ath"].is_string() && before.get("nonce").is_none());

    assert!(nonces.learn(&url("https://mcp.example/other"), &value("one")));
    assert!(nonces.learn(&url("https://as.example/"), &value("other")));
    let after = claims(&Method::POST);
    assert_eq!(after["htm"], "POST");
    assert_eq!(after["nonce"], "one");
    assert_ne!(after["jti"], before["jti"]);
    let shown = format!("{nonces:?} {credential:?}");
    assert!(!shown.contains("one") && !shown.contains("CANARY"));
}

#[test]
fn nonces_are_kept_by_origin_and_only_the_last() {
    let nonces = Nonces::default();
    let (ours, other_port) = (url("https://a.example/x"), url("https://a.example:444/x"));
    assert_eq!(nonces.get(&ours), None);
    assert!(nonces.learn(&ours, &value("one")));
    assert!(!nonces.learn(&ours, &value("one")), "nothing new");
    assert!(nonces.learn(&ours, &value("two")));
    assert_eq!(
        nonces.get(&url("https://A.example:443/y?z")).as_deref(),
        Some("two")
    );
    assert_eq!(nonces.get(&other_port), None);
    assert_eq!(nonces.get(&url("http://a.example/x")), None);

    for port in 1..=MAX_ORIGINS {
        nonces.learn(&url(&format!("https://b.example:{port}/")), &value("n"));
    }
    assert_eq!(nonces.get(&ours), None, "the oldest goes");
    assert!(nonces.get(&url("https://b.example:1/")).is_some());
}

#[test]
fn an_invalid_nonce_is_neither_kept_nor_sent() {
    let longest = "x".repeat(MAX_NONCE);
    let too_long = "x".repeat(MAX_NONCE + 1);
    let table: &[(&[u8], bool)] = &[
        (b"eyJ7S_zG.eyJH0-Z.HX4w-7v", true),
        (b"!#$%&'()*+,-./:;<=>?@[]^_`{|}~", true),
        (longest.as_bytes(), true),
        (too_long.as_bytes(), false),
        (b"", false),
        (b"a b", false),
        (b"a\tb", false),
        (b"a\"b", false),
        (b"a\\b", false),
        (b"a\xc3\xa9", false),
        (b"\xff", false),
    ];
    for (bytes, is_nonce) in table {
        let value = HeaderValue::from_bytes(bytes).unwrap();
        let nonces = Nonces::default();
        let address = url("https://a.example/");
        assert_eq!(nonces.learn(&address, &value), *is_nonce, "{value:?}");
        assert_eq!(nonces.get(&address).is_some(), *is_nonce, "{value:?}");
        let mut headers = HeaderMap::new();
        assert_eq!(nonce_in(&headers), None);
        headers.append("dpop-nonce", value.clone());
        assert_eq!(nonce_in(&headers).is_some(), *is_nonce, "{value:?}");
        headers.append("DPoP-Nonce", value);
        assert_eq!(nonce_in(&headers), None, "two are none");
    }
}

#[test]
fn only_the_error_of_the_specification_asks_for_a_nonce() {
    let table = [
        (
            401,
            r#"DPoP error="use_dpop_nonce", error_description="x""#,
            true,
        ),
        (
            401,
            r#"Basic realm="x", dpop algs="ES256", error=use_dpop_nonce"#,
            true,
        ),
        (401, r#"Bearer error="use_dpop_nonce""#, true),
        (401, r#"DPoP error="invalid_token""#, false),
        (401, r#"DPoP error="USE_DPOP_NONCE""#, false),
        (401, r#"DPoP error_description="use_dpop_nonce""#, false),
        (401, r#"Digest error="use_dpop_nonce""#, false),
        (401, "use_dpop_nonce", false),
        (403, r#"DPoP error="use_dpop_nonce""#, false),
    ];
    for (status, header, expected) in table {
        let challenge = Challenge {
            attempt: 1,
            status,
            www_authenticate: vec![value(header)],
            dpop_nonce: None,
        };
        assert_eq!(wants_nonce(&challenge), expected, "{status} {header}");
    }
    assert_eq!(SCHEME.to_ascii_lowercase(), HEADER.as_str());
}
