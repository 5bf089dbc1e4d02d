//! Checked values to the settings of a gateway for people.

use std::net::SocketAddr;

use url::Url;

use super::file;
use crate::settings::Around;
use crate::settings::limits::Limit;
use crate::settings::people::{ClaimSetting, PeopleSettings, PublicAddress, TlsFiles};
use crate::settings::tree::{Found, Table, is_address};
use crate::settings::words::Algorithm;

/// Reads where the gateway is reached from other machines.
pub(super) fn public_address(
    table: &mut Table,
    found: &mut Found<'_>,
    around: Around<'_>,
) -> Option<PublicAddress> {
    let url = table.text("public_url");
    let certificate = file(table, "tls_certificate", around);
    let key = file(table, "tls_key", around);
    let proxies = table.texts("trusted_proxies").unwrap_or_default();
    let tls = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        (None, None) => None,
        _ => {
            let message = "`tls_certificate` and `tls_key` go together";
            found.refuse(table, message.to_owned());
            None
        }
    };
    let mut trusted_proxies = Vec::new();
    for proxy in &proxies {
        match proxy.parse() {
            Ok(address) => trusted_proxies.push(address),
            Err(_) => {
                let message = "`trusted_proxies` are addresses, such as `10.0.0.5`; names are not \
                               trusted";
                found.refuse(table, message.to_owned());
            }
        }
    }
    let Some(url) = url else {
        if tls.is_some() || !proxies.is_empty() {
            let message = "`tls_certificate`, `tls_key` and `trusted_proxies` need `public_url`";
            found.refuse(table, message.to_owned());
        }
        return None;
    };
    let Some(origin) = origin_of(&url) else {
        let message =
            "`public_url` is an origin, such as `https://gateway.example`: it has no path";
        found.refuse(table, message.to_owned());
        return None;
    };
    Some(PublicAddress {
        origin,
        tls,
        trusted_proxies,
    })
}

/// Reads where the admin port is.
pub(super) fn admin_address(table: &mut Table, found: &mut Found<'_>) -> Option<SocketAddr> {
    let text = table.text("admin")?;
    let address = text.parse().ok();
    if address.is_none() {
        let message = "`admin` is an address and a port, such as `127.0.0.1:9900`";
        found.refuse(table, message.to_owned());
    }
    address
}

/// Reads who may use the gateway.
pub(super) fn people(table: &mut Table, found: &mut Found<'_>) -> PeopleSettings {
    let issuers = table.texts("issuers").unwrap_or_default();
    if issuers.is_empty() {
        found.refuse(table, "it needs `issuers`, at least one".to_owned());
    }
    let jwks = table.map("jwks").unwrap_or_default();
    if !issuers.iter().chain(jwks.values()).all(|it| is_address(it)) {
        let message = "an issuer is an `https` address, and so is where its keys are";
        found.refuse(table, message.to_owned());
    }
    if let Some(other) = jwks.keys().find(|name| !issuers.contains(name)) {
        let message = format!("`jwks` names `{other}`, which is not one of `issuers`");
        found.refuse(table, message);
    }
    let browser_clients = table.map("browser_clients").unwrap_or_default();
    if let Some(other) = browser_clients.keys().find(|name| !issuers.contains(name)) {
        let message = format!("`browser_clients` names `{other}`, which is not one of `issuers`");
        found.refuse(table, message);
    }
    let mut algorithms = Vec::new();
    for name in table.texts("algorithms").unwrap_or_default() {
        match Algorithm::from_word(&name) {
            Some(algorithm) => algorithms.push(algorithm),
            None => {
                let words = Algorithm::WORDS.join("`, `");
                found.refuse(table, format!("an algorithm is one of `{words}`"));
            }
        }
    }
    PeopleSettings {
        issuers,
        jwks,
        browser_clients,
        audience: table.text("audience"),
        algorithms,
        scopes: table.texts("scopes").unwrap_or_default(),
        members: claim(table, found, ["member_claim", "member_values"]),
        admins: claim(table, found, ["admin_claim", "admin_values"]),
        programs_for_each: table.count("programs_for_each").unwrap_or(4),
        programs_for_all: table.count("programs_for_all").unwrap_or(64),
    }
}

/// Reads how much may be asked.
pub(super) fn limit(table: &mut Table) -> Limit {
    Limit {
        calls_per_second: table.count("calls_per_second"),
        calls_at_once: table.count("calls_at_once"),
        bytes_per_second: table.count("bytes_per_second"),
        sessions: table.count("sessions"),
    }
}

fn claim(
    table: &mut Table,
    found: &mut Found<'_>,
    [claim, values]: [&str; 2],
) -> Option<ClaimSetting> {
    match (table.text(claim), table.texts(values)) {
        (Some(claim), Some(values)) => Some(ClaimSetting::new(claim, values)),
        (None, None) => None,
        _ => {
            found.refuse(table, format!("`{claim}` and `{values}` go together"));
            // Half a rule must not let more people in than the whole one.
            Some(ClaimSetting::new(claim.to_owned(), Vec::new()))
        }
    }
}

/// Returns the origin of an address that is nothing else.
fn origin_of(url: &str) -> Option<String> {
    let parsed = Url::parse(url).ok()?;
    let is_origin = parsed.path() == "/" && parsed.query().is_none();
    is_origin.then(|| parsed.origin().ascii_serialization())
}
