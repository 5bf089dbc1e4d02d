//! The checker: the server's journal of each family of refresh tokens must be a chain, and what ends
//! one must have a cause that no client can help.

use std::time::Duration;

use keyway_testkit::rig::{Delivery, End, Family};

/// What may cost a sign-in at a server without grace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A process was killed between the server's answer and its own commit.
    Kill,
    /// The answer did not arrive, or not whole.
    Answer,
}

/// Says what ended a family; `None` if it lives.
///
/// # Errors
///
/// Returns what is wrong: a token that came twice without a cause, or more often than twice.
pub(crate) fn end_of(family: &Family, kills: &[Duration]) -> Result<Option<Cause>, String> {
    let (good, bad): (Vec<_>, Vec<_>) = family.redemptions.iter().partition(|it| it.accepted);
    if !good
        .iter()
        .enumerate()
        .all(|(index, it)| it.number == index)
    {
        return Err(format!("not a chain: {family:?}"));
    }
    let again = match bad.as_slice() {
        [] if family.ended.is_none() => return Ok(None),
        [again] if family.ended == Some(End::Reuse) => again,
        _ => return Err(format!("tried more than once: {family:?}")),
    };
    let Some(first) = good.iter().find(|it| it.number == again.number) else {
        return Err(format!("a token that was never good: {family:?}"));
    };
    if !matches!(first.delivery, Delivery::Whole | Delivery::Dripping(_)) {
        return Ok(Some(Cause::Answer));
    }
    // A request may be read a moment after its process was killed.
    let from = first.at.saturating_sub(Duration::from_secs(1));
    if kills.iter().any(|at| (from..=again.at).contains(at)) {
        return Ok(Some(Cause::Kill));
    }
    Err(format!(
        "revoked without a cause; kills at {kills:?}: {family:?}"
    ))
}

/// The same at a server with grace, where nothing may end a family.
///
/// # Errors
///
/// Returns the family, if it ended.
pub(crate) fn never_ends(family: &Family) -> Result<Option<Cause>, String> {
    match family.ended {
        None => Ok(None),
        Some(_) => Err(format!("ended in spite of grace: {family:?}")),
    }
}
