//! What differs by design where all servers are reached together; `docs/gateway.md` gives the
//! reasons to people.

/// A scenario that does not pass at `/mcp`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) revision: &'static str,
    pub(super) scenario: &'static str,
}

const fn legacy(scenario: &'static str) -> Difference {
    Difference {
        revision: "2025-11-25",
        scenario,
    }
}

const fn modern(scenario: &'static str) -> Difference {
    Difference {
        revision: "2026-07-28",
        scenario,
    }
}

/// All of them. Exact: one that passes has to be taken off.
pub(super) const DIFFERS: &[Difference] = &[
    // Every server is talked to in the newest era that it knows, and the SDK's server has these
    // tools, which ask in the middle of a call, in the older era alone.
    legacy("tools-call-sampling"),
    legacy("tools-call-elicitation"),
    legacy("elicitation-sep1034-defaults"),
    legacy("elicitation-sep1330-enums"),
    // Questions of servers have keys of our own, and come one after the other.
    modern("input-required-result-basic-elicitation"),
    modern("input-required-result-multiple-input-requests"),
    // Tasks, an extension, are not offered for many servers at once.
    modern("tasks-lifecycle"),
    modern("tasks-capability-negotiation"),
    modern("tasks-wire-fields"),
    modern("tasks-request-state-removal"),
    modern("tasks-mrtr-input"),
    modern("tasks-request-headers"),
    modern("tasks-dispatch-and-envelope"),
    modern("tasks-mrtr-composition"),
];
