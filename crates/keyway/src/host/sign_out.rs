//! Signing out of a server whose entry may not be approved, and whose variables may be gone.

use std::sync::Arc;

use keyway_auth::AuthError;
use keyway_auth::oauth::{
    OAuth as Authorization, PromptPolicy, Server, Settings, SignIn, SignedOut,
};
use keyway_config::declared::{DeclaredServer, Endpoint, OAuth};
use keyway_config::document::Document;
use keyway_config::environment::HostVariables;
use keyway_config::resolve::{ResolveError, ServerSpec, resolve};
use keyway_store::GrantKey;
use keyway_transport::OAuthHttp;
use url::Url;

use super::Host;
use super::error::Error;
use crate::approval::Question;
use crate::connect::Target;
use crate::load::Loaded;
use crate::settings::Confinement;
use crate::sign_in::Accounts;

/// What signing out of one server needs. It cannot connect: nothing of the entry runs, and nothing
/// that was not approved is sent.
#[derive(Debug)]
pub struct SignOutPlan {
    host: Host,
    plugin: String,
    spec: ServerSpec,
    host_variables: HostVariables,
    missing: Vec<String>,
    /// Whether something that decides which sign-in it is could not be filled in.
    is_partial: bool,
}

impl SignOutPlan {
    pub(super) fn new(
        host: &Host,
        loaded: &Arc<Loaded>,
        (_, server): (&Document, &DeclaredServer),
    ) -> Result<Self, Error> {
        let variables = host.variable_scope(loaded)?;
        let plugin = loaded.plugin.name();
        let scope = variables.scope();
        let question = host.question(loaded, server, &variables);
        let is_approved = question.is_none_or(|question| is_approved(host, &question));
        let redacted = (!is_approved).then(|| redacted(server));
        let server = redacted.as_ref().unwrap_or(server);
        let (mut missing, mut is_partial) = (Vec::new(), false);
        let mut made = resolve(server, &scope);
        if let Err(errors) = &made {
            let reduced = Reduced::new(server, errors);
            made = resolve(&reduced.server, &scope);
            (missing, is_partial) = (reduced.missing, reduced.is_partial);
        }
        let spec = match (made, variables.take_store_error()) {
            (Ok(spec), _) => spec,
            (Err(_), Some(error)) => return Err(error.into()),
            (Err(errors), None) => {
                return Err(Error::Unresolved {
                    server: server.name.clone(),
                    errors,
                });
            }
        };
        Ok(Self {
            host: host.clone(),
            plugin,
            spec,
            host_variables: variables.host_variables().clone(),
            missing,
            is_partial,
        })
    }

    /// Returns the variables without which the client cannot authenticate.
    #[must_use]
    pub fn missing_variables(&self) -> &[String] {
        &self.missing
    }

    /// Returns the sign-in; none if the server does not use OAuth.
    #[must_use]
    pub fn oauth(&self) -> Option<Authorization> {
        // Signing out starts no program.
        let confinement = Confinement::default();
        let target = self.target(&confinement);
        match self.is_partial {
            true => self.host.oauth_named(target, Accounts::any_key),
            false => self.host.oauth(target),
        }
    }

    fn target<'a>(&'a self, confinement: &'a Confinement) -> Target<'a> {
        Target {
            plugin: &self.plugin,
            spec: &self.spec,
            host: &self.host_variables,
            grants: &[],
            files: None,
            confinement,
        }
    }

    /// Returns the sign-in at the identity provider that this one goes through.
    fn identity_provider(&self) -> Option<Authorization> {
        let accounts = self.host.accounts.as_ref()?;
        let confinement = Confinement::default();
        self.host
            .identity_provider(accounts, self.target(&confinement))
    }

    /// Revokes and deletes the tokens, and ends sessions that use them. A sign-in through an identity
    /// provider ends there too, which other servers may share.
    ///
    /// Cancel safety: the sign-out continues in a task of its own; only the result is lost. If the
    /// runtime ends meanwhile, tokens that were revoked may still be stored; signing out again
    /// removes them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotOAuth`], or [`Error::SignIn`] if the store cannot be written.
    pub async fn sign_out(&self) -> Result<SignedOut, Error> {
        let server = self.spec.name.clone();
        let Some(oauth) = self.oauth() else {
            let method = self.spec.method;
            return Err(Error::NotOAuth { server, method });
        };
        let provider = self.identity_provider();
        // One task for both: a caller that goes away after the first must not leave the second.
        let ending = tokio::spawn(async move {
            let mut done = oauth.sign_out().await?;
            // Otherwise the next call would sign in again unasked.
            if let Some(provider) = provider {
                let ended = provider.sign_out().await?;
                if !done.existed {
                    done = ended;
                }
            }
            Ok(done)
        });
        let ended = ending.await.map_err(|_| Error::Cancelled)?;
        ended.map_err(|error| Error::SignIn { server, error })
    }
}

