//! `config.toml`: every key of the reference, and every mistake with its place.

use std::os::unix::fs::PermissionsExt as _;

use keyway_config::source::Source;

use super::*;

fn parse(text: &str) -> Parsed {
    let around = Around {
        folder: Some(Path::new("/config")),
        home: Some(Path::new("/home/ada")),
    };
    Settings::parse("config.toml", text.as_bytes(), around)
}

/// What is wrong, as `line:column code message (hint)`.
fn wrong(text: &str) -> Vec<String> {
    let found = parse(text).diagnostics.into_iter().map(|found| {
        let start = found.location.expect("a place").start;
        let hint = found.hint.map(|hint| format!(" ({hint})"));
        format!(
            "{}:{} {} {}{}",
            start.line,
            start.column,
            found.code,
            found.message,
            hint.unwrap_or_default()
        )
    });
    found.collect()
}

/// A file with every key of the table, made of the examples in it.
fn everything() -> String {
    let sections = SECTIONS.iter().map(|section| {
        let title = section.title.replace("ISSUER", "as.example");
        let keys: String = section
            .keys
            .iter()
            // Each of these says what another says.
            .filter(|key| !SAID_OTHERWISE.contains(&key.name))
            .map(|key| format!("{} = {}\n", key.name, key.example))
            .collect();
        format!("{title}\n{keys}\n")
    });
    sections.collect()
}

const SAID_OTHERWISE: [&str; 11] = [
    "client_secret_env",
    "command",
    "file",
    "id_token_env",
    "jwt_file",
    "key_command",
    "key_file",
    "password_command",
    "secret_command",
    "transit_url",
    "verbose",
];

#[test]
fn every_example_of_the_reference_is_accepted_and_understood() {
    let parsed = parse(&everything());
    let complaints: Vec<_> = parsed
        .diagnostics
        .iter()
        .map(|found| &found.message)
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    let settings = parsed.settings;
    assert_eq!(settings.defaults.profile.as_deref(), Some("work"));
    assert_eq!(settings.defaults.color, Some(ColorChoice::Never));
    assert!(settings.defaults.quiet);
    assert_eq!(settings.sandbox.all.profile, SandboxProfile::Confine);
    assert_eq!(
        settings.network.roots,
        [Path::new("/config/corporate-ca.pem")]
    );
    let certificate = settings.network.client_certificate.expect("a certificate");
    assert_eq!(certificate.key, Path::new("/config/client.key"));
    let issuer = &settings.oauth.issuers["https://as.example"];
    assert_eq!(issuer.callback_port, Some(8123));
    assert_eq!(issuer.client.auth_method, Some(AuthMethod::PrivateKeyJwt));
    let oauth = &settings.servers["PLUGIN:SERVER"].oauth;
    assert_eq!(oauth.grant, Some(Grant::ClientCredentials));
    assert_eq!(
        oauth.resource,
        Some(Resource::Use("https://api.example/mcp".to_owned()))
    );
    assert_eq!(oauth.refresh_scope, RefreshScope::Granted);
    assert!(oauth.dangerous_assume_s256);
    assert_eq!(oauth.authorize_params["prompt"], "consent");
    let policy = &settings.policies["PLUGIN:SERVER"];
    assert_eq!(policy.tools["create_issue"], ToolRule::Ask);
    assert_eq!(policy.clients["CLIENT"]["*"], ToolRule::Deny);
}

#[test]
fn a_policy_is_read_for_all_clients_and_for_each() {
    let text = "[policies.\"a:s\".clients.ci]\ntools = { \"*\" = \"deny\" }\n\
                [policies.\"a:t\"]\ntools = { x = \"ask\" }\n";
    let settings = parse(text).settings;
    assert!(settings.policies["a:s"].tools.is_empty());
    assert_eq!(settings.policies["a:s"].clients["ci"]["*"], ToolRule::Deny);
    assert_eq!(settings.policies["a:t"].tools["x"], ToolRule::Ask);
    assert!(settings.policies["a:t"].clients.is_empty());
}

