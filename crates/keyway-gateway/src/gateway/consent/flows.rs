//! What lies between two steps of a sign-in: in the store, sealed, used once, for ten minutes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keyway::store::seal::Context;
use keyway::store::{OneTimeStore, StoreError};
use keyway_secret::{Secret, hex};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::timeouts::{CONSENT_LIFETIME, CONSENT_NOTE_LIFETIME};
use keyway_dashboard::consent_pages::Fault;

/// Whom a link is for, and which server it leads to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Link {
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) plugin: String,
    pub(super) server: String,
}

/// A browser that was sent to a page, by the state that its answer has to carry.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Leg {
    /// The digest of the browser.
    pub(super) browser: String,
    /// Where its answer has to arrive.
    pub(super) redirect_uri: String,
    pub(super) step: Step,
}

/// Which page that is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Step {
    /// The issuer's, where the person shows who they are.
    Identity {
        #[serde(with = "secret_text")]
        link: Secret<String>,
        issuer: String,
        #[serde(with = "secret_text")]
        verifier: Secret<String>,
        #[serde(with = "secret_text")]
        nonce: Secret<String>,
    },
    /// The same, for the person's own page.
    OwnPage {
        issuer: String,
        #[serde(with = "secret_text")]
        verifier: Secret<String>,
        #[serde(with = "secret_text")]
        nonce: Secret<String>,
    },
    /// The server's consent page; the person was compared with that of the link.
    Consent {
        link: Link,
        #[serde(with = "secret_text")]
        resume: Secret<String>,
    },
}

/// The own page of a person, in the browser in which they showed who they are.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OwnPage {
    pub(super) issuer: String,
    pub(super) subject: String,
    /// The digest of the browser.
    pub(super) browser: String,
}

/// The forms of such a page as it was shown, of which one can be sent once.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Form {
    #[serde(with = "secret_text")]
    pub(super) page: Secret<String>,
}

/// What can lie there, under a name that no other kind has.
pub(super) trait Flow: Serialize + DeserializeOwned + Send + 'static {
    const KIND: &'static str;

    /// For how long it is known that it was there.
    fn note_lifetime(&self) -> Duration {
        CONSENT_NOTE_LIFETIME
    }
}

impl Flow for Link {
    const KIND: &'static str = "link";
}

impl Flow for OwnPage {
    const KIND: &'static str = "own page";
}

impl Flow for Form {
    const KIND: &'static str = "form";
}

impl Flow for Leg {
    const KIND: &'static str = "leg";

    /// Anyone can begin the way to an own page: nothing of it lies there for longer than it counts.
    fn note_lifetime(&self) -> Duration {
        match self.step {
            Step::OwnPage { .. } => CONSENT_LIFETIME,
            Step::Identity { .. } | Step::Consent { .. } => CONSENT_NOTE_LIFETIME,
        }
    }
}

/// The sign-ins that are under way.
///
/// Beside each value is a note that outlives it: it tells one that was used or came too late from one
/// that never was.
pub(super) struct Flows {
    store: Arc<dyn OneTimeStore>,
}

impl fmt::Debug for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flows")
    }
}

impl Flows {
    pub(super) const fn new(store: Arc<dyn OneTimeStore>) -> Self {
        Self { store }
    }

    /// Puts a value there.
    pub(super) async fn put<T: Flow>(&self, id: &Secret<String>, value: &T) -> Result<(), Fault> {
        let (name, noted) = (name::<T>(id), value.note_lifetime());
        let value = Secret::new(serde_json::to_vec(value).unwrap_or_default());
        self.run(move |store| {
            store.put(&note(&name), OPEN, noted)?;
            store.put(&name, value.expose(), CONSENT_LIFETIME)
        })
        .await
    }

    /// Returns a value, and leaves it there.
    pub(super) async fn look<T: Flow>(&self, id: &Secret<String>) -> Result<T, Fault> {
        // What no random token looks like costs no look at the store.
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if id.expose().len() != ID_LENGTH || !id.expose().bytes().all(is_allowed) {
            return Err(Fault::Unknown);
        }
        let name = name::<T>(id);
        let found = self.run(move |store| {
            let found = store.get(&name)?;
            found.map_or_else(|| absent(store, &name), |found| Ok(Ok(found)))
        });
        read(&found.await??)
    }

    /// Returns a value that was looked at to one caller of all, at whichever replica.
    pub(super) async fn take<T: Flow>(&self, id: &Secret<String>, seen: &T) -> Result<T, Fault> {
        let (name, noted) = (name::<T>(id), seen.note_lifetime());
        let taken = self.run(move |store| {
            // First, so that a second caller is told that it was used, and not that it is late.
            store.put(&note(&name), USED, noted)?;
            let taken = store.take(&name)?;
            taken.map_or_else(|| absent(store, &name), |taken| Ok(Ok(taken)))
        });
        read(&taken.await??)
    }

    /// Runs what blocks; it is not cancelled with the caller.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn OneTimeStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        let store = Arc::clone(&self.store);
        let done = spawn_blocking(move || work(&*store)).await;
        let done = done.map_err(|_| Fault::Stopped)?;
        done.map_err(|error| Fault::Store(Arc::new(error)))
    }
}

/// Says why there is nothing.
fn absent<T>(store: &dyn OneTimeStore, name: &str) -> Result<Result<T, Fault>, StoreError> {
    let noted = store.get(&note(name))?;
    Ok(Err(match noted.as_ref().map(|it| it.expose().as_slice()) {
        Some(USED) => Fault::Used,
        Some(_) => Fault::Late,
        None => Fault::Unknown,
    }))
}

fn read<T: Flow>(value: &Secret<Vec<u8>>) -> Result<T, Fault> {
    serde_json::from_slice(value.expose()).map_err(|_| Fault::Unknown)
}

/// Names a value by a digest: who reads names cannot use them.
fn name<T: Flow>(id: &Secret<String>) -> String {
    let place = Context::new("consent under way").text(T::KIND);
    let digest = hex::write(&place.text(id.expose()).digest());
    format!("consent {} {digest}", T::KIND)
}

fn note(name: &str) -> String {
    format!("{name} note")
}

/// That of a random token.
const ID_LENGTH: usize = 43;
const OPEN: &[u8] = b"open";
const USED: &[u8] = b"used";

/// Secrets inside of values that are sealed as a whole.
mod secret_text {
    use keyway_secret::Secret;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        secret: &Secret<String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.expose())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Secret<String>, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}
