//! Lists that stand in crates which do not know each other, and have to say the same.

use keyway_config::environment::{INHERITED, PROXY_VARIABLES, is_inherited};
use keyway_transport::ChildEnv;

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