#[test]
fn the_ceiling_of_token_requests_is_of_one_issuer_or_of_all() {
    let limits = |text: &str| parse(text).settings.oauth.refresh_limits();
    let [one, other] = ["https://as.example", "https://b.example"];
    let usual = limits("");
    assert_eq!(
        usual.usual,
        Some(RefreshLimit::new(100, 100)),
        "on by default"
    );
    assert!(usual.issuers.is_empty());
    let set = limits(&format!(
        "[oauth]\nrefreshes_per_second = 20\nrefresh_burst = 40\n\
         [oauth.issuers.\"{one}\"]\nrefreshes_per_second = 0\n\
         [oauth.issuers.\"{other}\"]\ncallback_port = 1\n\
         [oauth.issuers.\"https://c.example\"]\nrefreshes_per_second = 5\n"
    ));
    assert_eq!(set.usual, Some(RefreshLimit::new(20, 40)));
    assert_eq!(set.issuers[one], None, "off");
    assert_eq!(set.issuers[other], set.usual);
    let own = Some(RefreshLimit::new(5, 5));
    assert_eq!(set.issuers["https://c.example"], own);
    let refused = wrong("[oauth]\nrefreshes_per_second = -1\nrefresh_burst = 0");
    assert_eq!(refused.len(), 2, "{refused:?}");
}

#[test]
fn two_to_sixty_four_connections_are_made_to_the_database() {
    for (most, understood) in [(2, Some(2)), (64, Some(64)), (1, None), (65, None)] {
        let text = format!("[vault]\nconnections = {most}");
        assert_eq!(parse(&text).settings.vault.connections, understood);
        assert_eq!(
            wrong(&text).len(),
            usize::from(understood.is_none()),
            "{most}"
        );
    }
}

#[test]
fn an_admin_port_is_an_address_with_a_port() {
    let settings = parse("[gateway]\nadmin = \"127.0.0.1:9900\"").settings;
    assert_eq!(settings.gateway.admin, "127.0.0.1:9900".parse().ok());
    for text in ["9900", "localhost:9900", "127.0.0.1"] {
        let refused = wrong(&format!("[gateway]\nadmin = \"{text}\""));
        assert_eq!(refused.len(), 1, "{text}: {refused:?}");
    }
}

#[test]
fn a_rule_that_is_not_known_is_refused_and_does_not_become_an_allowance() {
    for rule in ["Deny", "denied", "", "no"] {
        let text = format!("[policies.\"a:s\"]\ntools = {{ x = \"{rule}\" }}\n");
        let found = wrong(&text).concat();
        let expected = "a rule of `tools` is one of `allow`, `ask`, `deny`";
        assert!(found.ends_with(expected), "{rule}: {found}");
    }
}

#[test]
fn programs_end_after_half_an_hour_unless_they_are_named_or_it_is_switched_off() {
    let after = |text: &str| {
        let settings = parse(text).settings;
        let minutes = settings.gateway.idle_timeout("acme:browser");
        minutes.map(|time| time.as_secs() / 60)
    };
    assert_eq!(after(""), Some(30));
    assert_eq!(after("[gateway]\nidle_minutes = 5"), Some(5));
    assert_eq!(after("[gateway]\nidle_minutes = 0"), None);
    assert_eq!(after("[gateway]\nkeep_running = [\"acme:browser\"]"), None);
    assert_eq!(
        after("[gateway]\nkeep_running = [\"acme:other\"]"),
        Some(30)
    );
}

