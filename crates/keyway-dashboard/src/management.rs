//! Pages beside those of single servers: tokens, a new server, clients, history; and what their forms
//! do.

use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderName, StatusCode};
use keyway::diagnosis::Diagnosis;
use keyway_clients::clients::Client;
use keyway_clients::install::Installation;
use keyway_clients::new_server::NewServer;
use keyway_clients::own_entries::OWN_PLUGIN;
use keyway_secret::{Secret, shell_word};
use keyway_transport::Reply;
use tokio::time::timeout;

use super::actions::field;
use super::backend::ServerId;
use super::browser_session::BrowserSession;
use super::form::Fields;
use super::pages::{IssuedToken, Preview, server_value};
use super::paths::{self, DashboardRoute};
use super::sessions::{Notice, PendingServer};
use super::{Dashboard, answers, pages};
use crate::administration::{Administration, WantedToken};
use crate::timeouts::BUTTON_TIMEOUT;
use keyway_policy::{TokenScope, is_token_name};

impl Dashboard {
    /// Shows a page of these.
    pub(super) async fn show_management(
        &self,
        browser: &BrowserSession,
        place: &DashboardRoute,
    ) -> Reply {
        if self.administration.is_none() {
            return pages::not_found(browser);
        }
        let notice = self.sessions.notice(browser.cookie());
        let notice = notice.as_ref();
        let html = match place {
            DashboardRoute::Tokens => return self.show_tokens(browser, None, notice).await,
            DashboardRoute::Add => {
                pages::add(browser.session.pending_server.as_deref(), browser, notice)
            }
            DashboardRoute::Clients => {
                let found = self.blocking(Administration::clients).await;
                pages::clients(&found.unwrap_or_default(), browser, notice)
            }
            DashboardRoute::Client(name) => {
                return self.show_client(browser, name, None, notice).await;
            }
            DashboardRoute::History => pages::history(&self.look().await, browser, notice),
            _ => return pages::not_found(browser),
        };
        answers::page(StatusCode::OK, html)
    }

    /// Does what a form of these pages asks for.
    pub(super) async fn manage(
        &self,
        browser: &BrowserSession,
        place: &DashboardRoute,
        mut fields: Fields,
    ) -> Reply {
        if self.administration.is_none() {
            return pages::not_found(browser);
        }
        let what = field(&fields, "do").unwrap_or_default().to_owned();
        match (place, what.as_str()) {
            (DashboardRoute::Tokens, "new") => self.issue_token(browser, &fields).await,
            (DashboardRoute::Tokens, "revoke") => self.revoke_token(browser, &fields).await,
            (DashboardRoute::Add, "probe") => self.probe_server(browser, &mut fields).await,
            (DashboardRoute::Add, "save") => self.add_server(browser, fields).await,
            (DashboardRoute::Add, "program") => self.add_program(browser, &fields).await,
            (DashboardRoute::Add, "discard") => {
                self.sessions.set_pending(browser.cookie(), None);
                answers::see(&format!("{}/add", browser.base()))
            }
            (DashboardRoute::Client(name), what) => {
                self.change_client(browser, name, what, &fields).await
            }
            _ => pages::not_found(browser),
        }
    }

    /// Stores a variable of a server.
    pub(super) async fn set_variable(
        &self,
        browser: &BrowserSession,
        id: &ServerId,
        mut fields: Fields,
    ) -> Reply {
        let name = field(&fields, "name").unwrap_or_default().to_owned();
        let Some(value) = take(&mut fields, "value") else {
            return pages::not_found(browser);
        };
        let notice = match self.backend.set_variable(id, &name, value).await {
            Ok(()) => Notice::Good(format!("{name} was stored; it is not shown again.")),
            Err(trouble) => Notice::Bad(trouble),
        };
        self.sessions.tell(browser.cookie(), notice);
        answers::see(&paths::server(browser.base(), id))
    }

    async fn show_tokens(
        &self,
        browser: &BrowserSession,
        issued: Option<&IssuedToken<'_>>,
        notice: Option<&Notice>,
    ) -> Reply {
        let servers = self.backend.servers().await;
        let html = match self.blocking(Administration::tokens).await {
            Some(Ok(tokens)) => pages::tokens((&tokens, &servers), issued, browser, notice),
            Some(Err(error)) => {
                let notice = bad(error.to_string(), "run `keyway doctor`");
                pages::tokens((&[], &servers), issued, browser, Some(&notice))
            }
            None => return pages::not_found(browser),
        };
        answers::page(StatusCode::OK, html)
    }

