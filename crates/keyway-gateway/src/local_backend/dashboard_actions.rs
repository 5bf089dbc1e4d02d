//! What the pages and buttons of the dashboard ask for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Weak;

use keyway::Plugin;
use keyway::approval::Answer;
use keyway::connect::BoxFuture;
use keyway::diagnosis::Diagnosis;
use keyway::events::Event;
use keyway::examination::examine;
use keyway::host::SignInOutcome;
use keyway_code::Code;
use keyway_config::declared::Transport;
use keyway_secret::Secret;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::timeout;
use url::Url;

use super::LocalBackend;
use super::server_records::Seen;
use crate::timeouts::SIGN_IN_PAGE_TIMEOUT;
use keyway_dashboard::{
    BUTTON_TIMEOUT, Changes, DashboardBackend, ProbedServer, ServerId, ServerView,
};

impl DashboardBackend for LocalBackend {
    fn mask(&self, server: &ServerId, text: &str) -> String {
        self.redactor(server).text(text)
    }

    fn servers(&self) -> BoxFuture<'_, Vec<ServerView>> {
        let backend = self.myself.upgrade();
        Box::pin(async move {
            // It reads files and the vault.
            let survey = tokio::task::spawn_blocking(move || backend?.survey().ok());
            let found = survey.await.ok().flatten().unwrap_or_default();
            let mut views = Vec::with_capacity(found.len());
            for (mut view, confinement) in found {
                if let Some(confinement) = confinement {
                    let protection = self.host.protection(&confinement).await;
                    view.diagnosis.protection = protection.as_ref().map(|it| it.words.clone());
                    let question = view.diagnosis.question.take();
                    view.diagnosis.question = question.map(|it| it.protected_by(protection));
                }
                views.push(view);
            }
            views
        })
    }

    fn changes(&self) -> Changes {
        self.records.changes()
    }

    fn opened(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for view in self.servers().await {
                // A program is started when a person or a client asks for it, not by a look.
                let is_program = view.diagnosis.transport == Some(Transport::Stdio);
                if view.diagnosis.question.is_none()
                    && !is_program
                    && (!self.records.knows(&view.id) || is_in_by_now(&view))
                {
                    drop(self.look_at(&view.id));
                }
            }
        })
    }

    fn check<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        Box::pin(async move {
            self.reconnect(server);
            if let Some(looking) = self.look_at(server) {
                // A server that takes longer is shown as being looked at.
                drop(timeout(BUTTON_TIMEOUT, looking).await);
            }
            Ok(())
        })
    }

    fn sign_in<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<Option<String>, Box<Diagnosis>>> {
        Box::pin(async move {
            let Some(backend) = self.myself.upgrade() else {
                return Ok(None);
            };
            // A server that was just added is being looked at: the click waits for that, and is not
            // lost.
            let turn = timeout(SIGN_IN_PAGE_TIMEOUT, self.records.begin_next(server));
            let Ok(Some(turn)) = turn.await else {
                return Ok(None);
            };
            let id = server.clone();
            let mut changes = self.records.changes();
            let entering = tokio::spawn(async move {
                let entered = backend.sign_in_now(&id).await;
                drop(turn);
                match &entered {
                    Ok(SignInOutcome::SignedIn) => {
                        backend.reconnect(&id);
                        drop(backend.look_at(&id));
                    }
                    Ok(SignInOutcome::Unneeded) => drop(backend.look_at(&id)),
                    Err(_) if backend.records.was_given_up(&id) => {}
                    Err(error) => {
                        let problem = backend.problem(&id, error);
                        backend.records.note(&id, Seen::from(*problem));
                    }
                    Ok(_) => {}
                }
                match entered {
                    Ok(SignInOutcome::SignedIn) => Ok(None),
                    Ok(SignInOutcome::Unneeded) => Ok(Some(format!("It {UNNEEDED}"))),
                    Ok(_) => Ok(None),
                    Err(error) => Err(backend.problem(&id, &error)),
                }
            });
            let asked = async {
                while !self.records.asks(server) {
                    if !changes.changed().await {
                        return;
                    }
                }
            };
            // The task continues whichever comes first: a person who has the page needs no answer
            // here.
            tokio::select! {
                () = asked => Ok(None),
                () = tokio::time::sleep(SIGN_IN_PAGE_TIMEOUT) => Ok(None),
                entered = entering => entered.unwrap_or(Ok(None)),
            }
        })
    }

    fn cancel(&self, server: &ServerId) {
        self.records.cancel(server);
    }

    fn sign_out<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<String, Box<Diagnosis>>> {
        Box::pin(async move {
            let left = self.sign_out_now(server).await;
            self.reconnect(server);
            drop(self.look_at(server));
            left.map_err(|error| self.problem(server, &error))
        })
    }

    fn approve<'a>(
        &'a self,
        server: &'a ServerId,
        digest: &'a str,
        answer: Answer,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        Box::pin(async move {
            let allowed = self.allow(server, digest, answer);
            if !allowed.map_err(|error| self.problem(server, &error))? {
                return Err(changed(server));
            }
            if let Some(looking) = self.look_at(server) {
                drop(timeout(BUTTON_TIMEOUT, looking).await);
            }
            Ok(())
        })
    }

    fn approve_plugin<'a>(
        &'a self,
        plugin: &'a str,
        shown: BTreeSet<String>,
        answer: Answer,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        Box::pin(async move {
            let id = ServerId::new(plugin, "");
            let (backend, name) = (self.myself.upgrade(), plugin.to_owned());
            // It reads the plugin's files and writes to the vault.
            let allowed = tokio::task::spawn_blocking(move || {
                backend.map(|backend| backend.allow_plugin(&name, &shown, answer))
            });
            match allowed.await.ok().flatten() {
                Some(Ok(true)) => {
                    // A program is started when one asks for it, not all of a plugin at once.
                    self.opened().await;
                    Ok(())
                }
                Some(Err(error)) => Err(self.problem(&id, &error)),
                Some(Ok(false)) | None => Err(changed(&id)),
            }
        })
    }

    fn set_variable<'a>(
        &'a self,
        server: &'a ServerId,
        name: &'a str,
        value: Secret<String>,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        Box::pin(async move {
            self.keep_variable(server, name, value).await?;
            self.reconnect(server);
            if let Some(looking) = self.look_at(server) {
                drop(timeout(BUTTON_TIMEOUT, looking).await);
            }
            Ok(())
        })
    }

    fn probe<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, ProbedServer> {
        Box::pin(async move {
            // An address that the person typed runs nothing and sends nothing of theirs.
            let plugin = self.host.at(url);
            let name = plugin.servers().into_iter().next().unwrap_or_default();
            let found = match examine(&plugin, &name).await {
                Ok(found) => found.unwrap_or_else(|| Diagnosis::new("", &*name)),
                Err(error) => *self.problem(&ServerId::new("", &*name), &error),
            };
            let is_asked = found.code == Some(Code::SignInRequired);
            let offers_sign_in = is_asked && offers_sign_in(&plugin, &name).await;
            ProbedServer::new(found, offers_sign_in)
        })
    }

    fn root(&self, server: &ServerId) -> Option<PathBuf> {
        Some(self.plugin(server).ok()?.root().to_owned())
    }

    fn history(&self) -> Vec<Event> {
        self.history.latest()
    }

    fn policies_changed(&self, server: &ServerId) {
        if let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) {
            gateway.apply_policies(&server.plugin, &server.name);
        }
    }

    fn call<'a>(
        &'a self,
        server: &'a ServerId,
        tool: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Box<Diagnosis>>> {
        Box::pin(async move {
            let answer = self.use_tool(server, tool, arguments).await;
            answer.map_err(|error| {
                let problem = self.problem(server, &error);
                // What just went wrong is looked into, so that the page of the server explains it.
                drop(self.look_at(server));
                problem
            })
        })
    }
}

