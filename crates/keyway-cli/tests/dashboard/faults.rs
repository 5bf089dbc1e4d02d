//! What is wrong with a server is told on its page: which rule it broke, why, and what helps.

use std::net::TcpListener;

use keyway_testkit::rig::{Rig, Settings};
use keyway_testkit::{Answer, Canary, Folder, Request, Upstream};
use serde_json::json;

use crate::house::{Complaints, House, browse, modules, wait_for};

/// A server, its entry, and what its page has to say: the code and a part of what helps.
struct Row(&'static str, String, &'static str, &'static str);

#[test]
fn every_kind_of_fault_is_explained_with_what_helps() {
    if modules().is_none() {
        return;
    }
    let token = Canary::hidden("pZ4vX8mKq2Lw9Rt6Yb3NcH7Jd5");
    // {"exp": 1000000000}, in 2001.
    let old = Canary::hidden("eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwMDB9.Q0FOQVJZ");
    let upstream = Upstream::start(answer);
    let mut settings = Settings::default();
    settings.issuer = Some("https://as.example".to_owned());
    let mut rows = credentials(&upstream);
    rows.extend(servers(&upstream, &Rig::start(settings).mcp()));
    let entries: Vec<String> = rows
        .iter()
        .map(|Row(name, entry, ..)| format!(r#""{name}": {{{entry}}}"#))
        .collect();
    let folder = Folder::new()
        .file("p/.mcp.json", format!("{{{}}}", entries.join(",\n")))
        .executable(
            "p/fails.sh",
            "#!/bin/sh\necho OLD_TOKEN is not set >&2\nexit 3\n",
        )
        .executable("p/empty.sh", "#!/bin/sh\necho '{}'\n")
        .executable("p/ends.sh", "#!/bin/sh\necho 'no database' >&2\nexit 3\n");
    let variables = [("API_TOKEN", token.value()), ("OLD_TOKEN", old.value())];
    let house = House::over(folder, &variables, &["--trust"]);
    let pass = house.enter(&house.open());
    assert!(house.get("/", &pass).contains("<h1>Servers</h1>"));
    let mark = house.mark(&pass);
    let explained = |name: &str, code: &str| {
        // A program is not started by a look.
        let check = format!("/s/p/{name}/check");
        house.post(&check, &pass, &format!("_mark={mark}"));
        wait_for(&format!("{code} on the page of {name}"), || {
            let page = house.get(&format!("/s/p/{name}"), &pass);
            page.contains(code).then_some(page)
        })
    };
    let place = house.folder.at("p").display().to_string();
    let mut unexplained = Vec::new();
    for Row(name, _, code, fix) in &rows {
        let page = explained(name, code);
        assert_eq!((token.leak(&page), old.leak(&page)), (None, None), "{name}");
        let (_, fault) = page.split_once("id=\"fault\"").expect(&page);
        let (fault, _) = fault.split_once("</section>").unwrap();
        let (what, helps) = fault.split_once("<h3>How to fix it</h3>").unwrap();
        let (what, why) = what.split_once("<h3>Why</h3>").unwrap();
        let (helps, _) = helps.split_once("<p class=\"hint\">").unwrap();
        let helps = helps
            .replace(&format!(" --config {place}"), "")
            .replace("<code class=\"copy\">", "")
            .replace("<code>", "")
            .replace("</code>", "")
            .replace("&amp;", "&");
        let is_told = what.contains(code) && why.trim().len() > 15 && helps.contains(fix);
        // A page to read is not a next step.
        if !is_told || helps.contains("keyway explain") {
            unexplained.push(format!("{name}: {fault}"));
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    // Two of them as a person sees them: what a server refused, and what a program said last.
    let steps = json!([
        {"size": [360, 740]}, {"go": house.open()}, {"wait": "live"},
        {"click": "refused"}, {"wait": "HTTP 401"}, {"wait": "How to fix it"}, {"axe": true},
        {"click": "Servers"}, {"wait": "live"}, {"click": "ending"},
        {"wait": "Its last output"}, {"wait": "no database"}, {"axe": true},
    ]);
    crate::is_usable(&browse(&[steps], Complaints::None));
}

/// What is wrong with a credential.
fn credentials(upstream: &Upstream) -> Vec<Row> {
    let bearer = |path: &str, variable: &str| {
        let url = upstream.url(path);
        let headers = format!(r#"{{"Authorization": "Bearer ${{{variable}}}"}}"#);
        format!(r#""type": "http", "url": "{url}", "headers": {headers}"#)
    };
    let helper = |program: &str| {
        let url = upstream.url("/401");
        format!(r#""type": "http", "url": "{url}", "headersHelper": "./{program}""#)
    };
    let (token, old) = ("API_TOKEN", "OLD_TOKEN");
    let near = "API_TOKEN is set; is that the one?";
    let scope = "with the scope files:write";
    let (failing, silent) = ("trust grant failing --env", "run the helper by hand");
    vec![
        Row(
            "refused",
            bearer("/401", token),
            "auth-rejected",
            "keyway doctor refused",
        ),
        Row(
            "expired",
            bearer("/401", old),
            "token-expired",
            "export OLD_TOKEN=…",
        ),
        Row(
            "unset",
            bearer("/401", "API_TOKNE"),
            "unresolved-variable",
            near,
        ),
        Row(
            "forbidden",
            bearer("/403", token),
            "forbidden",
            "keyway doctor forbidden",
        ),
        Row(
            "narrow",
            bearer("/scope", token),
            "insufficient-scope",
            scope,
        ),
        Row("failing", helper("fails.sh"), "helper-failed", failing),
        Row("silent", helper("empty.sh"), "helper-empty", silent),
    ]
}

/// What is wrong with a server, or with the way to it.
fn servers(upstream: &Upstream, misled: &str) -> Vec<Row> {
    let remote = |url: &str| format!(r#""type": "http", "url": "{url}", "oauth": false"#);
    let at = |path: &str| remote(&upstream.url(path));
    // An address of its own, so that no other test takes the port in the meantime.
    let unused = TcpListener::bind("127.0.0.78:0").unwrap();
    let unused = remote(&format!("http://{}/mcp", unused.local_addr().unwrap()));
    // Too long for DNS, so that no name server is asked.
    let nowhere = remote(&format!("https://{}.example/mcp", "a".repeat(70)));
    let clear = remote(&upstream.url("/mcp").replace("http:", "https:"));
    let misled = format!(r#""type": "http", "url": "{misled}""#);
    let program = |path: &str| format!(r#""command": "{path}""#);
    let absent = program("no-such-program-anywhere");
    let wait = "sleep 7 && keyway doctor busy";
    vec![
        Row("busy", at("/429"), "rate-limited", wait),
        Row("missing", at("/404"), "http-error", "check the path of url"),
        Row("ill", at("/500"), "http-error", "try again in a minute"),
        Row("moved", at("/302"), "cross-origin-redirect", "url"),
        Row(
            "babbling",
            at("/text"),
            "protocol-error",
            "keyway doctor babbling",
        ),
        Row("nobody", unused, "unreachable", "start the server"),
        Row(
            "nowhere",
            nowhere,
            "name-not-found",
            "check the host in url",
        ),
        Row("clear", clear, "tls-failed", "check the port in url"),
        Row("misled", misled, "issuer-mismatch", "do not sign in there"),
        Row("absent", absent, "spawn-failed", "install no-such-program"),
        Row(
            "ending",
            program("./ends.sh"),
            "child-ended",
            "do what its last lines say",
        ),
    ]
}

fn answer(request: &Request) -> Answer {
    let told = r#"Bearer error="insufficient_scope", scope="files:write""#;
    match request.path.as_str() {
        "/401" => Answer::empty(401),
        "/403" => Answer::empty(403),
        "/scope" => Answer::empty(403).with("www-authenticate", told),
        "/429" => Answer::empty(429).with("retry-after", "7"),
        "/500" => Answer::empty(500),
        "/302" => Answer::redirect(302, "https://elsewhere.example/mcp"),
        "/text" => Answer::page(200, "<p>Welcome</p>"),
        _ => Answer::empty(404),
    }
}