#[test]
fn a_gateway_for_people_has_an_address_and_issuers() {
    let text = "[gateway]\npublic_url = \"https://Gateway.example/\"\n\
                trusted_proxies = [\"10.0.0.5\", \"::1\"]\n[gateway.people]\n\
                issuers = [\"https://idp.example\"]\nalgorithms = [\"ES256\"]\n\
                admin_claim = \"groups\"\nadmin_values = [\"admins\"]\n";
    let parsed = parse(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let gateway = parsed.settings.gateway;
    let public = gateway.public.unwrap();
    assert_eq!(public.origin, "https://gateway.example");
    assert_eq!(public.resource(), "https://gateway.example/mcp");
    assert!(public.is_protected());
    let people = gateway.people.unwrap();
    assert_eq!(people.algorithms, [Algorithm::Es256]);
    assert_eq!(people.admins.unwrap().values, ["admins"]);
    assert!(people.members.is_none());
}

#[test]
fn an_address_without_encryption_is_not_protected() {
    let is_protected = |text: &str| {
        let gateway = parse(&format!("[gateway]\n{text}")).settings.gateway;
        gateway.public.is_some_and(|public| public.is_protected())
    };
    assert!(!is_protected("public_url = \"https://g.example\""));
    assert!(!is_protected(
        "public_url = \"http://127.0.0.1:5399\"\ntrusted_proxies = [\"10.0.0.5\"]"
    ));
    assert!(!is_protected("public_url = \"http://g.example\""));
    assert!(is_protected(
        "public_url = \"https://g.example\"\ntls_certificate = \"a\"\ntls_key = \"b\""
    ));
}

#[test]
fn settings_for_people_that_do_not_fit_are_refused() {
    let people = |rest: &str| {
        format!(
            "[gateway]\npublic_url = \"https://g.example\"\n[gateway.people]\n\
             issuers = [\"https://idp.example\"]\n{rest}"
        )
    };
    let rows = [
        (
            "[gateway]\npublic_url = \"https://g.example/a\"".to_owned(),
            "it has no path",
        ),
        ("[gateway]\ntls_key = \"a\"".to_owned(), "go together"),
        (
            "[gateway]\ntrusted_proxies = [\"10.0.0.5\"]".to_owned(),
            "need `public_url`",
        ),
        (
            "[gateway]\npublic_url = \"https://g.example\"\ntrusted_proxies = [\"proxy\"]"
                .to_owned(),
            "names are not trusted",
        ),
        (
            "[gateway.people]\nissuers = [\"https://idp.example\"]".to_owned(),
            "needs `public_url`",
        ),
        (
            "[gateway]\npublic_url = \"https://g.example\"\n[gateway.people]\nissuers = []"
                .to_owned(),
            "at least one",
        ),
        (people("algorithms = [\"none\"]"), "an algorithm is one of"),
        (people("algorithms = [\"HS256\"]"), "an algorithm is one of"),
        (people("admin_claim = \"groups\""), "go together"),
        (
            people("browser_clients = { \"https://other.example\" = \"c\" }"),
            "is not one of `issuers`",
        ),
        (
            people("jwks = { \"https://other.example\" = \"https://a.example\" }"),
            "not one of",
        ),
        (
            people("jwks = { \"https://idp.example\" = \"http://a.example\" }"),
            "`https` address",
        ),
    ];
    for (text, expected) in rows {
        let found = wrong(&text).concat();
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn every_key_of_the_table_is_read() {
    for section in SECTIONS {
        for key in section.keys {
            let title = section.title.replace("ISSUER", "as.example");
            let is_bound = section.keys.iter().any(|key| key.name == "source");
            let source = "source = \"/a\"\n";
            let around = if is_bound && key.name != "source" {
                source
            } else {
                ""
            };
            let text = format!("{title}\n{around}{} = {}\n", key.name, key.example);
            let source = Source::new("f", text.as_bytes());
            let mut found = tree::read(&source);
            let tables = found.take(section.path);
            assert_eq!(tables.len(), 1, "{text}");
            assert!(tables[0].left().contains(&key.name), "{text}");
            let plain = format!("{:?}", parse(&format!("{title}\n{around}")).settings);
            let parsed = parse(&text);
            // A key that needs another one is missed, which shows that it was read.
            let is_missed = !parsed.diagnostics.is_empty();
            let is_taken = format!("{:?}", parsed.settings) != plain;
            assert!(is_taken || is_missed, "it is not read: {text}");
        }
    }
}

#[test]
fn an_unknown_key_is_an_error_that_names_the_nearest() {
    assert_eq!(
        wrong("[defaults]\nprofil = \"work\"\n\n[sandbx]\nprofile = \"off\"\n"),
        [
            "2:1 unknown-setting there is no setting `profil` in `defaults` (did you mean `profile`?)",
            "4:2 unknown-setting there is no setting `sandbx` at the top (did you mean `sandbox`?)",
        ]
    );
    assert_eq!(
        wrong("[servers.\"a:b\"]\nxyz = 1\n"),
        ["2:1 unknown-setting there is no setting `xyz` in `servers.a:b` (there may be `oauth`)"]
    );
}

#[test]
fn a_secret_has_no_place_in_the_file() {
    let text =
        "[oauth.issuers.\"https://as.example\"]\nclient_id = \"x\"\nclient_secret = \"CANARY\"\n";
    let wrong = wrong(text);
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].contains("client_secret_env"), "{wrong:?}");
    assert!(!wrong[0].contains("CANARY"), "{wrong:?}");
}

#[test]
fn a_value_of_another_kind_is_refused_without_being_quoted() {
    for (text, at, words) in [
        (
            "[sandbox]\nprofile = \"none\"",
            "2:11",
            "`\"hide\"`, `\"confine\"`, `\"off\"`",
        ),
        ("[sandbox]\nprofile = 7", "2:11", "must be"),
        (
            "[sandbox]\ninherit_environment = \"yes\"",
            "2:23",
            "`true` or `false`",
        ),
        ("sandbox = true", "1:1", "must be a table"),
        (
            "[network]\nno_proxy = \"CANARY\"",
            "2:12",
            "a list of texts",
        ),
        (
            "[network]\nproxy = \"socks5://u:CANARY@h\"",
            "2:9",
            "address of a proxy",
        ),
        ("[network]\nroots = [1]", "2:9", "a list of files"),
        (
            "[oauth]\nclient_metadata_url = \"http://h.example/\"",
            "2:23",
            "`https` address",
        ),
        (
            "[oauth]\nclient_metadata_url = \"https://u:CANARY@h.example/\"",
            "2:23",
            "`https`",
        ),
        (
            "[oauth.issuers.\"ftp://x\"]\nclient_id = \"a\"",
            "1:16",
            "an issuer is an `https` address",
        ),
        (
            "[oauth.issuers.\"https://x\"]\ncallback_port = 70000",
            "2:17",
            "a port",
        ),
        (
            "[oauth.issuers.\"https://x\"]\nclient_secret_command = []",
            "2:25",
            "a program",
        ),
        (
            "[servers.\"a:b\".oauth]\nsource = \"/a\"\nauthorize_params = { a = 1 }",
            "3:20",
            "a table of texts",
        ),
        (
            "[defaults]\nprofile = \"a\\u0000b\"",
            "2:11",
            "must be text",
        ),
        ("[defaults]\nprofile = work", "2:11", ""),
    ] {
        let found = wrong(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with(at), "{text}: {found:?}");
        assert!(found[0].contains(words), "{text}: {found:?}");
        assert!(!found[0].contains("CANARY"), "{text}: {found:?}");
    }
}

#[test]
fn keys_that_contradict_each_other_or_need_another_are_refused() {
    let issuer = "[oauth.issuers.\"https://as.example\"]\n";
    let server = "[servers.\"a:b\".oauth]\nsource = \"/a\"\n";
    for (text, words) in [
        (
            "[defaults]\nquiet = true\nverbose = true".to_owned(),
            "`quiet` and `verbose`",
        ),
        ("[network]\nclient_key = \"k\"".to_owned(), "go together"),
        (
            format!(
                "{issuer}client_id = \"x\"\nclient_secret_env = \"A\"\nclient_secret_command = [\"b\"]"
            ),
            "only one of",
        ),
        (
            format!("{issuer}client_secret_env = \"A\""),
            "needs `client_id`",
        ),
        (
            format!("{issuer}client_id = \"x\"\nauth_method = \"private_key_jwt\""),
            "needs `private_key_file`",
        ),
        (
            format!("{server}grant = \"id-jag\""),
            "needs `idp_issuer`, `id_token_env`",
        ),
        (
            format!("{server}grant = \"workload-identity\""),
            "needs `jwt_file`",
        ),
        (
            format!("{server}authorize_params = {{ redirect_uri = \"https://evil.example\" }}"),
            "may not contain `redirect_uri`",
        ),
    ] {
        let found = wrong(&text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].contains(words), "{text}: {found:?}");
    }
}

