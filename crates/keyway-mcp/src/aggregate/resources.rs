//! Resources: addresses stay as they are, and the owner table says whose they are.

use std::sync::Arc;

use serde_json::json;

use super::hub::Hub;
use super::invalid;
use super::list_kind::ListKind;
use super::result_text::ResultText;
use super::server::Server;
use crate::jsonrpc::RESOURCE_NOT_FOUND;
use crate::session::RpcError;
use crate::splice::string;

impl Hub {
    /// Reads a resource from its owner, or from the first server that has it.
    pub(super) async fn read(&self, params: &str) -> Result<ResultText, RpcError> {
        let uri = string(params, "uri").ok_or_else(|| invalid("`uri` is missing"))?;
        if let Some(server) = self.owner_of(&uri).await {
            return server.forward("resources/read", params).await;
        }
        for (index, server) in self.servers.iter().enumerate() {
            if !offers(server, "resources") {
                continue;
            }
            if let Ok(result) = server.forward("resources/read", params).await {
                self.owners().add(ListKind::Resources, index, &uri);
                return Ok(result);
            }
        }
        Err(not_found(&uri))
    }

    /// Subscribes to a resource, or ends that, at its owner.
    pub(super) async fn subscribe(
        &self,
        method: &str,
        params: &str,
    ) -> Result<ResultText, RpcError> {
        let uri = string(params, "uri").ok_or_else(|| invalid("`uri` is missing"))?;
        let mut servers = self.servers.iter();
        let subscribed = servers.find(|server| server.lock().subscriptions.contains(&uri));
        let owner = match subscribed.cloned() {
            Some(server) => Some(server),
            None => self.owner_of(&uri).await,
        };
        if let Some(server) = owner {
            return server.subscribe(method, params, &uri).await;
        }
        for server in &self.servers {
            if offers(server, "resources")
                && let Ok(answer) = server.subscribe(method, params, &uri).await
            {
                return Ok(answer);
            }
        }
        Err(not_found(&uri))
    }

    /// Returns the server of an address; lists that were never asked for are fetched first.
    pub(super) async fn owner_of(&self, uri: &str) -> Option<Arc<Server>> {
        let known = self.owners().of_uri(uri);
        let index = match known {
            Some(index) => Some(index),
            None => {
                self.fill(ListKind::Resources).await;
                self.fill(ListKind::Templates).await;
                self.owners().of_uri(uri)
            }
        };
        self.servers.get(index?).cloned()
    }

    /// Fetches the lists that are not known yet, each server only so long.
    async fn fill(&self, kind: ListKind) {
        let deadline = tokio::time::Instant::now() + self.settings.list_wait;
        let all = self.servers.iter().enumerate();
        let unknown = all.filter(|(index, _)| !self.owners().has_listed(kind, *index));
        let listings: Vec<_> = unknown
            .map(|(index, server)| (index, server.start_list(kind)))
            .collect();
        for (index, listing) in listings {
            if let Ok(items) = listing.wait_until(deadline).await {
                self.learn(index, kind, &items);
            }
        }
    }
}

/// Says whether a server that is there declared a capability.
pub(super) fn offers(server: &Server, capability: &str) -> bool {
    let session = server.live();
    session.is_some_and(|session| session.facts().offers(capability))
}

fn not_found(uri: &str) -> RpcError {
    RpcError {
        data: serde_json::value::to_raw_value(&json!({ "uri": uri })).ok(),
        ..RpcError::new(RESOURCE_NOT_FOUND, "Resource not found")
    }
}
