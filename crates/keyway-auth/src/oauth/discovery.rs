//! Finding out where to sign in: challenge → resource metadata → authorization server metadata.

use url::Url;

use super::metadata::{ResourceMetadata, ServerMetadata, named};
use super::metadata_cache::MetadataReader;
use super::settings::{Endpoints, Settings};
use crate::document::Document;
use crate::endpoint::{Endpoint, EndpointError};
use crate::error::{OAuthError, RequestTarget, shown};

/// Where to sign in for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Discovered {
    /// What the server says of itself; absent before 2025-06-18.
    pub(super) resource: Option<ResourceMetadata>,
    /// What the chosen authorization server says of itself.
    pub(super) server: ServerMetadata,
}

/// Finds out where to sign in for the server at `url`.
///
/// `hint` is the address of the resource metadata as the challenge gives it.
pub(super) async fn discover(
    reader: &MetadataReader<'_>,
    settings: &Settings,
    url: &Url,
    hint: Option<&str>,
) -> Result<Discovered, OAuthError> {
    if let Endpoints::Fixed {
        authorization,
        token,
    } = &settings.endpoints
    {
        let issuer = token.origin().ascii_serialization();
        let mut server = ServerMetadata::bare(&issuer);
        server.authorization_endpoint = Some(authorization.clone());
        server.token_endpoint = Some(token.clone());
        let resource = resource_metadata(reader, url, hint)
            .await
            .unwrap_or_default();
        return Ok(Discovered { resource, server });
    }
    if let Endpoints::Issuer(issuer) = &settings.endpoints {
        let server = of_issuer(reader, settings, issuer).await?;
        return Ok(Discovered {
            resource: None,
            server,
        });
    }
    let resource = resource_metadata(reader, url, hint).await?;
    let server = match &settings.endpoints {
        Endpoints::Metadata(at) => configured(reader, settings, at).await?,
        _ => match &resource {
            _ if settings.issuer.is_some() => chosen(reader, settings, resource.as_ref()).await?,
            Some(resource) if !resource.issuers.is_empty() => {
                choose(reader, settings, &resource.issuers).await?
            }
            _ => own(reader, settings, url).await?,
        },
    };
    Ok(Discovered { resource, server })
}

