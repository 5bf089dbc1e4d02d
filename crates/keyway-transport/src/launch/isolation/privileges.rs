//! What a child that runs as root must not be able to do, or it would undo its isolation.

use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// Gives up, from the next `exec` on, what root could look behind the covers with.
///
/// A child of anybody else has none of this. Raw disks stay open to root: nothing here closes them.
pub(super) fn drop_for_good() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for privilege in UNDOING {
        // Whoever may not give one up does not have it either.
        _ = remove_capability_from_bounding_set(privilege);
    }
}

/// Mounts, tracing, memory of others, files by number, modules and the memory of the kernel.
const UNDOING: [CapabilitySet; 7] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::PERFMON,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::BPF,
];
