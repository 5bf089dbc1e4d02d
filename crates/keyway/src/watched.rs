//! An authorizer that tells what it does, put around another one where somebody listens.

use keyway_auth::{
    AuthError, Authorizer, BoxFuture, Challenge, Credential, ServerEvent, ServerObserver, Topic,
    Verdict, parse_challenges, token_challenge,
};
use keyway_code::Code;
use keyway_config::resolve::Resolved;
use keyway_config::template::Part;
use keyway_secret::{Clock as _, SystemClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Tells of helpers and refusals; what OAuth does is told by itself.
#[derive(Debug)]
pub(crate) struct Watched {
    inner: Arc<dyn Authorizer>,
    watch: ServerObserver,
    /// The last run of the helper that was told of; absent where there is no helper.
    told: Option<AtomicU64>,
}

impl Watched {
    /// Watches an authorizer; one that nobody wants to hear of stays as it is.
    pub(crate) fn wrap(
        inner: Arc<dyn Authorizer>,
        watch: ServerObserver,
        has_helper: bool,
    ) -> Arc<dyn Authorizer> {
        if !watch.is_on() {
            return inner;
        }
        let told = has_helper.then(AtomicU64::default);
        Arc::new(Self { inner, watch, told })
    }

    fn obtained(&self, credential: &Credential, started: Instant) {
        let Some(told) = &self.told else { return };
        let run = credential.generation();
        if told.fetch_max(run, Ordering::Relaxed) >= run {
            return;
        }
        self.watch.emit(ServerEvent::HelperRan);
        self.watch.note(Topic::Helper, || {
            let took = SystemClock
                .monotonic()
                .saturating_duration_since(started)
                .as_millis();
            let headers = credential.expose().iter();
            let names = headers.map(|(name, value)| format!("{name} ({} bytes)", value.len()));
            let names: Vec<String> = names.collect();
            format!(
                "run {run} of the helper took {took} ms: {}",
                names.join(", ")
            )
        });
    }

    fn failed(&self, error: &AuthError) {
        if let AuthError::Helper { fault } = error {
            let code = fault.code();
            self.watch.emit(ServerEvent::HelperFailed { code });
            self.watch.note(Topic::Helper, || error.to_string());
        }
    }

    fn decided(&self, challenge: &Challenge, outcome: &Result<Verdict, AuthError>) {
        let told = parse_challenges(&challenge.www_authenticate);
        let told = token_challenge(&told);
        let status = challenge.status;
        if matches!(outcome, Ok(Verdict::Stand)) {
            let code = match status {
                401 => Code::AuthRejected,
                _ if told.is_some_and(|told| told.scope().is_some()) => Code::InsufficientScope,
                _ => Code::Forbidden,
            };
            self.watch.emit(ServerEvent::Failed { code });
        }
        self.watch.note(Topic::Transport, || {
            let what = match outcome {
                Ok(Verdict::Retry(_)) => "sent again with a newer credential",
                Ok(_) => "that stands",
                Err(_) => "and there is no better credential",
            };
            format!("refused with HTTP {status}: {what}")
        });
    }
}

impl Authorizer for Watched {
    fn cached(&self) -> Option<Arc<Credential>> {
        self.inner.cached()
    }

    fn obtain(&self) -> BoxFuture<'_, Result<Arc<Credential>, AuthError>> {
        Box::pin(async move {
            let started = SystemClock.monotonic();
            let outcome = self.inner.obtain().await;
            match &outcome {
                Ok(credential) => self.obtained(credential, started),
                Err(error) => self.failed(error),
            }
            outcome
        })
    }

    fn challenged<'a>(
        &'a self,
        used: &'a Credential,
        challenge: Challenge,
    ) -> BoxFuture<'a, Result<Verdict, AuthError>> {
        Box::pin(async move {
            let started = SystemClock.monotonic();
            let outcome = self.inner.challenged(used, challenge.clone()).await;
            self.decided(&challenge, &outcome);
            match &outcome {
                Ok(Verdict::Retry(credential)) => self.obtained(credential, started),
                Ok(_) => {}
                Err(error) => self.failed(error),
            }
            outcome
        })
    }
}

/// Returns a value as it may be shown: its variables by name, a scheme, and how long it is. Of
/// other text nothing is shown: it may be a secret that somebody wrote down.
pub(crate) fn sanitized(value: &Resolved) -> String {
    let mut shown = String::new();
    for part in value.template().parts() {
        match part {
            Part::Variable(variable) => shown.push_str(&format!("${{{}}}", variable.name)),
            Part::Literal { text, .. } if is_scheme(text) => shown.push_str(text),
            _ => shown.push('…'),
        }
    }
    format!("`{shown}`, {} bytes", value.value().expose().len())
}

fn is_scheme(text: &str) -> bool {
    let word = text.trim();
    ["Bearer", "Basic", "Token", "DPoP"]
        .iter()
        .any(|scheme| scheme.eq_ignore_ascii_case(word))
}
