//! Credentials on a command line: after a flag, in `KEY=VALUE`, in a header, or by themselves.

use std::ops::Range;

use super::Reason;
use super::judge::{Hit, Scrutiny, judge, judge_named};
use super::limits::MOST_FIELDS;
use super::literal::{self, NamedPlace};
use super::name::Promise;
use super::structure::scan;

/// What `value` holds, given the arguments before it.
pub(super) fn hits(value: &str, args: &[&str], index: usize) -> Vec<Hit> {
    let before = index
        .checked_sub(1)
        .and_then(|i| args.get(i))
        .copied()
        .unwrap_or_default();
    let mut hits = Vec::new();
    if value.starts_with('-') && value.len() > 1 {
        flag_with_value(value, &mut hits);
        attached_password(value, near(args, index), &mut hits);
    } else if before.starts_with('-') && !before.contains('=') {
        value_after_flag(value, before, &mut hits);
    } else if is_lone_token(value) {
        hits.push(Hit {
            range: 0..value.len(),
            reason: Reason::Flag,
            name: None,
        });
    }
    hits.extend(scan(value, Scrutiny::Normal));
    if value.contains(' ') {
        hits.extend(command_line(value));
    }
    hits
}

/// The same for a text that holds a whole command line.
pub(super) fn command_line(text: &str) -> Vec<Hit> {
    let mut ranges = words(text);
    ranges.truncate(MOST_FIELDS);
    let args: Vec<&str> = ranges
        .iter()
        .map(|r| text.get(r.clone()).unwrap_or_default())
        .collect();
    let mut all = Vec::new();
    for (index, (range, word)) in ranges.iter().zip(&args).enumerate() {
        if word.len() < text.len() && !word.contains(' ') {
            let found = hits(word, &args, index);
            all.extend(found.into_iter().map(|hit| hit.shifted(range.start)));
        } else if word.len() < text.len() {
            let before = index
                .checked_sub(1)
                .and_then(|i| args.get(i))
                .copied()
                .unwrap_or_default();
            let mut found = Vec::new();
            value_after_flag(word, before, &mut found);
            all.extend(found.into_iter().map(|hit| hit.shifted(range.start)));
        }
    }
    all
}

/// `--flag=value`, `-eKEY=VALUE`, `-HName: value`.
fn flag_with_value(value: &str, hits: &mut Vec<Hit>) {
    if let Some(pair) = ["-e", "-H"]
        .iter()
        .find_map(|flag| value.strip_prefix(flag))
        && !pair.is_empty()
        && !value.starts_with("--")
    {
        pair_in(value, value.len() - pair.len(), hits);
        return;
    }
    let Some((flag, rest)) = value.split_once('=') else {
        return;
    };
    if is_pair_flag(flag) {
        pair_in(value, value.len() - rest.len(), hits);
        return;
    }
    let field = flag.trim_start_matches('-');
    let range = flag.len() + 1..value.len();
    judge_named(value, range, field, (Scrutiny::Normal, Reason::Flag), hits);
}

/// The arguments around one of them, as many as belong to one program.
fn near<'a, 'b>(args: &'a [&'b str], index: usize) -> &'a [&'b str] {
    let end = args.len().min(index.saturating_add(NEAR));
    args.get(index.saturating_sub(NEAR)..end)
        .unwrap_or_default()
}

/// Says whether a program takes its password as `-pPASSWORD`.
pub(crate) fn takes_attached_password(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    ATTACHED_PASSWORD.contains(&name)
}

/// Clients of databases, and what types a password for another program.
const ATTACHED_PASSWORD: &[&str] = &[
    "mariadb",
    "mariadb-admin",
    "mariadb-dump",
    "mysql",
    "mysqladmin",
    "mysqldump",
    "mysqlimport",
    "sshpass",
];

/// `-pPASSWORD`, which the clients of one family of databases demand without a blank.
fn attached_password(value: &str, args: &[&str], hits: &mut Vec<Hit>) {
    let Some(password) = value.strip_prefix("-p") else {
        return;
    };
    let client = |arg: &&str| {
        ["mysql", "mariadb", "sshpass"]
            .iter()
            .any(|name| arg.contains(name))
    };
    let port = password.bytes().all(|b| b.is_ascii_digit() || b == b':');
    // The program may be the command itself, which is not among its arguments; a user beside it
    // says as much.
    let user = |arg: &&str| {
        let attached = arg.strip_prefix("-u").is_some_and(|user| !user.is_empty());
        (attached || *arg == "-u" || *arg == "--user") && !arg.starts_with("--u=")
    };
    if !port && (args.iter().any(client) || args.iter().any(user)) {
        let place = NamedPlace {
            promise: Promise::PASSWORD,
            name: None,
        };
        judge(value, 2..value.len(), place, Reason::Flag, hits);
    }
}

