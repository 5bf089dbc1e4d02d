//! URLs and connection strings: user info, query fields, data source names.

use std::ops::Range;

use super::Reason;
use super::appearance::{is_uuid, trimmed};
use super::example_login::is_example;
use super::judge::{Hit, Scrutiny, judge};
use super::limits::{Budget, LONGEST_VALUE, window};
use super::literal::NamedPlace;
use super::name::{self, Promise};

/// Finds the credentials in every URL of `text`, and in a data source name that is all of it.
pub(super) fn scan(text: &str, scrutiny: Scrutiny, hits: &mut Vec<Hit>) {
    let mut budget = Budget::new();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("://")) {
        let mark = from + found;
        from = mark + 3;
        let end = from + end_of_url(window(text, from, LONGEST_VALUE));
        if !budget.take(end - from) {
            break;
        }
        let url = Url {
            text,
            scheme: scheme_before(text, mark),
            rest: from..end,
        };
        url.user_info(scrutiny, hits);
        url.query(scrutiny, hits);
        if scrutiny == Scrutiny::Normal {
            url.path(hits);
        }
    }
    if text.len() <= LONGEST_VALUE && !text.contains("://") && text.contains('@') {
        data_source_name(text, hits);
    }
}

/// A long part without structure that mixes capitals, small letters and digits, or 32 and more
/// hexadecimal digits that are not a commit's.
fn is_key_in_path(part: &str) -> bool {
    let is_plain = part
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'='));
    let has = |test: fn(&u8) -> bool| part.bytes().any(|b| test(&b));
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = part.bytes().all(|b| b.is_ascii_hexdigit());
    let is_long_hex = is_hex && part.len() >= 32 && part.len() != 40 && digits >= 6;
    is_plain && part.len() >= 24 && (is_mixed && digits >= 3 || is_long_hex)
}

/// A site with pages to read: what is long in its paths is the number of a document.
fn is_for_people(host: &str) -> bool {
    let first = host.split('.').next().unwrap_or_default();
    PAGES.contains(&first)
}

/// `workspaces`, `projects`, `genie`: what follows is the number of one of them.
fn is_collection(part: &str) -> bool {
    let is_plural = part.len() >= 4
        && part.ends_with('s')
        && part.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    (is_plural && !KEYED.contains(&part)) || COLLECTIONS.contains(&part)
}

/// `Roadmap-8492a87e…`: the title of a page, then its number.
fn is_titled(part: &str) -> bool {
    part.rsplit_once('-').is_some_and(|(title, number)| {
        let mut words = title.split('-');
        number.len() == 32
            && number.bytes().all(|b| b.is_ascii_hexdigit())
            && words.all(|word| word.bytes().all(|b| b.is_ascii_alphabetic()))
            && title.len() > SHORTEST_TITLE
    })
}

struct Url<'a> {
    text: &'a str,
    scheme: &'a str,
    /// All after `://`.
    rest: Range<usize>,
}

