//! `credential-in-args`: an argument carries a credential, and arguments are visible to everyone.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::environment::is_host_variable;
use keyway_config::headers::is_credential_header;
use keyway_config::template::{MASK, Part, Template};

use super::{Context, Report, Rule};
use crate::secrets::is_credential_name;

pub(super) const RULE: Rule = Rule {
    id: Code::CredentialInArgs,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "A variable with a credential is passed in `args`, which process lists show",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Local(local) = &server.endpoint else {
            continue;
        };
        for (index, field) in local.args.iter().enumerate() {
            // A literal is reported once, and as what is worse: `literal-secret`.
            let Some(name) = credential_variable(&local.args, index) else {
                continue;
            };
            let message = format!("`{name}` in `args` is visible in process lists");
            report
                .field(document, server, field, message)
                .hint("pass it in `env`, if the program can read it from there");
        }
    }
}

/// The variable that makes the argument one with a credential: by its own name, or by its place.
///
/// It is returned as the file writes it.
fn credential_variable(args: &[Field], index: usize) -> Option<&str> {
    let template = &args.get(index)?.template;
    let masked = template.masked();
    let (label, start) = label_of(&masked, args, index);
    let (label, value) = (label.as_deref(), masked.get(start..).unwrap_or_default());
    if is_path(template, start) || label.is_some_and(names_a_file) {
        return None;
    }
    let is_labelled = label.is_some_and(|label| {
        !is_key_pair(label) && (is_credential_name(label) || is_credential_header(label))
    });
    let password = value
        .split_once("://")
        .and_then(|(_, rest)| rest.split(['/', '?']).next())
        .and_then(|authority| authority.rsplit_once('@'))
        .and_then(|(user_info, _)| user_info.split_once(':'))
        .is_some_and(|(_, password)| password.contains(MASK));
    let mut variables = template
        .variables()
        .filter(|variable| variable.range.start >= start && !is_host_variable(&variable.name));
    let by_name =
        |name: &str| is_credential_name(name) && !names_a_file(name) && !is_key_pair(name);
    let found = variables.find(|variable| is_labelled || password || by_name(&variable.name));
    template.as_str().get(found?.range.clone())
}

/// What an argument is called, and where its value begins: `--flag value`, `--flag=value`,
/// `NAME=value`, or `Name: value` behind a flag for headers.
fn label_of(masked: &str, args: &[Field], index: usize) -> (Option<String>, usize) {
    let is_word = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    for separator in ['=', ':'] {
        if let Some((name, value)) = masked.split_once(separator)
            && is_word(name)
            && !value.starts_with("//")
        {
            // `--header=Authorization: …` carries a name inside its value.
            let inner = value.split_once(':').map(|(inner, _)| inner);
            let inner = inner.filter(|inner| separator == '=' && is_word(inner));
            let label = inner
                .filter(|inner| is_credential_header(inner))
                .unwrap_or(name);
            return (Some(label.to_owned()), name.len() + 1);
        }
    }
    let before = index.checked_sub(1).and_then(|before| args.get(before));
    let flag = before
        .map(|field| field.template.as_str())
        .filter(|flag| flag.starts_with('-') && is_word(flag) && !masked.starts_with('-'));
    (flag.map(str::to_owned), 0)
}

/// Says whether the value is a path: the file it names holds the credential, not the argument.
fn is_path(template: &Template, start: usize) -> bool {
    let value = template.as_str().get(start..).unwrap_or_default();
    let begins_in_plugin = template.parts().iter().any(|part| match part {
        Part::Variable(variable) => {
            variable.range.start == start && is_host_variable(&variable.name)
        }
        _ => false,
    });
    begins_in_plugin
        || ["/", "./", "../", "~/"]
            .iter()
            .any(|prefix| value.starts_with(prefix))
        || [".pem", ".key", ".crt", ".json"]
            .iter()
            .any(|ending| value.ends_with(ending))
}

