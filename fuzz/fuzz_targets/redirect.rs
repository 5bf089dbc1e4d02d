//! Whatever a browser or a person brings, it counts only with the right `state`, said once.

#![no_main]

use keyway_secret::Secret;
use keyway_transport::read_redirect;
use libfuzzer_sys::fuzz_target;
use url::Url;

const URI: &str = "http://localhost:4711/callback";
const STATE: &str = "s3cr3t";

fuzz_target!(|text: &str| {
    let (given, state) = (Secret::new(text.to_owned()), Secret::new(STATE.to_owned()));
    let Ok(callback) = read_redirect(&given, URI, &state) else {
        return;
    };
    assert!(callback.code.is_some() != callback.error.is_some());
    let base = Url::parse(URI).expect("ours");
    let url = base
        .join(text.trim())
        .or_else(|_| Url::parse(&format!("http://{text}")));
    let url = url.expect("what was read is an address");
    for name in ["state", "code", "iss", "error"] {
        let count = url.query_pairs().filter(|(key, _)| key == name).count();
        assert!(count <= 1, "{name}");
    }
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(key, _)| key == "state");
    assert_eq!(found.expect("a state").1, STATE);
});
