//! The tour: to every server by the way that any host goes.
//!
//! load → trust → resolve → connect → session, then one list and one call.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyway::connect::{
    ConnectError, Connected, Host, HttpClient, HttpSettings, Launcher, Target, TransportError,
};
use keyway::load::{Loaded, Loader};
use keyway::settings::{Confinement, Settings as Preferences};
use keyway::sign_in::{Accounts, KeptVault, Loopback, PromptPolicy};
use keyway::trust::{Files, Ledger, Question, Surroundings};
use keyway::vault::{Folders, KeySources, SourceKind, Vault};
use keyway_config::declared::{DeclaredServer, Transport};
use keyway_config::document::Document;
use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::method::Method;
use keyway_config::resolve::{ServerSpec, resolve};
use keyway_mcp::session::{ClientInfo, Nobody, Request, Session, SessionError};
use keyway_mcp::states::{Standing, State, Trouble};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::demo::Settings;
use crate::error::DemoError;

/// The way to all servers of a demo.
#[derive(Debug)]
pub struct Tour {
    loaded: Loaded,
    variables: Variables,
    host_variables: HostVariables,
    host: Host,
}

/// What a visit to one server brought.
#[derive(Debug, Clone)]
pub struct Row {
    /// The server.
    pub server: String,
    /// How it is reached.
    pub transport: Transport,
    /// How it is authenticated to.
    pub method: Method,
    /// What became of it.
    pub standing: Standing,
    /// How many tools it has.
    pub tools: usize,
    /// How long the call of a tool took, once connected.
    pub latency: Option<Duration>,
    /// What went wrong.
    pub trouble: Option<Trouble>,
}

impl Row {
    /// Says whether a tool was called and gave the right answer.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.standing.state == State::Connected && self.latency.is_some()
    }
}

impl Tour {
    /// Loads the plugin and prepares a host that keeps everything below `home`.
    pub(crate) fn new(
        plugin: &Path,
        home: &Path,
        variables: Variables,
        settings: &Settings,
    ) -> Result<Self, DemoError> {
        let loaded = Loader::default().load(plugin)?;
        let folders = Folders::below(home);
        let host_variables = HostVariables {
            plugin_data: folders.data.join("plugins"),
            project_dir: plugin.to_owned(),
            ..loaded.plugin.host_variables()
        };
        let http = HttpClient::new(HttpSettings::default());
        let mut isolation = settings.isolation.clone();
        isolation.hidden.extend([
            folders.data.clone(),
            folders.config.clone(),
            folders.runtime.clone(),
        ]);
        let vault = folders.clone();
        let open = move || {
            let key = KeySources::default().choosing(SourceKind::KeyFile);
            Vault::open(&vault, key)
        };
        let accounts = Accounts {
            vault: Arc::new(KeptVault::new(folders, Box::new(open))),
            interaction: Some(Arc::new(Loopback::new(Arc::clone(&settings.presenter)))),
            asking: PromptPolicy::WhenNeeded,
            settings: Arc::new(Preferences::default()),
            profile: "default".to_owned(),
            account: None,
            device: false,
            whose: None,
        };
        let host = Host {
            http: http.map_err(|error| DemoError::Client(error.into()))?,
            launcher: Launcher::new(&settings.binary),
            environment: settings.environment.clone(),
            isolation,
            log: None,
            accounts: Some(accounts),
            events: settings.events.clone(),
            supplied: None,
        };
        Ok(Self {
            loaded,
            variables,
            host_variables,
            host,
        })
    }

