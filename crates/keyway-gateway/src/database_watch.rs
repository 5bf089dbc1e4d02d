//! What a gateway does beside its work for the database that it shares with others.

use std::sync::Arc;

use crate::database::Database;
use crate::gateway::Gateway;
use crate::local_backend::LocalBackend;

/// Looks after what gateways that died left in the database, and tells whether it can be reached.
/// Must be called inside a runtime.
#[must_use]
pub fn watching(
    gateway: Gateway,
    database: Option<Database>,
    backend: &Arc<LocalBackend>,
) -> Gateway {
    let Some(database) = database else {
        return gateway;
    };
    drop(tokio::spawn(database.clone().recover(Arc::clone(backend))));
    gateway.with_store_check(move || database.is_ready())
}
