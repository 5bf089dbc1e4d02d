//! The authorization server.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::Place;
use super::assertions;
use super::clients;
use super::device::{self, Devices};
use super::settings::{Assertions, Consent, Iss, Settings};
use super::tokens::{Asked, Tokens};
use crate::http::{Answer, Request};

/// Answers all but the MCP server's own addresses.
pub(super) fn answer(
    request: &Request,
    settings: &Settings,
    (tokens, devices): (&mut Tokens, &mut Devices),
    place: &Place,
) -> Answer {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/.well-known/oauth-authorization-server") => metadata(settings, place),
        ("POST", "/register") => register(request, tokens),
        ("GET", "/authorize") => authorize(request, settings, tokens, place),
        ("POST", "/device_authorization") => match clients::authenticate(request, settings) {
            Ok(client) => devices.begin(client, settings, tokens, place),
            Err(refused) => refused,
        },
        (_, "/device") => devices.page(request),
        ("POST", "/token") => token(request, settings, (tokens, devices), place),
        ("POST", "/revoke") => revoke(request, settings, tokens),
        _ => Answer::empty(404),
    }
}

fn metadata(settings: &Settings, place: &Place) -> Answer {
    let origin = &place.origin;
    let issuer = settings.issuer.as_ref().unwrap_or(origin);
    let own = format!("{origin}/authorize");
    let authorize = settings.authorization_endpoint.as_ref().unwrap_or(&own);
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": authorize,
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "revocation_endpoint": format!("{origin}/revoke"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": clients::methods(settings),
        "revocation_endpoint_auth_methods_supported": clients::methods(settings),
        "authorization_response_iss_parameter_supported": settings.iss == Iss::Named,
        "scopes_supported": ["tools"],
    });
    if let (Some(_), Some(document)) = (settings.device, document.as_object_mut()) {
        let endpoint = format!("{origin}/device_authorization");
        document.insert("device_authorization_endpoint".to_owned(), endpoint.into());
        let grants = ["authorization_code", "refresh_token", device::GRANT];
        document.insert("grant_types_supported".to_owned(), json!(grants));
    }
    Answer::json(200, &document)
}

fn register(request: &Request, tokens: &mut Tokens) -> Answer {
    #[derive(Deserialize)]
    struct Registration {
        #[serde(default)]
        redirect_uris: Vec<String>,
        #[serde(default = "usual")]
        grant_types: Vec<String>,
    }
    let Ok(asked) = serde_json::from_str::<Registration>(&request.body) else {
        return refusal("invalid_client_metadata");
    };
    let is_redirected = asked
        .grant_types
        .iter()
        .any(|it| it == "authorization_code");
    if is_redirected && asked.redirect_uris.is_empty() {
        return refusal("invalid_redirect_uri");
    }
    let client = tokens.register(asked.redirect_uris.clone());
    Answer::json(
        201,
        &json!({
            "client_id": client,
            "redirect_uris": asked.redirect_uris,
            "token_endpoint_auth_method": "none",
            "grant_types": asked.grant_types,
            "response_types": ["code"],
        }),
    )
}

fn usual() -> Vec<String> {
    vec!["authorization_code".to_owned(), "refresh_token".to_owned()]
}

fn authorize(request: &Request, settings: &Settings, tokens: &mut Tokens, place: &Place) -> Answer {
    let parameter = |name| request.parameter(name).unwrap_or_default();
    let (client, redirect_uri) = (parameter("client_id"), parameter("redirect_uri"));
    let Ok(mut to) = Url::parse(&redirect_uri) else {
        return refusal("invalid_request");
    };
    let is_known = tokens.knows(&client, &redirect_uri) || clients::knows(settings, &client, &to);
    let is_sound = is_known
        && parameter("response_type") == "code"
        && parameter("code_challenge_method") == "S256"
        && is_resource(&parameter("resource"), settings, place);
    if !is_sound {
        return refusal("invalid_request");
    }
    match settings.consent {
        Consent::Thinks => return Answer::empty(200),
        Consent::Denies => {
            to.query_pairs_mut().append_pair("error", "access_denied");
        }
        Consent::Approves => {
            let challenge = parameter("code_challenge");
            tokens.agree(parameter("scope"));
            let asked = Asked {
                client,
                redirect_uri,
                challenge,
            };
            to.query_pairs_mut()
                .append_pair("code", &tokens.code(asked));
        }
    }
    to.query_pairs_mut()
        .append_pair("state", &parameter("state"));
    if settings.iss == Iss::Named {
        to.query_pairs_mut().append_pair("iss", &place.origin);
    }
    Answer::redirect(302, to.as_str())
}

