//! ContextForge as its documents describe it for several processes on one PostgreSQL: a gateway entry
//! with OAuth for each server, people with accounts and tokens of their own, and sign-ins through its
//! own pages.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Instant;

use keyway_testkit::{Folder, PostgresServer, free_port};
use serde_json::{Value, json};

use super::PROCESSES;
use super::drive::{Caller, Processes, Running};
use super::processes::{Started, ending_with_us, version, wait_until_ready};
use crate::families::Profile;
use crate::figures::client::{Client, Reply};
use crate::figures::rivals::programs::{forge_settings, forge_token};
use crate::people::SignIn;
use crate::timeouts::FORGE_RENEWS_AHEAD;
use crate::upstream::{PERSON, TEMPLATE, World};

/// Starts it with a sign-in for each person and server that is given.
pub(crate) async fn start(
    environment: &Path,
    world: &Arc<World>,
    wanted: &[(usize, usize)],
) -> Result<Running, String> {
    let database_port = free_port();
    let database = PostgresServer::start_on(database_port);
    database.sql("postgres", "CREATE DATABASE rival OWNER keyway");
    let mut forge = Forge {
        environment: environment.to_owned(),
        address: format!("keyway@127.0.0.1:{database_port}/rival"),
        _database: database,
        folder: Folder::new(),
        ports: (0..PROCESSES).map(|_| free_port()).collect(),
        children: (0..PROCESSES).map(|_| None).collect(),
        world: Arc::clone(world),
    };
    // One after the other: the first makes the tables.
    for number in 0..PROCESSES {
        forge.start_again(number)?;
    }
    let admin = forge_token(environment, &forge.address)?;
    let admin = Account(format!("authorization: Bearer {admin}\r\n"));
    let role = forge.add_role(&admin).await?;
    let mut gateways = Vec::new();
    for server in 0..world.ports.len() {
        let gateway = forge.add_gateway(&admin, server).await?;
        forge.fetch_tools(&admin, &gateway).await?;
        gateways.push(gateway);
    }
    let mut callers = Vec::new();
    for (person, server) in wanted.iter().copied() {
        let account = forge.add_person((&admin, &role), person).await?;
        let gateway = &gateways[server];
        forge.sign_in(&account, gateway, person).await?;
        let family = family_of(world, (person, server))?;
        let sign_in = SignIn {
            family,
            person,
            server,
        };
        callers.push(Arc::new(caller(sign_in, &account)));
    }
    let python = environment.join("bin/python");
    let query = "import importlib.metadata as it; print(it.version('mcp-contextforge-gateway'))";
    Ok(Running {
        name: format!("ContextForge {}", version(&python, &["-c", query])?),
        ports: forge.ports.clone(),
        ahead: FORGE_RENEWS_AHEAD,
        callers,
        processes: Box::new(forge),
    })
}

struct Forge {
    environment: PathBuf,
    /// Role, host and database.
    address: String,
    _database: PostgresServer,
    folder: Folder,
    ports: Vec<u16>,
    children: Vec<Option<Started>>,
    world: Arc<World>,
}

/// The header that lets an account in.
struct Account(String);

impl Forge {
    async fn add_gateway(&self, admin: &Account, server: usize) -> Result<String, String> {
        let origin = format!("http://127.0.0.1:{}", self.world.ports[server]);
        let body = json!({
            "name": format!("s{server}"),
            "url": format!("{origin}/mcp"),
            "transport": "STREAMABLEHTTP",
            "visibility": "public",
            "auth_type": "oauth",
            "oauth_config": {
                "grant_type": "authorization_code",
                "issuer": origin,
                "client_id": "storm",
                "client_secret": "storm-secret",
                "authorization_url": format!("{origin}/authorize"),
                "token_url": format!("{origin}/token"),
                "redirect_uri": format!("http://127.0.0.1:{}/oauth/callback", self.ports[0]),
                "scopes": ["tools"],
            },
        });
        let made = self.post("/gateways", admin, &body).await?;
        id(&made)
    }

    /// Signs the administrator in and has the tools of a gateway read, which needs that.
    async fn fetch_tools(&self, admin: &Account, gateway: &str) -> Result<(), String> {
        let path = format!("/oauth/fetch-tools/{gateway}");
        let mut last = Ok(());
        for _ in 0..ATTEMPTS {
            self.sign_in(admin, gateway, ADMINISTRATOR).await?;
            match self.post(&path, admin, &json!({})).await {
                Ok(_) => return Ok(()),
                Err(why) => last = Err(why),
            }
        }
        last
    }

    /// Makes the role of people who may call tools, which a new account may not at `/mcp`.
    async fn add_role(&self, admin: &Account) -> Result<String, String> {
        let body = json!({
            "name": "caller",
            "description": "Calls tools",
            "scope": "global",
            "permissions": ["tools.read", "tools.execute", "servers.use", "gateways.read"],
        });
        let made = self.post("/rbac/roles", admin, &body).await?;
        id(&made)
    }

    /// Makes an account and signs in to it with its password.
    async fn add_person(
        &self,
        (admin, role): (&Account, &str),
        person: usize,
    ) -> Result<Account, String> {
        let email = format!("p{person}@example.com");
        let body = json!({ "email": email, "password": PASSWORD, "full_name": email });
        self.post("/auth/email/admin/users", admin, &body).await?;
        let body = json!({ "role_id": role, "scope": "global" });
        let path = format!("/rbac/users/{email}/roles");
        self.post(&path, admin, &body).await?;
        let body = json!({ "email": email, "password": PASSWORD });
        let nobody = Account(String::new());
        let session = self.post("/auth/email/login", &nobody, &body).await?;
        match session["access_token"].as_str() {
            Some(token) => Ok(Account(format!("authorization: Bearer {token}\r\n"))),
            None => Err(format!("no token in {session}")),
        }
    }

