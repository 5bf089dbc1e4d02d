//! A wrapping key in Transit, the engine of Vault and OpenBao that encrypts and hands out no key.
//!
//! Two of its routes are used: `encrypt` and `decrypt`. What a key is for goes along as associated
//! data, so that the key has to be of a type that has some: `aes256-gcm96` or `chacha20-poly1305`.

use std::fmt;
use std::path::Path;
use std::thread;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use keyway::store::StoreError;
use keyway_auth::ports::{HttpClient as _, HttpFailure, HttpRequest};
use keyway_postgres::{KeyWrapper, WrapError};
use keyway_secret::Secret;
use keyway_transport::{HttpClient, HttpSettings, OAuthHttp, RootCertificates, TransportError};
use keyway_vault::KeyId;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use tokio::runtime::Builder;
use url::Url;

use super::secrets::Secrets;
use crate::timeouts::TRANSIT_TIMEOUT;

/// A wrapping key in Transit.
pub(super) struct TransitKey {
    mount: Url,
    name: String,
    token: Secrets,
    http: HttpSettings,
    id: KeyId,
}

/// What is wrong with Transit.
#[derive(Debug, Error)]
pub(super) enum TransitFault {
    #[error("the address of Transit is not an `https` address")]
    Address,
    #[error("cannot name the key in Transit")]
    Name,
    #[error("no client for Transit can be made")]
    Client(#[source] TransportError),
    #[error("the token for Transit cannot be read")]
    Token(#[source] StoreError),
    #[error("Transit cannot be asked")]
    Http(#[source] HttpFailure),
    #[error("Transit did not answer within {seconds} seconds")]
    Timeout { seconds: u64 },
    #[error("Transit answered with status {status}")]
    Status { status: u16 },
    #[error("Transit did not answer as it is specified")]
    Answer,
    #[error("no thread can be started to ask Transit")]
    Thread(#[source] std::io::Error),
}

impl From<TransitFault> for WrapError {
    fn from(fault: TransitFault) -> Self {
        Self::Away(Box::new(fault))
    }
}

impl TransitKey {
    /// Prepares the key `name` of the engine that is mounted at `url`; nothing is asked yet.
    pub(super) fn new(
        url: &str,
        name: String,
        token: Secrets,
        authorities: Option<&Path>,
    ) -> Result<Self, TransitFault> {
        let mount = Url::parse(url).map_err(|_| TransitFault::Address)?;
        let is_safe = mount.scheme() == "https" || is_loopback(&mount);
        if !is_safe || mount.query().is_some() || !mount.username().is_empty() {
            return Err(TransitFault::Address);
        }
        let mut roots = RootCertificates::default();
        roots.files.extend(authorities.map(Path::to_owned));
        let mut http = HttpSettings::default();
        http.root_certificates = roots;
        // The address may change; the key is known by where it is mounted and by its name.
        let place = keyway_postgres::wrapper_name("transit key", &[mount.path(), &name]);
        let id = place.ok_or(TransitFault::Name)?;
        Ok(Self {
            mount,
            name,
            token,
            http,
            id,
        })
    }

    /// Sends one request and returns `data` of the answer, or that the request was refused.
    fn ask(
        &self,
        operation: &'static str,
        body: &serde_json::Value,
    ) -> Result<Option<Data>, TransitFault> {
        let request = self.request(operation, body)?;
        // A runtime of its own, on a thread of its own: the caller may be inside of one. A person's
        // key is asked for once, so that no connection is worth keeping.
        thread::scope(|scope| {
            let asking = thread::Builder::new().spawn_scoped(scope, || {
                let runtime = Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(TransitFault::Thread)?;
                runtime.block_on(self.exchange(request))
            });
            let asking = asking.map_err(TransitFault::Thread)?;
            asking.join().unwrap_or(Err(TransitFault::Answer))
        })
    }

    fn request(
        &self,
        operation: &str,
        body: &serde_json::Value,
    ) -> Result<HttpRequest, TransitFault> {
        let name = utf8_percent_encode(&self.name, NON_ALPHANUMERIC);
        let mount = self.mount.as_str().trim_end_matches('/');
        let url = Url::parse(&format!("{mount}/{operation}/{name}"));
        let url = url.map_err(|_| TransitFault::Address)?;
        let body = Secret::new(body.to_string().into_bytes());
        let mut request = HttpRequest::post(url, body);
        let token = self.token.read().map_err(TransitFault::Token)?;
        let mut token = HeaderValue::from_str(token.expose()).map_err(|_| TransitFault::Answer)?;
        token.set_sensitive(true);
        request.headers.insert("x-vault-token", token);
        let json = HeaderValue::from_static("application/json");
        request.headers.insert(CONTENT_TYPE, json);
        Ok(request)
    }

    async fn exchange(&self, request: HttpRequest) -> Result<Option<Data>, TransitFault> {
        let client = HttpClient::new(self.http.clone()).map_err(TransitFault::Client)?;
        let client = OAuthHttp::new(&client, &self.mount);
        let answer = tokio::time::timeout(TRANSIT_TIMEOUT, client.send(request)).await;
        let late = |_| TransitFault::Timeout {
            seconds: TRANSIT_TIMEOUT.as_secs(),
        };
        let answer = answer.map_err(late)?.map_err(TransitFault::Http)?;
        match answer.status {
            200 => {
                let parsed: Result<Answer, _> = serde_json::from_slice(answer.body.expose());
                parsed
                    .map(|it| Some(it.data))
                    .map_err(|_| TransitFault::Answer)
            }
            // What it says of a ciphertext that was changed, or belongs to another key or purpose.
            400 => Ok(None),
            status => Err(TransitFault::Status { status }),
        }
    }
}

impl KeyWrapper for TransitKey {
    fn id(&self) -> KeyId {
        self.id
    }

    fn wrap(&self, key: &Secret<[u8; 32]>, context: &[u8]) -> Result<Vec<u8>, WrapError> {
        let body = json!({
            "plaintext": BASE64_STANDARD.encode(key.expose()),
            "associated_data": BASE64_STANDARD.encode(context),
        });
        let data = self.ask("encrypt", &body)?;
        let status = TransitFault::Status { status: 400 };
        let wrapped = data.ok_or(status)?.ciphertext.ok_or(TransitFault::Answer)?;
        Ok(wrapped.into_bytes())
    }

    fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Secret<[u8; 32]>, WrapError> {
        let wrapped = std::str::from_utf8(wrapped).map_err(|_| WrapError::Rejected)?;
        let body = json!({
            "ciphertext": wrapped,
            "associated_data": BASE64_STANDARD.encode(context),
        });
        let data = self.ask("decrypt", &body)?.ok_or(WrapError::Rejected)?;
        let plain = Secret::new(data.plaintext.ok_or(TransitFault::Answer)?);
        let bytes = BASE64_STANDARD.decode(plain.expose());
        let bytes = Secret::new(bytes.map_err(|_| TransitFault::Answer)?);
        let bytes = <[u8; 32]>::try_from(bytes.expose().as_slice());
        bytes.map(Secret::new).map_err(|_| WrapError::Rejected)
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    ciphertext: Option<String>,
    plaintext: Option<String>,
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

impl fmt::Debug for TransitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransitKey")
            .field("mount", &self.mount.as_str())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
