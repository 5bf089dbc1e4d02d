//! Lists that stand in crates which do not know each other, and have to say the same.

use keyway_auth::parse_helper_output;
use keyway_config::environment::{INHERITED, PROXY_VARIABLES, is_inherited};
use keyway_config::headers::{TRANSPORT_OWNED, TRANSPORT_OWNED_PREFIXES, is_transport_owned};
use keyway_transport::ChildEnv;

#[test]
fn a_helper_may_set_no_header_that_an_entry_may_not() {
    let begun = TRANSPORT_OWNED_PREFIXES.iter();
    let begun = begun.map(|prefix| format!("{prefix}x"));
    let whole = TRANSPORT_OWNED.iter().map(|&name| name.to_owned());
    let free = ["authorization", "cookie", "user-agent", "x-api-key"];
    let free = free.into_iter().map(str::to_owned);
    for name in begun.chain(whole).chain(free) {
        let printed = format!(r#"{{"{name}": "x"}}"#);
        let is_refused = parse_helper_output(printed.as_bytes()).is_err();
        assert_eq!(is_refused, is_transport_owned(&name), "{name}");
    }
}

#[test]
fn the_rules_know_what_programs_get_without_asking() {
    let listed = ChildEnv::EVERY_CHILD;
    for name in listed.iter().map(|name| name.replace('*', "ALL")) {
        assert!(is_inherited(&name), "{name}");
    }
    let proxies = PROXY_VARIABLES.iter();
    let proxies = proxies.flat_map(|name| [(*name).to_owned(), name.to_ascii_lowercase()]);
    let names = INHERITED.iter().map(|&name| name.to_owned());
    for name in names.chain(proxies) {
        assert!(listed.contains(&name.as_str()), "{name}");
    }
}
