//! Recognising entries that run `mcp-remote`, a bridge that Keyway takes the place of.
//!
//! The arguments are those of its README (<https://github.com/geelen/mcp-remote>): an address, a port
//! for its callback, and options. Whatever starts it, the package's name stands before the address.

use keyway_secret::Secret;

use super::super::Listed;
use super::super::remote::{Recognised, Remote};

/// Looks at an entry of a client's file.
pub(super) fn recognise(entry: &Listed) -> Recognised {
    let Some(program) = &entry.program else {
        return Recognised::Other;
    };
    let mut words = vec![program.as_str()];
    // A launcher such as `sh -c` has the whole line in one argument.
    for arg in &entry.args {
        let arg = arg.expose().as_str();
        if words.iter().any(|word| is_package(word)) || !is_line(arg) {
            words.push(arg);
        } else {
            words.extend(arg.split_whitespace());
        }
    }
    let Some(package) = words.iter().position(|word| is_package(word)) else {
        return Recognised::Other;
    };
    let rest = words.get(package + 1..).unwrap_or_default();
    let Some(address) = rest.iter().position(|word| is_address(word)) else {
        return Recognised::Other;
    };
    read(entry, rest, address)
}

fn read(entry: &Listed, words: &[&str], address: usize) -> Recognised {
    let url = words.get(address).copied().unwrap_or_default();
    let transport = if url.trim_end_matches('/').ends_with("/sse") {
        "sse"
    } else {
        "http"
    };
    let mut remote = Remote::new(url, transport);
    let mut options = words.iter().enumerate();
    while let Some((at, word)) = options.next() {
        let unsupported = |option: &str| Recognised::Unsupported {
            option: option.to_owned(),
        };
        match *word {
            "--header" => {
                let value = options.next().map(|(_, value)| *value);
                let Some((name, value)) = value.and_then(|value| value.split_once(':')) else {
                    return unsupported(word);
                };
                let Some(value) = expanded(value.trim(), entry) else {
                    return unsupported(word);
                };
                remote.headers.push((name.trim().to_owned(), value));
            }
            "--transport" => {
                remote.transport = match options.next().map(|(_, value)| *value) {
                    Some("sse-only" | "sse-first") => "sse",
                    Some("http-only" | "http-first") => "http",
                    _ => return unsupported(word),
                }
            }
            // How it looks for its own callback, and what it prints, is Keyway's affair now.
            "--host" | "--auth-timeout" => drop(options.next()),
            "--allow-http" | "--debug" | "--silent" | "--enable-proxy" | "-y" | "--yes" => {}
            word if word.starts_with('-') => return unsupported(word),
            _ if at <= address => {}
            word if word.bytes().all(|byte| byte.is_ascii_digit()) => {}
            _ => return unsupported("an argument that is not known"),
        }
    }
    Recognised::Remote(remote)
}

/// Fills in `${NAME}` from the variables of the entry; other names stay references.
///
/// `None` if literal text would then stand beside a reference, since the text may be a secret.
fn expanded(value: &str, entry: &Listed) -> Option<Secret<String>> {
    let mut text = value.to_owned();
    for (name, known) in &entry.env {
        text = text.replace(&format!("${{{name}}}"), known.expose());
    }
    let text = text.trim().to_owned();
    if !text.contains("${") {
        return Some(Secret::new(text));
    }
    let bare = text.split_once(' ').map_or(text.as_str(), |(_, rest)| rest);
    let name = bare
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    name.filter(|name| is_name(name))?;
    Some(Secret::new(text))
}

/// Says whether a word names the package, in any version, or a file of it.
fn is_package(word: &str) -> bool {
    let word = word.strip_prefix("npm:").unwrap_or(word);
    let word = word.strip_prefix("--package=").unwrap_or(word);
    let is_name = |part: &str| part == PACKAGE || part.starts_with("mcp-remote@");
    !is_address(word) && word.split(['/', '\\']).any(is_name)
}

fn is_line(word: &str) -> bool {
    word.contains(' ') && word.split_whitespace().any(is_package)
}