    /// Returns the names of all servers, in the order of the file.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        let servers = self.loaded.plugin.servers();
        servers.map(|(_, server)| server.name.clone()).collect()
    }

    /// Returns a row for a server that nobody has visited yet.
    #[must_use]
    pub fn unvisited(&self, name: &str) -> Option<Row> {
        self.find(name).map(|(_, server)| Row::of(server))
    }

    /// Approves servers for whoever uses the same home later.
    ///
    /// # Errors
    ///
    /// Returns [`DemoError::Vault`] if that cannot be kept.
    pub fn approve(&self, which: impl Fn(&str) -> bool) -> Result<(), DemoError> {
        let Some(accounts) = &self.host.accounts else {
            return Ok(());
        };
        let vault = accounts.vault.get()?;
        let ledger = Ledger::new(&vault, &accounts.profile)?;
        for (document, server) in self.loaded.plugin.servers() {
            let question = self.question(document, server);
            if let Some(question) = question.filter(|_| which(&server.name)) {
                ledger.approve(&question)?;
            }
        }
        Ok(())
    }

    /// Visits one server: connects, lists its tools, calls one; `None` if there is no such server.
    ///
    /// A server that wants a sign-in waits for the person.
    pub async fn visit(&self, name: &str) -> Option<Row> {
        let (document, server) = self.find(name)?;
        let mut row = Row::of(server);
        let visited = match self.prepare(document, server) {
            Ok(ready) => self.talk(&ready, &mut row).await,
            Err(trouble) => Err(trouble),
        };
        match visited {
            Ok(()) => row.standing = Standing::CONNECTED,
            Err(trouble) => {
                row.standing = trouble.standing;
                row.trouble = Some(trouble);
            }
        }
        Some(row)
    }

    fn find(&self, name: &str) -> Option<(&Document, &DeclaredServer)> {
        let mut servers = self.loaded.plugin.servers();
        servers.find(|(_, server)| server.name == name)
    }

    /// Approves for this run, as with `--trust`, and resolves.
    fn prepare(&self, document: &Document, server: &DeclaredServer) -> Result<Ready, Trouble> {
        let question = self.question(document, server);
        let scope = Scope::new(&self.host_variables, &self.variables);
        let spec = resolve(server, &scope)
            .map_err(|errors| broken("config-error", &errors.to_string()))?;
        // The files that run have to stay as they are now.
        let files = question.map(|question| question.files);
        Ok(Ready { spec, files })
    }

    fn question(&self, document: &Document, server: &DeclaredServer) -> Option<Question> {
        let scope = Scope::new(&self.host_variables, &self.variables);
        let around = Surroundings {
            plugin: &self.loaded.plugin.name(),
            root: &self.loaded.plugin.root,
            document,
            host: &self.host_variables,
        };
        Question::about(server, around, &scope)
    }

    async fn talk(&self, ready: &Ready, row: &mut Row) -> Result<(), Trouble> {
        let plugin = self.loaded.plugin.name();
        let target = Target {
            plugin: &plugin,
            spec: &ready.spec,
            host: &self.host_variables,
            grants: &[],
            files: ready.files.as_ref(),
            confinement: Confinement::default(),
        };
        let connected = self.host.connect(target).await;
        let Connected {
            connection, offer, ..
        } = connected.map_err(|error| match &error {
            ConnectError::Transport(error) => Trouble::from(error),
            error => broken("config-error", &error.to_string()),
        })?;
        let session = Session::open(connection, client(), Arc::new(Nobody), offer).await;
        // By now a script has been read by whatever runs it.
        let unchanged = ready.files.as_ref().map_or(Ok(()), Files::verify);
        unchanged.map_err(|file| Trouble::from(&TransportError::Changed { file }))?;
        let session = session.map_err(|error| Trouble::from(&error))?;
        let used = use_tools(&session, row).await;
        session.close().await;
        used
    }
}

/// A server that is approved and resolved.
struct Ready {
    spec: ServerSpec,
    files: Option<Files>,
}

impl Row {
    fn of(server: &DeclaredServer) -> Self {
        Self {
            server: server.name.clone(),
            transport: server.transport,
            method: Method::declared(server),
            standing: Standing::CONNECTING,
            tools: 0,
            latency: None,
            trouble: None,
        }
    }
}

/// Lists the tools and calls one whose answer can be checked.
async fn use_tools(session: &Session, row: &mut Row) -> Result<(), Trouble> {
    let failed = |error: SessionError| Trouble::from(&error);
    let tools = session.list("tools/list", "tools").await.map_err(failed)?;
    row.tools = tools.len();
    let arguments = json!({ "name": "echo", "arguments": { "text": GREETING } });
    let params = match arguments {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    let start = Instant::now();
    let result = session.request(Request::new("tools/call", params)).await;
    let result = result.map_err(failed)?;
    let said = serde_json::from_str::<Said>(result.get());
    let is_right = said.is_ok_and(|said| said.content.iter().any(|block| block.text == GREETING));
    if !is_right {
        return Err(broken(
            "wrong-answer",
            "the tool did not say what it was told",
        ));
    }
    row.latency = Some(start.elapsed());
    Ok(())
}

#[derive(Deserialize)]
struct Said {
    content: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    text: String,
}

fn broken(code: &'static str, message: &str) -> Trouble {
    Trouble {
        standing: Standing {
            state: State::Failed,
            reason: None,
        },
        code,
        message: keyway_secret::printable(message),
        hint: None,
        is_transient: false,
        wait: None,
    }
}

fn client() -> ClientInfo {
    ClientInfo {
        name: "keyway".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

const GREETING: &str = "hello from keyway demo";