#[test]
fn one_server_differs_only_in_what_it_says() {
    let parsed = parse(
        "[sandbox]\nprofile = \"confine\"\n[sandbox.servers.\"p:s\"]\nsource = \"/plugins/p\"\ninherit_environment = true\n",
    );
    let sandbox = parsed.settings.sandbox;
    let root = Path::new("/plugins/p");
    assert_eq!(sandbox.of("p:s", root).profile, SandboxProfile::Confine);
    assert!(sandbox.of("p:s", root).dangerous_inherit_environment);
    assert!(
        sandbox
            .of("p:s", &root.join("1.2.0"))
            .dangerous_inherit_environment
    );
    // A server of the same name in another plugin has nothing of it.
    for other in ["q:s", "s", "p:t"] {
        assert!(
            !sandbox.of(other, root).dangerous_inherit_environment,
            "{other}"
        );
    }
}

/// Threat E10: a plugin may give itself any name.
#[test]
fn e10_a_second_plugin_of_the_same_name_gets_no_exception() {
    let parsed = parse(
        "[sandbox.servers.\"p:s\"]\nsource = \"/plugins/p\"\nprofile = \"off\"\n[servers.\"p:s\".oauth]\nsource = \"/plugins/p\"\nclient_id = \"c\"\n",
    );
    let settings = parsed.settings;
    for (root, is_meant) in [
        ("/plugins/p", true),
        ("/plugins/p2", false),
        ("/elsewhere/p", false),
    ] {
        let root = Path::new(root);
        let is_off = settings.sandbox.of("p:s", root).profile == SandboxProfile::Off;
        assert_eq!(is_off, is_meant, "{root:?}");
        assert_eq!(settings.server("p:s", root).is_some(), is_meant, "{root:?}");
    }
    for table in [
        "[sandbox.servers.\"p:s\"]\nprofile = \"off\"\n",
        "[servers.\"p:s\".oauth]\nclient_id = \"c\"\n",
    ] {
        let found = wrong(table);
        assert!(
            found.iter().any(|it| it.contains("needs `source`")),
            "{found:?}"
        );
    }
}

