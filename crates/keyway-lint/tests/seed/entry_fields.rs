//! Section 2.1: the fields of an entry.

use keyway_config::declared::{HelperCommand, Transport, TypeOrigin};
use keyway_config::method::Method;

use crate::trial::{NOTHING, Trial, owned};

#[test]
fn seed_2_1_each_key_is_a_server_name_and_each_value_an_entry() {
    let trial = Trial::file(
        r#"{"one": {"type": "http", "url": "https://a.example/mcp"},
            "two": {"command": "node"}}"#,
    );
    let servers = trial.plugin().servers();
    let names: Vec<_> = servers.map(|(_, server)| server.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(
        Trial::file(r#"["not", "an", "object"]"#).found("invalid-entry"),
        [""]
    );
}

#[test]
fn seed_2_1_type() {
    for (kind, scheme, transport) in [
        ("sse", "https", Transport::Sse),
        ("http", "https", Transport::Http),
        ("ws", "wss", Transport::Ws),
    ] {
        let fields = format!(r#""type": "{kind}", "url": "{scheme}://h.example/mcp""#);
        let trial = Trial::entry(&fields);
        assert_eq!(trial.server().transport, transport);
        assert_eq!(trial.spec().transport, transport);
        assert_eq!(trial.server().type_origin, TypeOrigin::Declared);
    }
    let unknown = Trial::entry(r#""type": "carrier-pigeon", "url": "https://h.example/""#);
    assert_eq!(unknown.plugin().servers().count(), 0);
    assert_eq!(unknown.found("unknown-type"), ["/s/type"]);
}

#[test]
fn seed_2_1_type_of_stdio_entries_is_omitted_or_stdio() {
    for (fields, origin) in [
        (r#""command": "node""#, TypeOrigin::FromCommand),
        (
            r#""type": "stdio", "command": "node""#,
            TypeOrigin::Declared,
        ),
    ] {
        let trial = Trial::entry(fields);
        assert_eq!(trial.server().transport, Transport::Stdio);
        assert_eq!(trial.server().type_origin, origin);
        assert_eq!(trial.found("url-missing-type"), NOTHING);
    }
}

#[test]
fn seed_2_1_url() {
    let fields = r#""type": "http", "url": "https://${TENANT_ID}.h.example/${AREA}/mcp""#;
    let trial = Trial::entry(fields).with(&[("TENANT_ID", "acme"), ("AREA", "eu")]);
    assert_eq!(trial.address(), "https://acme.h.example/eu/mcp");
    for (kind, url) in [("http", "http://h.example/mcp"), ("ws", "ws://h.example/")] {
        let trial = Trial::entry(&format!(r#""type": "{kind}", "url": "{url}""#));
        assert_eq!(trial.errors(), ["/s/url: the address is not encrypted"]);
    }
}

#[test]
fn seed_2_1_headers() {
    let trial =
        Trial::headers(r#""X-API-Key": "${API_KEY}", "X-Mode": "fast", "X-Both": "a${B}c""#)
            .with(&[("API_KEY", "k-1"), ("B", "b")]);
    assert_eq!(
        trial.sent(),
        owned(&[("X-API-Key", "k-1"), ("X-Mode", "fast"), ("X-Both", "abc")])
    );
    let wrong_kind = Trial::headers(r#""X-API-Key": {"value": "x"}"#);
    assert_eq!(wrong_kind.found("invalid-entry"), ["/s/headers/X-API-Key"]);
}

#[test]
fn seed_2_1_headers_helper() {
    let helper = "${HOST_PLUGIN_ROOT}/scripts/headers.sh";
    let url = r#""type": "sse", "url": "https://h.example/sse""#;
    let trial = Trial::entry(&format!(r#"{url}, "headersHelper": "{helper}""#));
    let remote = trial.remote();
    let Some(HelperCommand::Program(path)) = remote.helper.map(|helper| helper.command) else {
        panic!("a path is run directly, not by a shell");
    };
    assert_eq!(path.template.as_str(), helper);
    assert_eq!(trial.method(), Method::Dynamic);
}

#[test]
fn seed_2_1_command() {
    let trial = Trial::entry(r#""command": "${HOST_PLUGIN_ROOT}/servers/run""#);
    let command = trial.local().command;
    assert_eq!(command.value().expose(), "/plugin/servers/run");
}

#[test]
fn seed_2_1_args() {
    let trial = Trial::entry(r#""command": "node", "args": ["-m", "${MODE}", "--to=${MODE}.log"]"#)
        .with(&[("MODE", "fast")]);
    let local = trial.local();
    let args = local.args.iter().map(|arg| arg.value().expose().as_str());
    assert_eq!(args.collect::<Vec<_>>(), ["-m", "fast", "--to=fast.log"]);
}

#[test]
fn seed_2_1_env() {
    let fields = r#""command": "node", "env": {"DB_USER": "${DB_USER}", "MODE": "prod"}"#;
    let trial = Trial::entry(fields).with(&[("DB_USER", "reader"), ("OTHER", "not passed")]);
    assert_eq!(
        trial.environment(),
        owned(&[("DB_USER", "reader"), ("MODE", "prod")])
    );
}
