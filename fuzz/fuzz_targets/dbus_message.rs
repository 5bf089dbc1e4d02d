//! Whatever a bus sends, reading it ends, and a message is read only if it is whole.

#![no_main]

use keyway_keyring::Message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(message) = Message::parse(input) else {
        return;
    };
    let prefix = input.first_chunk().expect("it was read");
    assert_eq!(Message::length(prefix), Ok(input.len()));
    let shorter = input.split_last().map_or(input, |(_, rest)| rest);
    assert!(Message::parse(shorter).is_err());
    let _read = (
        message.session().is_ok(),
        message.object().is_ok(),
        message.object_and_prompt().is_ok(),
        message.objects_and_prompt().is_ok(),
        message.found().is_ok(),
        message.flag().is_ok(),
        message.dismissed().is_ok(),
    );
    if let Ok(secret) = message.secret() {
        assert!(secret.expose().len() < input.len());
    }
});
