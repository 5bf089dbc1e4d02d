//! `keyway vault migrate`: the sign-ins of a machine get into the database, once and whole.

use keyway_testkit::rig::Settings;
use serde_json::Value;

use crate::team::Team;

/// A person who is signed in, in the vault of their machine.
fn at_a_laptop() -> Team {
    let team = Team::new(Settings::default());
    use_vault(&team);
    team.desk.sign_in();
    team
}

fn config(team: &Team, address: &str) {
    let key = team.desk.folder.at("home/wrapping.key");
    let text = format!("[vault]\n{address}key_file = \"{}\"\n", key.display());
    team.desk.folder.put("home/keyway/config/config.toml", text);
}

fn use_vault(team: &Team) {
    config(team, "");
}

fn use_database(team: &Team) {
    config(team, &format!("address = \"{}\"\n", address(team)));
}

fn address(team: &Team) -> String {
    team.server.address("keyway", &team.database)
}

/// Moves everything; returns the exit code, what became of each sign-in, and the whole report.
#[expect(clippy::indexing_slicing, reason = "helpers of tests fail the test")]
fn migrate(team: &Team, more: &[&str]) -> (i32, Vec<String>, String) {
    let address = address(team);
    let arguments = [
        "vault", "migrate", "--from", "file", "--to", &address, "--format", "json",
    ];
    let moved = team.desk.keyway(&[&arguments, more].concat()).run();
    assert!(!moved.stdout.is_empty(), "{}", moved.everything());
    let report: Value = serde_json::from_str(&moved.stdout).unwrap();
    assert_eq!(report["schema_version"], 1);
    assert_eq!(report["to"], address.as_str());
    let outcomes = report["sign_ins"].as_array().unwrap().iter();
    let outcomes = outcomes.map(|it| it["outcome"].as_str().unwrap().to_owned());
    (moved.code, outcomes.collect(), moved.everything())
}

fn status(team: &Team) -> String {
    team.desk.keyway(&["status"]).run().everything()
}

fn stored(team: &Team) -> String {
    team.sql("SELECT count(*) FROM keyway.grants")
}

/// The sign-in is renewed and used from the database, and no person is asked.
fn works_from_the_database(team: &Team) {
    use_database(team);
    team.desk.rig.reset();
    let gateway = team.gateway();
    let answer = team.call(&gateway);
    assert!(answer.contains("Echo: hello"), "{answer}");
}

#[test]
fn sign_in_moves_into_the_database_and_the_vault_says_where_it_went() {
    let team = at_a_laptop();
    let (code, outcomes, said) = migrate(&team, &[]);
    assert_eq!((code, &*outcomes), (0, &["moved".to_owned()][..]), "{said}");
    assert_eq!(stored(&team), "1");
    let status = status(&team);
    assert!(
        status.contains(&format!("moved to the database {}", address(&team))),
        "{status}"
    );
    let (code, outcomes, said) = migrate(&team, &[]);
    assert_eq!(
        (code, &*outcomes),
        (0, &["moved-before".to_owned()][..]),
        "{said}"
    );
    assert_eq!(stored(&team), "1");
    works_from_the_database(&team);
}

#[test]
fn sign_in_that_the_database_has_already_is_not_replaced() {
    let team = at_a_laptop();
    use_database(&team);
    team.desk.sign_in();
    use_vault(&team);
    let before = team.sql("SELECT * FROM keyway.grants");
    let (code, outcomes, said) = migrate(&team, &[]);
    assert_eq!(
        (code, &*outcomes),
        (1, &["conflict".to_owned()][..]),
        "{said}"
    );
    assert!(said.contains("the database has another sign-in"), "{said}");
    assert_eq!(team.sql("SELECT * FROM keyway.grants"), before);
    let status = status(&team);
    assert!(!status.contains("moved to"), "{status}");
    let call = team
        .desk
        .keyway(&["call", "s", "echo", "message=hello"])
        .run();
    assert_eq!(call.code, 0, "{}", call.everything());
}

