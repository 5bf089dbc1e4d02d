//! Whose account a client's conversation goes over: one, from its first token to its last.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::details::Details;

/// The account of a conversation, shared by all its connections; nobody's before the first token.
///
/// Where the server never says who signed in, everybody at the same issuer counts as the same.
#[derive(Clone, Default)]
pub struct Whose(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    owner: Option<Owner>,
    was_refused: bool,
    departures: u64,
}

struct Owner {
    issuer: String,
    account: Option<String>,
    signed_in_at: u64,
}

impl Whose {
    /// Says whether somebody else's token was kept from the conversation, which then is over.
    #[must_use]
    pub fn was_refused(&self) -> bool {
        self.lock().was_refused
    }

    /// Counts how often somebody signed out while the conversation used the sign-in.
    #[must_use]
    pub fn departures(&self) -> u64 {
        self.lock().departures
    }

    /// Notes that somebody signed out.
    pub(super) fn depart(&self) {
        let mut state = self.lock();
        state.departures = state.departures.wrapping_add(1);
    }

    /// Says whether a sign-in is that of the conversation; the first one is.
    pub(super) fn admits(&self, details: &Details) -> bool {
        let mut state = self.lock();
        let is_same = state.owner.as_ref().is_none_or(|owner| {
            // A server may say who it is only when the token is renewed.
            let is_told_later =
                owner.account.is_none() && owner.signed_in_at == details.signed_in_at;
            owner.issuer == details.issuer && (is_told_later || owner.account == details.account)
        });
        if is_same {
            state.owner = Some(Owner {
                issuer: details.issuer.clone(),
                account: details.account.clone(),
                signed_in_at: details.signed_in_at,
            });
        } else {
            state.was_refused = true;
        }
        is_same
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the account, which may be somebody's address.
impl fmt::Debug for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whose").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Asking;
    use super::super::testing::Kit;
    use super::*;

    fn details(issuer: &str, account: Option<&str>, at: u64) -> Details {
        let text = serde_json::json!({
            "issuer": issuer, "token_endpoint": "https://as.example/token", "client_id": "c",
            "method": "none", "scopes": [], "kind": "Bearer", "account": account,
            "signed_in_at": at,
        });
        Details::decode(text.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_conversation_keeps_to_the_account_that_it_began_with() {
        let whose = Whose::default();
        assert!(whose.admits(&details("a", Some("ada"), 1)));
        assert!(whose.admits(&details("a", Some("ada"), 7)));
        assert!(!whose.was_refused());
        for other in [
            details("a", Some("bob"), 7),
            details("a", None, 9),
            details("b", Some("ada"), 9),
        ] {
            let whose = whose.clone();
            assert!(!whose.admits(&other), "{other:?}");
            assert!(whose.was_refused());
        }
    }

    #[test]
    fn a_conversation_of_one_account_gets_no_token_of_another() {
        let mut kit = Kit::new();
        kit.run(kit.oauth().sign_in(None)).unwrap();
        kit.asking = Asking::Never;
        kit.whose = Some(Whose::default());
        assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
        let whose = Whose::default();
        assert!(whose.admits(&details("https://elsewhere.example", Some("ada"), 1)));
        kit.whose = Some(whose.clone());
        let error = kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(error.code(), "other-account");
        assert!(whose.was_refused());
    }

    #[test]
    fn where_nobody_says_who_it_is_the_issuer_decides() {
        let whose = Whose::default();
        assert!(whose.admits(&details("a", None, 1)));
        assert!(whose.admits(&details("a", None, 5)));
        assert!(whose.admits(&details("a", Some("ada"), 5)), "told later");
        assert!(!whose.admits(&details("a", Some("bob"), 5)));
        assert!(!whose.admits(&details("a", None, 9)));
    }

    #[test]
    fn nothing_tells_the_account() {
        let whose = Whose::default();
        assert!(whose.admits(&details("a", Some("ada"), 1)));
        assert!(!format!("{whose:?}").contains("ada"));
    }
}