#[test]
fn what_confined_programs_may_use_is_read() {
    let parsed = parse(
        "[sandbox]\ngrants = [\"~/.npm\"]\nrequire = true\n[sandbox.servers.\"p:s\"]\nsource = \"/plugins/p\"\nread_only_grants = [\"/opt/sdk\"]\nnetwork = false\n",
    );
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let root = std::path::Path::new("/plugins/p");
    let own = parsed.settings.sandbox.of("p:s", root);
    assert!(own.offline && own.require);
    assert_eq!(own.read_only_grants, [std::path::PathBuf::from("/opt/sdk")]);
    assert!(own.grants[0].ends_with(".npm"), "{:?}", own.grants);
    let other = parsed.settings.sandbox.of("p:t", root);
    assert!(!other.offline && other.require && other.read_only_grants.is_empty());
}

#[test]
fn a_grant_that_begins_with_a_tilde_is_in_the_home() {
    let parsed =
        parse("[sandbox]\nread_only_grants = [\"~\", \"~/\", \"~/.aws\", \"~ada\", \"x\"]\n");
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let granted = parsed.settings.sandbox.all.read_only_grants;
    let granted: Vec<_> = granted.iter().map(|it| it.to_str().unwrap()).collect();
    let expected = [
        "/home/ada",
        "/home/ada",
        "/home/ada/.aws",
        "/config/~ada",
        "/config/x",
    ];
    assert_eq!(granted, expected);
}

#[test]
fn a_whole_home_is_not_granted_to_be_written() {
    for grant in ["~", "~/", "/home/ada", "/home", "/"] {
        let text = format!(
            "[sandbox]\ngrants = [\"{grant}\"]\n[sandbox.servers.\"p:s\"]\nsource = \"/p\"\n"
        );
        let found = wrong(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("may not have your whole home"),
            "{found:?}"
        );
    }
    assert!(wrong("[sandbox]\ngrants = [\"~/work\", \"/home/ada2\"]\n").is_empty());
}

#[test]
fn hostile_text_ends_in_a_diagnostic_and_nothing_else() {
    let deep = "a = ".to_owned() + &"[".repeat(100_000);
    let dotted = "a.".repeat(50_000) + "b = 1";
    let large = "#".repeat(keyway_config::source::MAX_BYTES + 1);
    for text in [
        deep.as_str(),
        &dotted,
        &large,
        "\u{feff}x",
        "[a]\n[a]",
        "a = \"\u{0}\"",
    ] {
        assert!(!parse(text).diagnostics.is_empty());
    }
    let odd = Settings::parse("f", b"a = \"\xff\"", Around::default());
    assert_eq!(odd.diagnostics[0].code.as_str(), "invalid-toml");
    // A mark at the beginning moves no column.
    let marked = wrong("\u{feff}[defaults]\nprofil = 1");
    assert!(marked[0].starts_with("2:1 "), "{marked:?}");
}

#[test]
fn a_file_that_others_may_write_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    assert!(load(folder.path(), None).unwrap().diagnostics.is_empty());
    keyway_files::write::create(&path, b"[defaults]\nprofile = \"work\"\n", 0o600).unwrap();
    let loaded = load(folder.path(), None).unwrap();
    assert_eq!(loaded.settings.defaults.profile.as_deref(), Some("work"));
    let chmod = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for mode in [0o620, 0o602, 0o666] {
        chmod(&path, mode);
        let error = load(folder.path(), None).unwrap_err();
        assert!(matches!(error, SettingsError::Writable { .. }), "{error}");
        assert!(error.hint().unwrap().starts_with("chmod go-w"));
    }
    chmod(&path, 0o644);
    assert!(load(folder.path(), None).is_ok());
    chmod(folder.path(), 0o777);
    let error = load(folder.path(), None).unwrap_err();
    assert!(matches!(error, SettingsError::Writable { .. }), "{error}");
    chmod(folder.path(), 0o700);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = load(folder.path(), None).unwrap_err();
    assert!(matches!(error, SettingsError::NotAFile { .. }), "{error}");
}
