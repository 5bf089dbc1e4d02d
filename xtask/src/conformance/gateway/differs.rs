//! What differs by design at the endpoint of all servers together; `docs/gateway.md` gives the reasons.

/// A scenario that does not pass at `/mcp`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) version: &'static str,
    pub(super) scenario: &'static str,
}

const fn modern(scenario: &'static str) -> Difference {
    Difference {
        version: "2026-07-28",
        scenario,
    }
}

/// All of them. Exact: one that passes has to be taken off.
pub(super) const DIFFERS: &[Difference] = &[
    // The gateway renames the keys of input requests, and sends one request at a time.
    modern("input-required-result-basic-elicitation"),
    modern("input-required-result-multiple-input-requests"),
    // The combined endpoint does not offer the tasks extension.
    modern("tasks-lifecycle"),
    modern("tasks-capability-negotiation"),
    modern("tasks-wire-fields"),
    modern("tasks-request-state-removal"),
    modern("tasks-mrtr-input"),
    modern("tasks-request-headers"),
    modern("tasks-dispatch-and-envelope"),
    modern("tasks-mrtr-composition"),
];
