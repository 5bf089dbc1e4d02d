//! Proxies, as the usual variables name them; the values are handed in.

use keyway_secret::Secret;
use reqwest::{NoProxy, Proxy};
use url::Url;

use crate::error::TransportError;

/// The values of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
///
/// This machine is never reached through a proxy, whatever they say.
#[derive(Debug, Clone, Default)]
pub struct ProxySettings {
    /// For `https` addresses.
    pub https: Option<Secret<String>>,
    /// For `http` addresses.
    pub http: Option<Secret<String>>,
    /// For what the other two do not say.
    pub all: Option<Secret<String>>,
    /// Hosts, domains and networks to reach directly, separated by commas.
    pub none: Option<String>,
}

impl ProxySettings {
    pub(super) fn build(&self) -> Result<Vec<Proxy>, TransportError> {
        let mut proxies = Vec::new();
        let direct = format!("{THIS_MACHINE},{}", self.none.as_deref().unwrap_or(""));
        let values: [(_, Constructor); 3] = [
            (&self.https, Proxy::https),
            (&self.http, Proxy::http),
            (&self.all, Proxy::all),
        ];
        for (value, construct) in values {
            let Some(url) = value.as_ref().filter(|value| !value.expose().is_empty()) else {
                continue;
            };
            let proxy = parse(url).and_then(|url| construct(url).ok());
            let proxy = proxy.ok_or(TransportError::Settings {
                what: "the address of a proxy cannot be read",
            })?;
            proxies.push(proxy.no_proxy(NoProxy::from_string(&direct)));
        }
        Ok(proxies)
    }

    /// Returns the hosts of the proxies.
    pub(super) fn hosts(&self) -> Vec<String> {
        let all = [&self.https, &self.http, &self.all];
        let urls = all.into_iter().flatten().filter_map(parse);
        urls.filter_map(|url| url.host_str().map(str::to_owned))
            .collect()
    }
}

type Constructor = fn(Url) -> reqwest::Result<Proxy>;

/// Reads the address of a proxy, which people write with and without a scheme.
fn parse(text: &Secret<String>) -> Option<Url> {
    let text = text.expose();
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("http://{text}"))
    };
    url.ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> ProxySettings {
        ProxySettings {
            https: Some(Secret::new(text.to_owned())),
            ..ProxySettings::default()
        }
    }

    #[test]
    fn proxies_are_read_with_and_without_a_scheme_and_never_shown() {
        for text in ["http://u:CANARY@proxy.example:3128", "proxy.example:3128"] {
            let settings = settings(text);
            assert_eq!(settings.build().unwrap().len(), 1, "{text}");
            assert_eq!(settings.hosts(), ["proxy.example"]);
            assert!(!format!("{settings:?}").contains("CANARY"));
        }
    }

    #[test]
    fn empty_value_is_no_proxy_and_nonsense_is_an_error() {
        assert!(settings("").build().unwrap().is_empty());
        for text in ["socks5://x:1", "http://", "::::"] {
            assert!(settings(text).build().is_err(), "{text}");
        }
    }
}
