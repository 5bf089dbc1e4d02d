//! How much clients may ask of a gateway: `[gateway.limits.client]` and `[gateway.limits.server]`;
//! and how much Keyway asks of authorization servers.

use keyway_auth::oauth::RefreshLimit;

/// How much one client, and all clients of one server together, may ask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitSettings {
    /// For each person and each gateway token.
    pub client: Limit,
    /// For each server, all its clients together.
    pub server: Limit,
}

/// How much may be asked; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limit {
    /// Requests in a second; so many may come at once after a second without any.
    pub calls_per_second: Option<u32>,
    /// Requests that are not answered yet.
    pub calls_at_once: Option<u32>,
    /// Bytes of messages in a second.
    pub bytes_per_second: Option<u32>,
    /// Sessions at a time, of clients before 2026-07-28.
    pub sessions: Option<u32>,
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self {
        calls_per_second: None,
        calls_at_once: None,
        bytes_per_second: None,
        sessions: None,
    };

    /// Sets how many requests may come in a second.
    #[must_use]
    pub const fn calls_per_second(mut self, calls: u32) -> Self {
        self.calls_per_second = Some(calls);
        self
    }

    /// Sets how many requests may be under way.
    #[must_use]
    pub const fn calls_at_once(mut self, calls: u32) -> Self {
        self.calls_at_once = Some(calls);
        self
    }

    /// Sets how many bytes may come in a second.
    #[must_use]
    pub const fn bytes_per_second(mut self, bytes: u32) -> Self {
        self.bytes_per_second = Some(bytes);
        self
    }

    /// Sets how many sessions there may be.
    #[must_use]
    pub const fn sessions(mut self, sessions: u32) -> Self {
        self.sessions = Some(sessions);
        self
    }
}

impl LimitSettings {
    /// Sets limits.
    #[must_use]
    pub const fn new(client: Limit, server: Limit) -> Self {
        Self { client, server }
    }
}

/// How many token requests renewals send to an issuer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefreshRate {
    /// In a second; 0 for any number.
    pub per_second: Option<u32>,
    /// At once.
    pub burst: Option<u32>,
}

impl RefreshRate {
    /// Returns the limit, where what is not set here is as in `otherwise`; `None` for none.
    pub(super) fn limit(self, otherwise: Self) -> Option<RefreshLimit> {
        let per_second = self.per_second.or(otherwise.per_second);
        let per_second = per_second.unwrap_or(USUAL_REFRESHES);
        // A burst is set for the rate beside it.
        let burst = match self.per_second {
            Some(_) => self.burst,
            None => self.burst.or(otherwise.burst),
        };
        let limit = RefreshLimit::new(per_second, burst.unwrap_or(per_second));
        (per_second > 0).then_some(limit)
    }
}

/// What large providers allow one client, and small ones answer.
const USUAL_REFRESHES: u32 = 100;
