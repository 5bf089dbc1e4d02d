//! What the carrier does: takes one claim or one sign-in over, sends what it is asked to, and ends
//! with it.
//!
//! ```text
//!   job ── adopt the claim, ── Ready ──▶ wait ──Send──▶ exchange ── answer ──▶ wait
//!          or reserve room                │ End: done            (the answer is kept)
//!            │                            │ end of the stream
//!            ▼                            ▼
//!          exits                   settle: commit the tokens, or end the claim
//! ```

use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::time::Duration;

use keyway_auth::oauth::{ClientIdentity, Ports, SentRequest, SignInStores, exchange, settle};
use keyway_auth::ports::Carried;
use keyway_secret::SystemClock;
use keyway_store::{ClaimId, GrantKey, GrantStore as _};
use keyway_transport::{HttpClient, OAuthHttp, harden_self};
use keyway_vault::{KeySources, UnlockedKey, Vault};
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use super::message::{FromCarrier, Job, ToCarrier, read, write};
use crate::runtime::{TokioTasks, block_on};
use crate::sign_in::Stores;
use crate::timeouts::CARRIER_JOB_TIMEOUT;
use crate::vault::KeptVault;

/// Works as a carrier until the claim has ended, and exits.
#[expect(clippy::exit, reason = "a carrier has no caller to return to")]
pub(crate) fn work(stream: StdStream) -> ! {
    // The process that started it sees the end of the stream; no other one has to know.
    std::process::exit(i32::from(carry(stream).is_err()))
}

fn carry(stream: StdStream) -> io::Result<()> {
    harden_self()?;
    stream.set_nonblocking(true)?;
    let work = async {
        let _ignored = ignore_signals()?;
        let mut stream = UnixStream::from_std(stream)?;
        let job = timeout(CARRIER_JOB_TIMEOUT, read(&mut stream)).await??;
        let carrier = Carrier::take(job)?;
        carrier.serve(&mut stream).await;
        Ok(())
    };
    // All that has to be stored is stored by now.
    block_on(work, Duration::ZERO)?
}

/// A service manager that stops its group sends these to every process in it, and waits.
fn ignore_signals() -> io::Result<[Signal; 4]> {
    Ok([
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
        signal(SignalKind::quit())?,
    ])
}

/// A carrier that owns a claim or a sign-in.
struct Carrier {
    carried: Carried,
    vault: Arc<Vault>,
    ports: Ports,
}

impl Carrier {
    fn take(job: Job) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let key = UnlockedKey::from_bytes(&job.key.0).ok_or_else(invalid)?;
        let grant = GrantKey::parse(&job.profile, &job.grant).ok_or_else(invalid)?;
        let http = HttpClient::new(job.network.into()).map_err(io::Error::other)?;
        let http = if job.is_private {
            OAuthHttp::dangerous_private(&http, &job.server).map_err(io::Error::other)?
        } else {
            OAuthHttp::new(&http, &job.server)
        };
        let folders = job.folders.into();
        let open = {
            let folders = Clone::clone(&folders);
            move || Vault::open(&folders, KeySources::default().with_unlocked(key.clone()))
        };
        let kept = Arc::new(KeptVault::new(folders, Box::new(open)));
        let vault = kept.get().map_err(io::Error::other)?;
        let carried = Carried::new(grant, job.claim.map(ClaimId::new), job.state.0);
        let is_adopted = match carried.claim {
            Some(claim) => vault.adopt_claim(&carried.grant, claim),
            // The process that asked the person has reserved room as well; its own goes with it.
            None => vault
                .reserve(&carried.grant)
                .map(|()| true)
                .map_err(Into::into),
        };
        if !is_adopted.map_err(io::Error::other)? {
            return Err(io::ErrorKind::NotFound.into());
        }
        let identity = identity(job.client_name);
        let stores = Stores::of_vault(&kept, &job.profile, &identity);
        let stores = SignInStores::new(stores.grants, stores.registrations, stores.documents);
        let (clock, tasks) = (Arc::new(SystemClock), Arc::new(TokioTasks));
        let ports = Ports::new(Arc::new(http), clock, tasks, stores);
        Ok(Self {
            carried,
            vault,
            ports,
        })
    }

    /// Does what the process asks for, and what is left to do when it is gone.
    async fn serve(self, stream: &mut UnixStream) {
        let mut sent = None;
        // A process that is gone already is noticed by the read.
        drop(write(stream, &FromCarrier::Ready).await);
        loop {
            match read(stream).await {
                Ok(ToCarrier::Send { details, request }) => {
                    let Some(request) = request.into_request() else {
                        break;
                    };
                    // Not raced against the stream: a process that goes away meanwhile does not
                    // make the answer worth less.
                    let answer = exchange(&*self.ports.http, &*self.ports.tasks, request).await;
                    drop(write(stream, &FromCarrier::of(&answer)).await);
                    sent = Some(SentRequest::new(details.0, answer));
                }
                Ok(ToCarrier::End) => return self.vault.leave_claim(&self.carried.grant),
                Err(_) => break,
            }
        }
        settle(&self.carried, sent, self.ports).await;
        // A sign-in that came to nothing has not used its room.
        self.vault.leave_claim(&self.carried.grant);
    }
}

/// Returns the identity that clients are registered under, which says where their records are.
fn identity(name: String) -> ClientIdentity {
    let usual = ClientIdentity::default();
    if usual.name == name {
        return usual;
    }
    ClientIdentity::new(name)
}
