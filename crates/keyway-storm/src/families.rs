//! The token families of the authorization servers: what was redeemed, when, and what became of it.
//!
//! The state is also the journal: nothing in it is forgotten before the end of the storm.

use std::collections::VecDeque;
use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};

/// How an authorization server treats refresh tokens, and how it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// A spent token is refused; the family lives on.
    NoGrace,
    /// A spent token is taken again for so many seconds; after that the family ends.
    Grace(u64),
    /// A spent token ends the family.
    Strict,
    /// The last two tokens are good.
    TwoValid,
    /// Strict, and some answers are lost.
    StrictLosing,
    /// Ten seconds of grace, and some answers are lost.
    GraceLosing,
    /// Strict, and every answer takes twelve seconds.
    Slow,
}

impl Profile {
    pub(crate) const ALL: [Self; 8] = [
        Self::NoGrace,
        Self::Grace(2),
        Self::Grace(10),
        Self::Strict,
        Self::TwoValid,
        Self::StrictLosing,
        Self::GraceLosing,
        Self::Slow,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NoGrace => "none",
            Self::Grace(2) => "grace 2 s",
            Self::Grace(_) => "grace 10 s",
            Self::Strict => "strict",
            Self::TwoValid => "two valid tokens",
            Self::StrictLosing => "strict, answers lost",
            Self::GraceLosing => "grace 10 s, answers lost",
            Self::Slow => "strict, after 12 s",
        }
    }

    pub(crate) const fn grace(self) -> Duration {
        match self {
            Self::Grace(seconds) => Duration::from_secs(seconds),
            Self::GraceLosing => Duration::from_secs(10),
            _ => Duration::ZERO,
        }
    }

    pub(crate) const fn loses_answers(self) -> bool {
        matches!(self, Self::StrictLosing | Self::GraceLosing)
    }

    pub(crate) const fn delay(self) -> Duration {
        match self {
            Self::Slow => Duration::from_secs(12),
            _ => Duration::ZERO,
        }
    }

    /// Whether a token that comes again, too late, ends the family.
    const fn revokes(self) -> bool {
        !matches!(self, Self::NoGrace | Self::TwoValid)
    }
}

/// How an answer to a token request got to its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It is still to be written.
    #[default]
    Pending,
    Written,
    /// Not written, on purpose.
    Lost,
    /// The client was gone.
    Unread,
}

/// A refresh token came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Redemption {
    pub(crate) at: Duration,
    /// Which token of the family it was.
    pub(crate) number: usize,
    pub(crate) accepted: bool,
    /// Which replica sent it, where the kernel told.
    pub(crate) replica: Option<usize>,
    pub(crate) delivery: Delivery,
    /// When the answer was written or lost.
    pub(crate) answered_at: Option<Duration>,
}

/// All tokens of one sign-in.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) profile: Profile,
    pub(crate) person: usize,
    /// The refresh tokens, in the order in which they were issued.
    pub(crate) tokens: Vec<String>,
    /// The last access tokens, and when each expires.
    access: VecDeque<(String, Duration)>,
    pub(crate) redemptions: Vec<Redemption>,
    /// When a token that came again ended it.
    pub(crate) ended: Option<Duration>,
}

/// Tokens that were issued together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Issued {
    pub(crate) access: String,
    pub(crate) refresh: String,
    pub(crate) lifetime: Duration,
    /// Which redemption of the family it was, to say later what became of its answer.
    pub(crate) redemption: usize,
}

/// The families of all authorization servers, by number.
#[derive(Debug, Default)]
pub(crate) struct Families(pub(crate) Vec<Family>);

impl Families {
    /// Begins a family whose first access token expires at a time; zero if it already has.
    pub(crate) fn begin(
        &mut self,
        profile: Profile,
        person: usize,
        ends: Duration,
    ) -> (String, String) {
        let number = self.0.len();
        let (access, refresh) = (token("at", number, 0), token("rt", number, 0));
        self.0.push(Family {
            profile,
            person,
            tokens: vec![refresh.clone()],
            access: [(access.clone(), ends)].into(),
            redemptions: Vec::new(),
            ended: None,
        });
        (access, refresh)
    }

    /// Returns the number of the family that a token is of, and its own; `None` for a foreign one.
    pub(crate) fn find(&self, refresh: &str) -> Option<(usize, usize)> {
        let family = numbered(refresh)?;
        let tokens = &self.0.get(family)?.tokens;
        let number = tokens.iter().rposition(|token| token == refresh)?;
        Some((family, number))
    }

