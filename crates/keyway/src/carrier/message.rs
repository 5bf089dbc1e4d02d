//! What a process and its carrier say to each other: JSON behind its length, over a socket that only
//! both have.

use std::fmt;
use std::io;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use keyway_auth::ports::{Barred, HttpFailure, HttpRequest, HttpResponse};
use keyway_secret::Secret;
use keyway_transport::{ClientIdentity, HttpSettings, ProxySettings, RootCertificates};
use keyway_vault::Folders;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use url::Url;

/// The claim or the sign-in that a carrier takes over, and all that it needs to end it alone.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) folders: FolderPaths,
    pub(super) key: Bytes,
    pub(super) profile: String,
    pub(super) grant: String,
    /// None for a sign-in.
    pub(super) claim: Option<i64>,
    pub(super) state: Bytes,
    pub(super) client_name: String,
    pub(super) network: Network,
    pub(super) server: Url,
    pub(super) is_private: bool,
}

/// What the process says after that.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToCarrier {
    /// Send this, and say what came back.
    Send { details: Bytes, request: Request },
    /// The claim has ended, or the sign-in is stored.
    End,
}

impl ToCarrier {
    pub(super) fn send(details: &Secret<Vec<u8>>, request: &HttpRequest) -> Self {
        let body = request.body.clone();
        Self::Send {
            details: details.clone().into(),
            request: Request {
                url: request.url.clone(),
                headers: Headers::from(&request.headers),
                body: body.unwrap_or_else(|| Secret::new(Vec::new())).into(),
            },
        }
    }
}

/// What the carrier says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromCarrier {
    /// It has taken over what it was started for.
    Ready,
    Answer(Answer),
    Failure(Failure),
}

impl FromCarrier {
    pub(super) fn of(answer: &Result<HttpResponse, HttpFailure>) -> Self {
        match answer {
            Ok(response) => Self::Answer(Answer {
                status: response.status,
                headers: Headers::from(&response.headers),
                body: response.body.clone().into(),
            }),
            Err(failure) => Self::Failure(failure.into()),
        }
    }
}

/// A request to a token endpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    url: Url,
    headers: Headers,
    body: Bytes,
}

impl Request {
    pub(super) fn into_request(self) -> Option<HttpRequest> {
        let mut request = HttpRequest::post(self.url, self.body.0);
        request.headers = self.headers.into_map()?;
        Some(request)
    }
}

/// An answer of a token endpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    status: u16,
    headers: Headers,
    body: Bytes,
}

impl Answer {
    pub(super) fn into_response(self, host: &str) -> Result<HttpResponse, HttpFailure> {
        let headers = self.headers.into_map();
        let headers = headers.ok_or_else(|| HttpFailure::Protocol {
            host: host.to_owned(),
            what: "headers that cannot be read",
        })?;
        Ok(HttpResponse::new(self.status, headers, self.body.0))
    }
}

/// Header lines in order; proofs and client credentials are among them.
#[derive(Debug, Serialize, Deserialize)]
struct Headers(Vec<(String, Bytes)>);

impl From<&HeaderMap> for Headers {
    fn from(map: &HeaderMap) -> Self {
        let lines = map.iter().map(|(name, value)| {
            let value = Secret::new(value.as_bytes().to_vec());
            (name.to_string(), Bytes(value))
        });
        Self(lines.collect())
    }
}

impl Headers {
    fn into_map(self) -> Option<HeaderMap> {
        let mut map = HeaderMap::new();
        for (name, value) in self.0 {
            let mut value = HeaderValue::from_bytes(value.0.expose()).ok()?;
            value.set_sensitive(true);
            map.append(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
        }
        Some(map)
    }
}

/// [`HttpFailure`] as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    Private {
        host: String,
    },
    Reserved {
        host: String,
    },
    Unencrypted {
        host: String,
    },
    Unreachable {
        host: String,
        why: String,
        sent: bool,
    },
    Timeout {
        host: String,
        seconds: u64,
        sent: bool,
    },
    Protocol {
        host: String,
    },
    Redirect {
        host: String,
    },
}

impl From<&HttpFailure> for Failure {
    fn from(failure: &HttpFailure) -> Self {
        match failure.clone() {
            HttpFailure::Forbidden { host, why } => match why {
                Barred::LessPublic => Self::Private { host },
                Barred::Unencrypted => Self::Unencrypted { host },
                _ => Self::Reserved { host },
            },
            HttpFailure::Unreachable { host, why, sent } => Self::Unreachable { host, why, sent },
            HttpFailure::Timeout {
                host,
                seconds,
                sent,
            } => Self::Timeout {
                host,
                seconds,
                sent,
            },
            HttpFailure::Protocol { host, .. } => Self::Protocol { host },
            HttpFailure::Redirect { host } => Self::Redirect { host },
            // What is not known may have been carried out.
            other => Self::Unreachable {
                host: String::new(),
                why: other.to_string(),
                sent: true,
            },
        }
    }
}