impl Host {
    /// Revokes and deletes every sign-in of the profile, also of plugins that are not here any more:
    /// a sign-in knows its issuer and its client by itself. Returns why some are still there.
    ///
    /// Cancel safety: as [`SignOutPlan::sign_out`], for the one that is under way.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoHome`] where nothing is stored, [`Error::Store`] if it cannot be read.
    pub async fn sign_out_everywhere(&self) -> Result<Vec<AuthError>, Error> {
        let accounts = self.accounts.as_ref().ok_or(Error::NoHome)?;
        let mut failed = Vec::new();
        for listed in accounts.stores.grants.list(&accounts.profile)? {
            let Some(grant) = accounts.stores.grants.read(&listed.grant)? else {
                continue;
            };
            let issuer = SignIn::of(&grant).and_then(|kept| kept.issuer.parse().ok());
            // Without its issuer there is no server that could revoke it; it goes with the vault.
            let Some(issuer) = issuer else { continue };
            let oauth = self.of_issuer(accounts, &issuer, listed.grant);
            failed.extend(oauth.sign_out().await.err());
        }
        Ok(failed)
    }

    /// Returns a sign-in of which no entry is known; it can only end.
    fn of_issuer(&self, accounts: &Accounts, issuer: &Url, key: GrantKey) -> Authorization {
        let http = Arc::new(OAuthHttp::new(&self.http, issuer));
        let ports = self.stored_ports(accounts, http);
        let name = issuer.host_str().unwrap_or_default().to_owned();
        let server = Server::new(name, issuer.clone(), key);
        let settings = Settings::default();
        Authorization::new(server, settings, ports, PromptPolicy::Never, Vec::new())
    }
}

/// Says whether an entry was approved as it is now; what cannot be read approves nothing.
fn is_approved(host: &Host, question: &Question) -> bool {
    let found = || {
        let store = host.approvals.store.as_ref()?;
        store.find(&question.source, &question.server).ok()?
    };
    found().is_some_and(|approval| approval.covers(&question.digest))
}

/// Returns an entry that is not approved without the one field that a sign-out would send; the
/// variable behind it is not even read.
fn redacted(server: &DeclaredServer) -> DeclaredServer {
    let mut redacted = server.clone();
    if let Endpoint::Remote(remote) = &mut redacted.endpoint
        && let OAuth::Configured(fields) = &mut remote.oauth
    {
        fields.strings.retain(|field| field.name != SECRET);
    }
    redacted
}

/// An entry without what could not be filled in.
#[derive(Debug)]
struct Reduced {
    /// What is left of it.
    server: DeclaredServer,
    /// The variables that the proof of the client comes from, and that are not set.
    missing: Vec<String>,
    /// Whether something is left out that decides which sign-in it is.
    is_partial: bool,
}

impl Reduced {
    /// Leaves out every field of `errors` that a sign-out can go without.
    fn new(server: &DeclaredServer, errors: &[ResolveError]) -> Self {
        let fails = |pointer: &_| {
            errors
                .iter()
                .any(|error| error.location.pointer == *pointer)
        };
        let mut server = server.clone();
        let mut missing: Vec<String> = Vec::new();
        let mut is_partial = false;
        server.env.retain(|field| !fails(&field.value.pointer));
        if let Endpoint::Remote(remote) = &mut server.endpoint
            && let OAuth::Configured(fields) = &mut remote.oauth
        {
            for field in fields.strings.iter().filter(|it| is_proof(&it.name)) {
                let of_field = errors
                    .iter()
                    .filter(|it| it.location.pointer == field.value.pointer);
                let unset = of_field.filter_map(ResolveError::unset_variable);
                missing.extend(unset.map(str::to_owned));
            }
            missing.dedup();
            fields.scopes.retain(|field| !fails(&field.pointer));
            let mut strings = fields.strings.iter();
            is_partial = strings.any(|it| it.name != SECRET && fails(&it.value.pointer));
            fields.strings.retain(|it| !fails(&it.value.pointer));
            if is_partial {
                // The revocation endpoint was learned at the sign-in.
                fields.strings.retain(|it| is_proof(&it.name));
            }
            // A secret without a client is not a proof.
            if fields.get(CLIENT).is_none() {
                fields.strings.retain(|it| it.name != SECRET);
            }
        }
        Self {
            server,
            missing,
            is_partial,
        }
    }
}

fn is_proof(name: &str) -> bool {
    matches!(name, CLIENT | SECRET)
}

const CLIENT: &str = "clientId";
const SECRET: &str = "clientSecret";