    /// Redeems a refresh token; `Err` has the number of the redemption that was refused.
    pub(crate) fn redeem(
        &mut self,
        refresh: &str,
        now: Duration,
        lifetime: Duration,
    ) -> Option<(usize, Result<Issued, usize>)> {
        let (index, number) = self.find(refresh)?;
        let family = self.0.get_mut(index)?;
        let accepted = family.accepts(number, now);
        let redemption = family.redemptions.len();
        family.redemptions.push(Redemption {
            at: now,
            number,
            accepted,
            replica: None,
            delivery: Delivery::Pending,
            answered_at: None,
        });
        if !accepted {
            if family.profile.revokes() {
                family.ended.get_or_insert(now);
            }
            return Some((index, Err(redemption)));
        }
        let next = family.tokens.len();
        let (access, refresh) = (token("at", index, next), token("rt", index, next));
        family.tokens.push(refresh.clone());
        family.access.push_back((access.clone(), now + lifetime));
        if family.access.len() > 4 {
            family.access.pop_front();
        }
        let issued = Issued {
            access,
            refresh,
            lifetime,
            redemption,
        };
        Some((index, Ok(issued)))
    }

    /// Returns the person that an access token is of, if it is good now.
    pub(crate) fn person(&self, profile: Profile, access: &str, now: Duration) -> Option<usize> {
        let family = self.0.get(numbered(access)?)?;
        let known = family.access.iter().rfind(|(token, _)| token == access);
        let is_good = known.is_some_and(|(_, ends)| now < *ends)
            && family.ended.is_none()
            && family.profile == profile;
        is_good.then_some(family.person)
    }

    /// Notes which replica sent a token.
    pub(crate) fn sent_by(&mut self, at: (usize, usize), replica: Option<usize>) {
        if let Some(noted) = self.redemption(at) {
            noted.replica = replica;
        }
    }

    pub(crate) fn deliver(&mut self, at: (usize, usize), delivery: Delivery, now: Duration) {
        if let Some(noted) = self.redemption(at) {
            noted.delivery = delivery;
            noted.answered_at = Some(now);
        }
    }

    fn redemption(&mut self, (family, redemption): (usize, usize)) -> Option<&mut Redemption> {
        self.0.get_mut(family)?.redemptions.get_mut(redemption)
    }
}

impl Family {
    /// Returns when a token was redeemed for the first time.
    pub(crate) fn first(&self, number: usize) -> Option<&Redemption> {
        let mut all = self.redemptions.iter();
        all.find(|it| it.number == number && it.accepted)
    }

    /// Returns when the newest access token expires.
    pub(crate) fn expires_at(&self) -> Duration {
        self.access.back().map_or(Duration::ZERO, |(_, ends)| *ends)
    }

    /// Whether a token would be redeemed now.
    pub(crate) fn accepts(&self, number: usize, now: Duration) -> bool {
        if self.ended.is_some() {
            return false;
        }
        match self.first(number) {
            None => self.profile != Profile::TwoValid || number + 2 >= self.tokens.len(),
            Some(_) if self.profile == Profile::TwoValid => number + 2 >= self.tokens.len(),
            Some(first) => now.saturating_sub(first.at) < self.profile.grace(),
        }
    }
}

fn numbered(token: &str) -> Option<usize> {
    token.split('.').nth(1)?.parse().ok()
}

fn token(kind: &str, family: usize, number: usize) -> String {
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).expect("randomness");
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{kind}.{family}.{number}.{random}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(20);

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn comes_again(profile: Profile, after: u64) -> (bool, bool) {
        let mut all = Families::default();
        let (_, refresh) = all.begin(profile, 7, Duration::ZERO);
        let first = all.redeem(&refresh, second(100), LIFE).unwrap().1.unwrap();
        assert_eq!(all.person(profile, &first.access, second(101)), Some(7));
        let again = all.redeem(&refresh, second(100 + after), LIFE).unwrap().1;
        let lives = all.redeem(&first.refresh, second(130), LIFE).unwrap().1;
        (again.is_ok(), lives.is_ok())
    }

    #[test]
    fn a_token_that_comes_again_is_treated_as_the_profile_says() {
        assert_eq!(comes_again(Profile::NoGrace, 1), (false, true));
        assert_eq!(comes_again(Profile::Strict, 1), (false, false));
        assert_eq!(comes_again(Profile::Slow, 1), (false, false));
        assert_eq!(comes_again(Profile::StrictLosing, 1), (false, false));
        assert_eq!(comes_again(Profile::Grace(2), 1), (true, true));
        assert_eq!(comes_again(Profile::Grace(2), 3), (false, false));
        assert_eq!(comes_again(Profile::Grace(10), 9), (true, true));
        assert_eq!(comes_again(Profile::GraceLosing, 11), (false, false));
        assert!(comes_again(Profile::TwoValid, 25).0);
    }

    #[test]
    fn foreign_tokens_are_of_no_family_and_access_tokens_expire() {
        let mut all = Families::default();
        let (access, refresh) = all.begin(Profile::Strict, 0, Duration::ZERO);
        assert_eq!(all.find("rt.0.0.00"), None);
        assert_eq!(all.person(Profile::Strict, &access, second(1)), None);
        let new = all.redeem(&refresh, second(5), LIFE).unwrap().1.unwrap();
        assert_eq!(
            all.person(Profile::Strict, &new.access, second(24)),
            Some(0)
        );
        assert_eq!(all.person(Profile::Strict, &new.access, second(25)), None);
        assert_eq!(all.person(Profile::Slow, &new.access, second(6)), None);
    }
}
