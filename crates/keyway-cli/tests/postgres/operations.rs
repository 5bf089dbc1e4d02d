//! What those who operate gateways see and do: metrics, the admin port, people, and how one ends.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use keyway_testkit::rig::{Delivery, Settings};
use keyway_testkit::{Gateway, Tools, eventually, free_port};
use rustix::process::{Pid, Signal, kill_process};

use crate::team::{Conversation, Team, get};

/// A gateway with an admin port.
struct Operated {
    gateway: Gateway,
    admin: u16,
}

impl Operated {
    fn start(team: &Team) -> Self {
        let admin = free_port();
        let address = format!("127.0.0.1:{admin}");
        let words = ["--trust", "--quiet", "--admin", &address];
        Self {
            gateway: Gateway::start(team.desk.keyway(&[]), &words),
            admin,
        }
    }

    /// Asks the admin port, and returns the whole answer.
    fn ask(&self, path: &str, headers: &str) -> String {
        request(self.admin, ("GET", path), headers, "")
    }

    fn metrics(&self, team: &Team) -> String {
        let bearer = format!("authorization: Bearer {}\r\n", team.token);
        let answer = self.ask("/metrics", &bearer);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

fn request(port: u16, (method, path): (&str, &str), headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = body.len();
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{headers}");
    let _ = write!(
        text,
        "connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn value(metrics: &str, name: &str) -> Option<f64> {
    let mut lines = metrics.lines().filter_map(|line| line.rsplit_once(' '));
    lines.find(|(own, _)| *own == name)?.1.parse().ok()
}

/// Prometheus's own reader of the text form.
fn promtool_accepts(metrics: &str) {
    let Some(tools) = Tools::find(&["/usr/bin/promtool"]) else {
        return;
    };
    let mut child = Command::new(tools.at("/usr/bin/promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(metrics.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn metrics_tell_of_renewals_keys_connections_and_replicas() {
    let team = Team::signed_in(Settings::default());
    let (operated, other) = (Operated::start(&team), Operated::start(&team));
    assert!(team.call(&operated.gateway).contains("Echo: hello"));
    // Here the token is in memory by now.
    assert!(team.call(&operated.gateway).contains("Echo: hello"));
    team.desk.rig.reset();
    assert!(team.call(&operated.gateway).contains("Echo: hello"));
    let issuer = format!("issuer=\"{}\"", team.desk.rig.origin());
    let stored = format!("keyway_refreshes_total{{{issuer},outcome=\"stored\"}}");
    let metrics = operated.metrics(&team);
    assert_eq!(value(&metrics, &stored), Some(1.0), "{metrics}");
    for (name, expected) in [
        (format!("keyway_refresh_exchanges_total{{{issuer}}}"), 1.0),
        (
            format!("keyway_refresh_exchanges_in_flight{{{issuer}}}"),
            0.0,
        ),
        (
            format!("keyway_refresh_ceiling_waits_total{{{issuer}}}"),
            0.0,
        ),
        (
            "keyway_claim_takeovers_total{cause=\"replica-died\"}".to_owned(),
            0.0,
        ),
        ("keyway_commits_superseded_total".to_owned(), 0.0),
        (
            "keyway_reauthorizations_total{cause=\"server\"}".to_owned(),
            0.0,
        ),
        ("keyway_database_connections_limit".to_owned(), 16.0),
        ("keyway_database_ready".to_owned(), 1.0),
    ] {
        assert_eq!(
            value(&metrics, &name),
            Some(expected),
            "{name} in\n{metrics}"
        );
    }
    let hits = value(&metrics, "keyway_token_cache_hits_total").unwrap();
    let misses = value(&metrics, "keyway_token_cache_misses_total").unwrap();
    assert!(hits >= 1.0 && misses >= 1.0, "{metrics}");
    eventually("both replicas and the keys are seen", || {
        let metrics = operated.metrics(&team);
        value(&metrics, "keyway_replicas") == Some(2.0)
            && value(&metrics, "keyway_data_keys") == Some(1.0)
            && value(&metrics, "keyway_key_age_seconds{key=\"wrapping\"}").is_some()
            && value(&metrics, "keyway_key_age_seconds{key=\"oldest-data\"}").is_some()
    });
    // An answer that does not arrive, from a server that accepts no token twice: told by its cause.
    drop(other);
    team.desk.rig.set(|rig| rig.token_delivery = Delivery::Lost);
    team.desk.rig.reset();
    assert!(!team.call(&operated.gateway).contains("Echo: hello"));
    let metrics = operated.metrics(&team);
    for (name, expected) in [
        (
            format!("keyway_refreshes_total{{{issuer},outcome=\"rejected\"}}"),
            1.0,
        ),
        (format!("keyway_refresh_exchanges_total{{{issuer}}}"), 3.0),
        (
            "keyway_reauthorizations_total{cause=\"answer-lost\"}".to_owned(),
            1.0,
        ),
    ] {
        assert_eq!(value(&metrics, &name), Some(expected), "{name}\n{metrics}");
    }
    promtool_accepts(&metrics);
    assert_eq!(team.desk.leaks(&metrics, &[]), [].into());
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    for sample in samples {
        let is_about_one = ["person", "account", "echo", "/s"].map(|it| sample.contains(it));
        assert_eq!(is_about_one, [false; 4], "{sample}");
    }
}

#[test]
fn the_admin_port_is_as_closed_as_the_other_and_has_what_that_has_not() {
    let team = Team::signed_in(Settings::default());
    let operated = Operated::start(&team);
    assert!(operated.ask("/healthz", "").ends_with("ok\n"));
    assert!(operated.ask("/readyz", "").ends_with("ready\n"));
    assert!(operated.ask("/metrics", "").starts_with("HTTP/1.1 403 "));
    let narrow = Gateway::token(
        team.desk.keyway(&[]),
        &["--name", "narrow", "--server", "p:s"],
    );
    let bearer = format!("authorization: Bearer {narrow}\r\n");
    assert!(
        operated
            .ask("/metrics", &bearer)
            .starts_with("HTTP/1.1 403 ")
    );
    let bearer = format!("authorization: Bearer {}\r\n", team.token);
    // Without people scripts find the metrics where they were.
    let before = operated.gateway.request("GET", "/metrics", &bearer, "");
    assert!(before.starts_with("HTTP/1.1 200 "), "{before}");
    // No servers here, no dashboard there.
    assert!(operated.ask("/mcp/s", &bearer).starts_with("HTTP/1.1 404 "));
    let there = operated.gateway.request("GET", "/", &bearer, "");
    assert!(there.starts_with("HTTP/1.1 404 "), "{there}");
    assert!(operated.ask("/", "").contains("opens with a link"));
    for headers in [
        "origin: https://evil.example\r\n",
        "origin: http://127.0.0.1:1\r\n",
    ] {
        for path in ["/healthz", "/metrics", "/"] {
            let headers = format!("{headers}{bearer}");
            let answer = operated.ask(path, &headers);
            assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
        }
    }
    let opened = team.desk.keyway(&["open", "--print"]).run();
    let link = format!("http://127.0.0.1:{}/dashboard/enter/", operated.admin);
    assert!(opened.stdout.starts_with(&link), "{}", opened.everything());
    let beyond = team
        .desk
        .keyway(&["serve", "--admin", "0.0.0.0:0", "--trust"]);
    let refused = beyond.run();
    assert_eq!(refused.code, 2, "{}", refused.everything());
    assert!(
        refused.stderr.contains("nothing protects it"),
        "{}",
        refused.stderr
    );
}

/// A browser without a script: the page of people, and what its button does.
#[test]
fn an_admin_sees_people_and_signs_one_of_them_out_everywhere() {
    let team = Team::signed_in(Settings::default());
    let operated = Operated::start(&team);
    let other = team.gateway();
    assert!(team.call(&operated.gateway).contains("Echo: hello"));
    people(
        &team,
        &["https://idp.example ada", "https://idp.example bob"],
    );
    let opened = team.desk.keyway(&["open", "--print"]).run();
    let link = opened.stdout.trim().to_owned();
    let path = link.split_once(&format!(":{}", operated.admin)).unwrap().1;
    let entered = operated.ask(path, "");
    let cookie = entered.split_once("set-cookie: ").unwrap().1;
    let (cookie, rest) = cookie.split_once(';').unwrap();
    let base = rest
        .split_once("Path=")
        .unwrap()
        .1
        .split_once("/;")
        .unwrap()
        .0;
    let headers = format!("cookie: {cookie}\r\n");
    let page = |query: &str| operated.ask(&format!("{base}/people{query}"), &headers);
    let all = page("");
    assert!(all.starts_with("HTTP/1.1 200 "), "{all}");
    for shown in [
        "https://idp.example ada",
        "https://idp.example bob",
        "shared by clients with gateway tokens",
        "this gateway",
        "People with sign-ins</th><td>2</td>",
        "Sign-ins</th><td>3</td>",
        "To be repeated by their person</th><td>1</td>",
    ] {
        assert!(all.contains(shown), "{shown} in {all}");
    }
    assert_eq!(team.desk.leaks(&all, &[]), [].into());
    let found = page("?find=BOB");
    assert!(found.contains("example bob</strong>") && !found.contains("example ada</strong>"));
    let unfound = page("?find=%3Cscript%3E");
    assert!(
        unfound.contains("&lt;script&gt;") && !unfound.contains("<script>"),
        "{unfound}"
    );

    let mark = all.split_once("name=\"_mark\" value=\"").unwrap().1;
    let mark = mark.split_once('"').unwrap().0;
    let body = format!("_mark={mark}&do=sign-out&person=https%3A%2F%2Fidp.example+ada");
    let path = format!("{base}/people");
    let foreign = request(operated.admin, ("POST", &path), &headers, &body);
    assert!(
        foreign.starts_with("HTTP/1.1 403 "),
        "only by our own page: {foreign}"
    );
    let own = format!("{headers}origin: http://127.0.0.1:{}\r\n", operated.admin);
    let done = request(operated.admin, ("POST", &path), &own, &body);
    assert!(done.starts_with("HTTP/1.1 303 "), "{done}");
    let after = page("");
    assert!(
        after.contains("all sign-ins of this person are deleted"),
        "{after}"
    );
    assert!(!after.contains("example ada</strong>"), "{after}");
    let left = "SELECT string_agg(person, ',' ORDER BY person) FROM keyway.grants";
    assert_eq!(team.sql(left), ",https://idp.example bob");
    let keys = "SELECT count(*) FROM keyway.person_keys WHERE person LIKE '%ada'";
    assert_eq!(team.sql(keys), "0");
    let noted = "SELECT count(*) FROM keyway.audit
        WHERE event = 'person' AND outcome = 'forgotten' AND person LIKE '%ada'";
    assert_eq!(team.sql(noted), "1");
    assert!(
        team.call(&other).contains("Echo: hello"),
        "others stay signed in"
    );
}

/// Rows of people as another gateway stored them; the page opens none of their values.
fn people(team: &Team, names: &[&str]) {
    for (number, name) in names.iter().enumerate() {
        team.sql(&format!(
            "INSERT INTO keyway.person_keys (tenant, person, key_id, wrapper, wrapped)
                 VALUES ('default', '{name}', '\\x0{number}', '\\x00', '\\x00');
             INSERT INTO keyway.grants (tenant, person, grant_id, profile, name, generation, key_id,
                 access, refresh, needs_reauth)
             SELECT 'default', '{name}', grant_id, profile, name, generation, '\\x0{number}', '\\x00',
                 '\\x00', {number} > 0
             FROM keyway.grants WHERE person = ''"
        ));
    }
}

/// Sign-ins of many accounts, all refused at once, at two gateways: the authorization server counts.
#[test]
fn storm_of_renewals_at_two_gateways_stays_below_the_ceiling_and_loses_none() {
    const RATE: u32 = 4;
    let team = Team::signed_in(Settings::default());
    let file = team.desk.folder.at("home/keyway/config/config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let names: Vec<String> = (0..12).map(|number| format!("a{number}")).collect();
    let person = team.desk.person();
    let tokens: Vec<String> = names
        .iter()
        .map(|name| {
            let login = team.desk.keyway(&["login", "s", "--account", name]).run();
            assert_eq!(login.code, 0, "{}", login.everything());
            let words = ["--name", name, "--server", "s", "--account", name];
            Gateway::token(team.desk.keyway(&[]), &words)
        })
        .collect();
    drop(person);
    for (rate, most) in [(RATE, Some(RATE)), (0, None)] {
        let ceiling = format!("{config}\n[oauth]\nrefreshes_per_second = {rate}\n");
        std::fs::write(&file, ceiling).unwrap();
        let gateways = [Operated::start(&team), Operated::start(&team)];
        for (operated, token) in gateways.iter().cycle().zip(&tokens) {
            let answer = Team::call_with(&operated.gateway, token);
            assert!(answer.contains("Echo: hello"), "{answer}");
        }
        for operated in &gateways {
            eventually("both know of each other", || {
                value(&operated.metrics(&team), "keyway_replicas") == Some(2.0)
            });
        }
        let before = team.desk.rig.refreshes();
        team.desk.rig.reset();
        std::thread::scope(|scope| {
            for (operated, token) in gateways.iter().cycle().zip(&tokens) {
                scope.spawn(move || {
                    let answer = Team::call_with(&operated.gateway, token);
                    assert!(answer.contains("Echo: hello"), "{answer}");
                });
            }
        });
        let sent = team.desk.rig.seen("/token");
        let sent = sent
            .iter()
            .filter(|it| it.field("grant_type").as_deref() == Some("refresh_token"));
        let times: Vec<_> = sent.skip(before).map(|it| it.at).collect();
        assert_eq!(times.len(), tokens.len(), "one for each, no more");
        let Some(most) = most else { continue };
        // From the first on: what is late by itself only makes this less.
        for (count, at) in times.iter().enumerate() {
            let since = (*at - times[0]).as_secs_f64();
            // The burst, the rate, and one for the start of each gateway.
            let allowed = f64::from(most) + f64::from(RATE) * since + 2.0;
            let count = f64::from(u32::try_from(count + 1).unwrap());
            assert!(count <= allowed, "{count} after {since} s: {times:?}");
        }
        let waits = gateways.iter().map(|operated| {
            let metrics = operated.metrics(&team);
            let issuer = team.desk.rig.origin();
            let name = format!("keyway_refresh_ceiling_waits_total{{issuer=\"{issuer}\"}}");
            value(&metrics, &name).unwrap_or_default()
        });
        assert!(waits.sum::<f64>() >= 4.0, "some waited");
    }
    let families = team.desk.rig.families();
    assert!(families.iter().all(|it| it.ended.is_none()), "{families:?}");
}

#[test]
fn a_gateway_that_ends_says_so_and_finishes_what_is_under_way() {
    let team = Team::signed_in(Settings::default());
    let mut operated = Operated::start(&team);
    let session = Conversation::begin(&team, &operated.gateway);
    assert!(session.call().contains("Echo: hello"));
    let mut stream = session.listen();
    let other = team.gateway();
    let session = session.at(&other);
    let delay = std::time::Duration::from_secs(3);
    team.desk.rig.reset();
    team.desk.rig.set(|rig| rig.token_delay = delay);
    std::thread::scope(|scope| {
        let (team, operated) = (&team, &operated);
        let call = scope.spawn(move || team.call(&operated.gateway));
        eventually("the exchange is under way", || {
            team.sql("SELECT count(*) FROM keyway.grants WHERE claim IS NOT NULL") == "1"
        });
        let id = i32::try_from(operated.gateway.running.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
        eventually("it is not ready", || {
            let answer = operated.ask("/readyz", "");
            answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("draining\n")
        });
        assert!(operated.ask("/healthz", "").ends_with("ok\n"), "it lives");
        // The stream ends as one that a client may resume: whole, with the id of its last event.
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
        let answer = call.join().unwrap();
        assert!(
            answer.contains("Echo: hello"),
            "the call was finished: {answer}"
        );
    });
    let ended = operated.gateway.running.child.wait().unwrap();
    assert!(ended.success(), "{ended}");
    assert_eq!(team.desk.rig.refreshes(), 1);
    assert_eq!(team.sql("SELECT count(*) FROM keyway.replicas"), "1");
    assert!(get(&other, "/readyz").ends_with("ready\n"));
    assert!(
        session.call().contains("Echo: hello"),
        "the session goes on"
    );
    assert_eq!(team.desk.rig.refreshes(), 1);
}