fn is_address(word: &str) -> bool {
    word.starts_with("https://") || word.starts_with("http://")
}

const PACKAGE: &str = "mcp-remote";

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(program: &str, args: &[&str], env: &[(&str, &str)]) -> Listed {
        Listed {
            name: "s".to_owned(),
            program: Some(program.to_owned()),
            args: args.iter().map(|a| Secret::new((*a).to_owned())).collect(),
            env: env
                .iter()
                .map(|(n, v)| ((*n).to_owned(), Secret::new((*v).to_owned())))
                .collect(),
            ..Listed::default()
        }
    }

    fn remote(program: &str, args: &[&str], env: &[(&str, &str)]) -> Remote {
        match recognise(&entry(program, args, env)) {
            Recognised::Remote(remote) => remote,
            other => panic!("{program} {args:?}: {other:?}"),
        }
    }

    #[test]
    fn the_bridge_is_recognised_whatever_starts_it() {
        let url = "https://h.example/mcp";
        for (program, args) in [
            ("npx", vec!["mcp-remote", url]),
            ("npx", vec!["-y", "mcp-remote@latest", url]),
            (
                "/usr/bin/npx",
                vec!["--yes", "mcp-remote@0.1.37", url, "3334"],
            ),
            ("bunx", vec!["mcp-remote", url, "--debug"]),
            ("pnpm", vec!["dlx", "mcp-remote", url]),
            ("deno", vec!["run", "-A", "npm:mcp-remote", url]),
            ("mcp-remote", vec![url, "--allow-http"]),
            (
                "node",
                vec!["/opt/node_modules/mcp-remote/dist/proxy.js", url],
            ),
            ("cmd", vec!["/c", "npx", "mcp-remote", url]),
            (
                "sh",
                vec!["-c", "exec npx -y mcp-remote https://h.example/mcp"],
            ),
        ] {
            let found = remote(program, &args, &[]);
            assert_eq!(found.url.expose(), url, "{program} {args:?}");
            assert_eq!(found.transport, "http");
            assert!(found.headers.is_empty());
        }
    }

    #[test]
    fn other_entries_are_left_alone() {
        for (program, args) in [
            ("npx", vec!["-y", "server", "https://h.example/mcp-remote"]),
            ("npx", vec!["mcp-remote-client", "https://h.example/mcp"]),
            ("npx", vec!["mcp-remote"]),
            ("keyway", vec!["run", "--server", "mcp"]),
        ] {
            let found = recognise(&entry(program, &args, &[]));
            assert!(matches!(found, Recognised::Other), "{args:?}");
        }
    }

    #[test]
    fn headers_are_read_with_the_variables_of_the_entry() {
        let url = "https://h.example/sse";
        let args = [
            "mcp-remote",
            url,
            "--header",
            "Authorization:${AUTH}",
            "--header",
            "X-A: b",
        ];
        let found = remote("npx", &args, &[("AUTH", "Bearer t")]);
        assert_eq!(found.transport, "sse");
        let headers: Vec<(&str, &str)> = found
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose().as_str()))
            .collect();
        assert_eq!(headers, [("Authorization", "Bearer t"), ("X-A", "b")]);
        let kept = remote(
            "npx",
            &["mcp-remote", url, "--header", "A: Bearer ${T}"],
            &[],
        );
        assert_eq!(kept.headers[0].1.expose(), "Bearer ${T}");
    }

    #[test]
    fn what_has_no_counterpart_is_named_and_not_dropped() {
        let url = "https://h.example/mcp";
        for more in [
            vec!["--static-oauth-client-info", "{}"],
            vec!["--ignore-tool", "delete*"],
            vec!["--resource", "r"],
            vec!["--header", "no-colon"],
            vec!["--header", "X-Key: abc${T}"],
            vec!["--transport", "other"],
        ] {
            let mut args = vec!["mcp-remote", url];
            args.extend(&more);
            let found = recognise(&entry("npx", &args, &[]));
            let option = more.first().copied().unwrap();
            assert!(
                matches!(&found, Recognised::Unsupported { option: named } if named == option),
                "{more:?}: {found:?}"
            );
        }
    }
}
