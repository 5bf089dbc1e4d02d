//! How to sign in: what the scenario gave, written down as a person would in `config.toml`.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use keyway::settings::{Around, Settings};
use keyway::sign_in::{
    Accounts, ConsentQuestion, InteractionError, KeptVault, Loopback, Presenter, PromptPolicy,
};
use keyway::trust::{Folders, KeySources, Vault};
use keyway_testkit::visit;
use serde_json::Value;

use crate::context::Context;
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
    let text = configuration(context, home)?;
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
    let variable = |name: &str, value: &Option<String>| {
        let value = value.as_ref()?;
        Some((OsString::from(name), OsString::from(value)))
    };
    let variables = [
        variable("CLIENT_SECRET", &context.client_secret),
        variable("ID_TOKEN", &context.idp_id_token),
    ];
    Ok((accounts, variables.into_iter().flatten().collect()))
}

/// Writes what the scenario gave: a client with an issuer is used there, one without acts for
/// itself, unless somebody vouches for it.
fn configuration(context: &Context, home: &Path) -> Result<String, Failure> {
    let mut client = String::new();
    let mut line = |key: &str, value: &str| {
        client.push_str(&format!("{key} = {}\n", Value::from(value)));
    };
    if let Some(id) = &context.client_id {
        line("client_id", id);
    }
    if context.client_secret.is_some() {
        line("client_secret_env", "CLIENT_SECRET");
    }
    if let Some(pem) = &context.private_key_pem {
        keep(&home.join("client.pem"), pem)?;
        line("private_key_file", "client.pem");
    }
    if let Some(algorithm) = &context.signing_algorithm {
        line("signing_algorithm", algorithm);
    }
    let mut text = format!("[oauth]\nclient_metadata_url = \"{CLIENT_METADATA}\"\n");
    if let Some(issuer) = &context.issuer {
        text.push_str(&format!(
            "[oauth.issuers.{}]\n{client}",
            Value::from(issuer.as_str())
        ));
        client.clear();
    }
    if let (Some(issuer), Some(id)) = (&context.idp_issuer, &context.idp_client_id) {
        let (issuer, id) = (Value::from(issuer.as_str()), Value::from(id.as_str()));
        text.push_str(&format!("[oauth.issuers.{issuer}]\nclient_id = {id}\n"));
    }
    text.push_str("[servers.\"conformance:server\".oauth]\n");
    text.push_str(&client);
    let mut line = |key: &str, value: &str| {
        text.push_str(&format!("{key} = {}\n", Value::from(value)));
    };
    if let Some(jwt) = &context.valid_jwt {
        keep(&home.join("workload.jwt"), jwt)?;
        line("grant", "workload-identity");
        line("jwt_file", "workload.jwt");
    } else if let Some(issuer) = &context.idp_issuer {
        line("grant", "id-jag");
        line("idp_issuer", issuer);
        line("id_token_env", "ID_TOKEN");
        if let Some(endpoint) = &context.idp_token_endpoint {
            line("idp_token_endpoint", endpoint);
        }
    } else if !client.is_empty() {
        line("grant", "client-credentials");
    }
    Ok(text)
}

fn keep(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|source| Failure::Runtime { source })
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

const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";
