//! What a server listed is kept in time.

use std::thread::sleep;
use std::time::Duration;

use keyway_vault::{Folders, KeySources, Namespace, Vault};

use super::*;
use crate::vault::{KeptVault, LISTS, ToolLists};

/// A machine with much to do takes its time.
#[test]
fn a_list_is_kept_although_the_process_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::below(folder.path().join("kw"));
    let open = |folders: &Folders| Vault::open(folders, KeySources::default());
    drop(open(&folders).unwrap());
    let own = folders.clone();
    let slow = move || {
        // Slow on command.
        sleep(Duration::from_secs(1));
        open(&own)
    };
    let vault = Arc::new(KeptVault::new(folders.clone(), Box::new(slow)));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let in_flight = vault.in_flight().clone();
        let lists = Arc::new(ToolLists(vault));
        store(lists, &in_flight, "s".to_owned(), "[1]".to_owned());
        in_flight.settled(keyway_testkit::PATIENCE).await;
    });
    runtime.shutdown_background();
    let vault = open(&folders).unwrap();
    let lists = vault.sealed(Namespace::new(LISTS).unwrap());
    let kept = lists.get("s").unwrap().unwrap();
    assert_eq!(kept.value.expose(), b"[1]");
}