/// Reads what the server says of itself, and checks that it speaks of itself.
///
/// The address in a challenge counts inside the server's origin only: elsewhere it could be
/// anything that we can reach and the server cannot (RFC 9728 section 7.7).
pub(super) async fn resource_metadata(
    reader: &MetadataReader<'_>,
    url: &Url,
    hint: Option<&str>,
) -> Result<Option<ResourceMetadata>, OAuthError> {
    let hinted = hint
        .and_then(|text| Endpoint::parse(text).ok())
        .filter(|hinted| hinted.is_same_origin(url));
    let mut candidates: Vec<Url> = hinted.map(Endpoint::into_url).into_iter().collect();
    let inserted = well_known(url, "oauth-protected-resource");
    let root = url.join("/.well-known/oauth-protected-resource").ok();
    for candidate in inserted.into_iter().chain(root) {
        if !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    let read = |document: &Document| {
        let metadata = ResourceMetadata::read(document)?;
        metadata.check(url)?;
        Ok(metadata)
    };
    reader
        .first(RequestTarget::ResourceMetadata, candidates, read)
        .await
}

/// Takes the issuer that the person chose, unless the server relies on others.
async fn chosen(
    reader: &MetadataReader<'_>,
    settings: &Settings,
    resource: Option<&ResourceMetadata>,
) -> Result<ServerMetadata, OAuthError> {
    let issuer = settings.issuer.as_deref().unwrap_or_default();
    let listed = resource.map(|resource| resource.issuers.as_slice());
    let listed = listed.unwrap_or_default();
    if let Some(first) = listed.first()
        && !listed.iter().any(|text| text == issuer)
    {
        return Err(OAuthError::IssuerMismatch {
            expected: shown(issuer),
            found: shown(first),
        });
    }
    of_issuer(reader, settings, issuer).await
}

/// Reads the metadata of an issuer that has to have some.
pub(super) async fn of_issuer(
    reader: &MetadataReader<'_>,
    settings: &Settings,
    issuer: &str,
) -> Result<ServerMetadata, OAuthError> {
    let found = server_metadata(reader, settings, issuer).await?;
    found.ok_or_else(|| OAuthError::NoMetadata {
        issuer: shown(issuer),
    })
}

/// Takes the first issuer that publishes metadata; one that we have a client for goes first.
async fn choose(
    reader: &MetadataReader<'_>,
    settings: &Settings,
    issuers: &[String],
) -> Result<ServerMetadata, OAuthError> {
    let is_known = |issuer: &&String| settings.issuers.iter().any(|(known, _)| known == *issuer);
    let known = issuers.iter().filter(is_known);
    let others = issuers.iter().filter(|issuer| !is_known(issuer));
    for issuer in known.chain(others) {
        if let Some(metadata) = server_metadata(reader, settings, issuer).await? {
            return Ok(metadata);
        }
    }
    Err(OAuthError::NoMetadata {
        issuer: issuers.first().map(|text| shown(text)).unwrap_or_default(),
    })
}

/// Before 2025-06-18 a server was its own authorization server, with or without a document.
async fn own(
    reader: &MetadataReader<'_>,
    settings: &Settings,
    url: &Url,
) -> Result<ServerMetadata, OAuthError> {
    let issuer = url.origin().ascii_serialization();
    let found = server_metadata(reader, settings, &issuer).await?;
    Ok(found.unwrap_or_else(|| ServerMetadata::assumed(&issuer, url)))
}

/// Reads the document that the configuration names; whose it is, is what it says, within its origin.
///
/// An entry of a plugin may name the document. If that could speak for any issuer, then it would
/// be given the client that the person has with that issuer.
pub(super) async fn configured(
    reader: &MetadataReader<'_>,
    settings: &Settings,
    at: &Url,
) -> Result<ServerMetadata, OAuthError> {
    let origin = at.origin().ascii_serialization();
    let read = |document: &Document| {
        let metadata = ServerMetadata::read(document)?;
        let named = Endpoint::parse(&metadata.issuer);
        if !named.is_ok_and(|named| named.is_same_origin(at)) {
            check_issuer(settings, &origin, &metadata)?;
        }
        Ok(metadata)
    };
    let found = reader.first(RequestTarget::ServerMetadata, vec![at.clone()], read);
    found.await?.ok_or_else(|| OAuthError::NoMetadata {
        issuer: shown(&origin),
    })
}

/// Asks an issuer for its metadata, in the order of the specification.
pub(super) async fn server_metadata(
    reader: &MetadataReader<'_>,
    settings: &Settings,
    issuer: &str,
) -> Result<Option<ServerMetadata>, OAuthError> {
    let what = RequestTarget::ResourceMetadata;
    let url = named(what, issuer)?;
    if url.query().is_some() {
        let why = EndpointError::Query;
        return Err(OAuthError::Endpoint { what, why });
    }
    let candidates = documents_of(&url);
    let read = |document: &Document| {
        let metadata = ServerMetadata::read(document)?;
        check_issuer(settings, issuer, &metadata)?;
        Ok(metadata)
    };
    reader
        .first(RequestTarget::ServerMetadata, candidates, read)
        .await
}

/// Returns where an issuer publishes its metadata, in the order of the specification.
fn documents_of(issuer: &Url) -> Vec<Url> {
    let mut documents = vec![
        well_known(issuer, "oauth-authorization-server"),
        well_known(issuer, "openid-configuration"),
    ];
    let path = issuer.path().trim_end_matches('/');
    if !path.is_empty() {
        let appended = format!("{path}/.well-known/openid-configuration");
        documents.push(issuer.join(&appended).ok());
    }
    documents.into_iter().flatten().collect()
}

/// Says whether what is known of an issuer is its own word. A document that an entry names may lie
/// anywhere on the issuer's origin, also where any user of the issuer can put one: unless it is
/// where the issuer publishes its own, it only claims to be the issuer's. Endpoints that an entry
/// names are the entry's word.
pub(super) fn is_issuers_word(
    endpoints: &Endpoints,
    exceptions: &[(String, String)],
    issuer: &str,
) -> bool {
    let at = match endpoints {
        Endpoints::Discovered | Endpoints::Issuer(_) => return true,
        Endpoints::Fixed { .. } => return false,
        Endpoints::Metadata(at) => at,
    };
    let publishes = |name: &str| Url::parse(name).is_ok_and(|it| documents_of(&it).contains(at));
    let mut other_names = exceptions.iter().filter(|(_, told)| told == issuer);
    publishes(issuer) || other_names.any(|(asked, _)| publishes(asked))
}

/// Metadata under another name is not used (RFC 8414 section 3.3): byte for byte.
fn check_issuer(
    settings: &Settings,
    expected: &str,
    metadata: &ServerMetadata,
) -> Result<(), OAuthError> {
    let mut exceptions = settings.issuer_exceptions.iter();
    let is_excepted = exceptions.any(|(asked, told)| asked == expected && *told == metadata.issuer);
    if metadata.issuer == expected || is_excepted {
        return Ok(());
    }
    Err(OAuthError::IssuerMismatch {
        expected: shown(expected),
        found: shown(&metadata.issuer),
    })
}

/// Puts a well-known name before the path (RFC 8414 section 3.1, RFC 9728 section 3.1).
fn well_known(url: &Url, name: &str) -> Option<Url> {
    let path = url.path().trim_end_matches('/');
    let mut at = url.join(&format!("/.well-known/{name}{path}")).ok()?;
    at.set_fragment(None);
    Some(at)
}
