//! What was seen of an issuer's rotation: whether it accepts a refresh token that it has replaced.
//!
//! ```text
//!   unknown ── an answer to token T arrived, unusable ──▶ unknown, T was answered
//!                   T sent again: accepted ──▶ grace
//!   any token that was sent twice within two seconds: rejected ──▶ strict
//! ```
//!
//! A lost answer alone proves nothing: the request may not have arrived. An answer that arrived and
//! could not be used does: the issuer has replaced the token. A rejection proves something only soon
//! after the token was sent first: later, a period of grace may be over, and an issuer that is taken
//! for strict by mistake costs each sign-in whose answer is lost. Strict is never unlearned, because
//! what rests on grace sends a token twice. An issuer that does not rotate at all is told by its
//! renewals, and stored with the sign-in.
//!
//! What was sent is remembered beside the sign-in, what follows from it also for all people who use
//! the issuer, where a host has a place for that: what one of them lost teaches the others.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_store::Fingerprint;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::blocking::BlockingTasks;
use crate::ports::RecordStore;

/// Whether a replaced refresh token is accepted once more.
///
/// In the order of what counts, if several are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rotation {
    #[default]
    Unknown,
    Grace,
    Strict,
}

/// What became of a refresh token that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentToken {
    /// An answer arrived that cannot be used.
    Answered,
    Accepted,
    Rejected {
        /// Whether it was sent before, so short a time ago that any period of grace still lasts.
        is_repeated_soon: bool,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    #[serde(default)]
    rotation: Rotation,
    /// The token that was answered last with what cannot be used, by its fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answered: Option<String>,
}

impl Seen {
    fn after(&self, token: &str, sent: SentToken) -> Self {
        let was_answered = self.answered.as_deref() == Some(token);
        let rotation = match (self.rotation, sent) {
            (Rotation::Strict, _) => Rotation::Strict,
            (_, SentToken::Accepted) if was_answered => Rotation::Grace,
            (_, SentToken::Rejected { is_repeated_soon }) if is_repeated_soon => Rotation::Strict,
            (known, _) => known,
        };
        let answered = match sent {
            SentToken::Answered => Some(token.to_owned()),
            _ if was_answered => None,
            _ => self.answered.clone(),
        };
        Self { rotation, answered }
    }
}

/// What is stored of each issuer's rotation. Errors of the store are dropped: unknown is safe.
#[derive(Debug)]
pub(super) struct Rotations {
    records: Arc<dyn RecordStore>,
    /// What all people share, if they do not share `records`.
    issuers: Option<Arc<dyn RecordStore>>,
    blocking: BlockingTasks,
}

impl Rotations {
    pub(super) fn new(
        records: &Arc<dyn RecordStore>,
        issuers: Option<Arc<dyn RecordStore>>,
        blocking: &BlockingTasks,
    ) -> Self {
        Self {
            records: Arc::clone(records),
            issuers,
            blocking: blocking.clone(),
        }
    }

    pub(super) async fn get(&self, issuer: &str) -> Rotation {
        let (records, name) = (Arc::clone(&self.records), name(issuer));
        let issuers = self.issuers.clone();
        let work = move || {
            let own = read(&*records, &name).rotation;
            let shared = issuers.map_or(Rotation::Unknown, |issuers| read_shared(&*issuers, &name));
            own.max(shared)
        };
        self.blocking.run(work).await
    }

    /// Learns from what became of a token.
    pub(super) async fn note(&self, issuer: &str, token: &Fingerprint, sent: SentToken) {
        let (records, name) = (Arc::clone(&self.records), name(issuer));
        let issuers = self.issuers.clone();
        let token = BASE64_URL_SAFE_NO_PAD.encode(token.as_bytes());
        let note = move || {
            let answered = format!("{name} {ANSWERED}");
            // Most renewals teach nothing. Where no answer of an issuer was unusable, none can. Another
            // replica may remember for a while that none was, and learns it at the next chance.
            if let (Some(issuers), SentToken::Accepted) = (&issuers, sent)
                && issuers.get(&answered).is_none()
            {
                return;
            }
            let before = read(&*records, &name);
            let after = before.after(&token, sent);
            if after != before {
                let value = serde_json::to_vec(&after).unwrap_or_default();
                drop(records.put(&name, &value));
            }
            let Some(issuers) = issuers else {
                return;
            };
            if sent == SentToken::Answered {
                drop(issuers.put(&answered, &[]));
            }
            if after.rotation != before.rotation {
                share(&*issuers, &name, after.rotation);
            }
        };
        self.blocking.run(note).await;
    }
}

fn read(records: &dyn RecordStore, name: &str) -> Seen {
    let found = records.get(name);
    let found = found.and_then(|value| serde_json::from_slice(value.expose()).ok());
    found.unwrap_or_default()
}

/// Grace and strict are a record each, and strict counts where both are there: of two people who
/// learn different things at once, neither can undo what the other has learned.
fn share(issuers: &dyn RecordStore, name: &str, rotation: Rotation) {
    let mark = match rotation {
        Rotation::Unknown => return,
        Rotation::Grace => GRACE,
        Rotation::Strict => STRICT,
    };
    drop(issuers.put(&format!("{name} {mark}"), &[]));
}

fn read_shared(issuers: &dyn RecordStore, name: &str) -> Rotation {
    let has = |mark| issuers.get(&format!("{name} {mark}")).is_some();
    if has(STRICT) {
        Rotation::Strict
    } else if has(GRACE) {
        Rotation::Grace
    } else {
        Rotation::Unknown
    }
}

/// For all people, beside what each of them has: an answer of this issuer was unusable once.
const ANSWERED: &str = "answered";
const GRACE: &str = "grace";
const STRICT: &str = "strict";

fn name(issuer: &str) -> String {
    let hash = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, issuer.as_bytes()));
    format!("rotation {hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(events: &[(&str, SentToken)]) -> Rotation {
        let start = Seen::default();
        let end = events
            .iter()
            .fold(start, |seen, (token, sent)| seen.after(token, *sent));
        end.rotation
    }

    #[test]
    fn grace_is_learned_from_an_answered_token_alone_and_strict_is_never_unlearned() {
        use SentToken::{Accepted, Answered, Rejected};
        let again = Rejected {
            is_repeated_soon: true,
        };
        let first = Rejected {
            is_repeated_soon: false,
        };
        for (events, rotation) in [
            (&[("a", Accepted), ("b", Accepted)][..], Rotation::Unknown),
            (&[("a", first)], Rotation::Unknown),
            (&[("a", again)], Rotation::Strict),
            (&[("a", Answered), ("b", Accepted)], Rotation::Unknown),
            (&[("a", Answered), ("a", Accepted)], Rotation::Grace),
            (&[("a", Answered), ("a", first)], Rotation::Unknown),
            (&[("a", Answered), ("a", again)], Rotation::Strict),
            (
                &[("a", Answered), ("a", Accepted), ("b", again)],
                Rotation::Strict,
            ),
            (
                &[("a", again), ("b", Answered), ("b", Accepted)],
                Rotation::Strict,
            ),
            (
                &[("a", Answered), ("a", Accepted), ("b", Accepted)],
                Rotation::Grace,
            ),
        ] {
            assert_eq!(seen(events), rotation, "{events:?}");
        }
    }
}
