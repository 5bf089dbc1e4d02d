//! The values that one server gets from us, so that they can be masked where the server repeats them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_auth::{AuthError, Authorizer, BoxFuture, Challenge, Credential, Verdict};
use keyway_config::resolve::{ServerSpec, SpecEndpoint};
use keyway_lint::secrets::is_credential_name;
use keyway_secret::Secret;

pub use keyway_transport::Redactor;

use crate::connect::Target;

/// The values that a server got lately, over every connection of a host that records here.
///
/// The lock is held while values are compared and copied, never across an await.
#[derive(Debug, Clone, Default)]
pub struct RedactionValues(Arc<Mutex<Given>>);

#[derive(Debug, Default)]
struct Given {
    values: Latest<1024>,
    /// A helper may print other headers for each request.
    headers: Latest<256>,
}

/// Different values, of too many the latest.
#[derive(Debug, Default)]
struct Latest<const MOST: usize> {
    /// Each with its keyed hash. Values are compared in constant time; with the tokens of many people
    /// that was a fiftieth of all that a renewal costs.
    values: VecDeque<(u64, Secret<String>)>,
    hasher: RandomState,
}

impl<const MOST: usize> Latest<MOST> {
    fn note(&mut self, value: &str) {
        let hash = self.hasher.hash_one(value);
        let value = Secret::new(value.to_owned());
        let is_it = |(known, it): &(u64, Secret<String>)| *known == hash && it.is_same_as(&value);
        if self.values.iter().any(is_it) {
            return;
        }
        self.values.push_back((hash, value));
        if self.values.len() > MOST {
            self.values.pop_front();
        }
    }

    fn all(&self) -> impl Iterator<Item = &Secret<String>> {
        self.values.iter().map(|(_, value)| value)
    }
}

impl RedactionValues {
    /// Returns what masks them.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        let given = self.lock();
        let all = given.values.all().chain(given.headers.all());
        let all: Vec<_> = all.cloned().collect();
        Redactor::new(&all)
    }

    /// Notes the values of variables that a server gets, and what its entry sets in the open though
    /// it is named like a credential. `environment` is that of which children get little.
    pub(crate) fn note(&self, target: Target<'_>, environment: &[(OsString, OsString)]) {
        let values = &mut self.lock().values;
        for value in &target.spec.values {
            values.note(value.expose());
        }
        let credentials = target.spec.env.iter();
        for (_, value) in credentials.filter(|(name, _)| is_credential_name(name)) {
            values.note(value.value().expose());
        }
        let granted = |name: &OsString| target.grants.iter().any(|it| name == it.as_str());
        for (_, value) in environment.iter().filter(|(name, _)| granted(name)) {
            values.note(&value.to_string_lossy());
        }
    }

    /// Notes the headers that an authorizer gives out from now on; those that stand in the file in
    /// the open, and are not named like credentials, are not secret.
    pub(crate) fn recording(
        &self,
        inner: Arc<dyn Authorizer>,
        spec: &ServerSpec,
    ) -> Arc<dyn Authorizer> {
        Arc::new(Noting {
            inner,
            values: self.clone(),
            open: open_headers(spec),
            last: Mutex::default(),
        })
    }

    fn header(&self, value: &str) {
        let headers = &mut self.lock().headers;
        headers.note(value);
        // A server may tell what follows the scheme without it.
        if let Some((_, rest)) = value.split_once(' ') {
            headers.note(rest.trim());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Given> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open_headers(spec: &ServerSpec) -> Vec<(String, String)> {
    let SpecEndpoint::Remote(remote) = &spec.endpoint else {
        return Vec::new();
    };
    let headers = remote.headers.iter();
    let open = headers
        .filter(|(name, value)| value.template().is_literal() && !is_credential_name(name))
        .map(|(name, value)| {
            let text = value.template().as_str().trim();
            (name.to_ascii_lowercase(), text.to_owned())
        });
    open.collect()
}

/// Tells of the credentials that pass.
#[derive(Debug)]
struct Noting {
    inner: Arc<dyn Authorizer>,
    values: RedactionValues,
    open: Vec<(String, String)>,
    /// The one that was told of last, which most requests carry again.
    /// Held until its values are recorded, so that a request that finds it here is masked; taken
    /// before `values`.
    last: Mutex<Option<Arc<Credential>>>,
}

impl Noting {
    fn note(&self, credential: &Arc<Credential>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|it| Arc::ptr_eq(it, credential)) {
            return;
        }
        *last = Some(Arc::clone(credential));
        for (name, value) in credential.expose() {
            let Ok(value) = value.to_str() else { continue };
            let is_open = |(open, text): &(String, String)| open == name.as_str() && text == value;
            if !self.open.iter().any(is_open) {
                self.values.header(value);
            }
        }
    }
}

impl Authorizer for Noting {
    fn cached(&self) -> Option<Arc<Credential>> {
        let credential = self.inner.cached()?;
        self.note(&credential);
        Some(credential)
    }

    fn obtain(&self) -> BoxFuture<'_, Result<Arc<Credential>, AuthError>> {
        Box::pin(async move {
            let credential = self.inner.obtain().await?;
            self.note(&credential);
            Ok(credential)
        })
    }

    fn challenged<'a>(
        &'a self,
        used: &'a Credential,
        challenge: Challenge,
    ) -> BoxFuture<'a, Result<Verdict, AuthError>> {
        Box::pin(async move {
            let verdict = self.inner.challenged(used, challenge).await?;
            if let Verdict::Retry(credential) = &verdict {
                self.note(credential);
            }
            Ok(verdict)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_last_stays_known_and_once_is_enough() {
        let values = RedactionValues::default();
        for n in 0..300 {
            values.header(&format!("Bearer token-{n:03}"));
            values.header("Bearer the-same-again");
        }
        let redactor = values.redactor();
        assert_eq!(redactor.text("(token-299)"), "([redacted])");
        assert_eq!(redactor.text("token-000"), "token-000");
        assert_eq!(values.lock().headers.values.len(), 256);
    }
}
