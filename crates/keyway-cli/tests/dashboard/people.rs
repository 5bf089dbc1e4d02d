//! The page of people: whose sign-ins there are, which gateways live, and a sign-out for everywhere.

use keyway_testkit::{Folder, Gateway, Keyway, PostgresServer, Upstream, free_port, mcp};
use serde_json::json;

use crate::buttons::tool;
use crate::house::{Complaints, browse, modules};
use crate::{is_usable, pages};

/// On a phone in the dark and at a desk, by the keyboard alone.
#[test]
fn an_admin_without_a_mouse_finds_a_person_and_signs_them_out() {
    if modules().is_none() {
        println!("skipped: no browser; `cargo xtask tools --setup` installs it");
        return;
    }
    let upstream = Upstream::start(|request| mcp(request, tool));
    let url = upstream.url("/mcp");
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}}}}"#);
    let server = PostgresServer::start();
    let database = server.create_database();
    let folder = Folder::new().file("p/.mcp.json", entry);
    let keyway = || {
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
    };
    // First, so that its folders are made private.
    let _token = Gateway::token(keyway(), &["--name", "client"]);
    let config = format!(
        "[vault]\naddress = \"{}\"\nkey_command = \"echo {}\"\n",
        server.address("keyway", &database),
        "5a".repeat(32),
    );
    folder.put("home/config/config.toml", config);
    let admin = format!("127.0.0.1:{}", free_port());
    let words = ["p", "--trust", "--admin", &admin];
    let gateway = Gateway::start(keyway(), &words);
    let other = Gateway::start(keyway(), &["p", "--trust", "--socket", "other.sock"]);
    let people = "INSERT INTO keyway.grants
        (tenant, person, grant_id, profile, name, generation, key_id, access, refresh, needs_reauth)
        SELECT 'default', 'https://login.example person-' || lpad(n::text, 3, '0'), '\\x01', '', '', 1,
            '\\x00', '\\x00', '\\x00', n % 10 = 0
        FROM generate_series(1, 120) n";
    server.sql(&database, people);
    let opened = keyway().args(["open", "--print"]).run();
    let link = opened.stdout.trim();
    assert!(link.starts_with(&format!("http://{admin}/")), "{link}");
    let steps = json!([
        {"size": [360, 740]}, {"theme": "dark"}, {"go": link}, {"wait": "1 connected"},
        {"reach": "People"}, {"press": "Enter"}, {"wait": "Sign-ins by state"},
        {"wait": "People with sign-ins\t120"}, {"wait": "To be repeated by their person\t12"},
        {"wait": "person-001"}, {"wait": "There are more"}, {"wait": "this gateway"},
        {"wait": "lives"}, {"axe": true}, {"read": true},
        {"type": ["#find", "person-077"]}, {"press": "Enter"}, {"gone": "person-001"},
        {"wait": "person-077"}, {"axe": true},
        {"reach": "Sign out https://login.example person-077"}, {"press": "Enter"},
        {"wait": "with the key of their data"}, {"axe": true},
        {"reach": "Sign out everywhere"}, {"press": "Enter"},
        {"wait": "all sign-ins of this person are deleted"},
        {"wait": "People with sign-ins\t119"}, {"wait": "Renewals of the last hour"}, {"axe": true},
        {"theme": "light"}, {"axe": true}, {"size": [1280, 900]}, {"axe": true}, {"read": true},
    ]);
    let said = browse(&[steps], Complaints::None);
    is_usable(&said);
    assert!(
        pages(&said)[0]["text"]
            .as_str()
            .unwrap()
            .contains("Replicas")
    );
    let left = "SELECT count(*) FROM keyway.grants WHERE person LIKE '%077'";
    assert_eq!(server.sql(&database, left), "0");
    drop((gateway, other));
}
