//! Which client scenarios of the suite are run, at which versions, and which are left out.

use std::fmt;

/// One scenario on one wire.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The revision of the protocol that the suite's server speaks.
    pub(super) wire: &'static str,
    /// The scenario.
    pub(super) scenario: &'static str,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.wire, self.scenario)
    }
}

const fn modern(scenario: &'static str) -> Run {
    Run {
        wire: "2026-07-28",
        scenario,
    }
}

const fn legacy(scenario: &'static str) -> Run {
    Run {
        wire: "2025-11-25",
        scenario,
    }
}

const fn earlier(scenario: &'static str) -> Run {
    Run {
        wire: "2025-06-18",
        scenario,
    }
}

/// Servers from before protected-resource metadata.
const fn ancient(scenario: &'static str) -> Run {
    Run {
        wire: "2025-03-26",
        scenario,
    }
}

/// All runs: 33 scenarios at 2026-07-28, 19 at 2025-11-25, 5 at 2025-06-18, 2 at 2025-03-26, and 6
/// of extensions. That is every scenario at every version that the suite lists for it, but for
/// [`LEFT_OUT`].
pub(super) const RUNS: &[Run] = &[
    modern("tools_call"),
    modern("request-metadata"),
    modern("auth/metadata-default"),
    modern("auth/metadata-var1"),
    modern("auth/metadata-var2"),
    modern("auth/metadata-var3"),
    modern("auth/basic-cimd"),
    modern("auth/scope-from-www-authenticate"),
    modern("auth/scope-from-scopes-supported"),
    modern("auth/scope-omitted-when-undefined"),
    modern("auth/scope-step-up"),
    modern("auth/scope-retry-limit"),
    modern("auth/token-endpoint-auth-basic"),
    modern("auth/token-endpoint-auth-post"),
    modern("auth/token-endpoint-auth-none"),
    modern("auth/pre-registration"),
    modern("auth/resource-mismatch"),
    modern("auth/offline-access-scope"),
    modern("auth/offline-access-not-supported"),
    modern("auth/authorization-server-migration"),
    modern("auth/iss-supported"),
    modern("auth/iss-not-advertised"),
    modern("auth/iss-supported-missing"),
    modern("auth/iss-wrong-issuer"),
    modern("auth/iss-unexpected"),
    modern("auth/iss-normalized"),
    modern("auth/metadata-issuer-mismatch"),
    modern("sep-2322-client-request-state"),
    modern("http-standard-headers"),
    modern("http-custom-headers"),
    modern("http-invalid-tool-headers"),
    modern("json-schema-ref-no-deref"),
    modern("json-schema-2020-12-preservation"),
    legacy("initialize"),
    legacy("tools_call"),
    legacy("elicitation-sep1034-client-defaults"),
    legacy("sse-retry"),
    legacy("auth/metadata-default"),
    legacy("auth/metadata-var1"),
    legacy("auth/metadata-var2"),
    legacy("auth/metadata-var3"),
    legacy("auth/basic-cimd"),
    legacy("auth/scope-from-www-authenticate"),
    legacy("auth/scope-from-scopes-supported"),
    legacy("auth/scope-omitted-when-undefined"),
    legacy("auth/scope-step-up"),
    legacy("auth/scope-retry-limit"),
    legacy("auth/token-endpoint-auth-basic"),
    legacy("auth/token-endpoint-auth-post"),
    legacy("auth/token-endpoint-auth-none"),
    legacy("auth/pre-registration"),
    legacy("json-schema-2020-12-preservation"),
    earlier("initialize"),
    earlier("tools_call"),
    earlier("auth/token-endpoint-auth-basic"),
    earlier("auth/token-endpoint-auth-post"),
    earlier("auth/token-endpoint-auth-none"),
    modern("auth/client-credentials-jwt"),
    modern("auth/client-credentials-basic"),
    modern("auth/enterprise-managed-authorization"),
    modern("auth/dpop"),
    modern("auth/dpop-nonce"),
    modern("auth/wif-jwt-bearer"),
    ancient("auth/2025-03-26-oauth-metadata-backcompat"),
    ancient("auth/2025-03-26-oauth-endpoint-fallback"),
];

/// Scenarios that are not run, and why. Exact: the suite's own list says what else there is.
pub(super) const LEFT_OUT: &[LeftOut] = &[
    LeftOut {
        scenario: "sep-2640-client-no-prefetch",
        why: SKILLS,
    },
    LeftOut {
        scenario: "sep-2640-client-verify-digest",
        why: SKILLS,
    },
    LeftOut {
        scenario: "sep-2640-client-verify-size",
        why: SKILLS,
    },
    LeftOut {
        scenario: "sep-2640-client-verify-frontmatter",
        why: SKILLS,
    },
];

/// A scenario that is not run.
#[derive(Debug)]
pub(super) struct LeftOut {
    pub(super) scenario: &'static str,
    pub(super) why: &'static str,
}

const SKILLS: &str = "for hosts that load skills (SEP-2640), which Keyway does not";

/// Compares our lists with what the suite prints for `list --client`, and returns what differs.
pub(super) fn surprises_of(listed: &str) -> Vec<String> {
    let mut surprises = Vec::new();
    let mut known = Vec::new();
    for line in listed.lines() {
        let Some((scenario, versions)) = scenario_in(line) else {
            continue;
        };
        known.push(scenario);
        let is_left_out = LEFT_OUT.iter().any(|it| it.scenario == scenario);
        for version in versions {
            let is_run = |run: &&Run| {
                run.scenario == scenario && (version == "extension" || run.wire == version)
            };
            if RUNS.iter().any(|run| is_run(&run)) == is_left_out {
                surprises.push(format!("{version} {scenario} is neither run nor left out"));
            }
        }
    }
    let ours = RUNS.iter().map(|run| run.scenario);
    let left = LEFT_OUT.iter().map(|it| it.scenario);
    let gone = ours.chain(left).filter(|name| !known.contains(name));
    surprises.extend(gone.map(|name| format!("the suite has no scenario {name}")));
    surprises
}

/// Reads a line such as `  - tools_call [2025-06-18,2025-11-25]`.
fn scenario_in(line: &str) -> Option<(&str, Vec<&str>)> {
    let (scenario, versions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
    let versions = versions.strip_suffix(']')?.split(',');
    Some((scenario, versions.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_run_is_listed_twice() {
        assert_eq!(RUNS.len(), 65);
        for (position, run) in RUNS.iter().enumerate() {
            assert!(
                !RUNS.iter().skip(position + 1).any(|other| other == run),
                "{run}"
            );
        }
    }

    #[test]
    fn scenarios_that_are_new_or_gone_are_noticed() {
        let line = |run: &Run| format!("  - {} [{}]\n", run.scenario, run.wire);
        let mut listed: String = RUNS.iter().map(line).collect();
        for it in LEFT_OUT {
            listed.push_str(&format!("  - {} [extension]\n", it.scenario));
        }
        assert_eq!(surprises_of(&listed), Vec::<String>::new());
        let more = format!("{listed}  - tools_call [2027-01-01]\n  - new [extension]\n");
        assert_eq!(surprises_of(&more).len(), 2, "{:?}", surprises_of(&more));
        let less = listed.replace("  - auth/dpop [2026-07-28]\n", "");
        assert_eq!(surprises_of(&less), ["the suite has no scenario auth/dpop"]);
    }
}
