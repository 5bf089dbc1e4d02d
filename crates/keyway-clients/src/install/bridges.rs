//! Programs that stand between a client and a remote server, which Keyway takes the place of:
//! `mcp-remote`, `supergateway` and `mcp-proxy`.
//!
//! The options are those of their READMEs (<https://github.com/supercorp-ai/supergateway>,
//! <https://github.com/sparfenyuk/mcp-proxy>). An option that is not known leaves the entry alone.

mod mcp_remote;

use keyway_secret::Secret;

use super::Listed;
use super::remote::{Recognised, Remote};

/// Looks at an entry that starts a program.
#[must_use]
pub fn recognise(entry: &Listed) -> Recognised {
    match mcp_remote::recognise(entry) {
        Recognised::Other => {}
        found => return found,
    }
    let Some(program) = &entry.program else {
        return Recognised::Other;
    };
    let args = entry.args.iter().map(|arg| arg.expose().as_str());
    let words: Vec<&str> = std::iter::once(program.as_str()).chain(args).collect();
    for (package, read) in PROGRAMS {
        if let Some(at) = words.iter().position(|word| is_named(word, package)) {
            return read(words.get(at + 1..).unwrap_or_default(), entry);
        }
    }
    Recognised::Other
}

type Reader = fn(&[&str], &Listed) -> Recognised;

const PROGRAMS: &[(&str, Reader)] = &[("supergateway", supergateway), ("mcp-proxy", mcp_proxy)];

/// `--sse URL` or `--streamableHttp URL`; with `--stdio` it serves a program, which is another thing.
fn supergateway(words: &[&str], _: &Listed) -> Recognised {
    let mut remote: Option<Remote> = None;
    let mut headers = Vec::new();
    for (option, value) in options(words) {
        match option {
            "--sse" | "--streamableHttp" => {
                let word = if option == "--sse" { "sse" } else { "http" };
                remote = value.map(|url| Remote::new(url, word));
            }
            "--stdio" => return Recognised::Other,
            "--oauth2Bearer" => {
                let token = value.map(|token| Secret::new(format!("Bearer {token}")));
                headers.extend(token.map(|it| ("Authorization".to_owned(), it)));
            }
            "--header" => match value.and_then(|it| it.split_once(':')) {
                Some((name, value)) => {
                    let value = Secret::new(value.trim().to_owned());
                    headers.push((name.trim().to_owned(), value));
                }
                None => return unsupported(option),
            },
            "--outputTransport" | "--logLevel" | "--protocolVersion" => {}
            other => return unsupported(other),
        }
    }
    with_headers(remote, headers)
}

/// `mcp-proxy [--transport sse|streamablehttp] [--headers NAME VALUE] URL`; with a program in the
/// place of the URL it serves that.
fn mcp_proxy(words: &[&str], entry: &Listed) -> Recognised {
    let mut headers = Vec::new();
    let mut transport = "sse";
    let mut remote = None;
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "--transport" => match words.next() {
                Some("sse") => transport = "sse",
                Some("streamablehttp") => transport = "http",
                _ => return unsupported(word),
            },
            "--transport=sse" => transport = "sse",
            "--transport=streamablehttp" => transport = "http",
            "-H" | "--headers" => match (words.next(), words.next()) {
                (Some(name), Some(value)) => {
                    headers.push((name.to_owned(), Secret::new(value.to_owned())));
                }
                _ => return unsupported(word),
            },
            "--debug" => {}
            word if is_address(word) => remote = Some(word),
            word if word.starts_with('-') && remote.is_none() => return unsupported(word),
            _ => return Recognised::Other,
        }
    }
    let token = entry
        .env
        .iter()
        .find(|(name, _)| name == "API_ACCESS_TOKEN");
    if let Some((_, token)) = token {
        let value = Secret::new(format!("Bearer {}", token.expose()));
        headers.push(("Authorization".to_owned(), value));
    }
    with_headers(remote.map(|url| Remote::new(url, transport)), headers)
}

