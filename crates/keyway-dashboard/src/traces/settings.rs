//! Where spans go, as the variables say that every program with OpenTelemetry reads.

use std::time::Duration;

use crate::timeouts::EXPORT_DELAY;
use http::HeaderName;
use keyway_secret::Secret;
use percent_encoding::percent_decode_str;
use thiserror::Error;
use url::Url;

/// Where spans go, and as whose.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TraceSettings {
    /// The collector.
    pub endpoint: Url,
    /// What it wants to see; the values are confidential.
    pub headers: Vec<(HeaderName, Secret<String>)>,
    /// What describes this program, `service.name` among it.
    pub resource: Vec<(String, String)>,
    /// Which share of traces is recorded that no client has decided on.
    pub share: f64,
    /// Whether a client decides for its own requests.
    pub follows_parent: bool,
    /// How long spans wait for others.
    pub delay: Duration,
}

impl TraceSettings {
    /// Reads the variables; `None` if none of them asks for traces.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with a variable; then nothing is sent.
    pub fn read(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, TraceSettingsError> {
        let get = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let is_off = get("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true"));
        let own = get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let base = get("OTEL_EXPORTER_OTLP_ENDPOINT");
        let exporter = get("OTEL_TRACES_EXPORTER");
        let is_wanted = match exporter.as_deref() {
            None => own.is_some() || base.is_some(),
            Some("otlp") => true,
            Some("none") => false,
            Some(_) => return Err(bad("OTEL_TRACES_EXPORTER", "`otlp` and `none` are known")),
        };
        if is_off || !is_wanted {
            return Ok(None);
        }
        let protocol = get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
            .or_else(|| get("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if protocol.is_some_and(|it| it != "http/json") {
            let what = "spans are only sent as `http/json`";
            return Err(bad("OTEL_EXPORTER_OTLP_PROTOCOL", what));
        }
        let headers =
            get("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or_else(|| get("OTEL_EXPORTER_OTLP_HEADERS"));
        let (share, follows_parent) =
            sampling(get("OTEL_TRACES_SAMPLER"), get("OTEL_TRACES_SAMPLER_ARG"))?;
        Ok(Some(Self {
            endpoint: endpoint(own, base)?,
            headers: headers.map_or_else(|| Ok(Vec::new()), |text| self::headers(&text))?,
            resource: resource(get("OTEL_SERVICE_NAME"), get("OTEL_RESOURCE_ATTRIBUTES")),
            share,
            follows_parent,
            delay: delay(get("OTEL_BSP_SCHEDULE_DELAY"))?,
        }))
    }
}

fn endpoint(own: Option<String>, base: Option<String>) -> Result<Url, TraceSettingsError> {
    let (name, text) = match (own, base) {
        (Some(own), _) => ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", own),
        (None, base) => {
            let base = base.unwrap_or_else(|| "http://localhost:4318".to_owned());
            let base = base.trim().trim_end_matches('/');
            ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{base}/v1/traces"))
        }
    };
    let url = Url::parse(text.trim()).map_err(|_| bad(name, "it is not a URL"))?;
    let is_local = url.host_str().is_some_and(|host| {
        let host = host.trim_matches(['[', ']']);
        let address = host.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    });
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_local => Ok(url),
        _ => Err(bad(name, "it must be `https`, except on this machine")),
    }
}

/// Reads `name=value,name=value`, values percent-encoded.
fn headers(text: &str) -> Result<Vec<(HeaderName, Secret<String>)>, TraceSettingsError> {
    let wrong = || bad("OTEL_EXPORTER_OTLP_HEADERS", "it is not `name=value,…`");
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
            let name = name.trim().parse().map_err(|_| wrong())?;
            let value = decoded(value.trim());
            if value.chars().any(char::is_control) {
                return Err(wrong());
            }
            Ok((name, Secret::new(value)))
        })
        .collect()
}

fn resource(name: Option<String>, attributes: Option<String>) -> Vec<(String, String)> {
    let text = attributes.unwrap_or_default();
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let mut found: Vec<(String, String)> = pairs
        .map(|(name, value)| (name.trim().to_owned(), decoded(value.trim())))
        .collect();
    let has_name = found.iter().any(|(name, _)| name == SERVICE_NAME);
    if name.is_some() || !has_name {
        found.retain(|(name, _)| name != SERVICE_NAME);
        let name = name.unwrap_or_else(|| "keyway".to_owned());
        found.push((SERVICE_NAME.to_owned(), name));
    }
    found
}

fn sampling(
    sampler: Option<String>,
    share: Option<String>,
) -> Result<(f64, bool), TraceSettingsError> {
    let Some(sampler) = sampler else {
        return Ok((1.0, true));
    };
    let (kind, follows) = match sampler.strip_prefix("parentbased_") {
        Some(kind) => (kind, true),
        None => (sampler.as_str(), false),
    };
    let share = match kind {
        "always_on" => 1.0,
        "always_off" => 0.0,
        "traceidratio" => {
            let share = share.map_or(Ok(1.0), |text| text.trim().parse::<f64>());
            let share = share.ok().filter(|share| (0.0..=1.0).contains(share));
            share.ok_or_else(|| bad("OTEL_TRACES_SAMPLER_ARG", "it is not between 0 and 1"))?
        }
        _ => return Err(bad("OTEL_TRACES_SAMPLER", "there is no such sampler")),
    };
    Ok((share, follows))
}

fn delay(text: Option<String>) -> Result<Duration, TraceSettingsError> {
    let Some(text) = text else {
        return Ok(EXPORT_DELAY);
    };
    let wrong = |_| {
        bad(
            "OTEL_BSP_SCHEDULE_DELAY",
            "it is not a number of milliseconds",
        )
    };
    Ok(Duration::from_millis(text.trim().parse().map_err(wrong)?))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

const fn bad(name: &'static str, what: &'static str) -> TraceSettingsError {
    TraceSettingsError { name, what }
}

/// Why no spans are sent.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{name}`: {what}")]
#[non_exhaustive]
pub struct TraceSettingsError {
    /// The variable.
    pub name: &'static str,
    /// What is wrong with it; never its value.
    pub what: &'static str,
}

const SERVICE_NAME: &str = "service.name";
