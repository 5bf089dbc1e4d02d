//! A diagnosis in a few words, for a table: what the person has to do, or that there is nothing.

use keyway_auth::lasting;
use keyway_code::{Code, Reason, State};
use keyway_config::method::Method;

use super::Diagnosis;

impl Diagnosis {
    /// Says how the server is in a few words: `ready`, `signed in (59 min)`, `needs sign-in`,
    /// `needs approval`, `needs API_KEY`, `down since 2026-11-17 14:02 UTC`.
    #[must_use]
    pub fn summary(&self) -> String {
        let reason = self.state.reason;
        match (self.state.state, reason) {
            (State::Disabled, _) => "disabled".to_owned(),
            (State::Connected, _) => "connected".to_owned(),
            (_, Some(Reason::PendingTrust)) => "needs approval".to_owned(),
            (_, Some(Reason::NotConfigured)) => {
                let unset = self.variables.iter().find(|it| !it.is_set);
                let name = unset.map_or("an address", |it| it.name.as_str());
                format!("needs {name}")
            }
            (State::NeedsAuth, Some(Reason::Authorizing)) => "signing in".to_owned(),
            (State::NeedsAuth, Some(Reason::AuthFailed)) if self.method != Some(Method::OAuth) => {
                "credential refused".to_owned()
            }
            (State::NeedsAuth, _) => "needs sign-in".to_owned(),
            (State::Failed, _) if self.code == Some(Code::UnresolvedVariable) => self.lacking(),
            (State::Failed, reason) => self.failed(reason),
            (State::Pending, _) => self.pending(),
        }
    }

    /// Names the variables that are not set, as far as the entry does not do without them.
    fn lacking(&self) -> String {
        let unset = self.variables.iter();
        let unset = unset.filter(|it| !it.is_set && !it.has_default);
        let names: Vec<&str> = unset.map(|it| it.name.as_str()).collect();
        if names.is_empty() {
            return "needs a variable".to_owned();
        }
        format!("needs {}", names.join(", "))
    }

    fn failed(&self, reason: Option<Reason>) -> String {
        match (reason, &self.since) {
            (Some(Reason::NetworkError), Some(since)) => format!("down since {}", clock(since)),
            (Some(Reason::NetworkError), None) => "down".to_owned(),
            (Some(reason), _) => format!("failed: {}", reason.as_str()),
            (None, _) => "failed".to_owned(),
        }
    }

    /// Nothing stands in the way as far as is known; the sign-in decides.
    fn pending(&self) -> String {
        if self.method != Some(Method::OAuth) {
            return "ready".to_owned();
        }
        let Some(kept) = self.sign_in.as_ref().filter(|kept| !kept.ended) else {
            return "needs sign-in".to_owned();
        };
        match kept.expires_in {
            Some(left) if left > 0 => format!("signed in ({})", lasting(left)),
            Some(_) if !kept.renews => "needs sign-in".to_owned(),
            _ => "signed in".to_owned(),
        }
    }
}

/// Day and time without the seconds.
fn clock(at: &str) -> String {
    let at = at.replacen('T', " ", 1);
    format!("{} UTC", at.get(..16).unwrap_or(&at))
}

#[cfg(test)]
mod tests {
    use keyway_auth::oauth::SignIn;
    use keyway_code::ServerState;

    use super::*;
    use crate::diagnosis::Variable;

    fn found(state: State, reason: Option<Reason>) -> Diagnosis {
        let mut found = Diagnosis::new("p", "s");
        found.state = ServerState::without_reason(state);
        found.state.reason = reason;
        found.method = Some(Method::OAuth);
        found
    }

    fn signed_in(expires_in: Option<i64>, [renews, ended]: [bool; 2]) -> Diagnosis {
        let mut pending = found(State::Pending, None);
        let mut kept = SignIn::default();
        (kept.expires_in, kept.renews, kept.ended) = (expires_in, renews, ended);
        pending.sign_in = Some(kept);
        pending
    }

    #[test]
    fn every_state_is_told_as_what_to_do_next() {
        let open = Diagnosis {
            method: Some(Method::None),
            ..found(State::Pending, None)
        };
        let lacking = Diagnosis {
            code: Some(Code::UnresolvedVariable),
            variables: vec![
                Variable::new("API_KEY".to_owned(), false),
                Variable::new("REGION".to_owned(), true),
            ],
            ..found(State::Failed, Some(Reason::ConfigError))
        };
        let down = Diagnosis {
            since: Some("2026-11-14T12:07:51Z".to_owned()),
            ..found(State::Failed, Some(Reason::NetworkError))
        };
        let key = Diagnosis {
            method: Some(Method::Static),
            ..found(State::NeedsAuth, Some(Reason::AuthFailed))
        };
        for (found, words) in [
            (open, "ready"),
            (found(State::Pending, None), "needs sign-in"),
            (signed_in(Some(3599), [true, false]), "signed in (59 min)"),
            (signed_in(None, [true, false]), "signed in"),
            (signed_in(Some(-1), [true, false]), "signed in"),
            (signed_in(Some(-1), [false, false]), "needs sign-in"),
            (signed_in(Some(60), [true, true]), "needs sign-in"),
            (
                found(State::Pending, Some(Reason::PendingTrust)),
                "needs approval",
            ),
            (
                found(State::Pending, Some(Reason::NotConfigured)),
                "needs an address",
            ),
            (
                found(State::NeedsAuth, Some(Reason::ReauthRequired)),
                "needs sign-in",
            ),
            (found(State::Connected, None), "connected"),
            (
                found(State::Failed, Some(Reason::ConfigError)),
                "failed: config-error",
            ),
            (lacking, "needs API_KEY"),
            (down, "down since 2026-11-14 12:07 UTC"),
            (key, "credential refused"),
        ] {
            assert_eq!(found.summary(), words);
        }
    }
}
