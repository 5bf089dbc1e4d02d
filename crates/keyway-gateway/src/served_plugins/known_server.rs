//! One server as it was at the last look.

use std::sync::Arc;

use keyway::load::Loaded;
use keyway::sign_in::SignIn;
use keyway::{Approved, Plan};

use super::signed_in::SignedIn;
use crate::gateway::ServedServer;
use crate::lazy_server::{Fingerprinted, LazyServer};
use keyway::stamps::Stamps;

/// One server as it was at the last look. Only one that a client has used is planned and watched:
/// planning reads files and the vault, and a file may declare a thousand servers.
///
/// ```text
/// declared ──first use──▶ newly used ──next look──▶ watched ──another fingerprint──▶ replaced
///    │                                                 ▲                                │
///    └──its file changes──▶ declared                   └────────────────────────────────┘
/// ```
#[derive(Debug)]
pub(super) struct KnownServer {
    upstream: Arc<LazyServer>,
    loaded: Arc<Loaded>,
    /// Tells it apart from every other that had the same name.
    number: u64,
    sign_in: SignedIn,
    /// The programs of the entry, once it is watched.
    programs: Option<Stamps>,
}

impl KnownServer {
    pub(super) const fn new(
        upstream: Arc<LazyServer>,
        loaded: Arc<Loaded>,
        number: u64,
        sign_in: SignedIn,
    ) -> Self {
        Self {
            upstream,
            loaded,
            number,
            sign_in,
            programs: None,
        }
    }

    /// Says whether this is what was read.
    pub(super) fn is_of(&self, loaded: &Arc<Loaded>) -> bool {
        Arc::ptr_eq(&self.loaded, loaded)
    }

    pub(super) fn first_use(&self) -> Option<Fingerprinted> {
        self.upstream.first_use().cloned()
    }

    pub(super) fn is_used(&self) -> bool {
        self.upstream.first_use().is_some()
    }

    /// Says whether a client has used it since the last look.
    pub(super) fn is_newly_used(&self) -> bool {
        self.programs.is_none() && self.is_used()
    }

    /// Says whether a program of the entry has changed since the last look.
    pub(super) fn has_new_programs(&self) -> bool {
        let programs = self.programs.as_ref();
        programs.is_some_and(|programs| programs.again() != *programs)
    }

    /// Plans it, and watches its programs from now on, which looked like `stamps` before.
    pub(super) fn plan(&mut self, stamps: Stamps) -> Option<Approved<Plan>> {
        let ready = self.upstream.plan_in_place();
        let first_use = self.upstream.first_use();
        let files = match &ready {
            Some(ready) => ready.files(),
            None => first_use.map(|it| it.files.clone()).unwrap_or_default(),
        };
        self.programs = Some(stamps.with(files));
        ready
    }

    /// Takes note of the sign-in as it is now.
    pub(super) fn see(&mut self, sign_in: Option<SignIn>) {
        self.sign_in.see(sign_in);
    }

    pub(super) fn into_sign_in(self) -> SignedIn {
        self.sign_in
    }

    pub(super) fn take_sign_in(&mut self) -> SignedIn {
        std::mem::take(&mut self.sign_in)
    }

    /// Goes on as it was, since what was found now comes to the same.
    pub(super) fn renewed_as(self, now: Self) -> Self {
        Self {
            upstream: self.upstream,
            number: self.number,
            ..now
        }
    }

    /// Describes it to the gateway.
    pub(super) fn served(&self, (plugin, name): &(String, String)) -> ServedServer {
        let upstream = Arc::clone(&self.upstream);
        let digest = digest(self.number, self.sign_in.ended());
        let served = ServedServer::new(plugin.clone(), name.clone(), digest, upstream);
        // A session survives the sign-out of another account, and keeps to its own.
        served.with_entry_digest(digest_of_entry(self.number))
    }
}

/// Numbers are enough: a server gets another when its fingerprint changes, and that is keyed.
fn digest(number: u64, ended: u64) -> [u8; 32] {
    let mut digest = digest_of_entry(number);
    let (_, rest) = digest.split_at_mut(8);
    let (second, _) = rest.split_at_mut(8);
    second.copy_from_slice(&ended.to_le_bytes());
    digest
}

fn digest_of_entry(number: u64) -> [u8; 32] {
    let mut digest = [0; 32];
    let (first, _) = digest.split_at_mut(8);
    first.copy_from_slice(&number.to_le_bytes());
    digest
}
