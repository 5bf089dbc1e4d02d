//! The device authorization grant (RFC 8628): the person types a code on another device.

use std::time::Duration;

use super::{Obtained, Prepared, SignInTrigger, issuer_host};
use crate::BoxFuture;
use crate::document::{Document, DocumentError};
use crate::error::{OAuthError, RequestTarget, SignInCause, shown};
use crate::oauth::client::Client;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::named;
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::settings::GrantKind;
use crate::oauth::token::{Issued, TokenEndpoint};
use crate::oauth::wire::{Form, Wire};
use crate::ports::{DeviceQuestion, InteractionError};
use crate::timeouts::{
    DEVICE_POLL_INTERVAL, DEVICE_POLL_MAX_INTERVAL, DEVICE_POLL_MIN_INTERVAL, DEVICE_TIMEOUT,
};
use keyway_secret::Secret;

/// A code that a person types, and the one by which we ask whether they did.
struct Codes {
    device: Secret<String>,
    question: DeviceQuestion,
    interval: Duration,
}

impl OAuthEngine {
    pub(super) async fn by_device(&self, prepared: &Prepared) -> Result<Obtained, OAuthError> {
        // Before a client is registered that could do nothing.
        prepared.found.server.device_authorization()?;
        if self.person.available().is_none() && !self.settings.client_shows_codes {
            return Err(OAuthError::sign_in_required(SignInCause::Never));
        }
        let (client, codes) = self.client_and_codes(prepared).await?;
        self.ask_for_code(prepared, client, codes).await
    }

    /// The same where a page was to be opened and none can be: returns `None` where the server
    /// gives this client no code, so that the person is told of another way.
    pub(super) async fn by_code_of_client(
        &self,
        prepared: &Prepared,
    ) -> Result<Option<Obtained>, OAuthError> {
        let is_offered = prepared.found.server.device_endpoint.is_some();
        if !is_offered || !self.settings.client_shows_codes {
            return Ok(None);
        }
        let Ok((client, codes)) = self.client_and_codes(prepared).await else {
            return Ok(None);
        };
        self.ask_for_code(prepared, client, codes).await.map(Some)
    }

    /// Says whether the server offers codes to a client that shows them.
    pub(in crate::oauth) async fn offers_codes(&self, trigger: &SignInTrigger) -> bool {
        if !self.settings.client_shows_codes {
            return false;
        }
        let reader = self.metadata.reader(CachePolicy::UseCached);
        let prepared = self.prepare(&reader, trigger).await;
        prepared.is_ok_and(|prepared| prepared.found.server.device_endpoint.is_some())
    }

    async fn client_and_codes(&self, prepared: &Prepared) -> Result<(Client, Codes), OAuthError> {
        let grant = GrantKind::Device;
        let mut client = self.client_without_redirect(prepared, &grant).await?;
        let codes = match self.device_codes(prepared, &client).await {
            Err(error) if self.forgot(prepared, &client, &error).await? => {
                client = self.client_without_redirect(prepared, &grant).await?;
                self.device_codes(prepared, &client).await?
            }
            codes => codes?,
        };
        Ok((client, codes))
    }

