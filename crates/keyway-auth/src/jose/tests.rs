//! Keys, signatures and thumbprints, against values that others computed.

use std::time::{Duration, UNIX_EPOCH};

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

use super::assertion::{CLIENT_ASSERTION_TYPE, client_assertion};
use super::*;

const P256: &str = include_str!("tests/keys/p-256.pem");
const P384: &str = include_str!("tests/keys/p-384.pem");
const ED25519_KEY: &str = include_str!("tests/keys/ed25519.pem");
const RSA: &str = include_str!("tests/keys/rsa-2048.pem");
const RSA_1024: &str = include_str!("tests/keys/rsa-1024.pem");
const SEC1: &str = include_str!("tests/keys/sec1.pem");
const ENCRYPTED: &str = include_str!("tests/keys/encrypted.pem");

fn read(pem: &str, algorithm: Option<&str>) -> Result<SigningKey, JoseError> {
    SigningKey::from_pem(&Secret::new(pem.to_owned()), algorithm)
}

fn decode(text: &str) -> Vec<u8> {
    BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
}

fn object(part: &str) -> Map<String, Value> {
    serde_json::from_slice(&decode(part)).unwrap()
}

/// Checks a signature with nothing but the public JWK, and returns header and claims.
fn verified(key: &SigningKey, jwt: &Secret<String>) -> (Map<String, Value>, Map<String, Value>) {
    let (input, signature) = jwt.expose().rsplit_once('.').unwrap();
    let (header, claims) = input.split_once('.').unwrap();
    let (header, signature) = (object(header), decode(signature));
    let jwk = key.public_jwk();
    let member = |name: &str| decode(jwk[name].as_str().unwrap());
    let is_genuine = |text: &str| match header["alg"].as_str().unwrap() {
        alg @ ("ES256" | "ES384") => {
            let point = [vec![4], member("x"), member("y")].concat();
            let algorithm: &dyn VerificationAlgorithm = match alg {
                "ES256" => &ECDSA_P256_SHA256_FIXED,
                _ => &ECDSA_P384_SHA384_FIXED,
            };
            let public = UnparsedPublicKey::new(algorithm, point);
            public.verify(text.as_bytes(), &signature).is_ok()
        }
        "EdDSA" => UnparsedPublicKey::new(&ED25519, member("x"))
            .verify(text.as_bytes(), &signature)
            .is_ok(),
        alg @ ("RS256" | "PS256") => {
            let (n, e) = (member("n"), member("e"));
            let algorithm = match alg {
                "RS256" => &RSA_PKCS1_2048_8192_SHA256,
                _ => &RSA_PSS_2048_8192_SHA256,
            };
            RsaPublicKeyComponents { n, e }
                .verify(algorithm, text.as_bytes(), &signature)
                .is_ok()
        }
        other => panic!("{other}"),
    };
    assert!(is_genuine(input));
    assert!(!is_genuine(&format!("{input}x")), "anything is genuine");
    (header, object(claims))
}

#[test]
fn every_kind_of_key_signs_by_its_algorithms() {
    let table = [
        (P256, None, "ES256"),
        (P256, Some("ES256"), "ES256"),
        (P384, None, "ES384"),
        (P384, Some("ES384"), "ES384"),
        (ED25519_KEY, None, "EdDSA"),
        (ED25519_KEY, Some("EdDSA"), "EdDSA"),
        (RSA, None, "RS256"),
        (RSA, Some("RS256"), "RS256"),
        (RSA, Some("PS256"), "PS256"),
    ];
    for (pem, asked, algorithm) in table {
        let key = read(pem, asked).unwrap().with_id("our key".to_owned());
        assert_eq!(key.algorithm().name(), algorithm);
        let mut claims = Map::new();
        claims.insert("sub".to_owned(), "é\"\\".into());
        let jwt = key.sign_jwt(Map::new(), claims.clone()).unwrap();
        let (header, told) = verified(&key, &jwt);
        assert_eq!(header["alg"], algorithm);
        assert_eq!(header["kid"], "our key");
        assert_eq!(told, claims);
    }
}

/// The numbers come from another implementation.
#[test]
fn thumbprints_are_those_that_others_compute() {
    let table = [
        (P256, "IIoVlKeyxMxhOaHwwOIxQYX9XRpGNjZILVvyyyd8MbA"),
        (P384, "VoBmkp2eeiUu48Onsh3VReR3Uc9-WG2Y37ZJ9CAIV_Q"),
        (ED25519_KEY, "72cBR1MvDevc_tSCCYawxxnRjoT0lb_S9mNKoM117SE"),
        (RSA, "O2kVHMZomkxXe_oIYE-CXX8_DXuz3g9aTTEQyl-bwyc"),
    ];
    for (pem, expected) in table {
        assert_eq!(read(pem, None).unwrap().thumbprint(), expected);
    }
}