fn with_headers(remote: Option<Remote>, headers: Vec<(String, Secret<String>)>) -> Recognised {
    let Some(mut remote) = remote.filter(|it| is_address(it.url().expose())) else {
        return Recognised::Other;
    };
    remote.headers = headers;
    Recognised::Remote(remote)
}

/// Pairs options with their values, `--name value` or `--name=value`.
fn options<'a>(words: &[&'a str]) -> Vec<(&'a str, Option<&'a str>)> {
    let mut pairs = Vec::new();
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((name, value)) => pairs.push((name, Some(value))),
            None => pairs.push((word, words.next_if(|next| !next.starts_with("--")))),
        }
    }
    pairs
}

fn unsupported(option: &str) -> Recognised {
    Recognised::Unsupported {
        option: option.to_owned(),
    }
}

/// Says whether a word names a package, in any version, or a file of it.
fn is_named(word: &str, package: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let bare = name.split_once('@').map_or(name, |(bare, _)| bare);
    !is_address(word) && bare == package
}

fn is_address(word: &str) -> bool {
    word.starts_with("https://") || word.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(program: &str, args: &[&str], env: &[(&str, &str)]) -> Listed {
        let secret = |text: &&str| Secret::new((*text).to_owned());
        Listed {
            name: "s".to_owned(),
            program: Some(program.to_owned()),
            args: args.iter().map(secret).collect(),
            env: env
                .iter()
                .map(|(n, v)| ((*n).to_owned(), secret(v)))
                .collect(),
            ..Listed::default()
        }
    }

    #[test]
    fn bridges_to_an_address_are_recognised_with_their_headers() {
        for (program, args, transport, header) in [
            ("npx", vec!["-y", "supergateway", "--sse", URL], "sse", None),
            (
                "npx",
                vec![
                    "-y",
                    "supergateway@3",
                    "--streamableHttp",
                    URL,
                    "--oauth2Bearer",
                    "t",
                ],
                "http",
                Some(("Authorization", "Bearer t")),
            ),
            (
                "npx",
                vec![
                    "supergateway",
                    "--header",
                    "X-Key: k",
                    "--sse",
                    URL,
                    "--logLevel",
                    "none",
                ],
                "sse",
                Some(("X-Key", "k")),
            ),
            ("uvx", vec!["mcp-proxy", URL], "sse", None),
            (
                "/usr/bin/mcp-proxy",
                vec!["--transport", "streamablehttp", "-H", "X-Key", "k", URL],
                "http",
                Some(("X-Key", "k")),
            ),
        ] {
            let Recognised::Remote(found) = recognise(&entry(program, &args, &[])) else {
                panic!("{args:?}");
            };
            assert_eq!(
                (found.url.expose().as_str(), found.transport),
                (URL, transport)
            );
            let headers = found.headers.first();
            let headers = headers.map(|(name, it)| (name.as_str(), it.expose().as_str()));
            assert_eq!(headers, header, "{args:?}");
        }
        let token = [("API_ACCESS_TOKEN", "t")];
        let found = recognise(&entry("mcp-proxy", &[URL], &token));
        let Recognised::Remote(found) = found else {
            panic!("{found:?}");
        };
        assert_eq!(found.headers[0].1.expose(), "Bearer t");
    }

    #[test]
    fn bridges_that_serve_a_program_are_left_alone() {
        for (program, args) in [
            ("npx", vec!["supergateway", "--stdio", "uvx mcp-server-git"]),
            ("mcp-proxy", vec!["--debug", "uvx", "mcp-server-fetch"]),
            ("mcp-proxy", vec![]),
            ("node", vec!["server.js", "supergateway-like"]),
        ] {
            let found = recognise(&entry(program, &args, &[]));
            assert!(matches!(found, Recognised::Other), "{args:?}: {found:?}");
        }
        let found = recognise(&entry("mcp-proxy", &["--port", "8080", URL], &[]));
        assert!(matches!(found, Recognised::Unsupported { .. }), "{found:?}");
    }

    const URL: &str = "https://h.example/mcp";
}
