//! A peer's document says the same to us as to any other reader of JSON, or it is refused.

#![no_main]

use keyway_auth::PeerDocument;
use keyway_auth::oauth::DocumentError;
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

fuzz_target!(|body: &[u8]| {
    let reference = serde_json::from_slice::<Map<String, Value>>(body).ok();
    let document = match PeerDocument::parse(body) {
        Ok(document) => document,
        Err(error) => {
            assert!(error.to_string().len() <= 128, "{error}");
            let is_stricter = matches!(
                error,
                DocumentError::TooLarge
                    | DocumentError::TooDeep
                    | DocumentError::TooManyMembers
                    | DocumentError::Repeated { .. }
            );
            assert!(reference.is_none() || is_stricter, "{error}");
            return;
        }
    };
    serde_json::from_slice::<IgnoredAny>(body).expect("JSON");
    for field in FIELDS {
        check(&document, field);
        if let Some(reference) = &reference {
            compare(&document, field, reference.get(field));
        }
    }
});

/// Whatever is read keeps to its limits, and is one thing only.
fn check(document: &PeerDocument, field: &'static str) {
    let texts = document.texts(field).ok().flatten();
    let text = document.text(field).ok().flatten();
    let flag = document.flag(field).ok().flatten();
    let kinds = [texts.is_some(), text.is_some(), flag.is_some()];
    assert!(kinds.into_iter().filter(|is| *is).count() <= 1);
    assert!(text.is_none_or(|text| text.len() <= 64 * 1024));
    let texts = texts.unwrap_or_default();
    assert!(texts.len() <= 1000 && texts.iter().all(|text| text.len() <= 4096));
    let seconds = document.seconds(field).ok().flatten();
    assert!(seconds.is_none_or(|time| time.as_secs() <= 100 * 365 * 86_400));
}

fn compare(document: &PeerDocument, field: &'static str, reference: Option<&Value>) {
    let reference = reference.filter(|value| !value.is_null());
    assert_eq!(document.has(field), reference.is_some());
    if let Ok(text) = document.text(field) {
        assert_eq!(text, reference.and_then(Value::as_str));
    }
    if let Ok(flag) = document.flag(field) {
        assert_eq!(flag, reference.and_then(Value::as_bool));
    }
    if let Ok(Some(texts)) = document.texts(field) {
        let items = reference.and_then(Value::as_array).expect("an array");
        assert!(
            items
                .iter()
                .map(Value::as_str)
                .eq(texts.into_iter().map(Some))
        );
    }
    if let (Ok(Some(time)), Some(whole)) =
        (document.seconds(field), reference.and_then(Value::as_u64))
    {
        assert_eq!(time.as_secs(), whole.min(100 * 365 * 86_400));
    }
    let raw = document
        .raw(field)
        .map(|raw| serde_json::from_str::<Value>(raw).expect("JSON"));
    assert_eq!(raw.as_ref().filter(|value| !value.is_null()), reference);
}

/// Short ones are found soonest.
const FIELDS: [&str; 4] = ["a", "b", "issuer", "expires_in"];
