//! From an address to a session, by the path that every host takes.

use std::path::Path;
use std::sync::Arc;

use keyway::Host;
use keyway::sign_in::{ConsentQuestion, InteractionError, Presenter};
use keyway::vault::{Folders, KeySources};
use keyway_config::environment::Variables;
use keyway_mcp::session::Session;
use keyway_testkit::conformance::Context;
use keyway_testkit::visit;
use serde_json::json;

use crate::accounts::settings;
use crate::person::Person;
use crate::work::Failure;

/// Connects to the server at `url` and initializes a session.
pub(crate) async fn open(url: &str, context: &Context, home: &Path) -> Result<Session, Failure> {
    let host = Host::builder()
        .client("keyway-conformance", env!("CARGO_PKG_VERSION"))
        .vault(Folders::below(home.join("keyway")), KeySources::default())
        .environment(Variables::default())
        .child_environment(context.variables())
        .settings(settings(context, home)?)
        .presenter(Arc::new(Agreeing))
        .build()?;
    let plugin = host.load(plugin(url, home).map_err(|source| Failure::Runtime { source })?)?;
    let server = plugin.plan_only()?.approve().await?;
    Ok(server.connect_with(Arc::new(Person)).await?)
}

/// Writes the entry that a plugin's author would write: `type` and `url`, nothing else.
fn plugin(url: &str, home: &Path) -> std::io::Result<std::path::PathBuf> {
    // The settings of a scenario are those of `conformance:server`.
    let folder = home.join("conformance");
    std::fs::create_dir_all(&folder)?;
    let entry = json!({ "server": { "type": "http", "url": url } });
    std::fs::write(folder.join(".mcp.json"), entry.to_string())?;
    Ok(folder)
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
