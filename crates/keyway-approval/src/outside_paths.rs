//! What in a word of a command line may be a path that leads out of where the program starts.
//!
//! Which one a program takes for a path cannot be told. More are looked at than are meant: only one
//! at which something could change is ever shown.

use std::collections::BTreeSet;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::Url;

/// Returns the paths in a word that begin at the top, or go up: others lie below where the program
/// starts. What a shell makes of `~` is part of its program, which is marked as one.
///
/// A module may be named by an address, also by one from the folder of the start: there `\\` is `/`, tabs
/// and line breaks are nothing, and `%2e` is `.`.
pub(crate) fn of(word: &str) -> BTreeSet<PathBuf> {
    let mut found = as_written(word);
    let plain: String = word
        .chars()
        .filter(|letter| !matches!(letter, '\t' | '\n' | '\r'))
        .map(|letter| if letter == '\\' { '/' } else { letter })
        .collect();
    let decoded = percent_decode_str(&plain).decode_utf8_lossy();
    if decoded != word {
        found.extend(as_written(&decoded));
        found.extend(file_addresses(&plain));
    }
    found
}

fn as_written(word: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    if !word.contains('/') && !word.contains("..") {
        return found;
    }
    let value = word.split_once('=').map(|(_, value)| value);
    let pieces = word.split(is_separator).chain([word]).chain(value);
    // A flag of one letter and its value are one word: `-r/x.js`. So may those of longer ones be.
    let joined = |piece: &str| {
        let is_flag = piece.starts_with('-');
        let value = piece.get(2..).filter(|_| is_flag);
        let from_top = piece.find('/').and_then(|at| piece.get(at..));
        [value, from_top.filter(|_| is_flag)].map(|it| it.map(str::to_owned))
    };
    for piece in pieces {
        let all = joined(piece).into_iter().flatten();
        for path in all.chain([piece.to_owned()]) {
            let leads_out = path.starts_with('/') || path.split('/').any(|part| part == "..");
            found.extend(leads_out.then(|| PathBuf::from(path)));
        }
    }
    found.extend(file_addresses(word));
    found
}

/// Returns the paths of addresses of files, which have escapes and a host. Each ends where the next
/// begins, so that a long word is read once.
fn file_addresses(word: &str) -> Vec<PathBuf> {
    let lower = word.to_ascii_lowercase();
    let begins: Vec<usize> = lower.match_indices("file:").map(|(at, _)| at).collect();
    let ends = begins.iter().skip(1).copied().chain([word.len()]);
    let addresses = begins.iter().zip(ends);
    addresses
        .filter_map(|(begin, end)| Url::parse(word.get(*begin..end)?).ok())
        .filter_map(|address| address.to_file_path().ok())
        .collect()
}

/// What stands between paths in lists, in values of flags and in the text of a shell.
fn is_separator(letter: char) -> bool {
    letter.is_whitespace() || "=:,;@'\"`()<>|&".contains(letter)
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use super::*;

    #[test]
    fn e07_paths_are_found_in_flags_lists_addresses_and_the_text_of_a_shell() {
        let has = |word: &str, path: &str| {
            let found = of(word);
            assert!(found.contains(Path::new(path)), "{word}: {found:?}");
        };
        has("/a b/c", "/a b/c");
        has("--x=/a:b", "/a:b");
        has("--x=/a:b", "/a");
        has("x:/a", "/a");
        has("lib://a/b", "/a/b");
        has("-r/a", "/a");
        has("-rsub/../../a", "sub/../../a");
        has("--load/a", "/a");
        has("cat /a|sh", "/a");
        has("FILE://LOCALHOST/%61", "/a");
        has("file:/a,file:///b", "/b");
        has("x/../..", "x/../..");
    }

    /// As Node.js reads the specifier of a module.
    #[test]
    fn e07_paths_are_found_in_addresses_however_they_are_written() {
        for word in [
            r"file:\a\x.mjs",
            "fi\tle:/%61/x.mjs",
            r"--import=file:\\\a\x.mjs",
            "FILE:%2Fa%2fx.mjs",
        ] {
            let found = of(word);
            assert!(found.contains(Path::new("/a/x.mjs")), "{word}: {found:?}");
        }
        for word in [
            "./%2e%2e/on/x.mjs",
            "--import=./lib/%2E./%2e%2e/on/x.mjs",
            r"..\on\x.mjs",
            ".\n./on/x.mjs",
        ] {
            let found = of(word);
            let goes_up = |path: &PathBuf| path.components().any(|it| it == Component::ParentDir);
            assert!(found.iter().any(goes_up), "{word}: {found:?}");
        }
    }

    #[test]
    fn what_lies_below_the_start_is_none_of_them() {
        for word in [
            "x", "a/b", "-ra/b", "a..b/c", "~", "é", "-é", "file:", "a=b/c",
        ] {
            let found = of(word);
            assert!(
                found.iter().all(|path| path == Path::new("/b")),
                "{word}: {found:?}"
            );
        }
    }

    #[test]
    fn a_word_of_a_megabyte_is_read_once() {
        let word = "file:/../,".repeat(100_000);
        assert!(of(&word).len() < 10);
    }
}