    /// Issues a token, and shows it in the answer itself: no page that is loaded later has it.
    async fn issue_token(&self, browser: &BrowserSession, fields: &Fields) -> Reply {
        let name = field(fields, "name").unwrap_or_default().to_owned();
        let wanted = match wanted_token(&name, fields) {
            Ok(wanted) => wanted,
            Err(message) => {
                let notice = bad(message.to_owned(), "fill in the form again");
                return self.show_tokens(browser, None, Some(&notice)).await;
            }
        };
        let path = only_server(&wanted).map(|id| {
            let path = paths::server("", &id);
            path.trim_start_matches("/s").to_owned()
        });
        let port = self.port.get().copied().unwrap_or_default();
        let url = format!("http://127.0.0.1:{port}/mcp{}", path.unwrap_or_default());
        match self.blocking(move |it| it.issue(&wanted)).await {
            Some(Ok(token)) => {
                let name = name.as_str();
                let issued = IssuedToken {
                    name,
                    token: &token,
                    url,
                };
                self.show_tokens(browser, Some(&issued), None).await
            }
            Some(Err(error)) => {
                let notice = bad(error.to_string(), "give another name, or revoke that token");
                self.show_tokens(browser, None, Some(&notice)).await
            }
            None => pages::not_found(browser),
        }
    }

    async fn revoke_token(&self, browser: &BrowserSession, fields: &Fields) -> Reply {
        let name = field(fields, "name").unwrap_or_default().to_owned();
        let of = name.clone();
        let notice = match self.blocking(move |it| it.revoke(&of)).await {
            Some(Ok(true)) => Notice::Good(format!("The token of {name} was revoked.")),
            Some(Ok(false)) => Notice::Good(format!("There is no token of {name} any more.")),
            Some(Err(error)) => {
                let hint = format!("run `keyway token revoke {}`", shell_word(&name));
                bad(error.to_string(), &hint)
            }
            None => return pages::not_found(browser),
        };
        self.sessions.tell(browser.cookie(), notice);
        answers::see(&format!("{}/tokens", browser.base()))
    }

    /// Looks at the server at an address, and keeps what it found for the next page.
    async fn probe_server(&self, browser: &BrowserSession, fields: &mut Fields) -> Reply {
        let url = take(fields, "url");
        let url = url.and_then(|url| NewServer::address(url.expose().trim()));
        match url {
            Some(url) => {
                let probed = self.backend.probe(&url).await;
                let pending = PendingServer {
                    server: NewServer::at(None, &url),
                    origin: url.origin().ascii_serialization(),
                    probed,
                };
                self.sessions.set_pending(browser.cookie(), Some(pending));
            }
            None => {
                let hint = "give an address that begins with https:// or http://";
                let notice = bad("that is not the address of a server".to_owned(), hint);
                self.sessions.tell(browser.cookie(), notice);
            }
        }
        answers::see(&format!("{}/add", browser.base()))
    }

    /// Adds the server that was looked at, and leads to its page, where it is approved or signed in to.
    async fn add_server(&self, browser: &BrowserSession, mut fields: Fields) -> Reply {
        let to_form = answers::see(&format!("{}/add", browser.base()));
        let Some(pending) = browser.session.pending_server.clone() else {
            return to_form;
        };
        let value = take(&mut fields, "value").filter(|value| !value.expose().is_empty());
        let name = field(&fields, "name").map(str::trim);
        let name = name.filter(|name| !name.is_empty());
        let mut server = pending.server.clone();
        if let Some(name) = name {
            server = server.named(name);
        }
        if let Some(value) = value {
            let header = field(&fields, "header").unwrap_or_default().trim();
            if HeaderName::try_from(header).is_err() {
                let notice = bad(
                    "that is not the name of a header".to_owned(),
                    "give another",
                );
                self.sessions.tell(browser.cookie(), notice);
                return to_form;
            }
            server = server.with_header(header, value);
        }
        self.add(browser, server).await
    }

