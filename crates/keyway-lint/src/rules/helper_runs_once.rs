//! `helper-runs-once`: a helper prints what counts for one request, and is run for a connection.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, HelperCommand, Refresh};
use keyway_config::diagnostic::Severity;
use keyway_config::plugin::Plugin;

use super::walk::contract_servers;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::HelperRunsOnce,
    // The string is what the host itself reads, so nothing is wrong with the file.
    severity: Severity::Info,
    strict: Severity::Info,
    // The object form changes when a program runs, and only this contract has it.
    fix: None,
    summary: "A `headersHelper` prints a time stamp or a signature, and runs once per connection",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in contract_servers(context.plugin) {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let Some(helper) = &remote.helper else {
            continue;
        };
        let runs_again = helper.refresh == Refresh::Request || helper.ttl_ms.is_some();
        let printed = text_of(context.plugin, &helper.command)
            .iter()
            .find_map(|text| what_changes(text));
        if let (Some(what), Some(field), false) = (printed, helper.command.first(), runs_again) {
            let message = format!(
                "the helper prints {what}, and every request of a connection gets the same"
            );
            report.field(document, server, field, message).hint(
                "for Keyway write it as an object: `{\"command\": [\"…\"], \"refresh\": \
                     \"request\"}`; Claude Code reads only a string",
            );
        }
    }
}

/// The text of the scripts that a helper runs, or its own line.
fn text_of<'a>(plugin: &'a Plugin, command: &'a HelperCommand) -> Vec<&'a str> {
    let words = match command {
        HelperCommand::Shell(line) => return vec![line.template.as_str()],
        HelperCommand::Words(words) => words.as_slice(),
        HelperCommand::Program(field) => std::slice::from_ref(field),
    };
    let scripts = words.iter().filter_map(|word| {
        let program = plugin.snapshot.programs.get(word.template.as_str())?;
        Some(program.script.as_ref()?.text())
    });
    scripts.collect()
}

/// Says what of a script's output is good for one request only.
fn what_changes(script: &str) -> Option<&'static str> {
    let code: String = script
        .lines()
        .filter(|line| !line.trim_start().starts_with(['#', '/']))
        .flat_map(|line| [line, "\n"])
        .collect();
    let code = code.to_ascii_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| code.contains(mark));
    // A token with an end of its own may be used until then.
    if has(TOKENS) {
        return None;
    }
    if has(NONCES) {
        Some("a number that is used once")
    } else if has(TIME_HEADERS) {
        Some("a time stamp")
    } else if has(SIGNATURES) && has(CLOCKS) {
        Some("a signature over the time")
    } else {
        None
    }
}

const TOKENS: &[&str] = &["jwt", "\"exp\"", "'exp'", "expires_in", "access_token"];
const NONCES: &[&str] = &["x-nonce", "\"nonce\"", "'nonce'"];
const TIME_HEADERS: &[&str] = &["x-timestamp", "x-amz-date", "x-date\"", "x-request-time"];
const SIGNATURES: &[&str] = &["hmac", "x-signature", "dgst -sha"];
const CLOCKS: &[&str] = &[
    "$(date",
    "`date",
    "time.time(",
    "date.now(",
    "new date(",
    "datetime.",
];

#[cfg(test)]
mod tests {
    use keyway_config::plugin::{Plugin, Program, ProgramState};
    use keyway_config::source::Source;

    use crate::rules::fixture::{entry, findings};

    const ID: &str = "helper-runs-once";

    fn with_script(fields: &str, script: &str) -> Plugin {
        let mut plugin = entry(&format!(
            r#""type": "http", "url": "https://h.example", {fields}"#
        ));
        let program = Program::new(
            ProgramState::Executable,
            true,
            Some(Source::new("h.sh", script.as_bytes())),
        );
        plugin
            .snapshot
            .programs
            .insert("./h.sh".to_owned(), program);
        plugin
    }

    const STAMP: &str = "#!/bin/sh\nprintf '{\"X-Timestamp\": \"%s\"}' \"$(date)\"\n";

    #[test]
    fn a_time_stamp_a_signature_and_a_nonce_want_a_run_for_each_request() {
        for (script, what) in [
            (STAMP, "a time stamp"),
            (
                "#!/usr/bin/env python3\nimport hmac, time\nprint(sign(time.time()))\n",
                "a signature over the time",
            ),
            ("print('{\"X-Nonce\": 1}')\n", "a number that is used once"),
        ] {
            let found = findings(ID, &with_script(r#""headersHelper": "./h.sh""#, script));
            assert!(found[0].message.contains(what), "{}", found[0].message);
            assert!(
                found[0]
                    .hint
                    .as_ref()
                    .unwrap()
                    .contains("\"refresh\": \"request\"")
            );
        }
        let line = r#""headersHelper": "echo \"{\\\"X-Timestamp\\\": \\\"$(date)\\\"}\"""#;
        assert_eq!(findings(ID, &with_script(line, "")).len(), 1);
    }

    #[test]
    fn what_runs_for_each_request_or_prints_something_lasting_is_left_alone() {
        for (fields, script) in [
            (
                r#""headersHelper": {"command": ["./h.sh"], "refresh": "request"}"#,
                STAMP,
            ),
            (
                r#""headersHelper": {"command": ["./h.sh"], "ttlMs": 1000}"#,
                STAMP,
            ),
            (
                r#""headersHelper": "./h.sh""#,
                "#!/bin/sh\n# X-Timestamp\necho '{\"X-API-Key\": \"k\"}'\n",
            ),
            (
                r#""headersHelper": "./h.sh""#,
                "import jwt, time\nprint(jwt.encode({\"exp\": time.time() + 600}, hmac))\n",
            ),
        ] {
            assert!(
                findings(ID, &with_script(fields, script)).is_empty(),
                "{fields} {script}"
            );
        }
    }
}
