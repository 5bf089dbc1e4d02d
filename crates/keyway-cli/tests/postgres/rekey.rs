//! `keyway vault rekey --database`: another wrapping key, while a gateway serves.

use keyway_testkit::rig::Settings;

use crate::team::{Team, private};

#[test]
fn wrapping_key_is_changed_while_a_gateway_serves() {
    let team = Team::signed_in(Settings::default());
    let old = team.desk.folder.at("home/wrapping.key");
    let new = team.desk.folder.at("home/new.key");
    private(&new, &"6b".repeat(32));
    let address = team.server.address("keyway", &team.database);
    let config = |keys: &str| {
        let text = format!("[vault]\naddress = \"{address}\"\n{keys}");
        team.desk.folder.put("home/keyway/config/config.toml", text);
    };
    let (old, new) = (old.display(), new.display());
    let both = format!("[vault.key]\nfile = \"{new}\"\n[vault.previous_key]\nfile = \"{old}\"\n");
    let rekey = || team.desk.keyway(&["vault", "rekey", "--database"]).run();

    // A gateway that was not restarted yet has the old key alone.
    let behind = team.gateway();
    config(&both);
    let refused = rekey();
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert!(
        refused.stderr.contains("nothing was changed"),
        "{}",
        refused.stderr
    );
    drop(behind);

    let gateway = team.gateway();
    let changed = rekey();
    assert_eq!(changed.code, 0, "{}", changed.everything());
    assert_eq!(changed.stdout, "keys wrapped with the new key: 1\n");
    team.desk.rig.reset();
    assert!(team.call(&gateway).contains("Echo: hello"));
    drop(gateway);

    config(&format!("[vault.key]\nfile = \"{new}\"\n"));
    let gateway = team.gateway();
    assert!(team.call(&gateway).contains("Echo: hello"));
    drop(gateway);
    config(&format!("key_file = \"{old}\"\n"));
    let refused = team.desk.keyway(&["audit", "verify"]).run();
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert!(
        refused.stderr.contains("the store was made with the key"),
        "{}",
        refused.stderr
    );
}
