//! A scanner for shell text: what it expands, minus what it assigns.

use std::collections::HashSet;

/// Returns the names that `text` expands without having assigned them anywhere.
///
/// A script that reads in another file may get anything from there, so nothing is claimed of it.
pub(super) fn read(text: &str) -> Vec<String> {
    let mut scanner = Scanner::default();
    scanner.scan(text);
    if scanner.sources {
        return Vec::new();
    }
    let assigned = scanner.assigned;
    let mut names = scanner.read;
    names.retain(|name| !assigned.contains(name) && is_from_outside(name));
    names
}

#[derive(Default)]
struct Scanner {
    read: Vec<String>,
    assigned: HashSet<String>,
    sources: bool,
}

impl Scanner {
    fn scan(&mut self, text: &str) {
        let mut quoted_end: Option<String> = None;
        let mut in_single_quotes = false;
        for line in text.lines() {
            if let Some(end) = &quoted_end {
                if line.trim() == end {
                    quoted_end = None;
                }
                continue;
            }
            let code = visible(line, &mut in_single_quotes);
            quoted_end = quoted_here_document(line);
            self.assignments(&code);
            self.expansions(&code);
        }
    }

    /// Finds `NAME=`, `read NAME`, `for NAME in` and files that are read in.
    fn assignments(&mut self, code: &str) {
        let mut previous = "";
        let mut declares = false;
        for word in code.split(|c: char| c.is_whitespace() || ";&|()`".contains(c)) {
            let word = word.trim_matches('"');
            if word.is_empty() {
                continue;
            }
            let name: String = word.chars().take_while(|&c| is_name(c)).collect();
            let rest = word.get(name.len()..).unwrap_or_default();
            let assigns = rest.starts_with('=') || rest.starts_with("+=");
            let is_declared = declares && rest.is_empty();
            let is_loop = previous == "for" || previous == "select";
            if !name.is_empty() && (assigns || is_declared || is_loop) {
                self.assigned.insert(name);
            }
            self.sources |= word == "source" || (word == "." && is_command_start(previous));
            declares = matches!(word, "read" | "local" | "declare" | "getopts" | "mapfile")
                || (declares && !word.contains(['=', '<', '>']));
            previous = word;
        }
    }

    /// Finds `$NAME` and `${NAME…}`.
    fn expansions(&mut self, code: &str) {
        for (at, _) in code.match_indices('$') {
            let before = code.get(..at).unwrap_or_default();
            let escapes = before.chars().rev().take_while(|&c| c == '\\').count();
            if escapes % 2 == 1 {
                continue;
            }
            let rest = code.get(at + 1..).unwrap_or_default();
            let (inside, braced) = rest
                .strip_prefix('{')
                .map_or((rest, false), |inside| (inside, true));
            let name: String = inside.chars().take_while(|&c| is_name(c)).collect();
            let tail = inside.get(name.len()..).unwrap_or_default();
            let is_optional = braced && has_default(tail);
            if !name.is_empty() && !is_optional {
                self.read.push(name);
            }
        }
    }
}

/// The line without what the shell does not expand: single quotes and comments.
fn visible(line: &str, in_single_quotes: &mut bool) -> String {
    let mut code = String::with_capacity(line.len());
    let mut in_double_quotes = false;
    let mut previous = ' ';
    for c in line.chars() {
        match c {
            '\'' if !in_double_quotes && previous != '\\' => *in_single_quotes = !*in_single_quotes,
            '"' if !*in_single_quotes && previous != '\\' => {
                in_double_quotes = !in_double_quotes;
                code.push(c);
            }
            '#' if !*in_single_quotes && !in_double_quotes && previous.is_whitespace() => break,
            _ if *in_single_quotes => {}
            _ => code.push(c),
        }
        previous = c;
    }
    code
}

/// The word that ends a here-document whose text is not expanded, as in `<<'EOF'`.
fn quoted_here_document(line: &str) -> Option<String> {
    let (_, after) = line.split_once("<<")?;
    let after = after.trim_start_matches('-').trim_start();
    let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let word = after.split(quote).nth(1)?;
    Some(word.to_owned())
}

/// `:-text`, `-text`, `:=text` or `=text`, with some text.
fn has_default(tail: &str) -> bool {
    let tail = tail.strip_prefix(':').unwrap_or(tail);
    let mut characters = tail.chars();
    matches!(characters.next(), Some('-' | '=')) && !matches!(characters.next(), None | Some('}'))
}

fn is_command_start(previous: &str) -> bool {
    previous.is_empty() || matches!(previous, "then" | "do" | "else" | "&&" | "||" | "{")
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Environment variables are written in capitals; the shell's own are set by it.
fn is_from_outside(name: &str) -> bool {
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(is_capital)
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && !name.starts_with("BASH")
        && !SET_BY_THE_SHELL.contains(&name)
}

const SET_BY_THE_SHELL: &[&str] = &[
    "EUID",
    "FUNCNAME",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "LINENO",
    "MACHTYPE",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "OSTYPE",
    "PIPESTATUS",
    "PPID",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHLVL",
    "UID",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hmac_script_of_the_contract_needs_its_secret_and_its_key() {
        let script = "#!/bin/sh\nset -eu\nTIMESTAMP=$(date -Iseconds)\n\
            SIGNATURE=$(printf '%s' \"$TIMESTAMP\" | openssl dgst -sha256 -hmac \"$SIGNING_SECRET\" | awk '{print $NF}')\n\
            cat <<EOF\n{\"X-Timestamp\": \"$TIMESTAMP\", \"X-Signature\": \"$SIGNATURE\", \"X-API-Key\": \"${API_KEY}\"}\nEOF\n";
        assert_eq!(read(script), ["SIGNING_SECRET", "API_KEY"]);
    }

    #[test]
    fn variables_that_the_script_assigns_are_its_own() {
        for script in [
            "A=1; echo $A",
            "export A=1\necho \"$A\"",
            "read -r A\necho $A",
            "for A in 1 2; do echo $A; done",
            "local A\necho $A",
            "A=$(cmd) && echo ${A}",
        ] {
            assert!(read(script).is_empty(), "{script}");
        }
    }

    #[test]
    fn text_that_is_not_expanded_and_names_of_the_shell_are_skipped() {
        for script in [
            "# $A",
            "echo x # $A",
            "echo '$A'",
            "awk '\n$A\n'",
            "echo \\$A",
            "cat <<'EOF'\n$A\nEOF",
            "echo ${A:-x}",
            "echo $PWD $1 $? $lower ${BASH_SOURCE[0]}",
            ". ./.env\necho $A",
        ] {
            assert!(read(script).is_empty(), "{script}");
        }
    }

    #[test]
    fn required_and_empty_defaults_still_read_the_variable() {
        for script in [
            "echo ${A:?missing}",
            "echo \"${A:-}\"",
            "echo ${A%x}",
            "echo it\\'s $A",
        ] {
            assert_eq!(read(script), ["A"], "{script}");
        }
    }
}