    /// Adds a program, word by word as it was typed. Nothing of it runs before it is approved on the
    /// page that this leads to.
    async fn add_program(&self, browser: &BrowserSession, fields: &Fields) -> Reply {
        let typed = field(fields, "command").unwrap_or_default();
        let words: Vec<String> = typed
            .lines()
            .map(|line| line.trim_end_matches('\r').to_owned())
            .filter(|word| !word.is_empty())
            .collect();
        let name = field(fields, "name").map(str::trim);
        let name = name.filter(|name| !name.is_empty());
        match NewServer::program(name, &words) {
            Some(server) => self.add(browser, server).await,
            None => {
                let hint = "write the program on the first line";
                let notice = bad("that is not a command".to_owned(), hint);
                self.sessions.tell(browser.cookie(), notice);
                answers::see(&format!("{}/add", browser.base()))
            }
        }
    }

    /// Adds a server to the person's own plugin, and leads to its page.
    async fn add(&self, browser: &BrowserSession, server: NewServer) -> Reply {
        let id = ServerId::new(OWN_PLUGIN, server.name());
        match self.blocking(move |it| it.add(&server)).await {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                let notice = bad(error.to_string(), "give another name");
                self.sessions.tell(browser.cookie(), notice);
                return answers::see(&format!("{}/add", browser.base()));
            }
            None => return pages::not_found(browser),
        }
        self.sessions.set_pending(browser.cookie(), None);
        let is_served = timeout(BUTTON_TIMEOUT, self.served(&id)).await.is_ok();
        let (words, path) = match is_served {
            true => (
                "It was added to your own plugin.",
                paths::server(browser.base(), &id),
            ),
            false => (
                "It was added to your own plugin, which this gateway does not serve yet.",
                format!("{}/", browser.base()),
            ),
        };
        self.sessions
            .tell(browser.cookie(), Notice::Good(words.to_owned()));
        answers::see(&path)
    }

    /// Waits until a server is served: its file is read again a moment after it has changed.
    async fn served(&self, id: &ServerId) {
        let mut changes = self.backend.changes();
        let is_it = |servers: &[super::ServerView]| servers.iter().any(|view| view.id == *id);
        while !is_it(&self.backend.servers().await) {
            if !changes.changed().await {
                return std::future::pending().await;
            }
        }
    }

    async fn show_client(
        &self,
        browser: &BrowserSession,
        name: &str,
        preview: Option<(&Installation, &[ServerId])>,
        notice: Option<&Notice>,
    ) -> Reply {
        let of = name.to_owned();
        let Some(Some(view)) = self.blocking(move |it| it.client(&of)).await else {
            return pages::not_found(browser);
        };
        let servers = self.backend.servers().await;
        let preview = preview.map(|(work, servers)| Preview { work, servers });
        let html = pages::client((&view, &servers), preview.as_ref(), browser, notice);
        answers::page(StatusCode::OK, html)
    }

    /// Shows what would be written into a client's file, writes it, or takes an entry out again.
    async fn change_client(
        &self,
        browser: &BrowserSession,
        name: &str,
        what: &str,
        fields: &Fields,
    ) -> Reply {
        let Some(client) = Client::by_name(name) else {
            return pages::not_found(browser);
        };
        if what == "undo" {
            let entry = field(fields, "entry").map(str::to_owned);
            let undone = self.blocking(move |it| it.undo(client, entry.as_deref()));
            let notice = match undone.await {
                Some(Ok((1.., _))) => Notice::Good(format!("Removed. {}", client.afterwards)),
                Some(Ok((_, kept))) => bad(
                    kept.into_iter()
                        .next()
                        .unwrap_or_else(|| NOT_OURS.to_owned()),
                    "remove it with an editor",
                ),
                Some(Err(error)) => bad(error.to_string(), "look at the file"),
                None => return pages::not_found(browser),
            };
            return self.see_client(browser, name, notice);
        }
        let servers = self.known(fields).await;
        let (ids, roots): (Vec<ServerId>, Vec<(PathBuf, String)>) = servers.into_iter().unzip();
        if roots.is_empty() {
            let notice = bad(
                "no server was chosen".to_owned(),
                "check one or more of them",
            );
            return self.see_client(browser, name, notice);
        }
        let is_written = what == "write";
        let done = self.blocking(move |it| {
            let mut work = it.installation(client, &roots)?;
            if is_written && work.inserted().next().is_some() {
                work.write()?;
            }
            Ok::<_, keyway_clients::install::InstallError>(work)
        });
        match done.await {
            Some(Ok(_)) if is_written => {
                let words = format!("Written. {}", client.afterwards);
                self.see_client(browser, name, Notice::Good(words))
            }
            Some(Ok(work)) => {
                self.show_client(browser, name, Some((&work, &ids)), None)
                    .await
            }
            Some(Err(error)) => {
                let client = shell_word(name);
                let hint = format!(
                    "remove or rename that entry, or use `keyway install {client} SERVER --as NAME`"
                );
                self.see_client(browser, name, bad(error.to_string(), &hint))
            }
            None => pages::not_found(browser),
        }
    }

    fn see_client(&self, browser: &BrowserSession, name: &str, notice: Notice) -> Reply {
        self.sessions.tell(browser.cookie(), notice);
        answers::see(&paths::client(browser.base(), name))
    }

    /// Returns the chosen servers that are served, each with the folder of its plugin.
    async fn known(&self, fields: &Fields) -> Vec<(ServerId, (PathBuf, String))> {
        let servers = self.backend.servers().await;
        let is_chosen = |id: &ServerId| chosen(fields).any(|value| value == server_value(id));
        let chosen = servers.into_iter().map(|view| view.id).filter(is_chosen);
        let with_root = chosen.filter_map(|id| {
            let place = (self.backend.root(&id)?, id.name.clone());
            Some((id, place))
        });
        with_root.collect()
    }

    /// Runs what reads or writes files where it holds up no request; `None` if it cannot be.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Administration) -> T + Send + 'static,
    ) -> Option<T> {
        let administration = Arc::clone(self.administration.as_ref()?);
        let done = tokio::task::spawn_blocking(move || work(&administration));
        done.await.ok()
    }
}