#[test]
fn move_that_is_killed_anywhere_is_finished_by_the_next() {
    let team = at_a_laptop();
    // What is sent to the database, and what is written into the vault.
    let sent = (0..6).map(|turn| ("sendto", 3 + 4 * turn));
    let written = (0..6).map(|turn| ("pwrite64", 1 + 5 * turn));
    let mut killed = 0;
    for (turn, (call, at)) in sent.chain(written).enumerate() {
        if turn > 0 {
            team.sql("DELETE FROM keyway.grants");
            use_vault(&team);
            let _person = team.desk.person();
            let signed_in = team.desk.keyway(&["login", "s", "--force"]).run();
            assert_eq!(signed_in.code, 0, "{}", signed_in.everything());
        }
        let to = address(&team);
        let arguments = ["vault", "migrate", "--from", "file", "--to", &to];
        let kill = format!("inject={call}:signal=KILL:when={at}");
        let strace = ["/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e"];
        let strace = strace.into_iter().chain([&*kill]);
        let broken = team.desk.keyway(&arguments).started_by(strace).run();
        killed += usize::from(broken.code != 0);
        let (code, outcomes, said) = migrate(&team, &[]);
        assert_eq!(code, 0, "{call} {at}: {said}");
        assert_eq!(outcomes.len(), 1, "{call} {at}: {said}");
        assert_eq!(stored(&team), "1", "{call} {at}: {said}");
    }
    assert!(
        killed > 6,
        "only {killed} runs were killed before they had ended"
    );
    works_from_the_database(&team);
}

/// In a vault that served people lie their sign-ins, of which none is the tenant's.
#[test]
fn nothing_becomes_the_tenants_without_a_word_where_people_are_let_in() {
    let team = at_a_laptop();
    let key = team.desk.folder.at("home/wrapping.key");
    let text = format!(
        "[vault]\nkey_file = \"{}\"\n[gateway]\npublic_url = \"https://gateway.example\"\n\
         trusted_proxies = [\"10.0.0.1\"]\n[gateway.people]\nissuers = [\"https://idp.example\"]\n",
        key.display()
    );
    team.desk.folder.put("home/keyway/config/config.toml", text);
    let to = address(&team);
    let arguments = ["vault", "migrate", "--from", "file", "--to", &to];
    let refused = team.desk.keyway(&arguments).run();
    assert_eq!(refused.code, 2, "{}", refused.everything());
    for flag in ["--person ISSUER SUBJECT", "--for-all"] {
        assert!(refused.stderr.contains(flag), "{}", refused.everything());
    }
    assert!(!status(&team).contains("moved to"));
    let (code, outcomes, said) = migrate(&team, &["--for-all"]);
    assert_eq!((code, &*outcomes), (0, &["moved".to_owned()][..]), "{said}");
    let before = "become those of the tenant";
    assert!(said.contains(before), "{said}");
}

#[test]
fn sign_ins_of_a_person_are_theirs_until_they_are_forgotten() {
    let team = at_a_laptop();
    let person = ["--person", "https://idp.example", "ada"];
    let (code, _, said) = migrate(&team, &person);
    assert_eq!(code, 0, "{said}");
    let theirs = |table: &str| {
        team.sql(&format!(
            "SELECT count(*) FROM keyway.{table} WHERE person = 'https://idp.example ada'"
        ))
    };
    assert_eq!(
        (theirs("grants"), theirs("person_keys")),
        ("1".into(), "1".into())
    );
    use_database(&team);
    let forget = ["people", "forget", "https://idp.example", "ada"];
    let unasked = team.desk.keyway(&forget).run();
    assert_eq!(unasked.code, 2, "{}", unasked.everything());
    assert_eq!(theirs("grants"), "1");
    let forgotten = team.desk.keyway(&[&forget[..], &["--yes"]].concat()).run();
    assert_eq!(forgotten.code, 0, "{}", forgotten.everything());
    for table in ["grants", "records", "person_keys"] {
        assert_eq!(theirs(table), "0", "{table}");
    }
    let told = team.sql("SELECT count(*) FROM keyway.audit WHERE outcome = 'forgotten'");
    assert_eq!(told, "1");
}