/// Says whether a name promises the path of a file.
fn names_a_file(name: &str) -> bool {
    words_of(name).any(|word| FILE_WORDS.contains(&word.as_str()))
}

/// Says whether a name promises one half of a key pair, which programs take as a path.
fn is_key_pair(name: &str) -> bool {
    let words: Vec<String> = words_of(name).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["key"] => true,
        [.., owner, "key"] => KEY_OWNERS.contains(owner),
        _ => false,
    }
}

fn words_of(name: &str) -> impl Iterator<Item = String> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
}

const FILE_WORDS: &[&str] = &[
    "file",
    "path",
    "dir",
    "pem",
    "cert",
    "certificate",
    "cacert",
    "keyfile",
];

const KEY_OWNERS: &[&str] = &["client", "server", "tls", "ssl", "mtls", "ssh"];

#[cfg(test)]
mod tests {
    use keyway_config::json::quote;

    use crate::rules::fixture::{entry, findings};

    fn found(args: &[&str]) -> Vec<String> {
        let list: Vec<String> = args.iter().map(|arg| quote(arg)).collect();
        let fields = format!(r#""command": "run", "args": [{}]"#, list.join(", "));
        let found = findings("credential-in-args", &entry(&fields));
        found
            .into_iter()
            .map(|diagnostic| diagnostic.message)
            .collect()
    }

    #[test]
    fn credential_variables_are_reported_in_every_form_of_argument() {
        for args in [
            ["--api-key", "${VALUE}"].as_slice(),
            &["--api-key=${VALUE}"],
            &["${API_TOKEN}"],
            &["-H", "Authorization: Bearer ${VALUE}"],
            &["--header", "Authorization:${VALUE}"],
            &["--header=X-API-Key: ${VALUE}"],
            &["-e", "GITHUB_TOKEN=${VALUE}"],
            &["postgres://${DB_USER}:${VALUE}@h.example/db"],
            &["postgres://u:${DB_PASSWORD}@h.example/db"],
            &["--key", "${API_KEY}"],
        ] {
            assert_eq!(found(args).len(), 1, "{args:?}");
        }
    }

    #[test]
    fn a_literal_is_reported_once_with_a_word_on_process_lists() {
        for args in [
            r#"["--api-key", "not-a-real-token-4711"]"#,
            r#"["--api-key=not-a-real-token-4711"]"#,
        ] {
            let plugin = entry(&format!(r#""command": "run", "args": {args}"#));
            assert!(findings("credential-in-args", &plugin).is_empty());
            let found = findings("literal-secret", &plugin);
            assert_eq!(found.len(), 1, "{args}");
            let hint = found[0].hint.as_ref().unwrap();
            assert!(hint.contains("process lists"), "{hint}");
        }
    }

    #[test]
    fn paths_to_key_files_are_not_credentials() {
        for args in [
            ["--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}"].as_slice(),
            &["--key-file", "${KEY}"],
            &["--private-key-path", "${P}"],
            &["--token", "/run/secrets/token"],
            &["--client-key", "${HOST_PLUGIN_ROOT}/client.key"],
            &["--tls-key", "${TLS_KEY}"],
            &["--token=${TOKEN_FILE}.json"],
            &["--secret-file=${S}"],
        ] {
            assert!(found(args).is_empty(), "{args:?}");
        }
    }

    #[test]
    fn ordinary_arguments_are_left_alone() {
        for args in [
            ["-y", "@scope/server", "--port", "${PORT}"].as_slice(),
            &["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "image:latest"],
            &["--max-tokens", "${N}"],
            &["mcp-remote", "https://h.example/mcp"],
            &["--header", "X-Tenant-ID: ${TENANT_ID}"],
            &["${CLAUDE_PLUGIN_ROOT}/server.js"],
            &["postgres://${HOST}:5432/db"],
        ] {
            assert!(found(args).is_empty(), "{args:?}");
        }
    }
}
