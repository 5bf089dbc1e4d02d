//! Which addresses may be connected to: how public an address is, and how public it has to be.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// Which addresses a client may connect to. Applied to every address that a name resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressPolicy {
    /// For a server that the person configured: everything but link-local and metadata addresses.
    Configured,
    /// Like [`Self::Configured`], with link-local and metadata addresses.
    DangerousLinkLocal,
    /// For an address that a peer named: nothing less public than the peer itself.
    AtLeast(AddressScope),
}

impl AddressPolicy {
    /// Says whether `address` may be connected to.
    #[must_use]
    pub fn allows(self, address: IpAddr) -> bool {
        let scope = AddressScope::of(address);
        match self {
            Self::Configured => scope > AddressScope::LinkLocal,
            Self::DangerousLinkLocal => scope > AddressScope::Unroutable,
            Self::AtLeast(least) => scope >= least.max(AddressScope::Loopback),
        }
    }

    /// Says whether `host` may be asked for, before it is resolved or handed to a proxy.
    #[must_use]
    pub fn allows_host(self, host: &Host<&str>) -> bool {
        match *host {
            Host::Ipv4(address) => self.allows(address.into()),
            Host::Ipv6(address) => self.allows(address.into()),
            Host::Domain(name) => self.allows_name(name),
        }
    }

    fn allows_name(self, name: &str) -> bool {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        match self {
            Self::DangerousLinkLocal => true,
            Self::Configured => !METADATA_NAMES.contains(&name.as_str()),
            Self::AtLeast(least) => {
                let is_local = name == "localhost" || name.ends_with(".localhost");
                let is_metadata =
                    name.starts_with("metadata") || METADATA_NAMES.contains(&name.as_str());
                !is_metadata && (!is_local || least <= AddressScope::Loopback)
            }
        }
    }
}

/// Where an address can be reached from, narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AddressScope {
    /// No host can have it: unspecified, multicast, broadcast, reserved.
    Unroutable,
    /// The same link only; where clouds keep their metadata services, which hand out credentials.
    LinkLocal,
    /// This machine.
    Loopback,
    /// A private, shared, benchmarking or documentation network.
    Private,
    /// Every machine on the Internet.
    Public,
}

impl AddressScope {
    /// Classifies an address; one that carries another counts as the less public of the two.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => match embedded_v4(address) {
                Some(inner) => Self::of_v4(inner),
                None => Self::of_v6(address),
            },
        }
    }

    const fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            // The metadata service of Alibaba, inside the shared range, and Azure's wire server.
            [169, 254, _, _] | [100, 100, 100, 200] | [168, 63, 129, 16] => Self::LinkLocal,
            [127, _, _, _] => Self::Loopback,
            [10, _, _, _]
            | [172, 16..=31, _, _]
            | [192, 168, _, _]
            | [100, 64..=127, _, _]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18 | 19, _, _]
            | [198, 51, 100, _]
            | [203, 0, 113, _] => Self::Private,
            [0 | 224..=255, _, _, _] => Self::Unroutable,
            _ => Self::Public,
        }
    }

    const fn of_v6(address: Ipv6Addr) -> Self {
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // Link-local, and the metadata service of EC2.
            [0xfe80..=0xfebf, ..] | [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] => Self::LinkLocal,
            // Unique local, the former site-local, documentation, benchmarking.
            [0xfc00..=0xfdff, ..]
            | [0xfec0..=0xfeff, ..]
            | [0x2001, 0x0db8, ..]
            | [0x3fff, 0..=0x0fff, ..]
            | [0x2001, 0x0002, 0, ..] => Self::Private,
            // Teredo hides an address of its own choice.
            [0x2001, 0, ..] => Self::Unroutable,
            // Global unicast; everything else is reserved, multicast or discarded.
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Unroutable,
        }
    }
}

/// Returns the IPv4 address that traffic to `address` ends at.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match [a, b, c, d, e, f] {
        // `::` and `::1` look like IPv4-compatible addresses and are not.
        [0, 0, 0, 0, 0, 0] if high != 0 || low > 1 => Some(inner(high, low)),
        // Mapped, translated (RFC 6145), NAT64.
        [0, 0, 0, 0, 0, 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            Some(inner(high, low))
        }
        // 6to4.
        [0x2002, high, low, ..] => Some(inner(high, low)),
        _ => None,
    }
}

