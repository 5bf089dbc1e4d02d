//! Makes the process that holds secrets hard to look into.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Keeps other processes of the same person from reading this one's memory, environment and
/// descriptors, and the system from writing a core file.
///
/// To be called before the first secret is read. What is started afterwards inherits the limit on
/// core files, not the rest.
///
/// # Errors
///
/// Returns what the system said; nothing should be read then.
pub fn harden_self() -> io::Result<()> {
    let core = Rlimit {
        current: Some(0),
        ..getrlimit(Resource::Core)
    };
    setrlimit(Resource::Core, core)?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}