/// Reads which token a form asks for, or why there is none like that.
fn wanted_token(name: &str, fields: &Fields) -> Result<WantedToken, &'static str> {
    if !is_token_name(name) {
        return Err("a name has at most 64 characters and no spaces");
    }
    let servers: Option<Vec<TokenScope>> = match field(fields, "scope") {
        Some("all") => None,
        _ => Some(chosen(fields).filter_map(TokenScope::read).collect()),
    };
    if servers.as_ref().is_some_and(Vec::is_empty) {
        return Err("choose what the token opens");
    }
    let client = WantedToken::Client {
        name: name.to_owned(),
        servers,
    };
    let account = field(fields, "account").map(str::trim).unwrap_or_default();
    if account.is_empty() {
        return Ok(client);
    }
    let server = only_server(&client);
    let server = server.ok_or("a token for an account opens one server: choose one")?;
    Ok(WantedToken::Service {
        name: name.to_owned(),
        server,
        account: account.to_owned(),
    })
}

/// Returns the server that a token opens, if it is one alone.
fn only_server(wanted: &WantedToken) -> Option<ServerId> {
    match wanted {
        WantedToken::Service { server, .. } => Some(server.clone()),
        WantedToken::Client { servers, .. } => match servers.as_deref()? {
            [only] => {
                let (plugin, server) = only.only_server()?;
                Some(ServerId::new(plugin, server))
            }
            _ => None,
        },
    }
}

/// Returns the servers that are checked in a form.
fn chosen(fields: &Fields) -> impl Iterator<Item = &str> {
    let named = fields.iter().filter(|(name, _)| name == "server");
    named.map(|(_, value)| value.as_str())
}

/// Takes a confidential field out of a form.
fn take(fields: &mut Fields, name: &str) -> Option<Secret<String>> {
    let at = fields.iter().position(|(own, _)| own == name)?;
    Some(Secret::new(fields.swap_remove(at).1))
}

pub(super) fn bad(message: String, hint: &str) -> Notice {
    let mut found = Diagnosis::new("", "");
    found.message = message;
    found.hint = Some(hint.to_owned());
    Notice::Bad(Box::new(found))
}

const NOT_OURS: &str = "Keyway has no record of that entry, so it was left as it is";