impl From<Failure> for HttpFailure {
    fn from(failure: Failure) -> Self {
        let barred = |host, why| Self::Forbidden { host, why };
        match failure {
            Failure::Private { host } => barred(host, Barred::LessPublic),
            Failure::Reserved { host } => barred(host, Barred::Never),
            Failure::Unencrypted { host } => barred(host, Barred::Unencrypted),
            Failure::Unreachable { host, why, sent } => Self::Unreachable { host, why, sent },
            Failure::Timeout {
                host,
                seconds,
                sent,
            } => Self::Timeout {
                host,
                seconds,
                sent,
            },
            Failure::Protocol { host } => Self::Protocol {
                host,
                what: "something that breaks a limit or a rule of HTTP",
            },
            Failure::Redirect { host } => Self::Redirect { host },
        }
    }
}

/// The folders of the vault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FolderPaths {
    data: PathBuf,
    config: PathBuf,
    runtime: PathBuf,
}

impl From<&Folders> for FolderPaths {
    fn from(folders: &Folders) -> Self {
        Self {
            data: folders.data.clone(),
            config: folders.config.clone(),
            runtime: folders.runtime.clone(),
        }
    }
}

impl From<FolderPaths> for Folders {
    fn from(paths: FolderPaths) -> Self {
        Self::new(paths.data, paths.config, paths.runtime)
    }
}

/// How the network is reached.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Network {
    system_roots: bool,
    roots: Vec<PathBuf>,
    /// The certificate chain and its key.
    identity: Option<(Bytes, Bytes)>,
    /// For `https`, for `http`, for all; addresses of proxies may hold a password.
    proxies: [Option<Bytes>; 3],
    no_proxy: Option<String>,
}

impl From<&HttpSettings> for Network {
    fn from(settings: &HttpSettings) -> Self {
        let bytes = |text: &Option<Secret<String>>| {
            let text = text.as_ref();
            text.map(|text| Bytes(Secret::new(text.expose().clone().into_bytes())))
        };
        let ProxySettings {
            https,
            http,
            all,
            none,
        } = &settings.proxies;
        let RootCertificates { system, files } = &settings.root_certificates;
        let identity = settings.identity.as_ref().map(|identity| {
            let chain = Secret::new(identity.chain.clone());
            (Bytes(chain), Bytes(identity.key.clone()))
        });
        Self {
            system_roots: *system,
            roots: files.clone(),
            identity,
            proxies: [bytes(https), bytes(http), bytes(all)],
            no_proxy: none.clone(),
        }
    }
}

impl From<Network> for HttpSettings {
    fn from(network: Network) -> Self {
        let text = |bytes: Option<Bytes>| {
            let text = String::from_utf8(bytes?.0.expose().clone()).ok()?;
            Some(Secret::new(text))
        };
        let [https, http, all] = network.proxies;
        let mut settings = Self::default();
        settings.root_certificates = RootCertificates {
            system: network.system_roots,
            files: network.roots,
        };
        settings.identity = network
            .identity
            .map(|(chain, key)| ClientIdentity::new(chain.0.expose().clone(), key.0));
        settings.proxies = ProxySettings {
            https: text(https),
            http: text(http),
            all: text(all),
            none: network.no_proxy,
        };
        settings
    }
}

/// Bytes that may be secret, in base64.
pub(super) struct Bytes(pub(super) Secret<Vec<u8>>);

impl From<Secret<Vec<u8>>> for Bytes {
    fn from(bytes: Secret<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bytes(..)")
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = Secret::new(BASE64_STANDARD.encode(self.0.expose()));
        serializer.serialize_str(text.expose())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Borrowed from the buffer, which is wiped, so that no copy is left behind.
        let text = <&str>::deserialize(deserializer)?;
        let bytes = BASE64_STANDARD.decode(text);
        let bytes = bytes.map_err(|_| serde::de::Error::custom("not base64"))?;
        Ok(Self(Secret::new(bytes)))
    }
}

/// Sends one message.
pub(super) async fn write<T: Serialize + Sync>(
    stream: &mut (impl AsyncWrite + Unpin + Send),
    message: &T,
) -> io::Result<()> {
    let body = Secret::new(serde_json::to_vec(message)?);
    let length = u32::try_from(body.expose().len()).map_err(io::Error::other)?;
    stream.write_u32_le(length).await?;
    stream.write_all(body.expose()).await?;
    stream.flush().await
}

/// Reads one message; the end of the stream is an error.
pub(super) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin + Send),
) -> io::Result<T> {
    let length = stream.read_u32_le().await?;
    if length > MAX_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let read = stream.read_exact(&mut body).await;
    let body = Secret::new(body);
    read?;
    Ok(serde_json::from_slice(body.expose())?)
}

/// An answer has at most 1 MiB, which is a third more in base64.
const MAX_MESSAGE: u32 = 4 << 20;
