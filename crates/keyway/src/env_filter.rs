//! Which of the shell's variables a program did not get, and may have missed. Names only.

use std::ffi::OsString;

use keyway_config::resolve::SpecEndpoint;
use keyway_lint::secrets::is_credential_name;
use keyway_transport::ChildKind;

use crate::connect::{Target, child_env, exposed, host_env};

/// Returns the names of the person's variables that a server's program does not get.
pub(crate) fn withheld(environment: &[(OsString, OsString)], target: Target<'_>) -> Vec<String> {
    let reader = match &target.spec.endpoint {
        SpecEndpoint::Local(_) => ChildKind::Server,
        _ => ChildKind::Helper,
    };
    let declared = exposed(&target.spec.env);
    let env = child_env(environment, (reader, &declared), target, &host_env(target));
    env.withheld().to_vec()
}

/// Picks the names that a program may have missed: those it spoke of in its last lines, and those
/// that are named like credentials. At most eight, sorted; what it spoke of comes first.
#[must_use]
pub fn may_be_missed(withheld: &[String], last_lines: &[String]) -> Vec<String> {
    let is_ours = |name: &str| name.starts_with("KEYWAY_");
    let candidates = withheld.iter().filter(|name| !is_ours(name));
    let (mut named, rest): (Vec<&String>, Vec<&String>) =
        candidates.partition(|name| last_lines.iter().any(|line| speaks_of(line, name)));
    let mut likely: Vec<&String> = rest
        .into_iter()
        .filter(|name| is_credential_name(name))
        .collect();
    named.sort_unstable();
    likely.sort_unstable();
    named
        .into_iter()
        .chain(likely)
        .take(SHOWN)
        .cloned()
        .collect()
}

/// Says whether a line holds the name as a word of its own.
fn speaks_of(line: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at.saturating_add(name.len())..);
        let after = after.and_then(|text| text.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

const SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(withheld: &[&str], lines: &[&str]) -> Vec<String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let (withheld, lines): (Vec<String>, Vec<String>) = (owned(withheld), owned(lines));
        may_be_missed(&withheld, &lines)
    }

    #[test]
    fn mentioned_variables_come_first_and_others_only_if_they_are_credentials() {
        let shell = [
            "EDITOR",
            "GITHUB_TOKEN",
            "REGION",
            "AWS_SECRET_ACCESS_KEY",
            "NUMBER",
        ];
        assert_eq!(
            missed(
                &shell,
                &["Error: REGION is not set", "REGION_NAME, XNUMBER"]
            ),
            ["REGION", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"]
        );
        assert_eq!(missed(&["EDITOR"], &["no editor"]), [""; 0]);
    }

    #[test]
    fn there_are_not_too_many_and_never_our_own() {
        let many: Vec<String> = (0..50).map(|n| format!("T{n:02}_TOKEN")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(missed(&many, &[]).len(), 8);
        let own = ["KEYWAY_PASSPHRASE", "KEYWAY_TOKEN"];
        assert_eq!(missed(&own, &["KEYWAY_TOKEN is not set"]), [""; 0]);
    }
}