/// Names under which clouds offer their metadata services.
const METADATA_NAMES: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "instance-data",
    "instance-data.ec2.internal",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> AddressScope {
        AddressScope::of(text.parse().unwrap())
    }

    #[test]
    fn a2_every_kind_of_address_has_its_class() {
        let table = [
            (
                AddressScope::Public,
                "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 \
                 192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255 2606:4700::1111 \
                 2001:4860::8888 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:0808:0808::1",
            ),
            (
                AddressScope::Private,
                "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.1 100.64.0.0 \
                 100.127.255.255 198.18.0.0 198.19.255.255 192.0.0.1 192.0.2.1 198.51.100.1 \
                 203.0.113.1 192.88.99.1 fc00::1 fd12:3456::1 fdff:ffff::1 fec0::1 2001:db8::1 \
                 3fff::1 2001:2::1 ::ffff:10.0.0.1 ::10.0.0.1 64:ff9b::a00:1 2002:0a00:0001:: \
                 ::ffff:0:10.0.0.1",
            ),
            (
                AddressScope::Loopback,
                "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 \
                 2002:7f00:1::",
            ),
            (
                AddressScope::LinkLocal,
                "169.254.0.1 169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 fe80::1 \
                 febf::1 fd00:ec2::254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::",
            ),
            (
                AddressScope::Unroutable,
                "0.0.0.0 0.1.2.3 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: \
                 ::ffff:0.0.0.0 ff02::1 ff0e::1 2001::1 100::1 64:ff9b:1::1 4000::1",
            ),
        ];
        for (class, addresses) in table {
            for address in addresses.split_whitespace() {
                assert_eq!(scope(address), class, "{address}");
            }
        }
    }

    #[test]
    fn a2_address_named_by_a_server_is_never_less_public_than_the_server() {
        let allows =
            |least, text: &str| AddressPolicy::AtLeast(least).allows(text.parse().unwrap());
        for (least, allowed, refused) in [
            (
                AddressScope::Public,
                &["1.1.1.1"][..],
                &[
                    "10.0.0.1",
                    "127.0.0.1",
                    "169.254.169.254",
                    "0.0.0.0",
                    "::ffff:10.0.0.1",
                    "64:ff9b::7f00:1",
                ][..],
            ),
            (
                AddressScope::Private,
                &["1.1.1.1", "192.168.1.1"],
                &["127.0.0.1", "169.254.1.1", "::"],
            ),
            (
                AddressScope::Loopback,
                &["1.1.1.1", "192.168.1.1", "::1"],
                &["169.254.1.1", "0.0.0.0", "ff02::1"],
            ),
            (
                AddressScope::Unroutable,
                &["::1"],
                &["169.254.1.1", "0.0.0.0"],
            ),
        ] {
            for address in allowed {
                assert!(allows(least, address), "{least:?} {address}");
            }
            for address in refused {
                assert!(!allows(least, address), "{least:?} {address}");
            }
        }
    }

    #[test]
    fn configured_server_may_have_any_address_but_a_metadata_service() {
        let allows = |policy: AddressPolicy, text: &str| policy.allows(text.parse().unwrap());
        for address in ["1.1.1.1", "10.1.2.3", "127.0.0.1", "fd12::1", "100.64.1.1"] {
            assert!(allows(AddressPolicy::Configured, address), "{address}");
        }
        for address in ["169.254.169.254", "fe80::1", "fd00:ec2::254"] {
            assert!(!allows(AddressPolicy::Configured, address), "{address}");
            assert!(
                allows(AddressPolicy::DangerousLinkLocal, address),
                "{address}"
            );
        }
        for address in ["0.0.0.0", "224.0.0.1", "::"] {
            assert!(
                !allows(AddressPolicy::DangerousLinkLocal, address),
                "{address}"
            );
        }
    }

    #[test]
    fn a2_names_and_odd_spellings_of_literals_are_checked_before_resolution() {
        let allows = |policy: AddressPolicy, url: &str| {
            policy.allows_host(&url::Url::parse(url).unwrap().host().unwrap())
        };
        let public = AddressPolicy::AtLeast(AddressScope::Public);
        for url in [
            "http://metadata/",
            "http://metadata.google.internal./",
            "http://METADATA.goog/",
            "http://metadata-x.example/",
            "http://instance-data/",
            "http://localhost/",
            "http://localhost./",
            "http://a.localhost/",
            "http://0x7f000001/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://①②⑦.0.0.1/",
            "http://[::ffff:169.254.169.254]/",
            "http://[64:ff9b::7f00:1]/",
        ] {
            assert!(!allows(public, url), "{url}");
        }
        assert!(allows(public, "https://as.example/"));
        assert!(allows(
            AddressPolicy::AtLeast(AddressScope::Loopback),
            "http://localhost/"
        ));
        for url in ["http://metadata/", "http://metadata.google.internal./"] {
            assert!(!allows(AddressPolicy::Configured, url), "{url}");
            assert!(allows(AddressPolicy::DangerousLinkLocal, url), "{url}");
        }
        assert!(allows(
            AddressPolicy::Configured,
            "https://metadata-catalogue.example/"
        ));
    }

    /// `::` and `::1` are addresses of their own, whatever they look like.
    #[test]
    fn a2_an_address_that_carries_another_is_told_from_one_that_looks_like_it() {
        let embedded = |text: &str| {
            let inner = embedded_v4(text.parse().unwrap());
            inner.map(|inner| inner.to_string())
        };
        for text in ["::", "::1", "2606:4700::1111", "64:ff9b:1::1", "fe80::1"] {
            assert_eq!(embedded(text), None, "{text}");
        }
        for (text, inner) in [
            ("::2", "0.0.0.2"),
            ("::0.1.0.0", "0.1.0.0"),
            ("::10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2002:a00:1::", "10.0.0.1"),
        ] {
            assert_eq!(embedded(text).as_deref(), Some(inner), "{text}");
        }
    }

    #[test]
    fn a2_a_local_name_is_refused_to_whatever_is_more_public() {
        let allows = |least| AddressPolicy::AtLeast(least).allows_name("Localhost.");
        assert!(allows(AddressScope::LinkLocal) && allows(AddressScope::Loopback));
        assert!(!allows(AddressScope::Private) && !allows(AddressScope::Public));
    }
}
