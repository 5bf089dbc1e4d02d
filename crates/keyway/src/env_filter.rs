//! Which of the shell's variables a program did not get, and may have missed. Names only.

use std::ffi::OsString;

use keyway_config::resolve::SpecEndpoint;
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

/// Picks the names that a program spoke of in its last lines. At most eight, sorted.
///
/// A credential that it did not name is not offered: any program could get the person's tokens
/// suggested to it by failing.
#[must_use]
pub fn may_be_missed(withheld: &[String], last_lines: &[String]) -> Vec<String> {
    let is_ours = |name: &str| name.starts_with("KEYWAY_");
    let is_named = |name: &str| last_lines.iter().any(|line| speaks_of(line, name));
    let named = withheld
        .iter()
        .filter(|name| !is_ours(name) && is_named(name));
    let mut named: Vec<&String> = named.collect();
    named.sort_unstable();
    named.into_iter().take(SHOWN).cloned().collect()
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
    fn only_variables_that_the_program_mentioned_are_offered() {
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
            ["REGION"]
        );
        assert_eq!(missed(&["EDITOR"], &["no editor"]), [""; 0]);
    }

    #[test]
    fn there_are_not_too_many_and_never_our_own() {
        let many: Vec<String> = (0..50).map(|n| format!("T{n:02}_TOKEN")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(missed(&many, &[]), [""; 0]);
        assert_eq!(missed(&many, &[&many.join(" ")]).len(), 8);
        let own = ["KEYWAY_PASSPHRASE", "KEYWAY_TOKEN"];
        assert_eq!(missed(&own, &["KEYWAY_TOKEN is not set"]), [""; 0]);
    }
}
