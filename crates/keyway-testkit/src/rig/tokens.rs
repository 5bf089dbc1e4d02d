//! Codes, tokens and their families. Rotation is strict: a refresh token that comes twice ends the
//! family, as it may have been stolen.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Serialize;

use super::settings::{Delivery, Revocation};

/// Everything that was issued.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    clients: HashMap<String, Vec<String>>,
    codes: HashMap<String, Asked>,
    access: HashMap<String, Access>,
    refresh: HashMap<String, TokenPosition>,
    families: Vec<Family>,
    /// The clients of the families, in the same order.
    owners: Vec<String>,
    secrets: Vec<String>,
    era: u64,
    /// The scopes that were agreed to last, with blanks between.
    agreed: String,
}

/// What a code was asked for with.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) client: String,
    pub(super) redirect_uri: String,
    pub(super) challenge: String,
}

#[derive(Debug)]
struct Access {
    family: usize,
    era: u64,
    ends: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct TokenPosition {
    family: usize,
    number: usize,
}

/// All refresh tokens that come from one sign-in.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Family {
    /// Every time one of them came, in order.
    pub redemptions: Vec<Redemption>,
    /// The number of the newest.
    pub current: usize,
    /// Why none of them counts any more.
    pub ended: Option<End>,
}

/// A refresh token came.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Redemption {
    /// When, since the start.
    pub at: Duration,
    /// Which one of the family, from zero.
    pub number: usize,
    /// Whether it was exchanged.
    pub accepted: bool,
    /// How the answer got to the client.
    pub delivery: Delivery,
}

/// Why a family ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum End {
    /// A token came twice.
    Reuse,
    /// The person signed out.
    SignOut,
}

impl Family {
    /// Says whether each token was redeemed once, in order, and none afterwards.
    #[must_use]
    pub fn is_chain(&self) -> bool {
        let mut numbered = self.redemptions.iter().enumerate();
        numbered.all(|(index, redemption)| redemption.number == index && redemption.accepted)
            && self.current == self.redemptions.len()
    }
}

/// What a token request yields.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) access: String,
    pub(super) refresh: String,
}

impl Tokens {
    pub(super) fn agree(&mut self, scopes: String) {
        self.agreed = scopes;
    }

    pub(super) fn agreed(&self) -> &str {
        match self.agreed.as_str() {
            "" => "tools",
            agreed => agreed,
        }
    }

    pub(super) fn register(&mut self, redirect_uris: Vec<String>) -> String {
        let client = format!("client-{}", random(8));
        self.clients.insert(client.clone(), redirect_uris);
        client
    }

    pub(super) fn knows(&self, client: &str, redirect_uri: &str) -> bool {
        let registered = self.clients.get(client);
        registered.is_some_and(|uris| uris.iter().any(|uri| uri == redirect_uri))
    }

    pub(super) fn code(&mut self, asked: Asked) -> String {
        let code = self.secret("code");
        self.codes.insert(code.clone(), asked);
        code
    }

    /// Exchanges a code, once.
    pub(super) fn exchange(
        &mut self,
        code: &str,
        verifier: &str,
        asked: (&str, &str),
        life: (Duration, Option<u64>),
    ) -> Option<Issued> {
        let known = self.codes.remove(code)?;
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let is_same = known.challenge == challenge
            && known.client == asked.0
            && known.redirect_uri == asked.1;
        if !is_same {
            return None;
        }
        Some(self.grant(known.client, life))
    }

    /// Issues the first tokens of a sign-in that a person agreed to.
    pub(super) fn grant(&mut self, client: String, life: (Duration, Option<u64>)) -> Issued {
        self.families.push(Family::default());
        self.owners.push(client);
        let family = self.families.len() - 1;
        self.issue(TokenPosition { family, number: 0 }, life)
    }

    /// Makes a code for a client to ask with, and one for a person to type.
    pub(super) fn device_codes(&mut self) -> (String, String) {
        let typed = random(4).to_uppercase();
        let (first, second) = typed.split_at(typed.len() / 2);
        (self.secret("device"), format!("{first}-{second}"))
    }

