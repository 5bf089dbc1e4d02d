//! The sixty runs, and which of them do not pass yet.

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

/// Servers from before protected-resource metadata.
const fn ancient(scenario: &'static str) -> Run {
    Run {
        wire: "2025-03-26",
        scenario,
    }
}

/// All runs: 33 on the modern wire, 19 on the legacy one, 6 extensions, 2 for old servers.
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
    modern("auth/client-credentials-jwt"),
    modern("auth/client-credentials-basic"),
    modern("auth/enterprise-managed-authorization"),
    modern("auth/dpop"),
    modern("auth/dpop-nonce"),
    modern("auth/wif-jwt-bearer"),
    ancient("auth/2025-03-26-oauth-metadata-backcompat"),
    ancient("auth/2025-03-26-oauth-endpoint-fallback"),
];

/// Runs that fail today. Exact: one that passes has to be taken off.
pub(super) const NOT_YET: &[Run] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_sixty_different_runs() {
        assert_eq!(RUNS.len(), 60);
        for (position, run) in RUNS.iter().enumerate() {
            assert!(
                !RUNS.iter().skip(position + 1).any(|other| other == run),
                "{run}"
            );
        }
    }

    #[test]
    fn every_run_that_fails_today_is_one_of_them() {
        for run in NOT_YET {
            assert!(RUNS.contains(run), "{run}");
        }
    }
}
