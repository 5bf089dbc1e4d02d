//! Codes that a person types on another device (RFC 8628).

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;

use super::Place;
use super::settings::Settings;
use super::tokens::{Issued, Tokens};
use crate::http::{Answer, Request};

/// The name of the grant.
pub(super) const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The codes without a token so far, by device code.
#[derive(Debug, Default)]
pub(super) struct Devices(HashMap<String, Device>);

#[derive(Debug)]
struct Device {
    client: String,
    typed: String,
    is_approved: bool,
    asked: Option<Duration>,
}

/// Why there is no token yet, in the words of RFC 8628 section 3.5.
pub(super) type NotYet = &'static str;

impl Devices {
    /// Gives a client a code to show and one to ask with.
    pub(super) fn begin(
        &mut self,
        client: String,
        settings: &Settings,
        tokens: &mut Tokens,
        place: &Place,
    ) -> Answer {
        let Some(interval) = settings.device else {
            return Answer::empty(404);
        };
        let (device, typed) = tokens.device_codes();
        let answer = json!({
            "device_code": device,
            "user_code": typed,
            "verification_uri": format!("{}/device", place.origin),
            "expires_in": 900,
            "interval": interval,
        });
        let waiting = Device {
            client,
            typed,
            is_approved: false,
            asked: None,
        };
        self.0.insert(device, waiting);
        Answer::json(200, &answer)
    }

    /// The page on which a person types the code, and agrees by sending it.
    pub(super) fn page(&mut self, request: &Request) -> Answer {
        let typed = request.field("user_code").unwrap_or_default();
        let mut waiting = self.0.values_mut();
        let found = waiting.find(|device| device.typed == typed);
        match (request.method.as_str(), found) {
            ("GET", _) => Answer::page(
                200,
                "<form method=post><label>Code <input id=code name=user_code></label> \
                 <button id=agree>Allow</button></form>",
            ),
            ("POST", Some(device)) => {
                device.is_approved = true;
                Answer::page(200, "<p>Your device is connected.</p>")
            }
            ("POST", None) => Answer::page(400, "<p>There is no such code.</p>"),
            _ => Answer::empty(405),
        }
    }

    /// Gives the client its tokens, once, when the person has agreed.
    pub(super) fn redeem(
        &mut self,
        (client, code): (&str, &str),
        settings: &Settings,
        tokens: &mut Tokens,
        place: &Place,
    ) -> Result<Issued, NotYet> {
        let device = self.0.get_mut(code).filter(|it| it.client == client);
        let device = device.ok_or("invalid_grant")?;
        let interval = Duration::from_secs(settings.device.unwrap_or_default());
        let before = device.asked.replace(place.now);
        if before.is_some_and(|before| place.now < before + interval) {
            return Err("slow_down");
        }
        if !device.is_approved {
            return Err("authorization_pending");
        }
        self.0.remove(code);
        Ok(tokens.grant(client.to_owned(), (place.now, settings.expires_in)))
    }
}
