//! Makes an entry ready: approved in one of several ways, and resolved.

use keyway::events::{Kind, Topic};
use keyway::load::Loaded;
use keyway::trust::{Question, Surroundings as Around};
use keyway_config::declared::DeclaredServer;
use keyway_config::document::Document;
use keyway_config::resolve::{SpecEndpoint, resolve};

use super::error::ReachError;
use super::leaving::{self, Reduced};
use super::ready::Ready;
use super::resolved::resolved;
use super::{Reach, approval};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::surroundings::Surroundings;

/// How an entry comes to be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Approval {
    /// Before, or now by whoever is at the terminal.
    Asked,
    /// Before.
    Kept,
    /// By the command line.
    Unneeded,
    /// By nobody: what the entry would send is left out.
    Spared,
}

impl Reach {
    /// Makes one server ready: approved, by this run or before, and resolved.
    pub(crate) fn prepare(
        &self,
        context: &CommandContext,
        loaded: &Loaded,
        entry: (&Document, &DeclaredServer),
    ) -> Result<Ready, CliError> {
        self.make_ready(context, loaded, entry, self.approval(Approval::Asked))
    }

    /// The same where nobody is asked: what is not approved is refused.
    pub(crate) fn prepare_quietly(
        &self,
        context: &CommandContext,
        loaded: &Loaded,
        entry: (&Document, &DeclaredServer),
    ) -> Result<Ready, CliError> {
        self.make_ready(context, loaded, entry, self.approval(Approval::Kept))
    }

    /// Makes one server ready to be signed out of: nothing of it runs and nothing is sent to it.
    pub(crate) fn prepare_unasked(
        &self,
        context: &CommandContext,
        loaded: &Loaded,
        entry: (&Document, &DeclaredServer),
    ) -> Result<Ready, CliError> {
        self.make_ready(context, loaded, entry, Approval::Spared)
    }

    const fn approval(&self, otherwise: Approval) -> Approval {
        match (self.trust, self.asks_nobody) {
            (true, _) => Approval::Unneeded,
            (false, true) => Approval::Kept,
            (false, false) => otherwise,
        }
    }

    /// Returns the variables granted to an entry; `None` if nobody approved it and that is spared.
    fn grants(
        &self,
        context: &CommandContext,
        question: Option<&Question>,
        approval: Approval,
    ) -> Result<Option<Vec<String>>, CliError> {
        let Some(question) = question else {
            return Ok(Some(Vec::new()));
        };
        let (events, profile) = (&context.events, self.profile(context)?);
        match approval {
            Approval::Unneeded => {
                let granted = approval::granted(question, &profile);
                Ok(Some(granted.unwrap_or_default()))
            }
            Approval::Spared => Ok(approval::granted(question, &profile)),
            Approval::Asked => {
                approval::require(events, Some(context), question, &profile).map(Some)
            }
            Approval::Kept => approval::require(events, None, question, &profile).map(Some),
        }
    }

    fn make_ready(
        &self,
        context: &CommandContext,
        loaded: &Loaded,
        (document, server): (&Document, &DeclaredServer),
        approval: Approval,
    ) -> Result<Ready, CliError> {
        let surroundings = Surroundings::open(self.env_file.as_deref())?;
        let surroundings = surroundings.trying(self.tried.clone());
        let host = surroundings.host_variables(&loaded.plugin);
        let events = &context.events;
        let made = surroundings.with_scope(loaded, |scope| {
            let around = Around {
                plugin: &loaded.plugin.name(),
                root: &loaded.plugin.root,
                document,
                host: &host,
            };
            let question = Question::about(server, around, &scope);
            let grants = self.grants(context, question.as_ref(), approval)?;
            let spared = grants.is_none().then(|| leaving::spared(server));
            let server = spared.as_ref().unwrap_or(server);
            let mut missing = Vec::new();
            let mut made = resolve(server, &scope);
            if approval == Approval::Spared
                && let Err(errors) = &made
            {
                let reduced = Reduced::new(server, errors);
                made = resolve(&reduced.server, &scope);
                missing = reduced.missing;
            }
            let mut spec = made.map_err(|errors| {
                let code = "unresolved-variable";
                events.emit(Kind::ConfigSkipped, Some(&server.name), Some(code));
                ReachError::Unresolved {
                    server: server.name.clone(),
                    errors,
                }
            })?;
            for name in grants.iter().flatten() {
                spec.grant(name, &scope);
            }
            if matches!(spec.endpoint, SpecEndpoint::NotConfigured) {
                let code = "not-configured";
                events.emit(Kind::ConfigSkipped, Some(&server.name), Some(code));
            }
            events.note(Topic::Config, Some(&server.name), || {
                resolved(server, &spec, &scope)
            });
            let files = question.map(|question| question.files);
            let id = format!("{}:{}", loaded.plugin.name(), server.name);
            Ok(Ready {
                confinement: context.settings()?.sandbox.of(&id),
                spec,
                host: host.clone(),
                grants: grants.unwrap_or_default(),
                plugin: loaded.plugin.name(),
                files,
                missing,
                events: context.events.clone(),
            })
        });
        match (made, surroundings.take_trouble()) {
            // What is missing may be where nobody could look.
            (Err(CliError::Reach(ReachError::Unresolved { .. })), Some(error)) => Err(error.into()),
            (made, _) => made,
        }
    }
}
