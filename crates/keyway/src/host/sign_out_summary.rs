//! What became of the tokens and sessions of a sign-out, in words.

use keyway_auth::oauth::{Revoked, SignedOut};
use keyway_secret::printable;

use super::sign_out::SignOutPlan;

impl SignOutPlan {
    /// Says what became of the tokens, and of the sessions of other processes.
    #[must_use]
    pub fn summary(&self, done: &SignedOut) -> String {
        if !done.existed {
            return match (done.replaced, done.pending) {
                (0, 0) => "was not signed in".to_owned(),
                (_, 0) => "was not signed in; what an earlier sign-out left was revoked".to_owned(),
                (..) => format!("was not signed in; {PENDING}"),
            };
        }
        let missing = self.missing_variables();
        let revoked = match done.revoked {
            Revoked::Done => "the tokens were revoked and deleted",
            Revoked::NotOffered => {
                "the tokens were deleted here; the authorization server does not offer revocation, so they stay valid until they expire"
            }
            Revoked::NoProof if !missing.is_empty() => &format!(
                "the tokens were deleted here; they could not be revoked, because {} not set, which holds the client secret, so they stay valid until they expire",
                listed(missing)
            ),
            Revoked::NoProof => {
                "the tokens were deleted here; they could not be revoked, because the client secret is missing or not approved, so they stay valid until they expire"
            }
            Revoked::Failed if done.pending > 0 => PENDING,
            Revoked::Renewing => RENEWING,
            Revoked::Failed => {
                "the tokens were deleted here; the access token could not be revoked, so it stays valid until it expires"
            }
            _ => {
                "the tokens were deleted here; the authorization server refused to revoke them, so they stay valid until they expire; end this client's access on the server's own page"
            }
        };
        let replaced = match done.replaced {
            0 => String::new(),
            1 => "; so was a refresh token that a later sign-in had replaced".to_owned(),
            many => format!("; so were {many} refresh tokens that later sign-ins had replaced"),
        };
        format!("signed out; {revoked}{replaced}{}", sessions(done))
    }
}

fn listed(missing: &[String]) -> String {
    let names: Vec<String> = missing
        .iter()
        .map(|name| format!("`{}`", printable(name)))
        .collect();
    let (word, verb) = match names.len() {
        1 => ("variable", "is"),
        _ => ("variables", "are"),
    };
    format!("the {word} {} {verb}", names.join(" and "))
}

/// Says what became of the sessions of other processes.
fn sessions(done: &SignedOut) -> String {
    let mut text = String::new();
    match done.users.stopped {
        0 => {}
        1 => text.push_str("; one process that used them ended its session"),
        many => text.push_str(&format!(
            "; {many} processes that used them ended their sessions"
        )),
    }
    match done.users.remaining {
        0 => {}
        1 => text.push_str("; one process did not answer, its session ends at its next request"),
        many => text.push_str(&format!(
            "; {many} processes did not answer, their sessions end at their next requests"
        )),
    }
    text
}

const RENEWING: &str = "the tokens were deleted here; another process is renewing them and did not end in a minute, so the authorization server may issue it a refresh token, which stays valid there until that process has it revoked: sign out again when it has ended, or end this client's access on the server's own page";
const PENDING: &str = "the authorization server could not be told to revoke the refresh token, which stays valid there until it expires: sign out again once the server answers (it is kept sealed for that alone), or end this client's access on the server's own page";