fn value_after_flag(value: &str, flag: &str, hits: &mut Vec<Hit>) {
    let field = flag.trim_start_matches('-');
    if is_pair_flag(flag) {
        pair_in(value, 0, hits);
    } else if matches!(flag, "-u" | "--user") {
        if let Some((user, password)) = value.split_once(':') {
            let numeric = password.bytes().all(|b| b.is_ascii_digit());
            if !numeric && !user.is_empty() && !password.starts_with("//") {
                let place = NamedPlace {
                    promise: Promise::PASSWORD,
                    name: None,
                };
                judge(
                    value,
                    user.len() + 1..value.len(),
                    place,
                    Reason::Flag,
                    hits,
                );
            }
        }
    } else if field.len() == 1 && flag.len() == 2 {
        if matches!(field, "t" | "k" | "s" | "a" | "p" | "P" | "w" | "x")
            && !value.contains(['/', '\\', '@', ':'])
        {
            let place = NamedPlace {
                promise: Promise::WEAK,
                name: None,
            };
            judge(value, 0..value.len(), place, Reason::Flag, hits);
        }
    } else {
        let how = (Scrutiny::Normal, Reason::Flag);
        judge_named(value, 0..value.len(), field, how, hits);
    }
}

/// Flags whose value is itself a name with a value.
fn is_pair_flag(flag: &str) -> bool {
    matches!(
        flag,
        "-e" | "--env"
            | "-H"
            | "--header"
            | "--headers"
            | "--http-header"
            | "--build-arg"
            | "--set-env"
            | "--env-var"
            | "--var"
            | "--set"
            | "--define"
            | "-D"
    )
}

/// `KEY=VALUE` or `Name: value` from `start` on.
fn pair_in(value: &str, start: usize, hits: &mut Vec<Hit>) {
    let pair = value.get(start..).unwrap_or_default();
    let Some(mark) = pair.find(['=', ':']) else {
        return;
    };
    let field = pair
        .get(..mark)
        .unwrap_or_default()
        .trim()
        .trim_matches(['"', '\'']);
    let header = pair.get(mark..).is_some_and(|rest| rest.starts_with(':'));
    let reason = if header {
        Reason::Header
    } else {
        Reason::Assignment
    };
    let range = start + mark + 1..value.len();
    judge_named(value, range, field, (Scrutiny::Normal, reason), hits);
}

/// A long word without any structure that mixes capitals, small letters and digits, or a key of 32
/// bytes in hexadecimal; a digest would say of what it is one.
fn is_lone_token(value: &str) -> bool {
    let place = NamedPlace {
        promise: Promise::WEAK,
        name: None,
    };
    let is_mixed = value.bytes().any(|b| b.is_ascii_uppercase())
        && value.bytes().any(|b| b.is_ascii_lowercase());
    let is_key = value.len() == 64 && value.bytes().all(|b| b.is_ascii_hexdigit());
    value.len() >= 32
        && value.bytes().all(|b| b.is_ascii_alphanumeric())
        && (is_mixed || is_key)
        && value.bytes().filter(u8::is_ascii_digit).count() >= 3
        && literal::credential_in(value, place).is_some()
}

/// The words of a shell line, without their quotes.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let trimmed = rest.trim_start();
        let start = at + (rest.len() - trimmed.len());
        let Some(first) = trimmed.chars().next() else {
            break;
        };
        let quoted = if matches!(first, '"' | '\'') {
            trimmed.get(1..).and_then(|inner| inner.find(first))
        } else {
            None
        };
        if let Some(length) = quoted {
            found.push(start + 1..start + 1 + length);
            at = start + length + 2;
        } else {
            let length = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
            found.push(start..start + length);
            at = start + length;
        }
    }
    found
}

/// How far from a password the name of its program is looked for.
const NEAR: usize = 32;
