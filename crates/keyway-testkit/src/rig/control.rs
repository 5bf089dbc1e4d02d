//! Control over HTTP, for programs that are not tests.
//!
//! | request | what it does |
//! |---|---|
//! | `POST /_control` with a JSON object | sets those members of [`Settings`](super::Settings); returns all |
//! | `POST /_reset` | refuses all access tokens issued so far |
//! | `GET /_journal`, `DELETE /_journal` | every request; forgets them |
//! | `GET /_families` | what became of every refresh token |
//! | `GET /_secrets` | every code and token that was issued |

use serde::Serialize;
use serde_json::{Value, json};

use super::Rig;
use super::settings::Settings;
use crate::http::{Answer, Request};

/// Answers requests that change the settings.
pub(super) fn answer(rig: &Rig, request: &Request) -> Answer {
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/_control") => match merged(rig, &request.body) {
            Ok(settings) => {
                let shown = shown(&settings);
                rig.set(|old| *old = settings);
                shown
            }
            Err(error) => Answer::json(400, &json!({ "error": error.to_string() })),
        },
        ("POST", "/_reset") => {
            rig.reset();
            Answer::empty(200)
        }
        ("GET", "/_journal") => shown(&rig.journal()),
        ("DELETE", "/_journal") => {
            rig.forget();
            Answer::empty(200)
        }
        ("GET", "/_families") => shown(&rig.families()),
        ("GET", "/_secrets") => shown(&rig.secrets()),
        _ => Answer::empty(404),
    }
}

fn merged(rig: &Rig, body: &str) -> Result<Settings, serde_json::Error> {
    let mut all = serde_json::to_value(rig.set(|settings| settings.clone()))?;
    let given: serde_json::Map<String, Value> = serde_json::from_str(body)?;
    if let Some(all) = all.as_object_mut() {
        all.extend(given);
    }
    serde_json::from_value(all)
}

fn shown(value: &impl Serialize) -> Answer {
    match serde_json::to_value(value) {
        Ok(value) => Answer::json(200, &value),
        Err(_) => Answer::empty(500),
    }
}
