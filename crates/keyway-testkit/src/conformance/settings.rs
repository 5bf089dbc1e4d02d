//! What a scenario gives to its client, written down as a person would in `config.toml`.

#![expect(
    clippy::disallowed_methods,
    reason = "files of a fresh temporary folder, which has neither links nor other owners"
)]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::Context;

impl Context {
    /// Writes `config.toml` for the server `conformance:server`, and the key files it names, into a
    /// folder; returns its text.
    ///
    /// A client with an issuer is used at that issuer; a client without one acts for itself, unless
    /// an identity provider or a workload token vouches for it.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn write_settings(&self, folder: &Path) -> io::Result<String> {
        let mut client = String::new();
        let mut line = |key: &str, value: &str| client.push_str(&assigned(key, value));
        if let Some(id) = &self.client_id {
            line("client_id", id);
        }
        if self.client_secret.is_some() {
            line("client_secret_env", CLIENT_SECRET);
        }
        if let Some(pem) = &self.private_key_pem {
            fs::write(folder.join("client.pem"), pem)?;
            line("private_key_file", "client.pem");
        }
        if let Some(algorithm) = &self.signing_algorithm {
            line("signing_algorithm", algorithm);
        }
        let mut text = format!("[oauth]\nclient_metadata_url = \"{CLIENT_METADATA}\"\n");
        if let Some(issuer) = &self.issuer {
            let issuer = Value::from(issuer.as_str());
            text.push_str(&format!("[oauth.issuers.{issuer}]\n{client}"));
            client.clear();
        }
        if let (Some(issuer), Some(id)) = (&self.idp_issuer, &self.idp_client_id) {
            let issuer = Value::from(issuer.as_str());
            text.push_str(&format!("[oauth.issuers.{issuer}]\n"));
            text.push_str(&assigned("client_id", id));
        }
        // Wherever the plugin of the suite lies.
        text.push_str("[servers.\"conformance:server\".oauth]\nsource = \"/\"\n");
        text.push_str(&client);
        let mut line = |key: &str, value: &str| text.push_str(&assigned(key, value));
        if let Some(jwt) = &self.valid_jwt {
            fs::write(folder.join("workload.jwt"), jwt)?;
            line("grant", "workload-identity");
            line("jwt_file", "workload.jwt");
        } else if let Some(issuer) = &self.idp_issuer {
            line("grant", "id-jag");
            line("idp_issuer", issuer);
            line("id_token_env", ID_TOKEN);
            if let Some(endpoint) = &self.idp_token_endpoint {
                line("idp_token_endpoint", endpoint);
            }
        } else if !client.is_empty() {
            line("grant", "client-credentials");
        }
        fs::write(folder.join("config.toml"), &text)?;
        Ok(text)
    }

    /// Returns the variables that the settings name.
    #[must_use]
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let variables = [
            (CLIENT_SECRET, &self.client_secret),
            (ID_TOKEN, &self.idp_id_token),
        ];
        let given = |(name, value): (&str, &Option<String>)| {
            let value = value.as_ref()?;
            Some((OsString::from(name), OsString::from(value)))
        };
        variables.into_iter().filter_map(given).collect()
    }
}

fn assigned(key: &str, value: &str) -> String {
    format!("{key} = {}\n", Value::from(value))
}

/// The only client that the suite's authorization servers know without registration.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";
const CLIENT_SECRET: &str = "CLIENT_SECRET";
const ID_TOKEN: &str = "ID_TOKEN";
