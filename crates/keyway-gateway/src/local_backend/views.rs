//! What files, vault and the last examination say of each server, put together for the dashboard.

use keyway::Error;
use keyway::approval::Question;
use keyway::diagnosis::Diagnosis;
use keyway::examination::Survey;
use keyway::load::Loaded;
use keyway::settings::Confinement;
use keyway_code::{Reason, ServerState, State};

use super::LocalBackend;
use super::server_records::ServerRecord;
use keyway_dashboard::{ServerId, ServerView};

impl LocalBackend {
    /// Looks at files and vault, and adds what is known beyond them.
    /// What its programs are kept from comes with each server that runs any.
    pub(super) fn survey(&self) -> Result<Vec<(ServerView, Option<Confinement>)>, Error> {
        let found = self.diagnoses()?.into_iter();
        let views = found.map(|(declared, confinement)| (self.view(declared), confinement));
        Ok(views.collect())
    }

    /// Returns what has to be approved of a server.
    pub(super) fn question(&self, id: &ServerId) -> Result<Option<Question>, Error> {
        let mut found = self.diagnoses()?.into_iter();
        let found = found.find(|(one, _)| one.plugin == id.plugin && one.server == id.name);
        Ok(found.and_then(|(one, _)| one.question))
    }

    /// Returns what has to be approved of a plugin, server by server.
    pub(super) fn questions_of(&self, plugin: &str) -> Result<Vec<(ServerId, Question)>, Error> {
        let found = self.diagnoses()?.into_iter();
        let found = found.filter(|(one, _)| one.plugin == plugin);
        let found = found.filter_map(|(one, _)| {
            let id = ServerId::new(&*one.plugin, &*one.server);
            Some((id, one.question?))
        });
        Ok(found.collect())
    }

    fn diagnoses(&self) -> Result<Vec<(Diagnosis, Option<Confinement>)>, Error> {
        let plugins = self.plugins();
        let plugins: Vec<&Loaded> = plugins.iter().map(AsRef::as_ref).collect();
        let accounts = self.host.accounts().ok_or(Error::NoHome)?;
        let mut survey = Survey::of(&plugins, &self.host)?;
        survey.add_stored(&self.host, accounts)?;
        let servers = survey.servers.into_iter();
        let found = servers.map(|server| {
            let confinement = server.confinement(&self.host);
            (server.diagnosis, confinement)
        });
        Ok(found.collect())
    }

    fn view(&self, mut declared: Diagnosis) -> ServerView {
        if self.host.dangerous_approves_all() {
            declared.clear_approval();
        }
        let id = ServerId::new(&*declared.plugin, &*declared.server);
        let record = self.records.of(&id);
        let sign_in = declared.sign_in.as_ref();
        let token_lifetime = sign_in.and_then(|sign_in| {
            let (at, left) = sign_in.expires_at.zip(sign_in.expires_in)?;
            Some(self.records.lifetime(&id, at, left))
        });
        let consent = record.consent().cloned();
        let is_open = record.seen.as_ref().is_some_and(|seen| seen.is_open);
        let tools = record.seen.as_ref().map(|seen| seen.tools.clone());
        let log = self.plugin(&id).ok().and_then(|it| it.log(&id.name));
        let log = log.and_then(|log| log.last_lines(SHOWN_LOG_LINES).ok());
        let declared = self.worded(&id, declared);
        let diagnosis = together(declared, &record);
        let last_seen = self.last_seen(&id, &record, &diagnosis);
        let mut view = ServerView::new(diagnosis);
        view.is_open = is_open && view.diagnosis.state.state == State::Connected;
        view.is_busy = record.is_busy;
        view.last_seen = last_seen;
        view.token_lifetime = token_lifetime;
        view.consent = consent;
        view.tools = tools.unwrap_or_default();
        view.log = log.unwrap_or_default();
        view
    }
}

impl LocalBackend {
    /// Returns a diagnosis with what connections of clients told since the server was examined;
    /// `None` if they told nothing.
    fn last_seen(
        &self,
        id: &ServerId,
        record: &ServerRecord,
        found: &Diagnosis,
    ) -> Option<Diagnosis> {
        let last = self.connections.of(id)?;
        let is_undecided = found.state == ServerState::without_reason(State::Pending);
        let is_newer = record.seen.as_ref().is_some_and(|seen| seen.at < last.at);
        let is_examined = matches!(found.state.state, State::Connected | State::Failed);
        let counts = is_undecided || is_newer && is_examined && found.state.reason != CONFIG_ERROR;
        counts.then(|| {
            let mut seen = found.clone();
            last.apply(&mut seen);
            self.worded(id, seen)
        })
    }
}

/// What only a change of the file can fix.
const CONFIG_ERROR: Option<Reason> = Some(Reason::ConfigError);

/// Puts together what the files say and how the server was when it was last examined.
fn together(declared: Diagnosis, record: &ServerRecord) -> Diagnosis {
    let state = declared.state;
    let is_undecided =
        state.state == State::Pending && matches!(state.reason, None | Some(Reason::Connecting));
    let mut found = match &record.seen {
        Some(seen) if is_undecided => {
            let mut found = seen.diagnosis.clone();
            // They may have changed since the server was examined.
            found.variables = declared.variables;
            found.sign_in = declared.sign_in;
            found.declared_at = declared.declared_at;
            found.question = declared.question;
            found
        }
        _ => declared,
    };
    if record.consent().is_some() {
        found.state = ServerState::new(State::NeedsAuth, Reason::Authorizing);
    }
    found
}

/// The rest is for `keyway logs`.
const SHOWN_LOG_LINES: usize = 50;
