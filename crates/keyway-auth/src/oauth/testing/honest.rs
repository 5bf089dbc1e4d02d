//! A server and an authorization server that keep to all rules, and rotate refresh tokens.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{AS, MCP, META, PRM, REGISTER, REVOKE, Reply, Seen, TOKEN, World};

/// What both of them know.
pub(crate) struct Honest(Mutex<State>);

struct State {
    issued: u32,
    clients: u32,
    /// Access tokens that the server takes.
    accepted: HashSet<String>,
    /// The one refresh token that counts.
    refresh: String,
    /// What more the token endpoint says.
    extra: Value,
    challenge: String,
    metadata: Value,
}

impl Honest {
    /// Moves into a world.
    pub(crate) fn settle(world: &World) -> Arc<Self> {
        let honest = Arc::new(Self(Mutex::new(State {
            issued: 0,
            clients: 0,
            accepted: HashSet::new(),
            refresh: String::new(),
            extra: json!({ "expires_in": 3600 }),
            challenge: format!("Bearer resource_metadata=\"{PRM}\", scope=\"read\""),
            metadata: metadata(AS),
        })));
        let at = |endpoint: fn(&Self, &Seen) -> Reply| {
            let honest = Arc::clone(&honest);
            move |seen: &Seen| endpoint(&honest, seen)
        };
        world.answer(MCP, at(Self::serve));
        world.route(PRM, [Reply::json(200, &resource(AS))]);
        world.answer(META, at(|honest, _| Reply::json(200, &honest.metadata())));
        world.answer(REGISTER, at(|honest, _| honest.register()));
        world.answer(TOKEN, at(Self::token));
        world.answer(REVOKE, at(Self::revoke));
        honest
    }

    /// Changes the metadata of the authorization server; `null` takes a member away.
    pub(crate) fn say(&self, name: &str, value: Value) {
        let mut state = self.0.lock().unwrap();
        let metadata = state.metadata.as_object_mut().unwrap();
        if value.is_null() {
            metadata.remove(name);
        } else {
            metadata.insert(name.to_owned(), value);
        }
    }

    /// Sets what the token endpoint says beside the tokens.
    pub(crate) fn add(&self, extra: Value) {
        self.0.lock().unwrap().extra = extra;
    }

    /// Sets the challenge of a server that wants a token.
    pub(crate) fn challenge(&self, text: &str) {
        text.clone_into(&mut self.0.lock().unwrap().challenge);
    }

    /// The server takes none of the access tokens any more; refresh tokens still count.
    pub(crate) fn reset(&self) {
        self.0.lock().unwrap().accepted.clear();
    }

    /// The refresh token that counts.
    pub(crate) fn current(&self) -> String {
        self.0.lock().unwrap().refresh.clone()
    }

    /// The refresh tokens do not count any more.
    pub(crate) fn revoke_family(&self) {
        self.0.lock().unwrap().refresh.clear();
    }

    pub(crate) fn metadata(&self) -> Value {
        self.0.lock().unwrap().metadata.clone()
    }

    /// Issues tokens to any client.
    pub(crate) fn issue(&self) -> Reply {
        let mut state = self.0.lock().unwrap();
        state.issued += 1;
        let (access, refresh) = (
            format!("at-{}", state.issued),
            format!("rt-{}", state.issued),
        );
        state.accepted.insert(access.clone());
        state.refresh.clone_from(&refresh);
        let mut answer = json!({
            "access_token": access,
            "token_type": "Bearer",
            "refresh_token": refresh,
        });
        let all = answer.as_object_mut().unwrap();
        for (name, value) in state.extra.as_object().unwrap() {
            all.insert(name.clone(), value.clone());
        }
        all.retain(|_, value| !value.is_null());
        Reply::json(200, &answer)
    }

    fn serve(&self, seen: &Seen) -> Reply {
        let state = self.0.lock().unwrap();
        let token = seen.header("authorization");
        let token = token.split_once(' ').unwrap_or_default().1;
        if state.accepted.contains(token) {
            return Reply::raw(200, "{}");
        }
        Reply::raw(401, "").header("www-authenticate", &state.challenge)
    }

    pub(crate) fn register(&self) -> Reply {
        let mut state = self.0.lock().unwrap();
        state.clients += 1;
        let client = format!("client-{}", state.clients);
        Reply::json(201, &json!({ "client_id": client }))
    }

    /// How many clients registered.
    pub(crate) fn clients(&self) -> u32 {
        self.0.lock().unwrap().clients
    }

    /// A refresh token that was redeemed before ends the whole family.
    pub(crate) fn token(&self, seen: &Seen) -> Reply {
        if seen.field("grant_type") == "refresh_token" {
            let mut state = self.0.lock().unwrap();
            if state.refresh != seen.field("refresh_token") || state.refresh.is_empty() {
                state.refresh.clear();
                state.accepted.clear();
                return Reply::error(400, "invalid_grant");
            }
        }
        self.issue()
    }

    fn revoke(&self, seen: &Seen) -> Reply {
        let mut state = self.0.lock().unwrap();
        let token = seen.field("token");
        if state.refresh == token {
            state.refresh.clear();
        }
        state.accepted.remove(&token);
        Reply::raw(200, "")
    }
}

/// What the server says of itself.
pub(crate) fn resource(issuer: &str) -> Value {
    json!({ "resource": MCP, "authorization_servers": [issuer] })
}

/// What an authorization server says of itself.
pub(crate) fn metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "revocation_endpoint": format!("{issuer}/revoke"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "response_types_supported": ["code"],
    })
}
