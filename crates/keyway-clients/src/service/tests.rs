//! What a service manager would read, with paths that people really have.

use super::*;

fn service() -> Service {
    Service {
        program: "/opt/a b/keyway".to_owned(),
        options: vec!["--profile".to_owned(), "work".to_owned()],
        plugins: vec![r#"/home/x/100% "mine" $HOME\p & <q>"#.to_owned()],
        listen: "127.0.0.1:5399".parse().unwrap(),
        has_both_families: true,
        socket: "/run/user/1000/keyway/gateway.sock".to_owned(),
        environment: vec![("KEYWAY_HOME".to_owned(), "/home/x/k w".to_owned())],
    }
}

#[test]
fn systemd_gets_every_word_as_it_is() {
    let files = service().systemd().unwrap();
    let text = |name: &str| {
        let file = files.iter().find(|file| file.name == name);
        file.unwrap().content.clone()
    };
    let unit = text(SERVICE_UNIT);
    let expected = r#"ExecStart=:"/opt/a b/keyway" "serve" "--profile" "work" "/home/x/100%% \"mine\" $HOME\\p & <q>""#;
    assert!(unit.lines().any(|line| line == expected), "{unit}");
    assert!(
        unit.lines()
            .any(|line| line == r#"Environment="KEYWAY_HOME=/home/x/k w""#)
    );
    let sockets = text(SOCKET_UNIT);
    for line in [
        "ListenStream=127.0.0.1:5399",
        "ListenStream=[::1]:5399",
        "ListenStream=/run/user/1000/keyway/gateway.sock",
        "SocketMode=0600",
    ] {
        assert!(sockets.lines().any(|found| found == line), "{line}");
    }
    assert!(files.iter().all(|file| is_ours(&file.content)));
}

#[test]
fn a_machine_with_one_family_is_not_asked_for_the_other() {
    let service = Service {
        has_both_families: false,
        ..service()
    };
    let files = service.systemd().unwrap();
    assert!(files.iter().all(|file| !file.content.contains("::1")));
}

#[test]
fn launchd_gets_every_word_as_it_is() {
    let file = service().launchd().unwrap();
    let expected = r#"<string>/home/x/100% "mine" $HOME\p &amp; &lt;q&gt;</string>"#;
    assert!(file.content.contains(expected), "{}", file.content);
    assert!(is_ours(&file.content));
}

#[test]
fn a_line_break_in_a_path_cannot_add_a_line() {
    let mut service = service();
    service.plugins = vec!["/home/x\nExecStartPre=/bin/evil".to_owned()];
    assert!(matches!(
        service.systemd(),
        Err(ServiceError::Control { .. })
    ));
    assert!(matches!(
        service.launchd(),
        Err(ServiceError::Control { .. })
    ));
}

#[test]
fn a_file_that_keyway_did_not_write_is_not_ours() {
    assert!(!is_ours("[Unit]\nDescription=mine\n"));
    assert!(!is_ours(""));
}
