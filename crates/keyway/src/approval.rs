//! What a person has to approve before an entry is used, and the ledger of what they approved.
//!
//! It is made and compared in `keyway-approval`; [`crate::host`] asks it of every plan.

pub use keyway_approval::{
    Agreement, Answer, Approval, ApprovalStore, Changes, Digest, Fact, FactKind, FileChange, Files,
    Ledger, Manifest, PersonApprovals, Protection, Question, SharedApprovals, decides_about_code,
};
