//! The health probe (contract §8): one `GET` beside the server's own path, with its credential.
//!
//! It never proves that a server works; connecting and listing something does.

use std::sync::Arc;
use std::time::SystemTime;

use http::HeaderMap;
use keyway_auth::ports::{HttpClient as _, HttpFailure, HttpRequest, HttpResponse, Redirects};
use keyway_auth::{Authorizer, Challenge, Credential, Verdict};
use keyway_config::resolve::RemoteSpec;
use keyway_secret::{Clock as _, SystemClock};
use keyway_transport::{HttpClient, OAuthHttp, TransportError};
use url::Url;

use crate::connect::ConnectError;

/// What a server's health address says.
#[derive(Debug)]
#[non_exhaustive]
pub enum Health {
    /// 200.
    Ok,
    /// 401 or 403.
    Refused {
        /// Which.
        status: u16,
    },
    /// There is no such address, or its answer says nothing.
    Inconclusive {
        /// The status.
        status: u16,
    },
    /// There was no answer.
    Unreachable {
        /// Why.
        failure: HttpFailure,
    },
    /// The server runs on this machine and has no address.
    Local,
}

impl Health {
    const fn of(status: u16) -> Self {
        match status {
            200 => Self::Ok,
            401 | 403 => Self::Refused { status },
            _ => Self::Inconclusive { status },
        }
    }
}

/// What a server's health address says, and when it said so.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// What it says.
    pub health: Health,
    /// By how many seconds the server's clock is ahead of ours, if it tells its time.
    pub skew: Option<i64>,
}

impl Checked {
    pub(crate) const fn of(health: Health) -> Self {
        Self { health, skew: None }
    }

    fn answered(response: &HttpResponse) -> Self {
        let date = response.headers.get(http::header::DATE);
        let theirs = date.and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
        Self {
            health: Health::of(response.status),
            skew: theirs.map(|theirs| seconds(theirs).saturating_sub(now())),
        }
    }
}

/// Returns the time of this machine, in seconds since 1970.
pub(crate) fn now() -> i64 {
    seconds(SystemClock.wall())
}

fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}

/// Asks a server's health address; redirects are not followed.
///
/// # Errors
///
/// Returns why there is no credential to ask with.
pub(crate) async fn check(
    http: &HttpClient,
    remote: &RemoteSpec,
    authorizer: Arc<dyn Authorizer>,
) -> Result<Checked, ConnectError> {
    let url = health_address(remote.address.url().expose());
    let url = url.ok_or(TransportError::Settings {
        what: "the address of the server is not a URL",
    })?;
    let probe = Probe {
        client: OAuthHttp::new(http, &url),
        authorizer,
        url,
    };
    probe.run(remote).await
}

struct Probe {
    client: OAuthHttp,
    authorizer: Arc<dyn Authorizer>,
    url: Url,
}

impl Probe {
    async fn run(&self, remote: &RemoteSpec) -> Result<Checked, ConnectError> {
        let failed = |error| ConnectError::from(TransportError::from(error));
        let credential = self.authorizer.obtain().await.map_err(failed)?;
        let first = match self.ask(&credential).await {
            Ok(response) => response,
            Err(failure) => return Ok(Checked::of(Health::Unreachable { failure })),
        };
        // A helper is run again after a refusal; the probe does not sign in.
        if !matches!(first.status, 401 | 403) || remote.helper.is_none() {
            return Ok(Checked::answered(&first));
        }
        let verdict = self.authorizer.challenged(&credential, challenge(&first));
        match verdict.await.map_err(failed)? {
            Verdict::Retry(better) => Ok(match self.ask(&better).await {
                Ok(response) => Checked::answered(&response),
                Err(failure) => Checked::of(Health::Unreachable { failure }),
            }),
            _ => Ok(Checked::answered(&first)),
        }
    }

    async fn ask(&self, credential: &Credential) -> Result<HttpResponse, HttpFailure> {
        let mut request = HttpRequest::get(self.url.clone());
        request.redirects = Redirects::None;
        let proof = credential.proof_for(&request.method, &self.url);
        let headers = credential.expose().iter().cloned().chain(proof);
        request.headers = headers.collect::<HeaderMap>();
        self.client.send(request).await
    }
}

fn challenge(response: &HttpResponse) -> Challenge {
    let all = response.headers.get_all(http::header::WWW_AUTHENTICATE);
    let mut challenge = Challenge::new(response.status);
    challenge.www_authenticate = all.iter().cloned().collect();
    challenge.dpop_nonce = response.headers.get("dpop-nonce").cloned();
    challenge
}

/// The path without a slash at its end, plus `/health`; without query, `wss` as `https`.
fn health_address(url: &str) -> Option<Url> {
    let mut url = Url::parse(url).ok()?;
    let scheme = match url.scheme() {
        "wss" | "https" => "https",
        "ws" | "http" => "http",
        _ => return None,
    };
    url.set_scheme(scheme).ok()?;
    let path = format!("{}/health", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_health_address_is_beside_the_server_s_and_carries_no_query() {
        for (url, expected) in [
            ("https://h.example/mcp", "https://h.example/mcp/health"),
            ("https://h.example/mcp/", "https://h.example/mcp/health"),
            ("https://h.example", "https://h.example/health"),
            (
                "https://h.example/a/b?key=secret#x",
                "https://h.example/a/b/health",
            ),
            (
                "wss://h.example:8443/ws",
                "https://h.example:8443/ws/health",
            ),
            ("ws://127.0.0.1:9/", "http://127.0.0.1:9/health"),
        ] {
            let found = health_address(url).map(String::from);
            assert_eq!(found.as_deref(), Some(expected), "{url}");
        }
        for url in ["", "ftp://h.example", "h.example/mcp"] {
            assert!(health_address(url).is_none(), "{url}");
        }
    }
}
