//! Exchanges in a process that outlives this one: a client that ends its bridge kills it within half
//! a second, and with it an answer that may be the only copy of a token.
//!
//! The process is this program, started once more, in a session of its own, and no child of ours. It
//! gets one claim, or one sign-in that a person agreed to, over a socket that only both have, sends
//! the request, and ends when the claim does, or when the sign-in is stored. What it does when we are
//! gone is [`keyway_auth::oauth::settle`].

mod message;
mod process;

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use keyway_auth::BoxFuture;
use keyway_auth::ports::{
    Carried, CarriedExchange, ExchangeCarrier, HttpFailure, HttpRequest, HttpResponse,
};
use keyway_secret::Secret;
use keyway_store::ClaimId;
use keyway_transport::{HttpClient, Launcher};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;

use self::message::{FromCarrier, Job, Network, ToCarrier, read, write};
use crate::vault::KeptVault;

pub(crate) use self::process::work;
use crate::timeouts::CARRIER_START_TIMEOUT;

/// Starts carriers for the renewals and sign-ins of one server.
#[derive(Debug)]
pub(crate) struct ProcessCarrier {
    pub(crate) launcher: Launcher,
    /// What the network needs of the environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) vault: Arc<KeptVault>,
    /// Under which name clients are registered.
    pub(crate) client_name: String,
    pub(crate) http: HttpClient,
    pub(crate) server: Url,
    /// Whether the server may lead to less public addresses.
    pub(crate) is_private: bool,
}

impl ProcessCarrier {
    async fn start(&self, carried: &Carried) -> io::Result<CarrierProcess> {
        let job = self.job(carried)?;
        let (launcher, environment) = (self.launcher.clone(), self.environment.clone());
        // It waits for a process, for some milliseconds.
        let started = tokio::task::spawn_blocking(move || launcher.start_detached(environment));
        let stream = started.await.map_err(io::Error::other)??;
        stream.set_nonblocking(true)?;
        let mut stream = UnixStream::from_std(stream)?;
        write(&mut stream, &job).await?;
        match read(&mut stream).await? {
            FromCarrier::Ready => Ok(CarrierProcess(Mutex::new(stream))),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn job(&self, carried: &Carried) -> io::Result<Job> {
        let vault = self.vault.get().map_err(io::Error::other)?;
        let network = self.http.settings().ok_or(io::ErrorKind::Unsupported)?;
        Ok(Job {
            folders: self.vault.folders().into(),
            key: vault.unlocked_key().to_bytes().into(),
            profile: carried.grant.profile().to_owned(),
            grant: carried.grant.name(),
            claim: carried.claim.map(ClaimId::get),
            state: carried.state.clone().into(),
            client_name: self.client_name.clone(),
            network: Network::from(&network),
            server: self.server.clone(),
            is_private: self.is_private,
        })
    }
}

impl ExchangeCarrier for ProcessCarrier {
    fn take(&self, carried: Carried) -> BoxFuture<'_, Option<Arc<dyn CarriedExchange>>> {
        Box::pin(async move {
            let started = timeout(CARRIER_START_TIMEOUT, self.start(&carried)).await;
            let process = started.ok()?.ok()?;
            Some(Arc::new(process) as Arc<dyn CarriedExchange>)
        })
    }
}

/// A carrier that has taken a claim or a sign-in. The end of the stream tells it that this process is gone.
///
/// ```text
///   started ──job──▶ Ready ──send──▶ sending ──answer──▶ Ready
///      │               │                │ dropped: the answer stays in the stream
///      │               ├──end──▶ over   ▼
///      │               │       no further request; the carrier settles what it has taken
///      └─ no Ready in CARRIER_START_TIMEOUT ──▶ the stream ends, a claim is released here
/// ```
///
/// The lock is held from a request to its answer, so that no other request reads that answer. A
/// `send` that is dropped in between leaves its answer unread: only `end` may follow it.
#[derive(Debug)]
struct CarrierProcess(Mutex<UnixStream>);

impl CarriedExchange for CarrierProcess {
    fn send(
        &self,
        details: Secret<Vec<u8>>,
        request: HttpRequest,
    ) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>> {
        Box::pin(async move {
            let host = request.url.host_str().unwrap_or_default().to_owned();
            // One request at a time is all that an exchange has.
            let mut stream = self.0.lock().await;
            let exchanged = async {
                write(&mut *stream, &ToCarrier::send(&details, &request)).await?;
                read(&mut *stream).await
            };
            match exchanged.await {
                Ok(FromCarrier::Answer(answer)) => answer.into_response(&host),
                Ok(FromCarrier::Failure(failure)) => Err(failure.into()),
                // It was killed, and what it had sent is unknown.
                Ok(FromCarrier::Ready) | Err(_) => Err(HttpFailure::Unreachable {
                    host,
                    why: "the process that waited for the answer ended".to_owned(),
                    sent: true,
                }),
            }
        })
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut stream = self.0.lock().await;
            // One that does not hear it looks at the vault, and finds that the claim has ended.
            drop(write(&mut *stream, &ToCarrier::End).await);
        })
    }
}
