//! Whether a program that Keyway started is among the processes above this one.
//!
//! A program that we start must not get by a command of ours what it does not get otherwise. Where
//! namespaces are to be had it does not even see the vault; this is the second line of defence, and
//! the only one where they are not.

use super::own_process::parent_of;

/// Says whether this process was started, directly or not, by a program that Keyway started.
///
/// Processes of ours cannot be looked into, so that they are known by name. Whatever cannot be read
/// ends the search: above it is another namespace, or nothing.
#[must_use]
pub fn is_started_by_keyway() -> bool {
    let name = |id: &str| std::fs::read_to_string(format!("/proc/{id}/comm")).ok();
    let Some(own) = name("self") else {
        return false;
    };
    let mut id = "self".to_owned();
    for _ in 0..MOST_ANCESTORS {
        let status = format!("/proc/{id}/status");
        let Some(parent) = parent_of(std::path::Path::new(&status)).filter(|it| *it > 0) else {
            return false;
        };
        id = parent.to_string();
        // The launcher of a child is started by the link to its own binary, hence its name.
        if name(&id).is_some_and(|name| name == own || name == "exe\n") {
            return true;
        }
    }
    // So deep a chain is made on purpose.
    true
}

const MOST_ANCESTORS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_another_name_has_none_of_ours_above() {
        // The test binary is started by cargo or a shell; its own name stands for ours.
        assert!(!is_started_by_keyway());
    }
}
