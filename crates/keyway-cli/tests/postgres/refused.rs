//! Databases, passwords and keys that are refused, each with its own words.

use keyway_testkit::rig::Settings;

use crate::team::{Team, private};

#[test]
fn password_comes_from_a_command_a_file_or_pgpassfile_and_never_from_an_argument() {
    let team = Team::new(Settings::default());
    team.server
        .sql("postgres", "ALTER ROLE keyway PASSWORD 'hunter2-CANARY'");
    let access = team.server.folder().join("data/pg_hba.conf");
    let rules = "local all super trust\nlocal all all scram-sha-256\n";
    std::fs::write(access, rules).unwrap();
    team.server.control(&["reload"]);
    let address = team.server.address("keyway", &team.database);
    let key = team.desk.folder.at("home/wrapping.key");
    let file = team.desk.folder.at("home/password");
    private(&file, "hunter2-CANARY\n");
    let pass = team.desk.folder.at("home/pgpass");
    private(
        &pass,
        &format!("*:*:{}:keyway:hunter2-CANARY\n", team.database),
    );
    let sign_in = |more: &str| {
        let config = format!(
            "[vault]\naddress = \"{address}\"\nkey_file = \"{}\"\n{more}\n",
            key.display()
        );
        team.desk
            .folder
            .put("home/keyway/config/config.toml", config);
        let _person = team.desk.person();
        let outcome = team
            .desk
            .keyway(&["login", "s", "--force"])
            .env("PGPASSFILE", if more.is_empty() { &pass } else { &file })
            .run();
        assert!(!outcome.everything().contains("CANARY"));
        (outcome.code, outcome.everything())
    };
    let by_file = format!("password_file = \"{}\"", file.display());
    let by_command = format!("password_command = \"cat '{}'\"", file.display());
    for more in ["", &by_file, &by_command] {
        let (code, said) = sign_in(more);
        assert_eq!(code, 0, "{more}: {said}");
    }
    let (code, said) = sign_in("password_command = \"echo wrong\"");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("check the role, its password"), "{said}");
    let address = "postgres://keyway:hunter2-CANARY@127.0.0.1/keyway";
    let refused = team.desk.keyway(&["serve", "--vault", address]).run();
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("contains a password"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("PGPASSFILE"), "{}", refused.stderr);
    assert!(!refused.everything().contains("CANARY"));
}

#[test]
fn a_database_that_cannot_be_used_is_refused_in_words_at_the_start() {
    let team = Team::signed_in(Settings::default());
    let serve = |config: &str| {
        team.desk
            .folder
            .put("home/keyway/config/config.toml", config);
        let outcome = team
            .desk
            .keyway(&["serve", "--listen", "127.0.0.1:0"])
            .run();
        (outcome.code, outcome.stderr)
    };
    let address = team.server.address("keyway", &team.database);
    let (code, said) = serve(&format!("[vault]\naddress = \"{address}\"\n"));
    assert_eq!(code, 1);
    assert!(said.contains("no wrapping key is set"), "{said}");
    let other = format!("key_command = \"echo {}\"", "4b".repeat(32));
    let (code, said) = serve(&format!("[vault]\naddress = \"{address}\"\n{other}\n"));
    assert_eq!(code, 1);
    assert!(said.contains("the store was made with the key"), "{said}");
    let same = format!("key_command = \"echo {}\"", "5a".repeat(32));
    let config = format!("[vault]\naddress = \"{address}\"\n{same}\n");
    team.desk
        .folder
        .put("home/keyway/config/config.toml", config.as_str());
    assert!(
        team.call(&team.gateway()).contains("Echo: hello"),
        "by a command"
    );
    team.server.control(&["-m", "immediate", "stop"]);
    let (code, said) = serve(&config);
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("the database cannot be reached"), "{said}");
    assert!(said.contains("nothing was lost"), "{said}");
}
