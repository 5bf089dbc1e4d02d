//! The smallest host for a plugin: load, plan, approve, connect, call.

use std::path::Path;

use keyway::{Error, Host};
use serde_json::Value;

/// Calls a tool of the only server of the plugin at `folder`.
///
/// # Errors
///
/// Returns [`Error::NotApproved`] unless the entry is approved already or `host` can ask.
pub async fn call(
    host: &Host,
    folder: &Path,
    tool: &str,
    arguments: Value,
) -> Result<String, Error> {
    let server = host.load(folder)?.plan_only()?.approve().await?;
    let session = server.connect().await?;
    let answer = session.call(tool, arguments).await;
    session.close().await;
    let answer = answer.map_err(|error| Error::talk(server.spec(), error))?;
    Ok(answer.text())
}
