//! A credential that a server refused with 401: what is wrong with it, as far as its text shows.

use keyway_auth::CredentialFlaw;
use keyway_code::Code;
use keyway_config::method::Method;
use keyway_config::resolve::RemoteSpec;

use super::super::credential::credentials;
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
    let flaw = first.and_then(|fed| fed.flaw);
    let what = flaw.map(|flaw| format!(": {flaw}")).unwrap_or_default();
    let again = next.again();
    let variable = first.and_then(|fed| fed.variables.first());
    // A variable of the vault is not set by the shell; `renew` says how.
    let variable = variable.filter(|name| !next.stored.contains(*name));
    let hint = match (flaw, variable) {
        (Some(CredentialFlaw::DoubledScheme), Some(name)) => {
            format!("take the scheme out of the value: export {name}=…; then {again}")
        }
        (Some(CredentialFlaw::MissingScheme), _) => {
            format!("keyway check --fix --unsafe-fixes; then {again}")
        }
        (Some(CredentialFlaw::Blank), Some(name)) => {
            format!("set it without the whitespace: export {name}=…; then {again}")
        }
        _ => next.renew(first),
    };
    Finding {
        code: flaw.map_or(Code::AuthRejected, CredentialFlaw::code),
        message: format!("the server refused the credential with HTTP 401{source}{what}"),
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

/// A smaller difference of clocks does not explain a refusal, in seconds.
const MAX_SKEW: i64 = 300;
