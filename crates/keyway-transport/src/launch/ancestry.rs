//! Whether a program that Keyway started is among the processes above this one.
//!
//! A program that we start must not get by a command of ours what it does not get otherwise. Where
//! namespaces are to be had it does not even see the vault; this is the second line of defence, and
//! the only one where they are not.

use std::path::Path;

use super::own_process::parent_of;

/// Says whether this process was started, directly or not, by a program that Keyway started.
///
/// Processes of ours cannot be looked into, so that they are known by name. Whatever cannot be read
/// ends the search: above it is another namespace, or nothing.
#[must_use]
pub fn is_started_by_keyway() -> bool {
    let name = |id: &str| std::fs::read_to_string(format!("/proc/{id}/comm")).ok();
    let parent = |id: &str| parent_of(Path::new(&format!("/proc/{id}/status")));
    name("self").is_some_and(|own| is_below(&own, &name, &parent))
}

/// Says whether a process above this one is named like it, or like a launcher.
fn is_below(own: &str, name: Lookup<'_, String>, parent: Lookup<'_, i32>) -> bool {
    let mut id = "self".to_owned();
    for _ in 0..MOST_ANCESTORS {
        let Some(parent) = parent(&id).filter(|it| *it > 0) else {
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

/// Finds something about a process by its number.
type Lookup<'a, T> = &'a dyn Fn(&str) -> Option<T>;

const MOST_ANCESTORS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_another_name_has_none_of_ours_above() {
        // The test binary is started by cargo or a shell; its own name stands for ours.
        assert!(!is_started_by_keyway());
    }

    /// Each process is the parent of the one before it; above the last one is another namespace.
    #[test]
    fn a_process_of_ours_is_found_wherever_it_is_above() {
        let is_below_ours = |names: &[&str]| {
            let at = |id: &str| id.parse().unwrap_or(0_usize);
            let name = |id: &str| {
                let last = names.len();
                let name = names.get(at(id).checked_sub(1)?).copied();
                (at(id) <= last).then(|| format!("{}\n", name.unwrap_or("exe")))
            };
            let parent = |id: &str| match at(id) {
                at if at < names.len() => i32::try_from(at + 1).ok(),
                _ => Some(0),
            };
            is_below("keyway\n", &name, &parent)
        };
        for (names, expected) in [
            (&[][..], false),
            (&["sh", "systemd"], false),
            (&["keyway"], true),
            (&["sh", "node", "keyway", "systemd"], true),
            (&["sh", "exe", "systemd"], true),
            (&["keyways", "exe2"], false),
        ] {
            assert_eq!(is_below_ours(names), expected, "{names:?}");
        }
        assert!(is_below_ours(&["sh"; MOST_ANCESTORS]), "made on purpose");
        assert!(!is_below_ours(&["sh"; MOST_ANCESTORS - 1]));
    }
}
