//! Names to addresses, each checked before anything connects to it.
//!
//! The client asks here at the moment it connects and uses nothing but the answer, so that a name
//! cannot lead to one address when it is checked and to another when it is used.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use keyway_auth::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;

use super::address::AddressPolicy;

/// Looks names up, so that tests can say what they stand for.
pub trait Lookup: Send + Sync + fmt::Debug {
    /// Returns all addresses of `name`.
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy)]
pub(super) struct System;

impl Lookup for System {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A resolver that keeps back what the policy forbids.
#[derive(Debug, Clone)]
pub(super) struct Guarded {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) policy: AddressPolicy,
    /// Hosts of proxies, which the person chose and which may be anywhere.
    pub(super) exempt: Arc<[String]>,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.addresses(name.as_str()).await?;
            Ok(Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

impl Guarded {
    async fn addresses(
        &self,
        name: &str,
    ) -> Result<Vec<IpAddr>, Box<dyn std::error::Error + Send + Sync>> {
        // RFC 6761 §6.3; and the system's resolver would cost a thread.
        let mut found = if is_localhost(name) {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        } else {
            self.lookup.lookup(name).await?
        };
        let policy = if self.exempt.iter().any(|host| host == name) {
            AddressPolicy::DangerousLinkLocal
        } else {
            self.policy
        };
        let any = !found.is_empty();
        found.retain(|&address| policy.allows(address));
        if any && found.is_empty() {
            return Err(ForbiddenAddress.into());
        }
        Ok(found)
    }
}

/// A name stands for forbidden addresses only.
#[derive(Debug, Clone, Copy, Error)]
#[error("the address may not be connected to")]
pub(super) struct ForbiddenAddress;

/// Says whether `name` is this machine by definition.
pub(super) fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::address::Reach;
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

    fn guarded(policy: AddressPolicy, answers: &[&[&'static str]]) -> Guarded {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        Guarded {
            lookup: Arc::new(Script(Mutex::new(answers))),
            policy,
            exempt: Arc::from(["proxy.example".to_owned()]),
        }
    }

    #[tokio::test]
    async fn a3_name_that_turns_private_is_refused_when_it_does() {
        let resolver = guarded(
            AddressPolicy::AtLeast(Reach::Public),
            &[&["1.1.1.1"], &["10.66.0.1"], &["10.66.0.1", "1.0.0.1"]],
        );
        assert_eq!(resolver.addresses("x.example").await.unwrap().len(), 1);
        let error = resolver.addresses("x.example").await.unwrap_err();
        assert!(error.is::<ForbiddenAddress>());
        let mixed = resolver.addresses("x.example").await.unwrap();
        assert_eq!(mixed, ["1.0.0.1".parse::<IpAddr>().unwrap()]);
    }

    #[tokio::test]
    async fn localhost_is_this_machine_whatever_the_resolver_would_say() {
        let resolver = guarded(AddressPolicy::Configured, &[]);
        for name in ["localhost", "LOCALHOST", "localhost."] {
            let found = resolver.addresses(name).await.unwrap();
            assert!(found.iter().all(IpAddr::is_loopback), "{name}");
        }
        let strict = guarded(AddressPolicy::AtLeast(Reach::Public), &[]);
        assert!(strict.addresses("localhost").await.is_err());
    }

    #[tokio::test]
    async fn proxy_of_the_person_may_be_anywhere() {
        let resolver = guarded(
            AddressPolicy::AtLeast(Reach::Public),
            &[&["10.0.0.1"], &["10.0.0.1"]],
        );
        assert!(resolver.addresses("proxy.example").await.is_ok());
        assert!(resolver.addresses("other.example").await.is_err());
    }
}
