//! How to sign in: what the scenario gave, written down as a person would in `config.toml`.

use std::path::Path;

use keyway::settings::{Around, Settings};
use keyway_testkit::conformance::Context;

use crate::work::Failure;

/// Returns the settings that a scenario needs.
pub(crate) fn settings(context: &Context, home: &Path) -> Result<Settings, Failure> {
    let mut around = Around::default();
    around.folder = Some(home);
    let text = context
        .write_settings(home)
        .map_err(|source| Failure::Runtime { source })?;
    let parsed = Settings::parse("config.toml", text.as_bytes(), around);
    if let Some(found) = parsed.diagnostics.first() {
        return Err(Failure::Settings {
            message: found.message.clone(),
        });
    }
    Ok(parsed.settings)
}