    /// Signs in at a server as a browser does that has the account's header.
    async fn sign_in(&self, account: &Account, gateway: &str, person: usize) -> Result<(), String> {
        let start = format!("/oauth/authorize/{gateway}");
        let reply = get(self.ports[0], &start, &account.0).await?;
        let mut consent = location(&reply)?;
        consent.1 += &format!("&{PERSON}={person}");
        let reply = get(consent.0, &consent.1, "").await?;
        let callback = location(&reply)?;
        let reply = get(callback.0, &callback.1, &account.0).await?;
        match reply.status {
            200 => Ok(()),
            status => Err(format!("{start}: {status} {}", reply.body)),
        }
    }

    async fn post(&self, path: &str, account: &Account, body: &Value) -> Result<Value, String> {
        let mut client = Client::new(self.ports[0]);
        let reply = client.post(path, &account.0, &body.to_string()).await;
        let reply = reply.map_err(|error| error.to_string())?;
        match reply.status {
            200..300 => Ok(serde_json::from_str(&reply.body).unwrap_or_default()),
            status => Err(format!("{path}: {status} {}", reply.body)),
        }
    }

    fn spawn(&self, number: usize) -> Result<Child, String> {
        let text = |error: std::io::Error| error.to_string();
        let home = self.folder.at(&format!("home{number}"));
        std::fs::create_dir_all(&home).map_err(text)?;
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.log(number))
            .map_err(text)?;
        let mut command = ending_with_us(&self.environment.join("bin/mcpgateway"));
        for (name, value) in forge_settings(&self.address) {
            command.env(name, value);
        }
        command
            // What processes share is in the database, where its documents offer that or Redis.
            .env("CACHE_TYPE", "database")
            // People stay signed in for the whole run.
            .env("TOKEN_EXPIRY", "600")
            .env("DB_POOL_SIZE", "20")
            .env("DB_MAX_OVERFLOW", "10")
            .env("LOG_LEVEL", "WARNING")
            .args(["--host", "127.0.0.1", "--port"])
            .arg(self.ports[number].to_string())
            .current_dir(&home)
            .env("HOME", &home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(text)?)
            .stderr(log)
            .spawn()
            .map_err(text)
    }

    fn log(&self, number: usize) -> PathBuf {
        self.folder.at(&format!("process{number}.log"))
    }
}

impl Processes for Forge {
    fn start_again(&mut self, number: usize) -> Result<(), String> {
        self.children[number] = None;
        let (began, child) = (Instant::now(), self.spawn(number)?);
        let mut started = Started::new(child, (number, &self.world));
        let ready = wait_until_ready(self.ports[number], "/health");
        let has_ended = started.has_ended();
        self.children[number] = Some(started);
        println!(
            "    process {number} took {:.0} s to start",
            began.elapsed().as_secs_f32()
        );
        if ready.is_ok() && !has_ended {
            return Ok(());
        }
        let log = std::fs::read_to_string(self.log(number)).unwrap_or_default();
        let tail = log
            .get(log.len().saturating_sub(SHOWN)..)
            .unwrap_or_default();
        Err(tail.replace('\n', " "))
    }
}

fn id(made: &Value) -> Result<String, String> {
    let id = made["id"].as_str();
    id.map(str::to_owned)
        .ok_or_else(|| format!("no id in {made}"))
}

async fn get(port: u16, path: &str, headers: &str) -> Result<Reply, String> {
    let reply = Client::new(port).get(path, headers).await;
    reply.map_err(|error| format!("{path}: {error}"))
}

/// Returns the port and the path that an answer leads to.
fn location(reply: &Reply) -> Result<(u16, String), String> {
    let to = reply.header("location").unwrap_or_default();
    let rest = to.strip_prefix("http://127.0.0.1:");
    let parts = rest.and_then(|rest| rest.split_once('/'));
    let parsed = parts.and_then(|(port, path)| Some((port.parse().ok()?, format!("/{path}"))));
    parsed.ok_or_else(|| format!("{} leads to `{to}`: {}", reply.status, reply.body))
}

/// Returns the number of the family that a person's sign-in has begun.
fn family_of(world: &World, (person, server): (usize, usize)) -> Result<usize, String> {
    let profile = Profile::ALL[server];
    let found = world.families(|all| {
        let is_it = |it: &crate::families::Family| it.person == person && it.profile == profile;
        all.0.iter().rposition(is_it)
    });
    found.ok_or_else(|| format!("no sign-in of {person} at {}", profile.name()))
}

fn caller(sign_in: SignIn, account: &Account) -> Caller {
    let body = json!({
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": { "name": format!("s{}-page", sign_in.server), "arguments": {} },
    });
    let head = format!(
        "POST /mcp/ HTTP/1.1\r\n{}mcp-protocol-version: 2025-06-18\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n",
        account.0
    );
    Caller {
        sign_in,
        head,
        body: body.to_string(),
    }
}

/// Not the one that accounts get that have to change it.
const PASSWORD: &str = "Kompass!7Ahoi-Wetter#29Qz";
/// None of the people whose sign-ins are counted.
const ADMINISTRATOR: usize = TEMPLATE - 1;
const ATTEMPTS: usize = 3;
const SHOWN: usize = 600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn person_s_call_names_the_tool_of_the_server() {
        let sign_in = SignIn {
            family: 0,
            person: 1,
            server: 3,
        };
        let caller = caller(sign_in, &Account("authorization: Bearer x\r\n".to_owned()));
        assert!(caller.body.contains("\"s3-page\""));
        assert!(caller.head.contains("\r\nauthorization: Bearer x\r\n"));
    }
}
