//! `unpinned-package`: a runner fetches whatever version is newest, and gives it credentials.

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Endpoint, Field, Local};
use keyway_config::diagnostic::Severity;
use keyway_config::usage::{self, FieldRole};

use super::walk::shown;
use super::{Context, Report, Rule};
use crate::secrets::is_credential_name;

pub(super) const RULE: Rule = Rule {
    id: Code::UnpinnedPackage,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "With `--pedantic`: a runner such as `npx` gets credentials and a package without a version",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Local(local) = &server.endpoint else {
            continue;
        };
        let Some((runner, package)) = package(local) else {
            continue;
        };
        let text = package.template.as_str();
        let is_plain = package.template.is_literal();
        if !is_plain || is_pinned(runner, text) || !gets_credentials(server) {
            continue;
        }
        let message = format!(
            "`{}` is fetched in its newest version, and gets credentials",
            shown(text)
        );
        let mark = match runner {
            Runner::Npm => "@1.2.3",
            Runner::Python => "==1.2.3",
            Runner::Container => "@sha256:…",
        };
        report
            .field(document, server, package, message)
            .hint(format!("pin it: `{}{mark}`", shown(name_of(runner, text))));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    Npm,
    Python,
    Container,
}

/// Finds the package that a runner would fetch.
fn package(local: &Local) -> Option<(Runner, &Field)> {
    let program = local.command.template.as_str();
    let program = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let program = program.strip_suffix(".cmd").unwrap_or(program);
    let args = local.args.as_slice();
    let first = args.first().map(|arg| arg.template.as_str());
    let (runner, rest) = match (program, first) {
        ("npx" | "bunx", _) => (Runner::Npm, args),
        ("pnpm" | "yarn", Some("dlx")) | ("npm", Some("exec")) => (Runner::Npm, args.get(1..)?),
        ("uvx", _) => (Runner::Python, args),
        ("pipx", Some("run")) | ("uv", Some("tool")) => (Runner::Python, args.get(1..)?),
        ("docker" | "podman", Some("run")) => (Runner::Container, args.get(1..)?),
        _ => return None,
    };
    Some((runner, operand(runner, rest)?))
}

/// Finds the first word that is not a flag, nor the value of one.
fn operand(runner: Runner, args: &[Field]) -> Option<&Field> {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.template.as_str();
        if matches!(text, "--from" | "-p" | "--package") && runner != Runner::Container {
            return words.next();
        }
        if !text.starts_with('-') {
            let is_verb = runner == Runner::Python && text == "run";
            if !is_verb {
                return Some(word);
            }
            continue;
        }
        let takes_value = match runner {
            Runner::Container => !text.contains('=') && CONTAINER_VALUES.contains(&text),
            Runner::Python => matches!(text, "--with" | "--python" | "--index-url"),
            Runner::Npm => matches!(text, "--registry"),
        };
        if takes_value {
            words.next();
        }
    }
    None
}

fn is_pinned(runner: Runner, text: &str) -> bool {
    let is_path = text.starts_with(['.', '/', '~']);
    let is_version = |version: &str| version.starts_with(|c: char| c.is_ascii_digit() || c == 'v');
    is_path
        || match runner {
            Runner::Npm => {
                let version = text.get(1..).and_then(|rest| rest.split_once('@'));
                text.contains("://") || version.is_some_and(|(_, version)| is_version(version))
            }
            Runner::Python => {
                let version = text.split_once('@');
                text.contains("==") || version.is_some_and(|(_, version)| is_version(version))
            }
            Runner::Container => {
                let name = text.rsplit('/').next().unwrap_or(text);
                let tag = name.split_once(':').map(|(_, tag)| tag);
                text.contains("@sha256:") || tag.is_some_and(|tag| tag != "latest")
            }
        }
}

fn name_of(runner: Runner, text: &str) -> &str {
    match runner {
        Runner::Npm => {
            let at = text.get(1..).and_then(|rest| rest.find('@'));
            at.and_then(|at| text.get(..=at)).unwrap_or(text)
        }
        _ => text.split(['@', ':']).next().unwrap_or(text),
    }
}

/// Says whether the program gets something that is worth stealing.
fn gets_credentials(server: &DeclaredServer) -> bool {
    usage::fields(server).iter().any(|(role, field)| {
        let is_named = matches!(role, FieldRole::Env(name) if is_credential_name(name));
        let mut variables = field.template.variables();
        is_named || variables.any(|variable| is_credential_name(&variable.name))
    })
}

/// Flags of a container runner that take a word of their own.
const CONTAINER_VALUES: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "--mount",
    "--name",
    "-p",
    "--publish",
    "--network",
    "--net",
    "-u",
    "--user",
    "-w",
    "--workdir",
    "--entrypoint",
    "--platform",
    "--add-host",
    "--pull",
    "-l",
    "--label",
    "-m",
    "--memory",
    "--cpus",
];

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "unpinned-package";

    fn with(command: &str, args: &str) -> String {
        format!(r#""command": "{command}", "args": [{args}], "env": {{"API_KEY": "${{API_KEY}}"}}"#)
    }

    #[test]
    fn a_package_without_a_version_that_gets_credentials_is_reported() {
        for (command, args) in [
            ("npx", r#""-y", "@acme/srv""#),
            ("npx", r#""-y", "srv@latest""#),
            ("uvx", r#""srv""#),
            ("uvx", r#""--from", "acme-srv", "srv""#),
            (
                "docker",
                r#""run", "-i", "--rm", "-e", "API_KEY", "acme/srv""#,
            ),
            ("docker", r#""run", "acme/srv:latest""#),
        ] {
            assert_eq!(
                pointers(ID, &entry(&with(command, args))).len(),
                1,
                "{args}"
            );
        }
        let found = findings(ID, &entry(&with("npx", r#""@acme/srv@latest""#)));
        assert_eq!(found[0].hint.as_deref(), Some("pin it: `@acme/srv@1.2.3`"));
    }

    #[test]
    fn what_is_pinned_local_or_gets_nothing_is_not() {
        for (command, args) in [
            ("npx", r#""-y", "@acme/srv@1.2.3""#),
            ("npx", r#""./srv""#),
            ("uvx", r#""srv==1.2""#),
            ("docker", r#""run", "-e", "API_KEY", "acme/srv:1.2""#),
            ("node", r#""srv""#),
        ] {
            assert!(
                pointers(ID, &entry(&with(command, args))).is_empty(),
                "{args}"
            );
        }
        let fields = r#""command": "npx", "args": ["-y", "srv"]"#;
        assert!(pointers(ID, &entry(fields)).is_empty());
    }
}
