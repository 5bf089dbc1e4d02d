//! A fingerprint of a connection: two processes can compare what they would connect to without
//! showing it.
//!
//! Everything that decides about a connection goes into one MAC: the resolved entry and, where a
//! program runs, all that it would see. Values are secret, and a plain hash of a short one could be
//! guessed; without the key no guess can be checked. Specs are taken apart field by field, so that
//! a new field does not compile until it is decided here whether it counts.

use std::ffi::OsString;
use std::fmt;

use blake2::Blake2bMac;
use blake2::digest::consts::U32;
use blake2::digest::{KeyInit as _, Mac as _};
use keyway_config::declared::{Helper, HelperCommand, Refresh};
use keyway_config::resolve::{LocalSpec, RemoteSpec, Resolved, ServerSpec, SpecEndpoint};
use keyway_secret::{Secret, constant_time_eq, random};
use keyway_transport::ChildKind;

use super::{Target, child_env, exposed, host_env};

/// The key of fingerprints: those made with different keys cannot be compared.
#[derive(Debug, Clone)]
pub struct FingerprintKey(Secret<[u8; 32]>);

impl FingerprintKey {
    /// Takes 32 random bytes as the key.
    #[must_use]
    pub const fn new(bytes: Secret<[u8; 32]>) -> Self {
        Self(bytes)
    }

    /// Makes a key for this process alone; `None` without randomness.
    #[must_use]
    pub fn random() -> Option<Self> {
        random::bytes().ok().map(Secret::new).map(Self)
    }

    /// Authenticates words under the key; MACs for different purposes never match.
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

/// The MAC of all that a connection depends on.
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
        constant_time_eq(&self.0, other)
    }
}

impl fmt::Debug for ConnectionFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionFingerprint(..)")
    }
}

/// What decides about a connection beside its target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FingerprintContext<'a> {
    /// The profile and the account that sign in; none where nothing is kept.
    pub(crate) account: Option<(&'a str, &'a str)>,
    /// The environment of which children get little.
    pub(crate) environment: &'a [(OsString, OsString)],
    /// What else counts in this process, such as how the network is reached.
    pub(crate) around: &'a [&'a [u8]],
}

/// Returns what a connection to `target` would depend on.
pub(crate) fn of(
    target: Target<'_>,
    context: FingerprintContext<'_>,
    key: &FingerprintKey,
) -> ConnectionFingerprint {
    let mut hasher = Hasher::new(key);
    let Target {
        plugin,
        spec,
        // These count where a program runs, see `hash_child`.
        host: _,
        grants: _,
        files: _,
        confinement: _,
    } = target;
    let ServerSpec {
        name,
        transport,
        method,
        endpoint,
        env,
        timeout_ms,
        // The values stand in the fields that they were filled into.
        values: _,
        // For a person alone: an entry that moved in its file is the same.
        notes: _,
        declared_at: _,
    } = spec;
    hasher.field("plugin", plugin.as_bytes());
    hasher.field("server", name.as_bytes());
    hasher.field("transport", transport.as_str().as_bytes());
    hasher.field("method", method.as_str().as_bytes());
    hasher.number("timeout", *timeout_ms);
    hasher.pairs("env", env);
    let reader = match endpoint {
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
    if let Some((profile, account)) = context.account {
        hasher.field("profile", profile.as_bytes());
        hasher.field("account", account.as_bytes());
    }
    if let Some(reader) = reader {
        hash_child(&mut hasher, reader, target, context.environment);
    }
    for word in context.around {
        hasher.field("around", word);
    }
    hasher.finish()
}

/// Adds what a program of the entry would see.
fn hash_child(
    hasher: &mut Hasher,
    reader: ChildKind,
    target: Target<'_>,
    environment: &[(OsString, OsString)],
) {
    let host = target.host;
    for folder in [&host.plugin_root, &host.plugin_data, &host.project_dir] {
        hasher.field("folder", folder.as_os_str().as_encoded_bytes());
    }
    for name in target.grants {
        hasher.field("granted", name.as_bytes());
    }
    let declared = exposed(&target.spec.env);
    let env = child_env(environment, (reader, &declared), target, &host_env(target));
    for name in env.names().filter(|name| *name != "TERM") {
        hasher.field("name", name.as_encoded_bytes());
        let own = environment.iter().find(|(own, _)| own == name);
        if let Some((_, value)) = own {
            hasher.field("value", value.as_encoded_bytes());
        }
    }
    if let Some(files) = target.files {
        hasher.field("files", &files.fingerprint());
    }
    hasher.field("confined", format!("{:?}", target.confinement).as_bytes());
}

/// Hashes labelled fields with their lengths, so that no two inputs look alike.
struct Hasher(Blake2bMac<U32>);

impl Hasher {
    #[expect(
        clippy::expect_used,
        reason = "BLAKE2b takes keys of up to 64 bytes; this has 32"
    )]
    fn new(key: &FingerprintKey) -> Self {
        let mac = Blake2bMac::new_from_slice(key.0.expose());
        Self(mac.expect("a key of 32 bytes"))
    }

    fn finish(self) -> ConnectionFingerprint {
        ConnectionFingerprint(self.0.finalize().into_bytes().into())
    }

    fn field(&mut self, label: &str, bytes: &[u8]) {
        self.0.update(&label.len().to_le_bytes());
        self.0.update(label.as_bytes());
        self.0.update(&bytes.len().to_le_bytes());
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
        let LocalSpec { command, args, cwd } = local;
        self.value("command", command);
        for arg in args {
            self.value("arg", arg);
        }
        if let Some(cwd) = cwd {
            self.value("cwd", cwd);
        }
    }

    fn remote(&mut self, remote: &RemoteSpec) {
        let RemoteSpec {
            address,
            headers,
            helper,
            oauth,
            scopes,
            callback_port,
            // The address is what the template became.
            template: _,
        } = remote;
        self.field("url", address.url().expose().as_bytes());
        self.pairs("header", headers);
        self.pairs("oauth", oauth);
        for scope in scopes {
            self.field("scope", scope.as_bytes());
        }
        self.number("callback", callback_port.map(u64::from));
        if let Some(helper) = helper {
            self.helper(helper);
        }
    }

    fn helper(&mut self, helper: &Helper) {
        let Helper {
            command,
            refresh,
            ttl_ms,
            timeout_ms,
            // Where it stands in the file decides nothing.
            span: _,
            pointer: _,
        } = helper;
        let (form, words) = match command {
            HelperCommand::Program(field) => ("program", std::slice::from_ref(field)),
            HelperCommand::Shell(field) => ("shell", std::slice::from_ref(field)),
            HelperCommand::Words(words) => ("words", words.as_slice()),
        };
        for word in words {
            self.field(form, word.template.as_str().as_bytes());
        }
        let refresh = match refresh {
            Refresh::Request => "request",
            Refresh::Connection => "connection",
        };
        self.field("refresh", refresh.as_bytes());
        self.number("ttl", *ttl_ms);
        self.number("timeout", *timeout_ms);
    }
}

#[cfg(test)]
mod tests;
