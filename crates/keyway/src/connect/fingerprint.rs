//! Whether two connections would be the same, told without telling what they are.
//!
//! Everything that decides about a connection goes into one keyed hash: the resolved entry, and
//! where a program runs also all that it would see. Values are secret, and a hash of a short one
//! could be guessed; without the key nobody can check a guess.

use std::fmt;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use keyway_config::declared::{Helper, HelperCommand, Refresh};
use keyway_config::resolve::{LocalSpec, RemoteSpec, Resolved, SpecEndpoint};
use keyway_secret::Secret;
use keyway_transport::ChildKind;

use super::{Target, exposed, host_env};
use crate::approval::Files;
use crate::host::Host;

/// What guesses are kept from by.
#[derive(Debug, Clone)]
pub struct FingerprintKey(Secret<[u8; 32]>);

impl FingerprintKey {
    /// Takes charge of 32 random bytes.
    #[must_use]
    pub const fn new(bytes: Secret<[u8; 32]>) -> Self {
        Self(bytes)
    }

    /// Makes a key of this process alone; `None` without randomness.
    #[must_use]
    pub fn random() -> Option<Self> {
        let token = keyway_auth::oauth::random_token().ok()?;
        let bytes: [u8; 32] = Blake2b::<U32>::digest(token.expose()).into();
        Some(Self(Secret::new(bytes)))
    }

    /// Hashes words under the key, for a purpose that tells it apart from all others.
    #[must_use]
    pub fn hash(&self, purpose: &str, words: &[&[u8]]) -> ConnectionFingerprint {
        let mut hasher = Hasher::new(self);
        hasher.field("purpose", purpose.as_bytes());
        for word in words {
            hasher.field("word", word);
        }
        hasher.finish()
    }
}

/// What a connection depends on, as a number.
#[derive(Clone, Copy)]
pub struct ConnectionFingerprint([u8; 32]);

impl ConnectionFingerprint {
    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Says whether bytes are the same, in a time that does not depend on them.
    #[must_use]
    pub fn matches(&self, other: &[u8; 32]) -> bool {
        let pairs = self.0.iter().zip(other);
        let differing = pairs.fold(0, |seen, (a, b)| std::hint::black_box(seen | (a ^ b)));
        differing == 0
    }
}

impl fmt::Debug for ConnectionFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionFingerprint(..)")
    }
}

impl Host {
    /// Returns what a connection to `target` would depend on; `around` is what else decides about
    /// it in this process, such as how the network is reached.
    #[must_use]
    pub(crate) fn fingerprint(
        &self,
        target: Target<'_>,
        around: &[&[u8]],
        key: &FingerprintKey,
    ) -> ConnectionFingerprint {
        let mut hasher = Hasher::new(key);
        let spec = target.spec;
        hasher.field("plugin", target.plugin.as_bytes());
        hasher.field("server", spec.name.as_bytes());
        hasher.field("transport", spec.transport.as_str().as_bytes());
        hasher.field("method", spec.method.as_str().as_bytes());
        hasher.number("timeout", spec.timeout_ms);
        hasher.pairs("env", &spec.env);
        let reader = match &spec.endpoint {
            SpecEndpoint::Local(local) => {
                hasher.local(local);
                Some(ChildKind::Server)
            }
            SpecEndpoint::Remote(remote) => {
                hasher.remote(remote);
                remote.helper.as_ref().map(|_| ChildKind::Helper)
            }
            _ => None,
        };
        if let Some(accounts) = &self.accounts {
            hasher.field("profile", accounts.profile.as_bytes());
            let account = accounts.account.as_deref().unwrap_or_default();
            hasher.field("account", account.as_bytes());
        }
        if let Some(reader) = reader {
            self.hash_child(&mut hasher, reader, target);
        }
        for word in around {
            hasher.field("around", word);
        }
        hasher.finish()
    }

    /// Adds what a program of the entry would see.
    fn hash_child(&self, hasher: &mut Hasher, reader: ChildKind, target: Target<'_>) {
        let host = target.host;
        for folder in [&host.plugin_root, &host.plugin_data, &host.project_dir] {
            hasher.field("folder", folder.as_os_str().as_encoded_bytes());
        }
        for name in target.grants {
            hasher.field("granted", name.as_bytes());
        }
        let declared = exposed(&target.spec.env);
        let env = self.child_env(reader, &declared, target, &host_env(target));
        for name in env.names().filter(|name| *name != "TERM") {
            hasher.field("name", name.as_encoded_bytes());
            let own = self.environment.iter().find(|(own, _)| own == name);
            if let Some((_, value)) = own {
                hasher.field("value", value.as_encoded_bytes());
            }
        }
        for (path, content) in target.files.map(Files::seen).unwrap_or_default() {
            hasher.field("file", path.as_os_str().as_encoded_bytes());
            hasher.field(
                "content",
                content.as_ref().map_or(&[], <[u8; 32]>::as_slice),
            );
        }
        hasher.field("confined", format!("{:?}", target.confinement).as_bytes());
    }
}

/// Hashes labelled fields with their lengths, so that no two inputs look alike.
struct Hasher(Blake2b<U32>);

impl Hasher {
    fn new(key: &FingerprintKey) -> Self {
        let mut hasher = Self(Blake2b::new());
        // The function has no length extension, so that a key of fixed length in front is a MAC.
        hasher.0.update(key.0.expose());
        hasher
    }

    fn finish(self) -> ConnectionFingerprint {
        ConnectionFingerprint(self.0.finalize().into())
    }

    fn field(&mut self, label: &str, bytes: &[u8]) {
        self.0.update(label.len().to_le_bytes());
        self.0.update(label);
        self.0.update(bytes.len().to_le_bytes());
        self.0.update(bytes);
    }

    fn number(&mut self, label: &str, number: Option<u64>) {
        match number {
            Some(number) => self.field(label, &number.to_le_bytes()),
            None => self.field(label, b""),
        }
    }

    fn value(&mut self, label: &str, value: &Resolved) {
        self.field(label, value.value().expose().as_bytes());
    }

    fn pairs(&mut self, label: &str, pairs: &[(String, Resolved)]) {
        for (name, value) in pairs {
            self.field(label, name.as_bytes());
            self.value(label, value);
        }
    }

    fn local(&mut self, local: &LocalSpec) {
        self.value("command", &local.command);
        for arg in &local.args {
            self.value("arg", arg);
        }
        if let Some(cwd) = &local.cwd {
            self.value("cwd", cwd);
        }
    }

    fn remote(&mut self, remote: &RemoteSpec) {
        self.field("url", remote.address.url().expose().as_bytes());
        self.pairs("header", &remote.headers);
        self.pairs("oauth", &remote.oauth);
        for scope in &remote.scopes {
            self.field("scope", scope.as_bytes());
        }
        self.number("callback", remote.callback_port.map(u64::from));
        if let Some(helper) = &remote.helper {
            self.helper(helper);
        }
    }

    fn helper(&mut self, helper: &Helper) {
        let (form, words) = match &helper.command {
            HelperCommand::Program(field) => ("program", std::slice::from_ref(field)),
            HelperCommand::Shell(field) => ("shell", std::slice::from_ref(field)),
            HelperCommand::Words(words) => ("words", words.as_slice()),
        };
        for word in words {
            self.field(form, word.template.as_str().as_bytes());
        }
        let refresh = match helper.refresh {
            Refresh::Request => "request",
            _ => "connection",
        };
        self.field("refresh", refresh.as_bytes());
        self.number("ttl", helper.ttl_ms);
        self.number("timeout", helper.timeout_ms);
    }
}

#[cfg(test)]
mod tests;