/// Says whether there is a sign-in by now that was missing when the server was examined.
fn is_in_by_now(view: &ServerView) -> bool {
    let is_missed = view.diagnosis.code == Some(Code::SignInRequired);
    let sign_in = view.diagnosis.sign_in.as_ref();
    is_missed && sign_in.is_some_and(|sign_in| !sign_in.ended)
}

/// Says whether there is an authorization server for a server that refuses requests without a token.
async fn offers_sign_in(plugin: &Plugin, name: &str) -> bool {
    let Ok(ready) = plugin.plan(name).and_then(|plan| plan.approved_before()) else {
        return false;
    };
    let offered = timeout(BUTTON_TIMEOUT, ready.offers_oauth()).await;
    offered.is_ok_and(|offered| offered.is_ok())
}

fn changed(id: &ServerId) -> Box<Diagnosis> {
    let code = Code::PendingTrust;
    let mut found = Diagnosis::new(&*id.plugin, &*id.name);
    found.state = code.state();
    found.code = Some(code);
    found.message = "the entry has changed since it was shown, so nothing was approved".into();
    found.hint = Some("read it again, as it is now".to_owned());
    Box::new(found)
}

/// Shown for a server that takes requests without a credential.
const UNNEEDED: &str = "needs no sign-in: it answers without a credential and offers no sign-in.";