/// RFC 8037 appendix A.
#[test]
fn the_example_of_the_specification_comes_out() {
    let seed = decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A");
    let prefix = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
    let pkcs8 = Secret::new([prefix.to_vec(), seed].concat());
    let key = SigningKey::from_pkcs8(pkcs8, None).unwrap();
    assert_eq!(
        key.public_jwk()["x"],
        "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    );
    assert_eq!(
        key.thumbprint(),
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    );
    let input = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature = key.pair.sign(Algorithm::EdDsa, input).unwrap();
    assert_eq!(
        encode(signature),
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    );
}

#[test]
fn a_key_that_cannot_be_used_says_why_and_shows_nothing() {
    let other = |algorithm| JoseError::OtherKind { algorithm };
    let twice = format!("{P256}{ED25519_KEY}");
    let cut = P256.replace("MIGHAgEA", "MIGHAgEB");
    let torn = P256.replace("-----END PRIVATE KEY-----", "");
    let long = format!("{P256}{}", " ".repeat(MAX_PEM));
    let table = [
        ("", None, JoseError::NotPem),
        ("CANARY", None, JoseError::NotPem),
        (torn.as_str(), None, JoseError::NotPem),
        (long.as_str(), None, JoseError::TooLong),
        (twice.as_str(), None, JoseError::SeveralKeys),
        (SEC1, None, JoseError::NotPkcs8),
        (ENCRYPTED, None, JoseError::Encrypted),
        (cut.as_str(), None, JoseError::Rejected),
        (RSA_1024, None, JoseError::Rejected),
        (P256, Some("none"), JoseError::UnknownAlgorithm),
        (P256, Some("HS256"), JoseError::UnknownAlgorithm),
        (P256, Some("es256"), JoseError::UnknownAlgorithm),
        (P256, Some(""), JoseError::UnknownAlgorithm),
        (P256, Some("ES384"), other("ES384")),
        (P256, Some("RS256"), other("RS256")),
        (P384, Some("ES256"), other("ES256")),
        (ED25519_KEY, Some("ES256"), other("ES256")),
        (RSA, Some("EdDSA"), other("EdDSA")),
    ];
    for (pem, algorithm, expected) in table {
        let error = read(pem, algorithm).unwrap_err();
        assert_eq!(error, expected, "{pem} {algorithm:?}");
        assert!(!format!("{error} {error:?}").contains("CANARY"));
    }
}

#[test]
fn a_certificate_beside_the_key_does_no_harm() {
    let pem =
        format!("some text\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n{P256}");
    assert!(read(&pem, None).is_ok());
}

#[test]
fn a_generated_key_survives_being_sealed_and_no_two_are_alike() {
    let key = SigningKey::generate_es256().unwrap();
    let again = SigningKey::from_pkcs8(key.pkcs8().clone(), Some("ES256")).unwrap();
    assert_eq!(again.thumbprint(), key.thumbprint());
    let jwt = again.sign_jwt(Map::new(), Map::new()).unwrap();
    verified(&key, &jwt);
    let other = SigningKey::generate_es256().unwrap();
    assert_ne!(other.thumbprint(), key.thumbprint());
}

#[test]
fn neither_half_of_a_key_is_printed() {
    let key = read(ED25519_KEY, None).unwrap();
    assert_eq!(format!("{key:?}"), "SigningKey { algorithm: EdDsa, .. }");
    let jwk = Value::Object(key.public_jwk()).to_string();
    let private = encode(&key.pkcs8().expose()[16..]);
    assert!(!jwk.contains(&private) && !jwk.contains("\"d\""));
}

/// RFC 7523 section 3.
#[test]
fn an_assertion_names_client_and_audience_and_ends_after_a_minute() {
    let key = read(P256, None).unwrap();
    let now = UNIX_EPOCH + Duration::from_millis(1_700_000_000_999);
    let jwt = client_assertion(&key, "client", "https://as.example", now, "unique").unwrap();
    let (header, claims) = verified(&key, &jwt);
    let expected = serde_json::json!({
        "iss": "client",
        "sub": "client",
        "aud": "https://as.example",
        "iat": 1_700_000_000,
        "exp": 1_700_000_060,
        "jti": "unique",
    });
    assert_eq!(Value::Object(claims), expected);
    let expected = serde_json::json!({"typ": "JWT", "alg": "ES256"});
    assert_eq!(Value::Object(header), expected);
    assert!(CLIENT_ASSERTION_TYPE.ends_with(":jwt-bearer"));
    assert!(!format!("{jwt:?}").contains("ey"));
}
