//! The type of what was approved: nothing else connects to a server or starts a program.

use std::sync::Arc;

use keyway_config::resolve::ServerSpec;

use crate::settings::Confinement;

/// Something that was approved, by the ledger or by the person. Its fields are private: only this
/// module's parent can make one.
#[derive(Debug, Clone)]
pub struct Approved<P> {
    pub(super) plan: P,
    pub(super) spec: Arc<ServerSpec>,
    pub(super) grants: Arc<[String]>,
    pub(super) confinement: Confinement,
}

impl<P> Approved<P> {
    pub(super) fn new(
        plan: P,
        spec: ServerSpec,
        grants: Vec<String>,
        confinement: Confinement,
    ) -> Self {
        Self {
            plan,
            spec: Arc::new(spec),
            grants: grants.into(),
            confinement,
        }
    }
}