fn token(
    request: &Request,
    settings: &Settings,
    (tokens, devices): (&mut Tokens, &mut Devices),
    place: &Place,
) -> Answer {
    if let Some(status) = settings.token_status {
        return Answer::empty(status);
    }
    let client = match clients::authenticate(request, settings) {
        Ok(client) => client,
        Err(refused) => return refused,
    };
    let field = |name| request.field(name).unwrap_or_default();
    if !is_resource(&field("resource"), settings, place) {
        return refusal("invalid_target");
    }
    let life = (place.now, settings.expires_in);
    let issued = match field("grant_type").as_str() {
        "authorization_code" => {
            let redirect_uri = field("redirect_uri");
            let (code, verifier) = (field("code"), field("code_verifier"));
            tokens.exchange(&code, &verifier, (&client, &redirect_uri), life)
        }
        "refresh_token" => {
            let refresh = field("refresh_token");
            tokens.rotate((&client, &refresh), settings.grace, life)
        }
        device::GRANT => {
            let code = field("device_code");
            match devices.redeem((&client, &code), settings, tokens, place) {
                Ok(issued) => Some(issued),
                Err(why) => return refusal(why),
            }
        }
        assertions::EXCHANGE => {
            let exchanged = assertions::exchange(&field("subject_token"), settings, tokens);
            return match exchanged {
                Ok(body) => Answer::json(200, &body),
                Err(why) => refusal(why),
            };
        }
        assertions::REDEEM => match assertions::redeem(&field("assertion"), settings) {
            Ok(()) => Some(tokens.grant(client.clone(), life)),
            Err(why) => return refusal(why),
        },
        _ => return refusal("unsupported_grant_type"),
    };
    let Some(issued) = issued else {
        return refusal("invalid_grant");
    };
    let more = settings.more_scopes.as_deref().unwrap_or_default();
    let mut body = json!({
        "access_token": issued.access,
        "refresh_token": issued.refresh,
        "token_type": "Bearer",
        "scope": format!("{} {more}", tokens.agreed()).trim_end(),
    });
    if let (Some(seconds), Some(body)) = (settings.expires_in, body.as_object_mut()) {
        body.insert("expires_in".to_owned(), seconds.into());
    }
    if let (Some(account), Some(body)) = (&settings.account, body.as_object_mut()) {
        let claims = assertions::claims(account, &client, (settings, place));
        let claims = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
        let id_token = tokens.identity(&claims);
        body.insert("id_token".to_owned(), id_token.into());
    }
    Answer::json(200, &body).with("cache-control", "no-store")
}

/// RFC 7009 section 2: for the client that a token was issued to, and for no other.
fn revoke(request: &Request, settings: &Settings, tokens: &mut Tokens) -> Answer {
    if let Some(status) = settings.revocation_status {
        return Answer::empty(status);
    }
    let client = match clients::authenticate(request, settings) {
        Ok(client) => client,
        Err(refused) => return refused,
    };
    let token = request.field("token").unwrap_or_default();
    if tokens.revoke(&client, &token, settings.revocation) {
        Answer::empty(200)
    } else {
        refusal("unauthorized_client")
    }
}

/// Says whether a name is that of the MCP server: by one transport or the other, or as its metadata
/// has it.
fn is_resource(name: &str, settings: &Settings, place: &Place) -> bool {
    // An identity provider protects no server, and knows those of others.
    if settings.assertions != Assertions::Unknown {
        return true;
    }
    let path = name.strip_prefix(&place.origin);
    matches!(path, Some("/mcp" | "/sse")) || settings.resource.as_deref() == Some(name)
}

fn refusal(code: &str) -> Answer {
    Answer::json(400, &json!({ "error": code }))
}
