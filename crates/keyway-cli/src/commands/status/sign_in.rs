//! Who is signed in to which server, as far as the vault tells; nothing is sent.

use std::sync::Arc;

use keyway::load::Loaded;
use keyway::sign_in::{Accounts, Asking, SignIn};
use keyway::states::{Reason, State};
use keyway_config::method::Method;
use keyway_config::resolve::{SpecEndpoint, resolve};
use keyway_secret::printable;

use super::Listed;
use crate::error::CliError;
use crate::reach::{ReachError, default_profile, kept_vault};
use crate::session::Session;
use crate::surroundings::Surroundings;

/// Adds the sign-ins; one that has ended makes its server wait for a person.
pub(super) fn look_up(
    servers: &mut [Listed<'_>],
    plugins: &[Loaded],
    surroundings: &Surroundings,
    session: &Session,
) -> Result<(), CliError> {
    let is_oauth = |listed: &Listed<'_>| listed.status.method == Some(Method::OAuth);
    let Some(vault) = kept_vault()?.filter(|_| servers.iter().any(is_oauth)) else {
        return Ok(());
    };
    let settings = session.settings()?;
    let accounts = Accounts {
        vault: Arc::new(vault),
        interaction: None,
        asking: Asking::Never,
        settings: Arc::new(settings.clone()),
        profile: default_profile(session)?,
        account: settings.defaults.account.clone(),
        device: false,
    };
    for listed in servers.iter_mut().filter(|listed| is_oauth(listed)) {
        let owner = listed.owner(plugins);
        let (Some(loaded), Ok(server)) = (owner, &listed.status.entry.server) else {
            continue;
        };
        let spec = surroundings.with_scope(loaded, |scope| resolve(server, &scope));
        let Ok(SpecEndpoint::Remote(remote)) = spec.map(|spec| spec.endpoint) else {
            continue;
        };
        let found = accounts.status(&listed.plugin, &server.name, &remote);
        listed.sign_in = found.map_err(ReachError::from)?;
        if listed.sign_in.as_ref().is_some_and(|kept| kept.ended) {
            listed.status.state = State::NeedsAuth;
            listed.status.reason = Some(Reason::ReauthRequired);
        }
    }
    Ok(())
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
        _ if kept.ended => "ended: sign in again".to_owned(),
        Some(left) if left > 0 => format!("token ends in {}", in_words(left)),
        Some(_) => "token ended".to_owned(),
        None => "token without an end".to_owned(),
    };
    let renews = if kept.renews && !kept.ended {
        ", renews itself"
    } else {
        ""
    };
    format!("  {name}: {who} at {issuer}; {scopes}; {time}{renews}\n")
}

fn in_words(seconds: i64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Writes a time of day as RFC 3339 has it, in UTC.
pub(crate) fn rfc3339(unix: i64) -> String {
    let (days, rest) = (unix.div_euclid(86_400), unix.rem_euclid(86_400));
    // Days since 1 March of the year 0, in eras of 400 years.
    let shifted = days + 719_468;
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

    #[test]
    fn time_left_is_told_as_a_person_would() {
        for (seconds, words) in [
            (90, "90 s"),
            (600, "10 min"),
            (7200, "2 h"),
            (300_000, "3 days"),
        ] {
            assert_eq!(in_words(seconds), words);
        }
    }
}
