//! The address that a consent page leads back to, as people register it.

use crate::error::shown;
use crate::ports::Redirect;

/// Returns the redirect address of a client that a person registers (RFC 8252 section 7.3: the port
/// of a loopback address does not count), and how it becomes exact where the port does count.
pub(super) fn to_register(redirect: &Redirect) -> String {
    let is_fixed = redirect.port.is_some()
        || redirect
            .uri
            .as_ref()
            .is_some_and(|uri| uri.port().is_some());
    let address = redirect_uri(redirect);
    if is_fixed {
        return address;
    }
    let address = address.replacen(":PORT", "", 1);
    format!(
        "{address} (any port; where the port counts, fix it by `oauth.callbackPort` of the entry)"
    )
}

/// Returns the address as it has to be registered.
pub(super) fn redirect_uri(redirect: &Redirect) -> String {
    let port = redirect.port.map(|port| port.to_string());
    let port = port.unwrap_or_else(|| "PORT".to_owned());
    match &redirect.uri {
        None => format!("http://localhost:{port}/callback"),
        Some(uri) if uri.port().is_some() || uri.scheme() != "http" => shown(uri.as_str()),
        // RFC 8252 section 7.3: a loopback address that names no port stands for all of them.
        Some(uri) => {
            let host = uri.host_str().unwrap_or_default();
            shown(&format!("http://{host}:{port}{}", uri.path()))
        }
    }
}
