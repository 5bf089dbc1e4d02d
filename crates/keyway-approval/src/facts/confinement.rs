//! What a program is kept from, as one fact.

use std::path::{Path, PathBuf};

use keyway_secret::escaped;

use crate::confinement::{Confinement, SandboxProfile};
use crate::fact::{Fact, FactKind};

pub(crate) fn confinement_fact(confinement: &Confinement) -> Fact {
    let Confinement {
        profile,
        // By which means is the person's own affair, and changes nothing of what is kept from it.
        mechanism: _,
        grants,
        read_only_grants,
        offline,
        // Whether it starts at all without isolation; it gets no more by it.
        require: _,
        dangerous_inherit_environment,
        // Shown with the grants.
        seen: _,
    } = confinement;
    let (what, is_off) = match profile {
        SandboxProfile::Hide => ("hide: it cannot read Keyway's own files and sockets", false),
        SandboxProfile::Confine => (
            "confine: it sees system folders, the plugin and its data",
            false,
        ),
        SandboxProfile::Off => (
            "unconfined: it can read everything of yours, Keyway's key included",
            true,
        ),
    };
    let mut text = what.to_owned();
    // They count for confined programs alone: any other sees the whole disk and the network.
    if matches!(profile, SandboxProfile::Confine) {
        text.push_str(&granted("; it may change", grants, confinement));
        text.push_str(&granted("; it may read", read_only_grants, confinement));
        text.push_str(if *offline { "; no network" } else { "" });
    }
    if *dangerous_inherit_environment {
        text.push_str("; it gets your whole environment, credentials included");
    }
    let is_weaker = is_off || *dangerous_inherit_environment;
    let caution = is_weaker.then_some("an exception in your config.toml");
    Fact::new(FactKind::Confinement, "", text).with_caution(caution)
}

fn granted(what: &str, paths: &[PathBuf], confinement: &Confinement) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = paths
        .iter()
        .map(|it| where_it_leads(it, confinement))
        .collect();
    format!("{what} {}", shown.join(", "))
}

/// Shows a path, and where it leads if that is elsewhere: a program that may write the folder around
/// it can put a link in its place.
fn where_it_leads(path: &Path, confinement: &Confinement) -> String {
    let written = escaped(&path.to_string_lossy());
    match confinement.target(path) {
        Some(real) if real != path => format!("{written} -> {}", escaped(&real.to_string_lossy())),
        _ => written.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exception_to_the_confinement_is_marked_and_each_grant_is_named() {
        let fact = |confinement: Confinement| {
            let fact = confinement_fact(&confinement);
            (fact.value, fact.caution.is_some())
        };
        let (value, is_marked) = fact(Confinement::default());
        assert!(!is_marked && value.starts_with("hide:"), "{value}");
        let (value, is_marked) = fact(Confinement {
            profile: SandboxProfile::Off,
            ..Confinement::default()
        });
        assert!(is_marked && value.starts_with("unconfined:"), "{value}");
        let (value, is_marked) = fact(Confinement {
            dangerous_inherit_environment: true,
            ..Confinement::default()
        });
        assert!(is_marked && value.contains("whole environment"), "{value}");
        let confined = Confinement {
            profile: SandboxProfile::Confine,
            grants: vec!["/a".into(), "/b".into()],
            read_only_grants: vec!["/c".into()],
            offline: true,
            ..Confinement::default()
        };
        assert_eq!(
            fact(confined.clone()),
            (
                "confine: it sees system folders, the plugin and its data; \
                 it may change /a, /b; it may read /c; no network"
                    .to_owned(),
                false
            )
        );
        let (value, _) = fact(Confinement {
            grants: Vec::new(),
            offline: false,
            ..confined.clone()
        });
        assert!(value.ends_with("its data; it may read /c"), "{value}");
        let (value, _) = fact(Confinement {
            profile: SandboxProfile::Hide,
            ..confined
        });
        assert!(!value.contains("/a"), "they count if confined: {value}");
    }

    #[test]
    fn a_grant_that_leads_elsewhere_is_shown_with_where_it_leads() {
        let home = tempfile::TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (granted, other) = (root.join("work"), root.join("keys"));
        std::fs::create_dir(&granted).unwrap();
        let shown = || {
            confinement_fact(&Confinement {
                profile: SandboxProfile::Confine,
                grants: vec![granted.clone()],
                ..Confinement::default()
            })
        };
        let before = shown();
        std::fs::rename(&granted, &other).unwrap();
        std::os::unix::fs::symlink(&other, &granted).unwrap();
        let after = shown();
        let arrow = format!("{} -> {}", granted.display(), other.display());
        assert!(!before.value.contains("->"), "{before:?}");
        assert!(after.value.contains(&arrow), "{after:?}");
    }
}