    /// Shows the code, here or through the client whose call needs the sign-in, and waits.
    async fn ask_for_code(
        &self,
        prepared: &Prepared,
        client: Client,
        codes: Codes,
    ) -> Result<Obtained, OAuthError> {
        let server = &prepared.found.server;
        let pages = [Some(&codes.question.page), codes.question.complete.as_ref()];
        for page in pages.into_iter().flatten() {
            self.confirm_page(server, page).await?;
        }
        self.person.count_question();
        let question = codes.question.clone();
        let shown = match self.person.available() {
            Some(interaction) => interaction.show_code(question.clone()).await,
            None => Err(InteractionError::Unavailable),
        };
        let endpoint = self.endpoint(prepared, &client)?;
        let (wire, carried) = self.carried_wire(prepared, &client).await?;
        let poll = |codes, given_up| self.poll(prepared, (&wire, endpoint), codes, given_up);
        let issued = match shown {
            Ok(shown) => {
                let page = question.complete.as_ref().unwrap_or(&question.page);
                let polling = poll(codes, shown.given_up());
                self.person.ask_on(page.as_str(), polling).await?
            }
            Err(InteractionError::Unavailable) if self.settings.client_shows_codes => {
                let polling = poll(codes, Box::pin(std::future::pending()));
                self.person.ask_by_client(question, polling).await?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Obtained {
            client,
            issued,
            carried,
        })
    }

    async fn device_codes(
        &self,
        prepared: &Prepared,
        client: &Client,
    ) -> Result<Codes, OAuthError> {
        let server = &prepared.found.server;
        let url = server.device_authorization()?;
        let what = RequestTarget::Device;
        let scopes = prepared.scopes.to_parameter();
        let form = Form::default()
            .with_some("scope", scopes.as_deref())
            .with_some("resource", prepared.resource.as_deref());
        let endpoint = TokenEndpoint {
            issuer: &server.issuer,
            url,
            client,
            dpop: None,
            what,
            keep: self.settings.keep,
            repeat_until: None,
        };
        let document = endpoint
            .ask_document(&self.wire, form, self.clock.wall())
            .await?;
        let text =
            |name| text(&document, name).map_err(|error| OAuthError::Document { what, error });
        let seconds = |name, default| {
            let found = document.seconds(name);
            let found = found.map_err(|error| OAuthError::Document { what, error })?;
            Ok::<_, OAuthError>(found.unwrap_or(default))
        };
        // Google spells it otherwise.
        let page = text("verification_uri")
            .or_else(|error| text("verification_url").map_err(|_| error))?;
        let complete = document.text("verification_uri_complete").ok().flatten();
        Ok(Codes {
            device: Secret::new(text("device_code")?.to_owned()),
            interval: seconds("interval", DEVICE_POLL_INTERVAL)?
                .clamp(DEVICE_POLL_MIN_INTERVAL, DEVICE_POLL_MAX_INTERVAL),
            question: DeviceQuestion {
                page: self.page_for_person(what, &named(what, page)?)?,
                complete: complete.and_then(|text| {
                    let page = named(what, text).ok()?;
                    self.page_for_person(what, &page).ok()
                }),
                code: shown(text("user_code")?),
                server: self.server.name.clone(),
                issuer: issuer_host(&server.issuer),
                scopes: prepared.scopes.as_slice().to_vec(),
                patience: seconds("expires_in", DEVICE_TIMEOUT)?.min(DEVICE_TIMEOUT),
            },
        })
    }

    /// Asks until the person is done (RFC 8628 section 3.5), or has given up.
    ///
    /// Giving up counts between two requests, never during one: its answer may carry tokens, and
    /// dropping it would leave them alive at the server with no one who could revoke them.
    async fn poll(
        &self,
        prepared: &Prepared,
        (wire, endpoint): (&Wire, TokenEndpoint<'_>),
        codes: Codes,
        mut given_up: BoxFuture<'_, InteractionError>,
    ) -> Result<Issued, OAuthError> {
        let started = self.clock.monotonic();
        let patience = codes.question.patience;
        let mut interval = codes.interval;
        loop {
            let waited = async {
                self.tasks.sleep(interval).await;
                None
            };
            // Giving up first: at the end of the pause both may be true, and then nothing is sent.
            let ended = futures_lite::future::or(async { Some(given_up.as_mut().await) }, waited);
            if let Some(error) = ended.await {
                return Err(error.into());
            }
            let form = Form::new("urn:ietf:params:oauth:grant-type:device_code")
                .with_secret("device_code", &codes.device)
                .with_some("resource", prepared.resource.as_deref());
            let error = match endpoint.ask(wire, form, self.clock.wall()).await {
                Ok(issued) => return Ok(issued),
                Err(error) => error,
            };
            match &error {
                OAuthError::TokenRefused { refusal, .. } => match refusal.code.as_str() {
                    "authorization_pending" => {}
                    "slow_down" => interval += DEVICE_POLL_INTERVAL,
                    "expired_token" => return Err(too_late(patience)),
                    _ => return Err(error),
                },
                // RFC 8628 section 3.5: after a time-out ask less often.
                error if error.is_transient() => interval *= 2,
                _ => return Err(error),
            }
            interval = interval.min(DEVICE_POLL_MAX_INTERVAL);
            if self.clock.monotonic().duration_since(started) >= patience {
                return Err(too_late(patience));
            }
        }
    }
}

fn too_late(patience: Duration) -> OAuthError {
    InteractionError::Timeout {
        seconds: patience.as_secs(),
    }
    .into()
}

fn text<'a>(document: &'a Document, name: &'static str) -> Result<&'a str, DocumentError> {
    document
        .text(name)?
        .ok_or(DocumentError::Missing { field: name })
}
