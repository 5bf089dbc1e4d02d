//! No text is taken for a token, and no document for keys, unless it keeps to every rule.

#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use keyway_people::{AccessTokenVerifier, KeySet, TokenRules};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // A set of keys on the first line, a token after it.
    let text = String::from_utf8_lossy(bytes);
    let (keys, token) = text.split_once('\n').unwrap_or((&text, &text));
    if let Err(error) = KeySet::parse(keys.as_bytes()) {
        assert!(error.to_string().len() <= 128, "{error}");
    }
    let read = KeySet::parse(keys.as_bytes());
    let keys = read.unwrap_or_else(|_| KeySet::parse(KEYS.as_bytes()).expect("keys"));
    let rules = TokenRules::new("https://gateway.example");
    let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let issuer = "https://idp.example";
    match AccessTokenVerifier::verify_with(&rules, issuer, &keys, token, now) {
        Ok(found) => {
            assert_eq!(found.person.issuer(), issuer);
            assert!(found.person.to_string().len() <= 511);
            assert!(token.len() <= 16 * 1024 && token.matches('.').count() == 2);
            // Not by these characters of the alphabet alone: each part stands for its bytes only.
            let other = token.replacen('.', "=.", 1);
            let other = AccessTokenVerifier::verify_with(&rules, issuer, &keys, &other, now);
            assert!(other.is_err());
        }
        Err(error) => assert!(error.to_string().len() <= 256, "{error}"),
    }
});

/// A key on P-256, whose other half is nowhere.
const KEYS: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;
