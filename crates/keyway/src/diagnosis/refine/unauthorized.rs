//! A credential that a server refused with 401: what is wrong with it, as far as its text shows.

use keyway_code::Code;
use keyway_config::method::Method;
use keyway_config::resolve::RemoteSpec;

use super::super::credential::{Flaw, credentials};
use super::super::finding::Finding;
use super::super::next::Next;
use super::described;
use crate::health::now;

pub(super) fn unauthorized(remote: &RemoteSpec, skew: Option<i64>, next: &Next<'_>) -> Finding {
    if let Some(skew) = skew.filter(|skew| skew.abs() > MAX_SKEW) {
        let which = if skew > 0 { "ahead of" } else { "behind" };
        let by = skew.abs();
        return Finding {
            code: Code::ClockSkew,
            message: format!(
                "the server refused the credential with HTTP 401, and its clock is {by} s {which} this one"
            ),
            hint: format!(
                "set the clock: timedatectl set-ntp true; then {}",
                next.again()
            ),
        };
    }
    let all = credentials(remote, now());
    let first = all.first();
    if first.is_none() && next.method != Method::OAuth {
        return no_credential(remote, next);
    }
    let source = first.map(described).unwrap_or_default();
    let (code, what) = match first.and_then(|fed| fed.flaw) {
        Some(Flaw::Placeholder) => (Code::TokenPlaceholder, "it is a placeholder"),
        Some(Flaw::DoubledScheme) => (Code::WrongHeaderFormat, "its scheme stands twice"),
        Some(Flaw::MissingScheme) => (
            Code::WrongHeaderFormat,
            "it has no scheme such as `Bearer `",
        ),
        Some(Flaw::Blank) => (Code::WhitespaceInValue, "it has a blank where none belongs"),
        Some(Flaw::Expired { ago }) => {
            return Finding {
                code: Code::TokenExpired,
                message: format!(
                    "the server refused the credential with HTTP 401{source}: it ended {} ago",
                    in_words(ago)
                ),
                hint: next.renew(first),
            };
        }
        None => {
            return Finding {
                code: Code::AuthRejected,
                message: format!("the server refused the credential with HTTP 401{source}"),
                hint: next.renew(first),
            };
        }
    };
    let again = next.again();
    let variable = first.and_then(|fed| fed.variables.first());
    let hint = match (first.and_then(|fed| fed.flaw), variable) {
        (Some(Flaw::DoubledScheme), Some(name)) => {
            format!("take the scheme out of the value: export {name}=…; then {again}")
        }
        (Some(Flaw::MissingScheme), _) => {
            format!("keyway check --fix --unsafe-fixes; then {again}")
        }
        (Some(Flaw::Blank), Some(name)) => {
            format!("set it without the blank: export {name}=…; then {again}")
        }
        _ => next.renew(first),
    };
    Finding {
        code,
        message: format!("the server refused the credential with HTTP 401{source}: {what}"),
        hint,
    }
}

/// The entry sends nothing that the server could have refused, or a helper made it.
fn no_credential(remote: &RemoteSpec, next: &Next<'_>) -> Finding {
    let again = next.again();
    let (message, hint) = match remote.helper {
        Some(_) => (
            "the server refused the headers of `headersHelper` with HTTP 401",
            format!("run the helper by hand and look at the headers that it prints; then {again}"),
        ),
        None => (
            "the server wants a credential (HTTP 401), and the entry sends none",
            format!("put a reference to a token into `headers` of the entry; then {again}"),
        ),
    };
    Finding {
        code: Code::AuthRejected,
        message: message.to_owned(),
        hint,
    }
}

/// Words a time span as a person would.
fn in_words(seconds: i64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A smaller difference of clocks does not explain a refusal, in seconds.
const MAX_SKEW: i64 = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_span_is_told_as_a_person_would() {
        for (seconds, words) in [
            (90, "90 s"),
            (600, "10 min"),
            (7200, "2 h"),
            (94_822_926, "1097 days"),
        ] {
            assert_eq!(in_words(seconds), words);
        }
    }
}
