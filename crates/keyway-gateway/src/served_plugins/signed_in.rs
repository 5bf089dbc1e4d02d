//! The account that was signed in to a server, and what that means for connections.

use std::sync::atomic::Ordering;

use keyway::sign_in::SignIn;

use crate::lazy_server::Presence;

/// The account that was signed in to a server, and how often a sign-in ended.
#[derive(Debug, Default)]
pub(super) struct SignedIn {
    pub(super) presence: Presence,
    /// As it was when a sign-in was last seen.
    account: Option<Option<String>>,
    ended: u64,
}

impl SignedIn {
    /// Takes note of the sign-in as it is now.
    pub(super) fn see(&mut self, sign_in: Option<SignIn>) {
        let is_in = sign_in.is_some();
        let account = sign_in.map(|sign_in| sign_in.account);
        // A new sign-in wakes the tasks that wait for it; one that ends closes connections.
        // `Relaxed`: one flag, exchanged in one step; what it is about is read from the store.
        let was_in = self.presence.swap(is_in, Ordering::Relaxed);
        if was_in && (!is_in || self.account.is_some() && self.account != account) {
            self.ended += 1;
        }
        self.account = account;
    }

    /// Returns how many sign-ins have ended, none of which a connection must outlive.
    pub(super) const fn ended(&self) -> u64 {
        self.ended
    }
}
