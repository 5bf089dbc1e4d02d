//! An authorizer that reports what another one does, for hosts that read events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use keyway_auth::{
    AuthError, Authorizer, BoxFuture, Challenge, Credential, ServerEvent, ServerObserver, Topic,
    Verdict, parse_challenges, token_challenge,
};
use keyway_code::Code;
use keyway_config::resolve::Resolved;
use keyway_config::template::Part;
use keyway_secret::{Clock as _, SystemClock};

/// Reports helpers and refusals; OAuth reports its own steps.
#[derive(Debug)]
pub(crate) struct ObservedAuthorizer {
    inner: Arc<dyn Authorizer>,
    observer: ServerObserver,
    /// The last run of the helper that was reported; absent where there is no helper.
    ///
    /// `Relaxed`: the number guards no other data, and `fetch_max` alone decides which call reports
    /// a run.
    told: Option<AtomicU64>,
}

impl ObservedAuthorizer {
    /// Wraps an authorizer; without a reader of events it stays as it is.
    pub(crate) fn wrap(
        inner: Arc<dyn Authorizer>,
        observer: ServerObserver,
        has_helper: bool,
    ) -> Arc<dyn Authorizer> {
        if !observer.is_on() {
            return inner;
        }
        let told = has_helper.then(AtomicU64::default);
        Arc::new(Self {
            inner,
            observer,
            told,
        })
    }

    fn obtained(&self, credential: &Credential, started: Instant) {
        let Some(told) = &self.told else { return };
        let run = credential.generation();
        if told.fetch_max(run, Ordering::Relaxed) >= run {
            return;
        }
        self.observer.emit(ServerEvent::HelperRan);
        self.observer.note(Topic::Helper, || {
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
        if let AuthError::Helper { fault, .. } = error {
            let code = fault.code();
            self.observer.emit(ServerEvent::HelperFailed { code });
            self.observer.note(Topic::Helper, || error.to_string());
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
            self.observer.emit(ServerEvent::Failed { code });
        }
        self.observer.note(Topic::Transport, || {
            let what = match outcome {
                Ok(Verdict::Retry(_)) => "sent again with a newer credential",
                Ok(_) => "that stands",
                Err(_) => "and there is no better credential",
            };
            format!("refused with HTTP {status}: {what}")
        });
    }
}

impl Authorizer for ObservedAuthorizer {
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
/// other text nothing is shown: it may be a secret in the open.
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