impl Url<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.rest.clone()).unwrap_or_default()
    }

    fn user_info(&self, scrutiny: Scrutiny, hits: &mut Vec<Hit>) {
        let rest = self.rest();
        let Some(at) = self.end_of_user_info() else {
            return;
        };
        let info = rest.get(..at).unwrap_or_default();
        let host = rest.get(at + 1..).unwrap_or_default();
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        let start = self.rest.start;
        match info.split_once(':') {
            // The key is the user, as several vendors want it.
            Some((key, "")) if key.len() >= SHORTEST_KEY => {
                let place = NamedPlace {
                    promise: Promise::WEAK,
                    name: None,
                };
                let range = start..start + key.len();
                judge(self.text, range, place, Reason::UrlUserInfo, hits);
            }
            Some((user, password)) => {
                if is_example(user, password, host) {
                    return;
                }
                let range = start + user.len() + 1..start + info.len();
                let place = NamedPlace {
                    promise: scrutiny_for(scrutiny),
                    name: None,
                };
                let before = hits.len();
                judge(self.text, range, place, self.reason(), hits);
                self.name_new(hits, before);
            }
            None if info.len() >= SHORTEST_KEY && !host.ends_with("sentry.io") => {
                let place = NamedPlace {
                    promise: Promise::WEAK,
                    name: None,
                };
                judge(
                    self.text,
                    start..start + info.len(),
                    place,
                    Reason::UrlUserInfo,
                    hits,
                );
            }
            None => {}
        }
    }

    /// Where the `@` stands; a password may hold characters that should have been encoded.
    fn end_of_user_info(&self) -> Option<usize> {
        let rest = self.rest();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some(at) = authority.rfind('@') {
            return Some(at);
        }
        let (_, after) = authority.split_once(':')?;
        let port = after.bytes().all(|b| b.is_ascii_digit());
        let at = rest.find('@')?;
        let host = rest.get(at + 1..)?.split(['/', '?', ':']).next()?;
        (!self.is_web() && !port && !host.is_empty()).then_some(at)
    }

    fn query(&self, scrutiny: Scrutiny, hits: &mut Vec<Hit>) {
        let rest = self.rest();
        let Some(mark) = rest.find('?') else { return };
        let mut at = mark + 1;
        for pair in rest.get(at..).unwrap_or_default().split(['&', '#']) {
            if let Some((field, value)) = pair.split_once('=')
                && let Some(promise) = name::classify_query(field)
            {
                let start = self.rest.start + at + field.len() + 1;
                let place = NamedPlace {
                    promise: scrutiny.apply(promise),
                    name: Some(field),
                };
                let range = start..start + value.len();
                judge(self.text, range, place, Reason::UrlQuery, hits);
            }
            at += pair.len() + 1;
        }
    }

    /// Finds a part of the path that is a key by itself, as in `/s/KEY/mcp`.
    fn path(&self, hits: &mut Vec<Hit>) {
        let rest = self.rest();
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let mut parts = rest.split('/');
        let host = parts.next().unwrap_or_default();
        // Commits and files have long names there.
        let is_of_files = ["git", "registry", "cdn"]
            .iter()
            .any(|it| host.contains(it));
        if !self.is_web() || is_of_files || is_for_people(host) {
            return;
        }
        let mut at = self.rest.start + host.len() + 1;
        let mut before = "";
        for part in parts {
            let collection = std::mem::replace(&mut before, part);
            if is_uuid(part) && HOSTS_OF_SECRET_ADDRESSES.contains(&host) {
                let place = NamedPlace {
                    promise: Promise::TOKEN,
                    name: None,
                };
                let range = at..at + part.len();
                judge(self.text, range, place, Reason::UrlPath, hits);
            }
            if is_key_in_path(part) && !is_collection(collection) && !is_titled(part) {
                let place = NamedPlace {
                    promise: Promise::WEAK,
                    name: None,
                };
                let range = at..at + part.len();
                judge(self.text, range, place, Reason::UrlPath, hits);
            }
            at += part.len() + 1;
        }
    }

    fn is_web(&self) -> bool {
        [
            "http", "https", "ws", "wss", "ftp", "sftp", "ssh", "git", "socks5",
        ]
        .iter()
        .any(|web| self.scheme.eq_ignore_ascii_case(web))
            || self.scheme.starts_with("git+")
    }

    fn reason(&self) -> Reason {
        if self.is_web() {
            Reason::UrlUserInfo
        } else {
            Reason::ConnectionString
        }
    }

    /// Names hits after the sort of database.
    fn name_new(&self, hits: &mut [Hit], before: usize) {
        let variable = if self.is_web() {
            None
        } else {
            Some(password_variable(self.scheme))
        };
        for hit in hits.iter_mut().skip(before) {
            hit.name = variable.map(str::to_owned);
        }
    }
}

fn scrutiny_for(scrutiny: Scrutiny) -> Promise {
    // Prose is full of `user:password@host`; the example test has removed those already.
    match scrutiny {
        Scrutiny::Normal => Promise::PASSWORD,
        Scrutiny::Strict => Promise::PASSWORD.weakened(),
    }
}

