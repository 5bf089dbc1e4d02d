//! Whatever a browser sends, a form of a person's page has each field once, and its value is shown
//! nowhere.

#![no_main]

use keyway_people::{PersonAction, PersonForm};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let Some(found) = PersonForm::read(body) else {
        return;
    };
    let shown = format!("{found:?}");
    let mut held = found.form.expose().len() + found.plugin.len() + found.server.len();
    match &found.action {
        PersonAction::Set { name, value } => {
            let value = value.expose();
            // Short ones are part of the words around them.
            let is_telling = value.len() > 64 && !name.contains(&**value);
            let elsewhere = found.plugin.contains(&**value) || found.server.contains(&**value);
            assert!(!is_telling || elsewhere || !shown.contains(&**value));
            held += name.len() + value.len();
        }
        PersonAction::Unset { name } => held += name.len(),
        PersonAction::Agree { digest } => held += digest.len(),
        _ => {}
    }
    // Three bytes stand for one that is replaced, and nothing is longer than what was sent.
    assert!(held <= 3 * body.len());
    // A field more, and it is no form.
    let more = [body, b"&form=again"].concat();
    assert!(PersonForm::read(&more).is_none());
});
