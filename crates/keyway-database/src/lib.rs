//! The database of a team: opening and operating it, its audit, and moving a machine's sign-ins into it;
//! and where a team without one keeps the same.
//!
//! What a gateway serves is not known here: it comes in as [`ServedSignIns`].

#[cfg_attr(not(feature = "postgres"), path = "absent.rs")]
mod database;
mod metric;
mod migration_report;
mod served_sign_ins;
mod team_stores;
#[cfg(feature = "postgres")]
mod timeouts;

pub use self::database::{
    AuditReport, CallAudit, CallWriter, Database, DatabaseContext, DatabaseState, DatabaseTeam,
    ExportedRows, Measures,
};
pub use self::metric::DatabaseMetric;
pub use self::migration_report::{Migrated, MigrationOutcome, MigrationReport};
pub use self::served_sign_ins::ServedSignIns;
pub use self::team_stores::{TeamStores, VaultStores};
