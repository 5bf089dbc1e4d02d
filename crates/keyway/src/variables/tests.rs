//! What is kept, what is refused, and when the vault is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyway_testkit::{Canary, Folder};
use keyway_vault::Folders;

use super::*;
use crate::vault::{ExplicitKey, KeySources};

struct Home {
    folder: Folder,
    folders: Folders,
}

impl Home {
    fn new() -> Self {
        let folder = Folder::new();
        let folders = Folders::below(folder.path());
        Self { folder, folders }
    }

    fn vault(&self) -> Vault {
        open(&self.folders).unwrap()
    }

    /// Returns the variables, and how often the vault was opened for them.
    fn lazy(&self) -> (LazyVariables, Arc<AtomicUsize>) {
        let opened: Arc<AtomicUsize> = Arc::default();
        let (folders, count) = (self.folders.clone(), Arc::clone(&opened));
        let open = move || {
            count.fetch_add(1, Ordering::Relaxed);
            open(&folders)
        };
        let lazy = LazyVariables::new(Arc::new(KeptVault::new(
            self.folders.clone(),
            Box::new(open),
        )));
        (lazy, opened)
    }
}

fn open(folders: &Folders) -> Result<Vault, VaultError> {
    Vault::open(folders, KeySources::default())
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn moment(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn what_is_set_is_found_replaced_and_destroyed() {
    let home = Home::new();
    let vault = home.vault();
    let kept = KeptVariables::new(&vault).unwrap();
    kept.set("B_TOKEN", &secret("first"), moment(1)).unwrap();
    kept.set("A", &secret("a"), moment(2)).unwrap();
    kept.set("B_TOKEN", &secret("sec\nond"), moment(3)).unwrap();
    let listed = kept.list().unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|it| (it.name.as_str(), it.set_at, it.bytes))
        .collect();
    assert_eq!(listed, [("A", moment(2), 1), ("B_TOKEN", moment(3), 7)]);
    let all = kept.all().unwrap();
    assert_eq!(all.get("B_TOKEN").unwrap().expose(), "sec\nond");
    assert!(kept.unset("B_TOKEN").unwrap());
    assert!(!kept.unset("B_TOKEN").unwrap());
    assert!(kept.all().unwrap().get("B_TOKEN").is_none());
}

#[test]
fn what_no_entry_could_use_is_refused() {
    let home = Home::new();
    let vault = home.vault();
    let kept = KeptVariables::new(&vault).unwrap();
    let set = |name: &str, value: &str| kept.set(name, &secret(value), moment(0)).unwrap_err();
    for name in ["", "1A", "A-B", "A B", "A=B", "Ä", &"A".repeat(257)] {
        assert!(matches!(set(name, "x"), KeepError::NotAName), "{name}");
    }
    for name in ["HOST_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "PLUGIN_DATA"] {
        assert!(
            matches!(set(name, "x"), KeepError::OfTheHost { .. }),
            "{name}"
        );
    }
    assert!(matches!(set("A", ""), KeepError::Empty));
    let long = "x".repeat(8 * 1024 + 1);
    assert!(matches!(set("A", &long), KeepError::TooLong));
    assert!(matches!(set("A", "x\0y"), KeepError::ZeroByte));
    assert!(kept.list().unwrap().is_empty());
    kept.set("A", &secret(&long[1..]), moment(0)).unwrap();
}

#[test]
fn the_value_is_in_no_file_in_clear() {
    let home = Home::new();
    let canary = Canary::hidden("hV7q2Lk9Wp4Zt8Rb3Nc6Ym1Hd5");
    let vault = home.vault();
    let kept = KeptVariables::new(&vault).unwrap();
    kept.set("A_TOKEN", &secret(canary.value()), moment(0))
        .unwrap();
    let files = home.folder.files();
    assert!(files.iter().any(|file| file.ends_with("vault.db")));
    for file in files {
        let bytes = std::fs::read(home.folder.at(&file)).unwrap();
        assert_eq!(canary.leak_in(&bytes), None, "{file}");
    }
}

#[test]
fn the_vault_is_opened_once_and_only_if_variables_are_kept() {
    let home = Home::new();
    let (lazy, opened) = home.lazy();
    assert!(lazy.get("A").is_none());
    assert!(home.folder.files().is_empty(), "looking makes no vault");
    let vault = home.vault();
    let (lazy, _) = home.lazy();
    assert!(lazy.get("A").is_none());
    assert_eq!(opened.load(Ordering::Relaxed), 0);
    let kept = KeptVariables::new(&vault).unwrap();
    kept.set("A", &secret("a"), moment(0)).unwrap();
    let (lazy, opened) = home.lazy();
    assert!(lazy.names().is_empty());
    assert_eq!(lazy.get("A").unwrap().expose(), "a");
    assert!(lazy.get("B").is_none());
    assert_eq!(lazy.names(), ["A"]);
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    assert!(lazy.take_trouble().is_none());
}

/// Any plugin can compute the id of another.
#[test]
fn a_value_that_is_kept_for_one_plugin_has_no_name_that_a_file_could_write() {
    let home = Home::new();
    let vault = home.vault();
    let kept = KeptVariables::new(&vault).unwrap();
    let (id, earlier) = ("e76f6b06a5a23ae56ce51ae0eca1666c", "00112233aabbccdd");
    let owned = [
        format!("INPUT_KEY__{id}"),
        format!("USER_CONFIG_KEY__{id}"),
        format!("INPUT_KEY__{earlier}"),
    ];
    let plain = [
        "INPUT_KEY".to_owned(),
        "INPUT_KEY__other".to_owned(),
        format!("KEY__{id}"),
    ];
    for name in owned.iter().chain(&plain) {
        kept.set(name, &secret("v"), moment(0)).unwrap();
    }
    let (lazy, _) = home.lazy();
    for name in &plain {
        assert!(lazy.get(name).is_some(), "{name}");
    }
    for name in &owned {
        assert!(lazy.get(name).is_none(), "{name}");
        assert!(lazy.origin_of(name).is_none(), "{name}");
        assert!(!lazy.names().contains(name), "{name}");
        assert_eq!(lazy.owned(name).unwrap().expose(), "v");
    }
}

#[test]
fn a_vault_that_stays_shut_is_told_of_once_and_finds_nothing() {
    let home = Home::new();
    let vault = home.vault();
    let kept = KeptVariables::new(&vault).unwrap();
    kept.set("A", &secret("a"), moment(0)).unwrap();
    let folders = home.folders.clone();
    let wrong = home.folder.at("none");
    let open = move || {
        let sources = KeySources::default().with_explicit(ExplicitKey::File(wrong.clone()));
        Vault::open(&folders, sources)
    };
    let lazy = LazyVariables::new(Arc::new(KeptVault::new(
        home.folders.clone(),
        Box::new(open),
    )));
    assert!(lazy.get("A").is_none());
    assert!(lazy.take_trouble().is_some());
    assert!(lazy.take_trouble().is_none());
}
