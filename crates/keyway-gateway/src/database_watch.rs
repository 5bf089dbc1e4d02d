//! What a gateway does beside its work for the database that it shares with others.

use std::sync::Arc;

use crate::gateway::{Family, Gateway};
use crate::local_backend::LocalBackend;
use keyway_dashboard::Dashboard;
use keyway_database::{Database, DatabaseMetric, DatabaseState, DatabaseTeam};

/// Looks after what gateways that died left in the database, tells whether it can be reached, shares
/// the ceilings of token requests with the others, and measures. Must be called inside a runtime.
#[must_use]
pub fn watching(
    gateway: Gateway,
    database: Option<Database>,
    backend: &Arc<LocalBackend>,
) -> Gateway {
    let gateway = gateway.measuring(Arc::clone(backend.host().refresh_traffic()));
    let Some(database) = database else {
        return gateway;
    };
    drop(tokio::spawn(
        database.clone().recover(Arc::clone(backend) as _),
    ));
    let (traffic, state) = (
        Arc::clone(backend.host().refresh_traffic()),
        DatabaseState::default(),
    );
    drop(tokio::spawn(
        database.clone().follow(traffic, state.clone()),
    ));
    let measured = database.clone();
    gateway
        .with_measures(move || {
            let metrics = measured.measures(&state).metrics().into_iter();
            metrics.map(family).collect()
        })
        .with_store_check(move || database.is_ready())
}

/// Adds the page of people, if their sign-ins are in a database.
#[must_use]
pub fn with_team(
    dashboard: Dashboard,
    database: Option<&Database>,
    backend: &Arc<LocalBackend>,
) -> Dashboard {
    match database {
        Some(database) => {
            let team = DatabaseTeam::new(database.clone(), Arc::clone(backend) as _);
            dashboard.with_team(Arc::new(team))
        }
        None => dashboard,
    }
}

fn family(metric: DatabaseMetric) -> Family {
    let DatabaseMetric {
        name, kind, help, ..
    } = metric;
    Family::new(name, kind, help, metric.samples)
}
