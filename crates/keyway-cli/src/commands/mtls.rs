//! `keyway mtls`: a server behind mutual TLS, for a client that speaks standard input and output.

use std::path::PathBuf;

use clap::Args;
use keyway::Host;
use keyway::connect::{RootCertificates, harden_self};
use keyway::identity::Files;
use keyway_code::Exit;
use keyway_mcp::bridge::{bridge, standard_pipes};
use keyway_secret::Secret;
use url::Url;

use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::settings;

/// Connect a client over stdio to a server that requires mutual TLS
///
/// Reads the server's URL from `API_URL`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  API_URL=https://mcp.example.com/mcp keyway mtls --cert client.pem --key client.key")]
pub(crate) struct Mtls {
    /// Client certificate chain
    #[arg(long, value_name = "PEM")]
    cert: PathBuf,
    /// Private key of the certificate
    #[arg(long, value_name = "PEM")]
    key: PathBuf,
    /// Trust only the root certificates in this file
    #[arg(long, value_name = "PEM")]
    cacert: Option<PathBuf>,
    /// Variable that holds the passphrase of an encrypted key
    #[arg(long, value_name = "NAME")]
    key_passphrase_env: Option<String>,
}

/// Runs the command; standard output carries protocol and nothing else.
pub(crate) fn run(arguments: &Mtls, context: &CommandContext) -> Result<Exit, CliError> {
    harden_self().map_err(|source| keyway::Error::Harden { source })?;
    let url = address()?;
    let files = Files::new(arguments.cert.clone(), arguments.key.clone())
        .with_passphrase(arguments.passphrase()?);
    let mut network = settings::http(&context.network()?)?;
    network.identity = Some(files.read()?);
    if let Some(roots) = &arguments.cacert {
        network.root_certificates = RootCertificates {
            system: false,
            files: vec![roots.clone()],
        };
    }
    super::block_on(async {
        // Without a vault there is no sign-in: the certificate is all that is shown.
        let host = Host::builder().http(network).without_vault();
        // Inside of the runtime, so that the certificate is read again when it is renewed.
        let host = host.client_certificate(Some(files)).build()?;
        let connected = host.server(&url)?.approve().await?.open().await?;
        let (input, output) = standard_pipes().map_err(|source| CliError::Client { source })?;
        let bridged = bridge(input, output, connected.connection).await;
        bridged.map_err(|source| CliError::Client { source })?;
        Ok(Exit::Done)
    })
}

impl Mtls {
    fn passphrase(&self) -> Result<Option<Secret<String>>, CliError> {
        let Some(name) = &self.key_passphrase_env else {
            return Ok(None);
        };
        match ProcessEnvironment::text(name) {
            Some(passphrase) => Ok(Some(Secret::new(passphrase))),
            None => Err(CliError::NoPassphrase { name: name.clone() }),
        }
    }
}

/// Reads the address of the server, which must be encrypted.
fn address() -> Result<Url, CliError> {
    let url = ProcessEnvironment::text("API_URL").ok_or(CliError::Usage {
        what: "`API_URL` must hold the address of the server",
    })?;
    let url = Url::parse(&url).ok().filter(|url| url.scheme() == "https");
    url.ok_or(CliError::Usage {
        what: "`API_URL` must be an `https` address, because it gets a client certificate",
    })
}
