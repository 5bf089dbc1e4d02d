//! One event, as a type and as a line of JSON.

use std::sync::Arc;
use std::time::SystemTime;

use keyway_code::Code;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Counts from 0 without a gap, in each process: several may append to one file.
    pub seq: u64,
    /// The process that emitted it.
    pub pid: u32,
    /// When it happened, by the clock of this machine.
    pub at: SystemTime,
    /// What happened.
    pub kind: Kind,
    /// The plugin of the server: two plugins may have servers of one name.
    pub plugin: Option<Arc<str>>,
    /// The server that it is about.
    pub server: Option<Arc<str>>,
    /// The client that uses the connection, as it introduced itself: `name/version`.
    pub client: Option<Arc<str>>,
    /// Why, where something went wrong.
    pub code: Option<Code>,
}

impl Event {
    /// Returns the event as one line of JSON, as contract §8 has it.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&Line(self)).unwrap_or_default()
    }
}

/// The event as a line of JSON: the order of members is that of the contract.
struct Line<'a>(&'a Event);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(event) = self;
        let mut object = serializer.serialize_struct("Event", 9)?;
        object.serialize_field("schema_version", &SCHEMA_VERSION)?;
        object.serialize_field("seq", &event.seq)?;
        object.serialize_field("pid", &event.pid)?;
        object.serialize_field("ts", &in_milliseconds(event.at))?;
        object.serialize_field("event", event.kind.as_str())?;
        for (name, value) in [
            ("plugin", &event.plugin),
            ("server", &event.server),
            ("client", &event.client),
        ] {
            match value {
                Some(value) => object.serialize_field(name, &**value)?,
                None => object.skip_field(name)?,
            }
        }
        match event.code {
            Some(code) => object.serialize_field("code", code.as_str())?,
            None => object.skip_field("code")?,
        }
        object.end()
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $word:literal,)*) => {
        /// What happened. The words are part of the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns the word used in every format.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }
    };
}

kinds! {
    /// An entry was read and can be used.
    ConfigLoaded = "config.loaded",
    /// An entry is left out.
    ConfigSkipped = "config.skipped",
    /// A server answered.
    ServerConnected = "server.connected",
    /// A server cannot be reached, or does not do as it should.
    ServerFailed = "server.failed",
    /// A person has to sign in, and is not asked to.
    AuthRequired = "auth.required",
    /// A sign-in began.
    AuthStarted = "auth.started",
    /// A sign-in gave a token.
    AuthCompleted = "auth.completed",
    /// A sign-in gave none, or the server refused the credential.
    AuthFailed = "auth.failed",
    /// A token was renewed.
    TokenRefreshed = "token.refreshed",
    /// A token could not be renewed.
    TokenRefreshFailed = "token.refresh_failed",
    /// A sign-in was deleted.
    TokenCleared = "token.cleared",
    /// An access token was handed to a client, by `keyway headers --direct`.
    TokenHandedOut = "token.handed_out",
    /// A helper printed headers.
    HelperRan = "helper.ran",
    /// A helper printed none.
    HelperFailed = "helper.failed",
    /// A program starts with less isolation than its profile promises.
    IsolationReduced = "isolation.reduced",
    /// An entry needs approval.
    TrustRequested = "trust.requested",
    /// A person approved an entry, or did not.
    TrustDecided = "trust.decided",
}

fn in_milliseconds(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let text = rfc3339(seconds);
    let whole = text.trim_end_matches('Z');
    format!("{whole}.{:03}Z", since.subsec_millis())
}

/// Writes a time, given in seconds since 1970, as RFC 3339 wants it.
#[must_use]
pub fn rfc3339(unix: i64) -> String {
    let (days, rest) = (unix.div_euclid(86_400), unix.rem_euclid(86_400));
    // Days since 1 March of the year 0, in eras of 400 years.
    let shifted = days.saturating_add(719_468);
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The version of the shape of events.
pub const SCHEMA_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_every_program_reads_them() {
        for (unix, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_794_744_471, "2026-11-15T12:07:51Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(unix), text);
        }
    }
}
