//! The account that a session is pinned to: one, from its first token to its last.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::digest::{SHA256, digest};

use super::details::Details;

/// The account of a session, shared by all its connections; unset before the first token.
///
/// ```text
///   unset ─────first token──────▶ pinned ──token of another account──▶ pinned, refused
///   expecting ──its first token──▶ pinned         (or refused)
/// ```
///
/// If the server never says who signed in, all sign-ins at one issuer count as one account.
///
/// The lock is held for one comparison or one change, so that of two first tokens one pins the
/// account and the other is compared with it. No other lock is taken under it.
#[derive(Clone, Default)]
pub struct AccountPin(Arc<Mutex<PinState>>);

#[derive(Default)]
struct PinState {
    owner: Option<Owner>,
    /// Of an account whose tokens were used elsewhere; it counts until one is used here.
    expected: Option<[u8; 32]>,
    was_refused: bool,
    sign_out_count: u64,
}

struct Owner {
    issuer: String,
    account: Option<String>,
    signed_in_at: u64,
}

impl AccountPin {
    /// Admits the account of a [digest](Self::digest) alone.
    #[must_use]
    pub fn expecting(account: [u8; 32]) -> Self {
        Self(Arc::new(Mutex::new(PinState {
            expected: Some(account),
            ..PinState::default()
        })))
    }

    /// Returns a digest of the account, if there is one.
    #[must_use]
    pub fn digest(&self) -> Option<[u8; 32]> {
        let state = self.lock();
        let own = state.owner.as_ref();
        let own = own.map(|owner| digest_of(&owner.issuer, owner.account.as_deref()));
        own.or(state.expected)
    }

    /// Says whether a token of another account was refused; then the session is over.
    #[must_use]
    pub fn was_refused(&self) -> bool {
        self.lock().was_refused
    }

    /// Returns how often the account was signed out while the session used it.
    #[must_use]
    pub fn sign_out_count(&self) -> u64 {
        self.lock().sign_out_count
    }

    /// Counts one more sign-out.
    pub(super) fn count_sign_out(&self) {
        let mut state = self.lock();
        state.sign_out_count = state.sign_out_count.wrapping_add(1);
    }

    /// Says whether a sign-in is of the pinned account; the first one pins it.
    pub(super) fn admits(&self, details: &Details) -> bool {
        let mut state = self.lock();
        let is_expected = || {
            let account = digest_of(&details.issuer, details.account.as_deref());
            state.expected.is_none_or(|expected| expected == account)
        };
        let is_same = state.owner.as_ref().map_or_else(is_expected, |owner| {
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

    fn lock(&self) -> MutexGuard<'_, PinState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fields carry their length, and whether there is an account counts.
fn digest_of(issuer: &str, account: Option<&str>) -> [u8; 32] {
    let mut text = format!("{}:{issuer}", issuer.len());
    if let Some(account) = account {
        text.push(':');
        text.push_str(account);
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    bytes
}

/// Without the account, which may be an e-mail address.
impl fmt::Debug for AccountPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountPin").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use keyway_code::Code;

    use super::super::PromptPolicy;
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
        let account_pin = AccountPin::default();
        assert!(account_pin.admits(&details("a", Some("ada"), 1)));
        assert!(account_pin.admits(&details("a", Some("ada"), 7)));
        assert!(!account_pin.was_refused());
        for other in [
            details("a", Some("bob"), 7),
            details("a", None, 9),
            details("b", Some("ada"), 9),
        ] {
            let account_pin = account_pin.clone();
            assert!(!account_pin.admits(&other), "{other:?}");
            assert!(account_pin.was_refused());
        }
    }

    #[test]
    fn one_that_began_elsewhere_keeps_to_its_account() {
        let elsewhere = AccountPin::default();
        assert_eq!(elsewhere.digest(), None);
        assert!(elsewhere.admits(&details("a", Some("ada"), 1)));
        let account = elsewhere.digest().unwrap();
        for (other, is_same) in [
            (details("a", Some("ada"), 9), true),
            (details("a", Some("bob"), 9), false),
            (details("a", None, 9), false),
            (details("b", Some("ada"), 9), false),
        ] {
            let here = AccountPin::expecting(account);
            assert_eq!(here.digest(), Some(account), "before its first token too");
            assert_eq!(here.admits(&other), is_same, "{other:?}");
            assert_eq!(here.was_refused(), !is_same);
        }
    }

    #[test]
    fn a_conversation_of_one_account_gets_no_token_of_another() {
        let mut kit = Kit::new();
        kit.run(kit.oauth().sign_in(None)).unwrap();
        kit.prompt_policy = PromptPolicy::Never;
        kit.account_pin = Some(AccountPin::default());
        assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
        let account_pin = AccountPin::default();
        assert!(account_pin.admits(&details("https://elsewhere.example", Some("ada"), 1)));
        kit.account_pin = Some(account_pin.clone());
        let error = kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(error.code(), Code::OtherAccount);
        assert!(account_pin.was_refused());
    }

    #[test]
    fn without_an_account_name_the_issuer_decides() {
        let account_pin = AccountPin::default();
        assert!(account_pin.admits(&details("a", None, 1)));
        assert!(account_pin.admits(&details("a", None, 5)));
        assert!(
            account_pin.admits(&details("a", Some("ada"), 5)),
            "told later"
        );
        assert!(!account_pin.admits(&details("a", Some("bob"), 5)));
        assert!(!account_pin.admits(&details("a", None, 9)));
    }

    #[test]
    fn nothing_tells_the_account() {
        let account_pin = AccountPin::default();
        assert!(account_pin.admits(&details("a", Some("ada"), 1)));
        assert!(!format!("{account_pin:?}").contains("ada"));
    }
}