fn password_variable(scheme: &str) -> &'static str {
    let scheme = scheme.to_ascii_lowercase();
    let known = [
        ("postgres", "POSTGRES_PASSWORD"),
        ("mysql", "MYSQL_PASSWORD"),
        ("mariadb", "MYSQL_PASSWORD"),
        ("mongo", "MONGODB_PASSWORD"),
        ("redis", "REDIS_PASSWORD"),
        ("amqp", "RABBITMQ_PASSWORD"),
        ("clickhouse", "CLICKHOUSE_PASSWORD"),
    ];
    known
        .iter()
        .find(|(start, _)| scheme.starts_with(start))
        .map_or("DATABASE_PASSWORD", |k| k.1)
}

/// Blanks and quotes end a URL, and the brace that closes `${X:-url}`.
fn end_of_url(rest: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return at,
            '}' => depth -= 1,
            '"' | '\'' | '`' | '\\' => return at,
            c if c.is_whitespace() && depth == 0 => return at,
            _ => {}
        }
    }
    rest.len()
}

fn scheme_before(text: &str, mark: usize) -> &str {
    let head = text.get(..mark).unwrap_or_default();
    let length = head
        .bytes()
        .rev()
        .take(32)
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
        .count();
    head.get(mark - length..).unwrap_or_default()
}

/// `user:password@tcp(host)/db` and `user:password@host:port/db`.
fn data_source_name(text: &str, hits: &mut Vec<Hit>) {
    let range = trimmed(text, 0..text.len());
    let body = text.get(range.clone()).unwrap_or_default();
    let Some((info, place)) = body.rsplit_once('@') else {
        return;
    };
    let Some((user, password)) = info.split_once(':') else {
        return;
    };
    let host = place.split(['/', '?']).next().unwrap_or_default();
    let driver = ["tcp(", "unix(", "(", "tcp6("]
        .iter()
        .any(|start| place.starts_with(start));
    let bare = host
        .trim_start_matches(|c: char| c.is_ascii_lowercase())
        .trim_matches(['(', ')']);
    let plain = is_host(host) && !password.contains('/') && !PACKAGE_SCHEMES.contains(&user);
    let spaced = body.contains(char::is_whitespace) || user.contains(['/', '"', '{', '=']);
    if spaced || user.is_empty() || !(driver || plain) {
        return;
    }
    let named = host
        .split('(')
        .nth(1)
        .map_or(host, |inner| inner.trim_end_matches(')'));
    if is_example(user, password, named) || is_example(user, password, bare) {
        return;
    }
    let start = range.start + user.len() + 1;
    let place = NamedPlace {
        promise: Promise::PASSWORD,
        name: None,
    };
    judge(
        text,
        start..start + password.len(),
        place,
        Reason::ConnectionString,
        hits,
    );
}

fn is_host(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric =
        name.split('.').count() == 4 && name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let domain = name.contains('.')
        && last.len() >= 2
        && last.bytes().all(|b| b.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    port.bytes().all(|b| b.is_ascii_digit()) && (name == "localhost" || numeric || domain)
}

/// How sites begin that a person opens in a browser.
const PAGES: &[&str] = &[
    "www", "docs", "drive", "view", "wiki", "blog", "help", "support", "share", "forum",
];

/// Words for one thing of many that are not a plural.
const COLLECTIONS: &[&str] = &["genie", "document", "folder", "file", "page", "viewer"];

/// Plurals after which a key stands.
const KEYED: &[&str] = &[
    "webhooks", "hooks", "services", "keys", "tokens", "secrets", "actions",
];

/// The shortest key that stands in front of a host without a password.
const SHORTEST_KEY: usize = 20;

/// Hosts whose addresses are secrets as a whole: the number in them opens a person's accounts.
const HOSTS_OF_SECRET_ADDRESSES: &[&str] = &["mcp.pipedream.net", "mcp.composio.dev"];

/// Longer than the prefix of a token.
const SHORTEST_TITLE: usize = 5;

/// What a package manager writes before a colon.
const PACKAGE_SCHEMES: &[&str] = &[
    "npm", "github", "git", "file", "jsr", "docker", "mailto", "pypi",
];
