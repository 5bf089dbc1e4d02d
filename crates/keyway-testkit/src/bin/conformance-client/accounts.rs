//! How to sign in: what the scenario gave, written down as a person would in `config.toml`.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use keyway::settings::{Around, Settings};
use keyway::sign_in::{
    Accounts, ConsentQuestion, InteractionError, KeptVault, Loopback, Presenter, PromptPolicy,
};
use keyway::trust::{Folders, KeySources, Vault};
use keyway_testkit::conformance::Context;
use keyway_testkit::visit;

use crate::work::Failure;

/// Returns the sign-ins of this run, kept below `home`, and the variables that they need.
pub(crate) fn accounts(
    context: &Context,
    home: &Path,
) -> Result<(Accounts, Vec<(OsString, OsString)>), Failure> {
    let around = Around {
        folder: Some(home),
        home: None,
    };
    let text = context
        .write_settings(home)
        .map_err(|source| Failure::Runtime { source })?;
    let parsed = Settings::parse("config.toml", text.as_bytes(), around);
    if let Some(found) = parsed.diagnostics.first() {
        return Err(Failure::Settings {
            message: found.message.clone(),
        });
    }
    let folders = Folders::below(home.join("keyway"));
    let open = {
        let folders = folders.clone();
        move || Vault::open(&folders, KeySources::default())
    };
    let accounts = Accounts {
        vault: Arc::new(KeptVault::new(folders, Box::new(open))),
        interaction: Some(Arc::new(Loopback::new(Arc::new(Agreeing)))),
        asking: PromptPolicy::WhenNeeded,
        settings: Arc::new(parsed.settings),
        profile: "default".to_owned(),
        account: None,
        device: false,
        whose: None,
    };
    Ok((accounts, context.variables()))
}

/// A person who goes where the page leads, and agrees.
#[derive(Debug)]
struct Agreeing;

impl Presenter for Agreeing {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let url = question.url.to_string();
        drop(std::thread::spawn(move || drop(visit(&url))));
        Ok(())
    }
}
