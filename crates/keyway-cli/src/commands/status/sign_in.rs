//! Who is signed in to which server, as far as the vault tells; nothing is sent.

use std::sync::Arc;

use keyway::Host;
use keyway::load::Loaded;
use keyway::sign_in::{Accounts, SignIn};
use keyway::vault::KeptVault;
use keyway_config::method::Method;
use keyway_config::resolve::{SpecEndpoint, resolve};
use keyway_mcp::states::{Reason, State};
use keyway_secret::printable;

use super::Listed;
use crate::connect_args::default_profile;
use crate::context::CommandContext;
use crate::error::CliError;

/// Adds the sign-ins; one that has ended makes its server wait for a person.
pub(super) fn look_up(
    servers: &mut [Listed<'_>],
    plugins: &[&Loaded],
    host: &Host,
    accounts: &Accounts,
) -> Result<(), CliError> {
    for listed in servers.iter_mut().filter(|listed| is_oauth(listed)) {
        let owner = listed.owner(plugins);
        let (Some(loaded), Ok(server)) = (owner, &listed.status.entry.server) else {
            continue;
        };
        let spec = resolve(server, &host.variable_scope(loaded)?.scope());
        let Ok(SpecEndpoint::Remote(remote)) = spec.map(|spec| spec.endpoint) else {
            continue;
        };
        let found = accounts.status(&listed.plugin, &server.name, &remote);
        listed.sign_in = found?;
        if listed.sign_in.as_ref().is_some_and(|kept| kept.ended) {
            listed.status.state = State::NeedsAuth;
            listed.status.reason = Some(Reason::ReauthRequired);
        }
    }
    Ok(())
}

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

/// Says whether somebody can be signed in to a server.
pub(super) fn is_oauth(listed: &Listed<'_>) -> bool {
    listed.status.method == Some(Method::OAuth)
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

#[cfg(test)]
mod tests {
    use super::*;

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
