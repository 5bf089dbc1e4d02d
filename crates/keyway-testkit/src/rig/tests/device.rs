//! A code that is typed on another device yields tokens once, and not before.

use super::*;
use crate::rig::device::GRANT;

fn codes(rig: &Rig) -> (u16, serde_json::Value) {
    let url = format!("{}/device_authorization", rig.origin());
    let (status, body) = post(&url, "client_id=c", "");
    (status, serde_json::from_str(&body).unwrap_or_default())
}

#[test]
fn a_code_counts_once_and_only_when_a_person_typed_it() {
    let rig = Rig::start(Settings {
        device: Some(0),
        ..Settings::default()
    });
    let (_, codes) = codes(&rig);
    let code = codes["device_code"].as_str().unwrap();
    let fields = [("grant_type", GRANT), ("device_code", code)];
    let ask = |client: &str| ask(&rig, client, &fields, &Shown::default());
    assert_eq!(ask("c").1["error"], "authorization_pending");
    let page = codes["verification_uri"].as_str().unwrap();
    assert_eq!(post(page, "user_code=0000-000", "").0, 400);
    assert_eq!(ask("c").1["error"], "authorization_pending");
    let typed = codes["user_code"].as_str().unwrap();
    assert_eq!(post(page, &format!("user_code={typed}"), "").0, 200);
    assert_eq!(ask("another").1["error"], "invalid_grant");
    assert_eq!(ask("c").0, 200);
    assert_eq!(ask("c").1["error"], "invalid_grant");
}

#[test]
fn polling_too_often_is_refused_and_a_server_without_codes_gives_none() {
    let rig = Rig::start(Settings {
        device: Some(3600),
        ..Settings::default()
    });
    let code = codes(&rig).1["device_code"].as_str().unwrap().to_owned();
    let fields = [("grant_type", GRANT), ("device_code", code.as_str())];
    let mut told = (0..2).map(|_| ask(&rig, "c", &fields, &Shown::default()).1);
    assert_eq!(told.next().unwrap()["error"], "authorization_pending");
    assert_eq!(told.next().unwrap()["error"], "slow_down");
    assert_eq!(codes(&Rig::start(Settings::default())).0, 404);
}
