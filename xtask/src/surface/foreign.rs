//! Which other crates a public surface names.
//!
//! A type of another crate in a public signature binds our users to its versions. A few crates are
//! accepted, whose types any host knows already; no other is named.

use super::Surface;

/// Returns a line for each public item that names a crate beside the accepted.
pub(super) fn check(surfaces: &[Surface]) -> Vec<String> {
    let of_surface = |surface: &Surface| {
        let lines = surface.lines.iter();
        let found = lines.flat_map(|line| crates_named(line).into_iter().map(move |it| (it, line)));
        let told = found.map(|(foreign, line)| format!("{}: `{foreign}` in {line}", surface.name));
        told.collect::<Vec<_>>()
    };
    surfaces.iter().flat_map(of_surface).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_item_that_names_another_crate_is_told_with_its_library() {
        let surface = |line: &str| Surface {
            name: "keyway".to_owned(),
            lines: vec!["pub mod keyway".to_owned(), line.to_owned()],
        };
        assert!(check(&[surface("pub fn keyway::a(url::Url)")]).is_empty());
        let told = check(&[surface("pub fn keyway::a(tokio::time::Instant)")]);
        assert_eq!(
            told,
            ["keyway: `tokio` in pub fn keyway::a(tokio::time::Instant)"]
        );
    }
}
