//! What a child must not be able to do, or it would undo its isolation.

use rustix::thread::{
    CapabilitySet, clear_ambient_capability_set, remove_capability_from_bounding_set,
};

use super::IsolationLevel;

/// Gives up, from the next `exec` on, what root could look behind the covers with.
///
/// A child of any other user keeps only ambient capabilities, which a host may have been started with
/// and are given up here first.
/// Raw disks stay open to root unless it is confined: nothing else closes them.
pub(super) fn drop_for_good(level: IsolationLevel) {
    _ = clear_ambient_capability_set();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let confined = if level.tree { CONFINING } else { &[] };
    for privilege in UNDOING.iter().chain(confined) {
        // A process that may not give one up does not have it either.
        _ = remove_capability_from_bounding_set(*privilege);
    }
}

/// Mounts, tracing, memory of others, files by number, modules and the memory of the kernel.
const UNDOING: &[CapabilitySet] = &[
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::PERFMON,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::BPF,
];

/// Devices, whose disks hold what the tree leaves out.
const CONFINING: &[CapabilitySet] = &[CapabilitySet::MKNOD];
