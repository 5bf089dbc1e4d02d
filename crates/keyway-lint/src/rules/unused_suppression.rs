//! `unused-suppression`: a note that accepts a finding accepts none, or gives no reason.
//!
//! Whether a note is used is known only when all rules have run: `crate::suppress` reports it.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UnusedSuppression,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "A `_keyway_ignore` or `keyway-ignore` note accepts nothing, or gives no reason",
    check,
};

const fn check(_: &Context<'_>, _: &mut Report<'_>) {}
