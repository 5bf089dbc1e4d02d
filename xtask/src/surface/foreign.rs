//! Which other crates a public surface names.
//!
//! A type of another crate in a public signature binds our users to its versions. A few crates are
//! accepted; all others are listed with how many items name them, and these numbers only get lower.

use std::collections::BTreeMap;
use std::fs;

use super::Surface;
use crate::error::XtaskError;
use crate::metadata::Workspace;

pub(super) const LIST: &str = "docs/surface/foreign.txt";

/// How many items of a library name a crate: by the name of the library and that of the crate.
type Counts = BTreeMap<(String, String), usize>;

/// Returns what the list does not allow, and what it need not allow any more.
pub(super) fn check(
    workspace: &Workspace,
    surfaces: &[Surface],
) -> Result<Vec<String>, XtaskError> {
    let counts = count(surfaces);
    println!(
        "{:>6} public items name a crate beside the accepted",
        counts.values().sum::<usize>()
    );
    Ok(compare(&counts, &read(workspace)?))
}

/// Lowers the numbers of the list to those of the code.
pub(super) fn write(workspace: &Workspace, surfaces: &[Surface]) -> Result<(), XtaskError> {
    let path = workspace.root.join(LIST);
    let counts = count(surfaces);
    // Without a list, this begins one.
    let listed = match path.exists() {
        true => read(workspace)?,
        false => counts.clone(),
    };
    let mut text = HEAD.to_owned();
    for ((library, foreign), limit) in &listed {
        let key = (library.clone(), foreign.clone());
        if let Some(count) = counts.get(&key) {
            text.push_str(&format!("{library} {foreign} {}\n", count.min(limit)));
        }
    }
    fs::write(&path, text).map_err(XtaskError::file(&path))
}

fn count(surfaces: &[Surface]) -> Counts {
    let mut counts = Counts::new();
    for surface in surfaces {
        for line in &surface.lines {
            for foreign in crates_named(line) {
                *counts.entry((surface.name.clone(), foreign)).or_default() += 1;
            }
        }
    }
    counts
}

/// Returns the crates that a line names beside ours, the standard library and those accepted.
fn crates_named(line: &str) -> Vec<String> {
    let is_path = |character: char| character.is_ascii_alphanumeric() || "_:".contains(character);
    let mut named: Vec<_> = line
        .split(|character| !is_path(character))
        .filter_map(|path| path.split_once("::"))
        .map(|(first, _)| first)
        // A first segment in lower case is a crate; `T::Item` and `Self::Error` are not.
        .filter(|first| first.starts_with(|character: char| character.is_ascii_lowercase()))
        .filter(|first| !first.starts_with("keyway") && !ACCEPTED.contains(first))
        .map(str::to_owned)
        .collect();
    named.sort();
    named.dedup();
    named
}

fn compare(counts: &Counts, listed: &Counts) -> Vec<String> {
    let mut differences = Vec::new();
    for ((library, foreign), count) in counts {
        let limit = listed
            .get(&(library.clone(), foreign.clone()))
            .copied()
            .unwrap_or_default();
        if *count > limit {
            differences.push(format!(
                "{library}: {count} public items name `{foreign}`, at most {limit}"
            ));
        }
    }
    for (key, limit) in listed {
        let count = counts.get(key).copied().unwrap_or_default();
        if count < *limit {
            let (library, foreign) = key;
            differences.push(format!(
                "{library}: {count} public items name `{foreign}`, and `{LIST}` still allows {limit}"
            ));
        }
    }
    differences
}

fn read(workspace: &Workspace) -> Result<Counts, XtaskError> {
    let path = workspace.root.join(LIST);
    let text = fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
    let mut counts = Counts::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        let (key, count) = read_line(line).ok_or_else(|| XtaskError::ListLine {
            path: path.clone(),
            line: index + 1,
        })?;
        counts.insert(key, count);
    }
    Ok(counts)
}

fn read_line(line: &str) -> Option<((String, String), usize)> {
    let mut words = line.split(' ');
    let key = (words.next()?.to_owned(), words.next()?.to_owned());
    Some((key, words.next()?.parse().ok()?))
}

/// The standard library, and the crates whose types any host knows already.
const ACCEPTED: &[&str] = &[
    "std",
    "core",
    "alloc",
    "http",
    "url",
    "bytes",
    "serde_json",
    "futures_core",
];

const HEAD: &str = "\
# Public items that name another crate than std, http, url, bytes, serde_json and futures-core:
# library, crate, how many. `cargo xtask surface` fails if there are more; the aim is an empty list.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(entries: &[(&str, &str, usize)]) -> Counts {
        entries
            .iter()
            .map(|(library, foreign, count)| {
                (((*library).to_owned(), (*foreign).to_owned()), *count)
            })
            .collect()
    }

    #[test]
    fn each_other_crate_of_a_line_is_named_once() {
        for (line, expected) in [
            (
                "pub fn keyway::a(http::Uri) -> core::result::Result<url::Url, keyway_auth::E>",
                vec![],
            ),
            (
                "pub fn keyway::a(&tokio::net::TcpStream, tokio::sync::Mutex<rustls::Config>)",
                vec!["rustls", "tokio"],
            ),
            (
                "impl serde_core::ser::Serialize for keyway::A",
                vec!["serde_core"],
            ),
            ("pub type keyway::A::Out = <T as keyway::B>::Item", vec![]),
            ("pub fn keyway::A<T>::b(T::Item, Self::Error)", vec![]),
        ] {
            assert_eq!(crates_named(line), expected, "{line}");
        }
    }

    #[test]
    fn more_items_than_listed_fail_and_fewer_must_be_written() {
        let listed = counts(&[("keyway", "tokio", 2)]);
        assert!(compare(&listed, &listed).is_empty());
        for (found, word) in [
            (counts(&[("keyway", "tokio", 3)]), "at most 2"),
            (
                counts(&[("keyway", "tokio", 2), ("keyway", "rustls", 1)]),
                "at most 0",
            ),
            (counts(&[("keyway", "tokio", 1)]), "still allows 2"),
            (counts(&[]), "still allows 2"),
        ] {
            let differences = compare(&found, &listed);
            assert!(
                matches!(differences.as_slice(), [one] if one.contains(word)),
                "{differences:?}"
            );
        }
    }
}
