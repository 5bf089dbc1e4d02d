use keyway_code::Code;

use super::*;
use crate::environment::{Environment, HostVariables, Origin, Variables};
use crate::fixture::entry;

fn resolved(fields: &str, pairs: &[(&str, &str)]) -> Result<ServerSpec, Vec<String>> {
    let plugin = entry(fields);
    let (_, server) = plugin.servers().next().unwrap();
    let variables = Variables::from_pairs(pairs.iter().copied());
    let host = HostVariables {
        plugin_root: "/plugin".into(),
        ..HostVariables::default()
    };
    resolve(server, &Scope::new(&host, &variables)).map_err(|errors| {
        errors
            .iter()
            .map(|e| format!("{}: {}", e.location.pointer.as_str(), e.fault))
            .collect()
    })
}

fn remote(spec: &ServerSpec) -> &RemoteSpec {
    match &spec.endpoint {
        SpecEndpoint::Remote(remote) => remote,
        other => panic!("{other:?}"),
    }
}

const URL: &str = r#""type": "http", "url": "https://h.example/mcp""#;

#[test]
fn what_is_shown_of_a_value_is_its_template() {
    let fields = format!(r#"{URL}, "headers": {{"Authorization": "Bearer ${{API_TOKEN}}"}}"#);
    let spec = resolved(&fields, &[("API_TOKEN", "CANARY")]).unwrap();
    let (_, value) = &remote(&spec).headers[0];
    assert_eq!(value.value().expose(), "Bearer CANARY");
    assert_eq!(value.to_string(), "Bearer ${API_TOKEN}");
    assert!(!format!("{spec:?}").contains("CANARY"));
}

#[test]
fn every_missing_variable_is_named_with_its_field() {
    let fields = r#""command": "${HOST_PLUGIN_ROOT}/run", "args": ["${A}"], "env": {"B": "${B}"}"#;
    assert_eq!(
        resolved(fields, &[]).unwrap_err(),
        [
            "/mcpServers/s/env/B: variable `B` is not set",
            "/mcpServers/s/args/0: variable `A` is not set"
        ]
    );
}

/// Threat D19: an unset variable is an error, never a literal `${VAR}`.
#[test]
fn d19_nothing_resolves_while_a_variable_is_unset_or_empty() {
    let fields = format!(r#"{URL}, "headers": {{"Authorization": "Bearer ${{T}}"}}"#);
    for pairs in [&[][..], &[("T", "")]] {
        let errors = resolved(&fields, pairs).unwrap_err();
        assert_eq!(
            errors,
            ["/mcpServers/s/headers/Authorization: variable `T` is not set"]
        );
    }
}

#[test]
fn a_header_that_comes_out_empty_is_dropped_and_oauth_takes_over() {
    let fields = format!(r#"{URL}, "headers": {{"Authorization": "Bearer ${{T:-}}"}}"#);
    let spec = resolved(&fields, &[]).unwrap();
    assert!(remote(&spec).headers.is_empty());
    assert_eq!(spec.method, Method::OAuth);
    assert_eq!(spec.notes[0].kind, NoteKind::EmptyHeaderDropped);
    assert_eq!(
        resolved(&fields, &[("T", "x")]).unwrap().method,
        Method::Static
    );
}

#[test]
fn only_an_authorization_is_dropped_for_having_nothing_but_a_scheme() {
    for (header, value, sent) in [
        ("Authorization", "Bearer ${T:-}", false),
        ("Authorization", "Token ${T:-}", false),
        ("authorization", "basic", false),
        ("Authorization", "${T:-}", false),
        ("Authorization", "Digest a=1 ${T:-}", true),
        ("Authorization", "opaque", true),
        ("X-Mode", "basic", true),
        ("X-Mode", "a${T:-}", true),
        ("X-Mode", "${T:-}", false),
    ] {
        let fields = format!(r#"{URL}, "headers": {{"{header}": "{value}"}}"#);
        let spec = resolved(&fields, &[]).unwrap();
        assert_eq!(!remote(&spec).headers.is_empty(), sent, "{header}: {value}");
        let blanks = spec
            .notes
            .iter()
            .filter(|n| n.kind == NoteKind::BlankAround);
        assert_eq!(blanks.count(), 0, "{header}: {value}");
    }
}

#[test]
fn every_missing_variable_of_an_address_is_named() {
    let fields = r#""type": "http", "url": "https://${A}.h.example:${B}/?q=${C}""#;
    let errors = resolved(fields, &[("B", "80")]).unwrap_err();
    assert_eq!(
        errors,
        [
            "/mcpServers/s/url: variable `A` is not set",
            "/mcpServers/s/url: variable `C` is not set"
        ]
    );
}

/// Threat D5: control characters and other surprises in a value are refused, naming the header.
#[test]
fn d05_values_that_headers_cannot_hold_are_refused() {
    let fields = format!(r#"{URL}, "headers": {{"X-Api-Key": "${{T}}"}}"#);
    let long = "a".repeat(MAX_VALUE_BYTES + 1);
    for value in [
        "a\r\nHost: evil",
        "a\nb",
        "a\0",
        "a\tb",
        "a\x7f",
        "ключ",
        long.as_str(),
    ] {
        let errors = resolved(&fields, &[("T", value)]).unwrap_err();
        assert!(errors[0].contains("header `X-Api-Key`"), "{errors:?}");
        assert!(!errors[0].contains("evil"));
    }
}

#[test]
fn a_blank_around_a_value_is_noted() {
    let fields = format!(r#"{URL}, "headers": {{"X-Api-Key": "${{T}}"}}"#);
    let spec = resolved(&fields, &[("T", "abc ")]).unwrap();
    assert_eq!(spec.notes[0].kind, NoteKind::BlankAround);
}

#[test]
fn headers_of_the_transport_are_left_out() {
    let fields =
        format!(r#"{URL}, "headers": {{"Host": "evil", "Mcp-Session-Id": "x", "X-A": "1"}}"#);
    let spec = resolved(&fields, &[]).unwrap();
    let names: Vec<_> = remote(&spec)
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["X-A"]);
}

#[test]
fn an_empty_address_is_a_state_and_no_error() {
    for url in ["", "${URL:-}"] {
        let spec = resolved(&format!(r#""type": "http", "url": "{url}""#), &[]).unwrap();
        assert!(matches!(spec.endpoint, SpecEndpoint::NotConfigured));
    }
}

#[test]
fn other_syntaxes_stay_literal_in_arguments_and_are_errors_elsewhere() {
    let spec = resolved(r#""command": "sh", "args": ["-c", "echo ${x%y}"]"#, &[]).unwrap();
    let SpecEndpoint::Local(local) = &spec.endpoint else {
        panic!()
    };
    assert_eq!(local.args[1].value().expose(), "echo ${x%y}");
    let fields = r#""command": "x", "env": {"A": "${input:key}"}"#;
    assert_eq!(
        resolved(fields, &[]).unwrap_err(),
        ["/mcpServers/s/env/A: `${input:key}` is not a valid variable reference"]
    );
}

#[test]
fn scopes_are_split_whether_string_or_array() {
    for scopes in [r#""read write""#, r#"["read", "write"]"#] {
        let fields = format!(r#"{URL}, "oauth": {{"scopes": {scopes}, "callbackPort": 8080}}"#);
        let spec = resolved(&fields, &[]).unwrap();
        assert_eq!(remote(&spec).scopes, ["read", "write"]);
        assert_eq!(remote(&spec).callback_port, Some(8080));
    }
}

#[test]
fn an_unset_header_does_not_matter_while_the_address_is_empty() {
    let fields = r#""type": "http", "url": "", "headers": {"X-Api-Key": "${T}"}"#;
    let spec = resolved(fields, &[]).unwrap();
    assert!(matches!(spec.endpoint, SpecEndpoint::NotConfigured));
    assert_eq!(spec.method, Method::Static);
}

#[test]
fn what_the_contract_forbids_never_resolves() {
    for (fields, expected) in [
        (
            r#""command": "x", "env": {"PLUGIN_ROOT": "/evil"}"#,
            "only the host may set",
        ),
        (
            r#""type": "ws", "url": "wss://h.example", "oauth": {"clientId": "x"}"#,
            "WebSocket",
        ),
        (
            r#""type": "http", "url": "https://h.example", "oauth": {"clientSecret": "x"}"#,
            "clientSecret",
        ),
        (
            r#""type": "http", "url": "https://h.example", "oauth": {"redirectUri": "https://e.example"}"#,
            "redirectUri",
        ),
    ] {
        let errors = resolved(fields, &[]).unwrap_err();
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{errors:?}"
        );
    }
    assert!(
        resolved(
            r#""command": "x", "env": {"PLUGIN_ROOT": "${PLUGIN_ROOT}"}"#,
            &[]
        )
        .is_ok()
    );
}

#[test]
fn a_placeholder_of_the_file_does_not_resolve() {
    let with = |headers: &str| format!(r#"{URL}, "headers": {{{headers}}}"#);
    for fields in [
        with(r#""Authorization": "Bearer YOUR_API_KEY""#),
        with(r#""X-API-Key": "<your key>""#),
        with(r#""X-API-Key": "sk-xxxx""#),
        with(r#""X-API-Key": "${K:-API_KEY_HERE}""#),
        r#""type": "http", "url": "https://YOUR_TENANT.h.example/mcp""#.to_owned(),
        format!(r#"{URL}, "oauth": {{"clientId": "YOUR_CLIENT_ID"}}"#),
    ] {
        let errors = resolved(&fields, &[]).unwrap_err();
        assert!(
            errors.iter().any(|error| error.contains("a placeholder")),
            "{fields}: {errors:?}"
        );
    }
    let replaced = with(r#""X-API-Key": "${K:-API_KEY_HERE}""#);
    assert!(resolved(&replaced, &[("K", "abc")]).is_ok());
    assert!(resolved(&with(r#""X-API-Key": "abc123""#), &[]).is_ok());
    assert!(resolved(r#""command": "x", "env": {"K": "YOUR_KEY"}"#, &[]).is_ok());
}

#[test]
fn a_variable_in_the_name_of_the_env_file_has_to_be_set() {
    let fields = r#""command": "x", "envFile": "${EF}/x.env""#;
    assert_eq!(
        resolved(fields, &[]).unwrap_err(),
        ["/mcpServers/s/envFile: variable `EF` is not set"]
    );
    assert!(resolved(fields, &[("EF", "/etc")]).is_ok());
}

#[test]
fn a_line_break_names_the_variable_that_brings_it() {
    let header = format!(r#"{URL}, "headers": {{"X-Api-Key": "${{A}}-${{B}}"}}"#);
    let argument = r#""command": "x", "args": ["${A}${B}"]"#;
    let query = r#""type": "http", "url": "https://h.example/${A}?q=${B}""#;
    for (fields, message) in [
        (
            header.as_str(),
            "the value of `B` has a line break, which header `X-Api-Key` cannot hold",
        ),
        (
            argument,
            "the value of `B` has a line break or a NUL character",
        ),
        (
            query,
            "the value of `B` has a line break or a NUL character",
        ),
    ] {
        let errors = resolved(fields, &[("A", "a"), ("B", "b\nCANARY")]).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].ends_with(message), "{errors:?}");
    }
}

#[test]
fn the_error_says_field_place_and_near_names_of_every_fault() {
    let plugin = entry(&format!(
        r#"{URL}, "headers": {{"X-Api-Key": "${{API_TOKEN}}"}}, "env": {{"A": "${{A}}"}}"#
    ));
    let (_, server) = plugin.servers().next().unwrap();
    let variables = Variables::from_pairs([("API_TOKENS", "x")]);
    let host = HostVariables::default();
    let errors = resolve(server, &Scope::new(&host, &variables)).unwrap_err();
    let error: &dyn std::error::Error = &errors;
    assert_eq!(
        error.to_string(),
        "variable `A` is not set (variable `A` of the process); \
         variable `API_TOKEN` is not set (header `X-Api-Key`)"
    );
    assert_eq!(errors.server(), "s");
    assert_eq!(errors.unset_variable(), Some("A"));
    let [_, header] = &errors.diagnostics()[..] else {
        panic!("{errors:?}")
    };
    let place = header.location.as_ref().unwrap();
    assert_eq!((&*place.file, place.start.line), (".mcp.json", 1));
    assert_eq!(place.pointer.as_str(), "/mcpServers/s/headers/X-Api-Key");
    assert_eq!(header.code, Code::UnresolvedVariable);
    assert_eq!(header.server.as_deref(), Some("s"));
    assert!(
        header
            .hint
            .as_ref()
            .unwrap()
            .contains("`API_TOKENS` is set")
    );
}

#[test]
fn a_note_can_be_shown_like_any_finding() {
    let fields = format!(r#"{URL}, "headers": {{"X-Api-Key": "${{T}}"}}"#);
    let spec = resolved(&fields, &[("T", "abc ")]).unwrap();
    let found = spec.notes[0].diagnostic(&spec.name);
    assert_eq!(found.code, Code::UnusableValue);
    assert_eq!(
        found.message,
        "the value of header `X-Api-Key` begins or ends with whitespace"
    );
    assert!(found.location.is_some());
    assert_eq!(found.server.as_deref(), Some("s"));
    assert_eq!(
        found.hint.as_deref(),
        Some("export the variable again without the whitespace")
    );
}

fn errors_of(fields: &str, pairs: &[(&str, &str)]) -> ResolveErrors {
    let plugin = entry(fields);
    let (_, server) = plugin.servers().next().unwrap();
    let variables = Variables::from_pairs(pairs.iter().copied());
    let host = HostVariables::default();
    resolve(server, &Scope::new(&host, &variables)).unwrap_err()
}

#[test]
fn each_fault_has_its_code_and_says_what_to_do_next() {
    let at = |url: &str| format!(r#""type": "http", "url": "{url}""#);
    let header = format!(r#"{URL}, "headers": {{"X-A": "${{V}}"}}"#);
    let placeholder = format!(r#"{URL}, "headers": {{"X-API-Key": "sk-xxxx"}}"#);
    let without = r#"take line breaks out of it: export V="$(printf %s "$V" | tr -d '\r\n')""#;
    let correct = "correct it, or look at what set it: export V=…";
    for (fields, value, code, hint) in [
        (
            at("https://h.example/${V}"),
            "a\nb",
            Code::UnusableValue,
            Some(without),
        ),
        (
            at("https://${V}.h.example/"),
            "a.b",
            Code::UnusableValue,
            Some(correct),
        ),
        (
            at("https://h.example:${V}/"),
            "x",
            Code::UnusableValue,
            Some(correct),
        ),
        (at("http://h.example/${V}"), "a", Code::InsecureUrl, None),
        (at("https://h.example/#${V}"), "a", Code::InvalidUrl, None),
        (
            at("https://h.example/${V}"),
            "",
            Code::UnresolvedVariable,
            Some("export V=…"),
        ),
        (header.clone(), "a\nb", Code::UnusableValue, Some(without)),
        (
            r#""command": "x", "args": ["${V}"]"#.to_owned(),
            "a\nb",
            Code::UnusableValue,
            Some(without),
        ),
        (
            placeholder,
            "",
            Code::PlaceholderCredential,
            Some("write a `${VARIABLE}` instead, which each person sets"),
        ),
    ] {
        let errors = errors_of(&fields, &[("V", value)]);
        assert_eq!(errors[0].code(), code, "{fields}");
        assert_eq!(errors[0].hint().as_deref(), hint, "{fields}");
    }
}

#[test]
fn errors_are_handed_out_whole_whichever_way_they_are_taken() {
    let fields = r#""command": "${A_TOKEN}", "args": ["${B}", "a\u0000"]"#;
    let errors = errors_of(fields, &[("A_TOKENS", "x")]);
    assert_eq!(errors.len(), 3);
    assert_eq!((&errors).into_iter().count(), 3);
    assert_eq!(errors[0].near_names(), ["A_TOKENS"]);
    assert_eq!(errors[0].unset_variable(), Some("A_TOKEN"));
    for error in &errors[1..] {
        assert!(error.near_names().is_empty(), "{error}");
    }
    assert_eq!(errors[2].unset_variable(), None);
    assert_eq!(
        errors[2].to_string(),
        "the value has a line break or a NUL character (argument)"
    );
    assert_eq!(errors.clone().into_iter().count(), 3);
    assert_eq!(errors.into_vec().len(), 3);
}

#[test]
fn a_value_of_the_longest_length_is_sent() {
    let fields = format!(r#"{URL}, "headers": {{"X-A": "${{T}}"}}"#);
    let longest = "a".repeat(MAX_VALUE_BYTES);
    let spec = resolved(&fields, &[("T", &longest)]).unwrap();
    assert_eq!(remote(&spec).headers.len(), 1);
}

#[test]
fn as_many_headers_as_an_entry_may_have_are_sent_and_no_more() {
    let fields = |count: usize| {
        let headers: Vec<_> = (0..count).map(|n| format!(r#""X-{n}": "v""#)).collect();
        format!(r#"{URL}, "headers": {{{}}}"#, headers.join(","))
    };
    let spec = resolved(&fields(MAX_HEADERS), &[]).unwrap();
    assert_eq!(remote(&spec).headers.len(), MAX_HEADERS);
    let errors = resolved(&fields(MAX_HEADERS + 2), &[]).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("headers"), "{errors:?}");
}

#[test]
fn a_header_that_stands_twice_or_has_no_name_is_refused() {
    for headers in [r#""X-A": "1", "x-a": "2""#, r#""X A": "1""#, r#""": "1""#] {
        let errors = resolved(&format!(r#"{URL}, "headers": {{{headers}}}"#), &[]).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(
            errors[0].contains("is not valid, or is used twice"),
            "{errors:?}"
        );
    }
}

#[test]
fn what_the_author_wrote_stays_as_it_is_and_a_plain_value_is_not_remarked_on() {
    let fields = r#""command": "x", "args": ["a\nb", " c ", "${V}"]"#;
    let spec = resolved(fields, &[("V", "v")]).unwrap();
    let SpecEndpoint::Local(local) = &spec.endpoint else {
        panic!("{spec:?}")
    };
    let args: Vec<_> = local.args.iter().map(|it| it.value().expose()).collect();
    assert_eq!(args, ["a\nb", " c ", "v"]);
    assert!(spec.notes.is_empty(), "{:?}", spec.notes);
    let values: Vec<_> = spec.values.iter().map(Secret::expose).collect();
    assert_eq!(values, ["v"], "reports mask it");
}

/// One variable of each origin, under its origin's name.
struct Origins;

impl Environment for Origins {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        self.origin_of(name)
            .map(|_| Secret::new("value".to_owned()))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn origin_of(&self, name: &str) -> Option<Origin> {
        match name {
            "PROCESS" => Some(Origin::Process),
            "FILE" => Some(Origin::File),
            "VAULT" | "OWN" => Some(Origin::Vault),
            _ => None,
        }
    }
}

#[test]
fn a_granted_variable_is_added_if_no_process_inherits_it_and_the_entry_does_not_set_it() {
    let mut spec = resolved(r#""command": "x", "env": {"OWN": "its own"}"#, &[]).unwrap();
    let host = HostVariables::default();
    let scope = Scope::new(&host, &Origins);
    for name in ["PROCESS", "FILE", "VAULT", "OWN", "UNSET"] {
        spec.grant(name, &scope);
    }
    let env: Vec<_> = spec
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.value().expose().as_str()))
        .collect();
    assert_eq!(
        env,
        [("OWN", "its own"), ("FILE", "value"), ("VAULT", "value")]
    );
    assert_eq!(spec.env[1].1.to_string(), "${FILE}");
    assert_eq!(spec.values.len(), 2, "reports mask them");
}

#[test]
fn a_value_names_each_of_its_variables_once() {
    let fields = format!(r#"{URL}, "headers": {{"X-A": "${{B}} ${{A}}${{B}} c"}}"#);
    let spec = resolved(&fields, &[("A", "a"), ("B", "b")]).unwrap();
    assert_eq!(remote(&spec).headers[0].1.variables(), ["B", "A"]);
}

#[test]
fn where_a_tenant_is_sent_is_told_with_the_variable_that_says_which() {
    let url = |path: &str| format!(r#""type": "http", "url": "https://h.example/{path}""#);
    for (address, header, expected) in [
        ("", r#""X-Tenant-Id": "${A}""#, Some(("`X-Tenant-Id`", "A"))),
        (
            "${TEAM}",
            r#""X-Mode": "${A}""#,
            Some(("the address", "TEAM")),
        ),
        (
            "${TEAM}",
            r#""X-Org-Token": "${A}", "x_workspace": "${B}""#,
            Some(("`x_workspace`", "B")),
        ),
        ("${A}", r#""X-Org-Token": "${A}""#, None),
        ("", r#""X-Tenant": "fixed""#, None),
        ("", r#""X-Teams": "${A}""#, None),
    ] {
        let fields = format!(r#"{}, "headers": {{{header}}}"#, url(address));
        let spec = resolved(&fields, &[("A", "a"), ("B", "b"), ("TEAM", "t")]).unwrap();
        let found = remote(&spec).tenant();
        let found = found.as_ref().map(|(place, name)| (&**place, &**name));
        assert_eq!(found, expected, "{fields}");
    }
}
