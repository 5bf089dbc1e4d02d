//! Names to addresses, each checked before anything connects to it.
//!
//! The client asks here at the moment it connects and uses nothing but the answer, so that a name
//! cannot lead to one address when it is checked and to another when it is used.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use keyway_auth::BoxFuture;
use url::Host;

use super::address::{AddressPolicy, AddressScope};
use super::failure::ConnectFailure;
use crate::network_cause::NameNotFound;

/// Looks names up, so that tests can say what they stand for.
pub trait Lookup: Send + Sync + fmt::Debug {
    /// Returns all addresses of `name`.
    ///
    /// Cancel safety: must be cancel safe; a lookup of the operating system ends on its own thread.
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemResolver;

impl Lookup for SystemResolver {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A resolver that keeps back what the policy forbids.
#[derive(Debug, Clone)]
pub(super) struct GuardedResolver {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) policy: AddressPolicy,
    pub(super) history: Arc<ScopeHistory>,
}

/// Remembers how public the addresses of configured servers were.
///
/// A server whose name turns private between its refusal and the sign-in stays as public as it was,
/// and so leads nowhere that is less so.
/// The lock is held for one entry.
#[derive(Debug, Default)]
pub(super) struct ScopeHistory(Mutex<HashMap<String, AddressScope>>);

impl ScopeHistory {
    /// Notes one more sight of `name`, and returns the most public one so far.
    fn note(&self, name: &str, scope: AddressScope) -> AddressScope {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let most = seen.entry(name.to_ascii_lowercase()).or_insert(scope);
        *most = scope.max(*most);
        *most
    }
}

impl GuardedResolver {
    /// Returns the addresses of a server that may be connected to.
    pub(super) async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, ConnectFailure> {
        let found = self.find(host, self.policy).await?;
        if let Some(scope) = most_public(&found)
            && !matches!(self.policy, AddressPolicy::AtLeast(_))
        {
            self.history.note(host, scope);
        }
        Ok(found)
    }

    /// Returns the addresses of a proxy, which the person chose and which may be anywhere.
    pub(super) async fn proxy_addresses(&self, host: &str) -> Result<Vec<IpAddr>, ConnectFailure> {
        self.find(host, AddressPolicy::DangerousLinkLocal).await
    }

    /// Returns how public a configured server is: the most public of all it was ever seen at.
    pub(super) async fn scope(&self, name: &str) -> Result<AddressScope, ConnectFailure> {
        let found = self.addresses(name).await?;
        let scope =
            most_public(&found).ok_or_else(|| ConnectFailure::Broken("no address".into()))?;
        Ok(self.history.note(name, scope))
    }

    async fn find(&self, host: &str, policy: AddressPolicy) -> Result<Vec<IpAddr>, ConnectFailure> {
        let mut found = match Host::parse(host) {
            Ok(Host::Ipv4(address)) => vec![address.into()],
            Ok(Host::Ipv6(address)) => vec![address.into()],
            // RFC 6761 §6.3; and the system's resolver would cost a thread.
            _ if is_localhost(host) => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            _ => {
                let found = self.lookup.lookup(host).await;
                found.map_err(|source| ConnectFailure::Broken(NameNotFound { source }.into()))?
            }
        };
        let any = !found.is_empty();
        let is_barred = |&address: &IpAddr| !AddressPolicy::Configured.allows(address);
        let never = found.iter().all(is_barred);
        found.retain(|&address| policy.allows(address));
        if any && found.is_empty() {
            return Err(ConnectFailure::Forbidden { never });
        }
        Ok(found)
    }
}

fn most_public(addresses: &[IpAddr]) -> Option<AddressScope> {
    addresses.iter().copied().map(AddressScope::of).max()
}

/// Says whether `name` is this machine by definition.
pub(super) fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug)]
    struct Script(Mutex<Vec<Vec<&'static str>>>);

    impl Lookup for Script {
        fn lookup<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            let next = self.0.lock().unwrap().remove(0);
            let addresses = next.iter().map(|text| text.parse().unwrap()).collect();
            Box::pin(std::future::ready(Ok(addresses)))
        }
    }

    fn guarded(policy: AddressPolicy, answers: &[&[&'static str]]) -> GuardedResolver {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        GuardedResolver {
            lookup: Arc::new(Script(Mutex::new(answers))),
            policy,
            history: Arc::default(),
        }
    }

    #[tokio::test]
    async fn a3_name_that_turns_private_is_refused_when_it_does() {
        let resolver = guarded(
            AddressPolicy::AtLeast(AddressScope::Public),
            &[&["1.1.1.1"], &["10.66.0.1"], &["10.66.0.1", "1.0.0.1"]],
        );
        assert_eq!(resolver.addresses("x.example").await.unwrap().len(), 1);
        let error = resolver.addresses("x.example").await.unwrap_err();
        assert!(
            matches!(error, ConnectFailure::Forbidden { never: false }),
            "{error:?}"
        );
        let mixed = resolver.addresses("x.example").await.unwrap();
        assert_eq!(mixed, ["1.0.0.1".parse::<IpAddr>().unwrap()]);
    }

    #[tokio::test]
    async fn a3_server_whose_name_turns_private_stays_as_public_as_it_was() {
        let resolver = guarded(
            AddressPolicy::Configured,
            &[&["1.1.1.1"], &["127.0.0.1"], &["10.0.0.1", "127.0.0.1"]],
        );
        resolver.addresses("x.example").await.unwrap();
        assert_eq!(
            resolver.scope("X.example").await.unwrap(),
            AddressScope::Public
        );
        assert_eq!(
            resolver.scope("y.example").await.unwrap(),
            AddressScope::Private
        );
    }

    #[tokio::test]
    async fn localhost_is_loopback_without_a_lookup() {
        let resolver = guarded(AddressPolicy::Configured, &[]);
        for name in ["localhost", "LOCALHOST", "localhost."] {
            let found = resolver.addresses(name).await.unwrap();
            assert!(found.iter().all(IpAddr::is_loopback), "{name}");
        }
        let strict = guarded(AddressPolicy::AtLeast(AddressScope::Public), &[]);
        assert!(strict.addresses("localhost").await.is_err());
    }

    #[tokio::test]
    async fn configured_proxy_may_have_any_address() {
        let resolver = guarded(
            AddressPolicy::AtLeast(AddressScope::Public),
            &[&["10.0.0.1"], &["10.0.0.1"]],
        );
        assert!(resolver.proxy_addresses("x.example").await.is_ok());
        assert!(resolver.addresses("x.example").await.is_err());
    }

    #[tokio::test]
    async fn a2_literal_is_checked_where_it_is_connected_to() {
        let resolver = guarded(AddressPolicy::AtLeast(AddressScope::Public), &[]);
        for (host, expected) in [
            ("127.0.0.1", false),
            ("[::1]", false),
            ("[::ffff:10.0.0.1]", false),
            ("169.254.169.254", true),
        ] {
            let error = resolver.addresses(host).await.unwrap_err();
            let ConnectFailure::Forbidden { never } = error else {
                panic!("{host}: {error:?}");
            };
            assert_eq!(never, expected, "{host}");
        }
        assert_eq!(resolver.addresses("1.1.1.1").await.unwrap().len(), 1);
    }
}
