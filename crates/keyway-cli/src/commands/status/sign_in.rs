//! Who is signed in to which server, as far as the vault tells; nothing is sent.

use std::sync::Arc;

use keyway::diagnosis::lasting;
use keyway::sign_in::{Accounts, SignIn, UnstoredRenewal, UnstoredSignIn};
use keyway::vault::KeptVault;
use keyway_secret::printable;

use crate::arguments::connect::default_profile;
use crate::context::CommandContext;
use crate::error::CliError;

/// Returns whose sign-ins are told.
pub(super) fn accounts(
    vault: &Arc<KeptVault>,
    context: &CommandContext,
) -> Result<Accounts, CliError> {
    let settings = context.settings()?;
    let profile = default_profile(context)?;
    let account = settings.defaults.account.clone();
    let settings = Arc::new(settings.clone());
    Ok(Accounts::of_vault(vault, settings, &profile, account))
}

/// Says in one line who is signed in, to what, and for how long.
pub(super) fn line(name: &str, kept: &SignIn) -> String {
    let who = match &kept.account {
        Some(account) => format!("as {}", printable(account)),
        None => "signed in".to_owned(),
    };
    let issuer = printable(&kept.issuer);
    let scopes = if kept.scopes.is_empty() {
        "default scopes".to_owned()
    } else {
        printable(&kept.scopes.join(" "))
    };
    let time = match kept.expires_in {
        _ if kept.ended => match kept.fault() {
            Some(fault) => format!("ended, because {fault}: sign in again"),
            None => "ended: sign in again".to_owned(),
        },
        Some(left) if left > 0 => format!("token ends in {}", lasting(left)),
        Some(_) => "token ended".to_owned(),
        None => "token does not expire".to_owned(),
    };
    let renews = if kept.renews && !kept.ended {
        ", renews itself"
    } else {
        ""
    };
    let wants = if kept.required_scopes.is_empty() {
        String::new()
    } else {
        let wanted = printable(&kept.required_scopes.join(" "));
        let server = name.split_once(':').map_or(name, |(_, server)| server);
        format!("; the server also wants {wanted}: run `keyway login {server}`")
    };
    let unstored = kept.unstored.map(unstored).unwrap_or_default();
    format!("  {name}: {who} at {issuer}; {scopes}; {time}{renews}{wants}{unstored}\n")
}

/// Names the process that has a sign-in which is stored nowhere.
pub(super) fn unstored_line(name: &str, unstored: UnstoredSignIn) -> String {
    let process = numbered(unstored.process);
    format!(
        "  {name}: {process} has a new sign-in only in memory, because the vault cannot be written: do not end it, free space on the disk\n"
    )
}

fn numbered(process: Option<u32>) -> String {
    match process {
        Some(process) => format!("process {process}"),
        None => "a process".to_owned(),
    }
}

/// Names the process whose end would cost the sign-in.
fn unstored(renewal: UnstoredRenewal) -> String {
    let process = numbered(renewal.process);
    let time = lasting(i64::try_from(renewal.seconds).unwrap_or(i64::MAX));
    format!(
        "; {process} has been renewing it for {time} and may hold the new tokens only in memory: do not end it, free space on the disk"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn process_that_holds_tokens_in_memory_is_named_once_no_answer_can_be_on_its_way() {
        let judged = |seconds| UnstoredRenewal::of(Some(77), Duration::from_secs(seconds));
        assert_eq!(judged(59), None);
        let text = unstored(judged(150).unwrap());
        assert!(
            text.contains("process 77") && text.contains("2 min"),
            "{text}"
        );
        assert!(text.contains("do not end it"), "{text}");
    }

    #[test]
    fn time_left_is_told_as_a_person_would() {
        for (seconds, words) in [
            (90, "90 s"),
            (600, "10 min"),
            (7200, "2 h"),
            (300_000, "3 days"),
        ] {
            assert_eq!(lasting(seconds), words);
        }
    }
}