    /// Exchanges a refresh token of a client; one that comes again ends its family, unless within
    /// `grace`.
    pub(super) fn rotate(
        &mut self,
        (client, refresh): (&str, &str),
        grace: Duration,
        life: (Duration, Option<u64>),
    ) -> Option<Issued> {
        let place = *self.refresh.get(refresh)?;
        if self.owners.get(place.family).map(String::as_str) != Some(client) {
            return None;
        }
        let (now, _) = life;
        let family = self.families.get_mut(place.family)?;
        let earlier = family.redemptions.iter();
        let first = earlier
            .filter(|redemption| redemption.number == place.number)
            .map(|redemption| redemption.at)
            .next();
        let is_graced = first.is_some_and(|first| now.saturating_sub(first) < grace);
        let accepted = family.ended.is_none() && (first.is_none() || is_graced);
        family.redemptions.push(Redemption {
            at: now,
            number: place.number,
            accepted,
            delivery: Delivery::Whole,
        });
        if !accepted {
            family.ended.get_or_insert(End::Reuse);
            return None;
        }
        family.current += 1;
        let number = family.current;
        let family = place.family;
        Some(self.issue(TokenPosition { family, number }, life))
    }

    pub(super) fn accepts(&self, access: &str, now: Duration) -> bool {
        self.access.get(access).is_some_and(|known| {
            let family = self.families.get(known.family);
            known.era == self.era
                && known.ends.is_none_or(|ends| now < ends)
                && family.is_some_and(|family| family.ended.is_none())
        })
    }

    /// Counts the access tokens that would be accepted.
    pub(super) fn live_access(&self, now: Duration) -> usize {
        let all = self.access.keys();
        all.filter(|access| self.accepts(access, now)).count()
    }

    /// Ends what a token stands for; returns `false` if it is another client's.
    pub(super) fn revoke(&mut self, client: &str, token: &str, revocation: Revocation) -> bool {
        let by_refresh = self.refresh.get(token).map(|place| place.family);
        let by_access = || self.access.get(token).map(|access| access.family);
        let Some(index) = by_refresh.or_else(by_access) else {
            // RFC 7009 section 2.2: what does not count need not be revoked.
            return true;
        };
        let is_own = self.owners.get(index).is_some_and(|owner| owner == client);
        if !is_own {
            return false;
        }
        if revocation == Revocation::Token {
            self.refresh.remove(token);
            self.access.remove(token);
            return true;
        }
        let families = self.families.iter_mut().zip(&self.owners).enumerate();
        for (number, (family, owner)) in families {
            if number == index || (revocation == Revocation::Grant && owner == client) {
                family.ended.get_or_insert(End::SignOut);
            }
        }
        true
    }

    /// Notes how the answer to the refresh token that came at a time gets to the client.
    pub(super) fn deliver(&mut self, at: Duration, delivery: Delivery) {
        let all = self.families.iter_mut().flat_map(|it| &mut it.redemptions);
        for redemption in all.filter(|redemption| redemption.at == at) {
            redemption.delivery = delivery;
        }
    }

    pub(super) const fn reset(&mut self) {
        self.era += 1;
    }

    /// Counts the refresh tokens that would be accepted.
    pub(super) fn live(&self) -> usize {
        let is_live = |place: &&TokenPosition| {
            let family = self.families.get(place.family);
            family.is_some_and(|it| it.ended.is_none() && it.current == place.number)
        };
        self.refresh.values().filter(is_live).count()
    }

    pub(super) fn families(&self) -> &[Family] {
        &self.families
    }

    pub(super) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    fn issue(&mut self, place: TokenPosition, (now, lifetime): (Duration, Option<u64>)) -> Issued {
        let (access, refresh) = (self.secret("access"), self.secret("refresh"));
        let known = Access {
            family: place.family,
            era: self.era,
            ends: lifetime.map(|seconds| now + Duration::from_secs(seconds)),
        };
        self.access.insert(access.clone(), known);
        self.refresh.insert(refresh.clone(), place);
        Issued { access, refresh }
    }

    /// Makes an ID token of these claims; it is not signed.
    pub(super) fn identity(&mut self, claims: &str) -> String {
        let signature = random(8);
        let token = format!("e30.{claims}.{signature}");
        self.secrets.push(token.clone());
        token
    }

    /// Says whether a token was issued here.
    pub(super) fn has_issued(&self, token: &str) -> bool {
        self.secrets.iter().any(|secret| secret == token)
    }

    pub(super) fn assertion(&mut self) -> String {
        self.secret("assertion")
    }

    fn secret(&mut self, kind: &str) -> String {
        let secret = format!("CANARY-{kind}-{}", random(16));
        self.secrets.push(secret.clone());
        secret
    }
}

#[expect(
    clippy::expect_used,
    reason = "a machine without randomness tests nothing"
)]
fn random(bytes: usize) -> String {
    let mut random = vec![0; bytes];
    SystemRandom::new().fill(&mut random).expect("randomness");
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}
