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

#[test]
fn list_that_another_process_stored_is_found_and_not_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::below(folder.path().join("kw"));
    drop(Vault::open(&folders, KeySources::default()).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let tools = vec![RawValue::from_string(r#"{"name":"t"}"#.to_owned()).unwrap()];
    let process = || {
        let own = folders.clone();
        let open = move || Vault::open(&own, KeySources::default());
        let vault = Arc::new(KeptVault::new(folders.clone(), Box::new(open)));
        let in_flight = vault.in_flight().clone();
        let lists = Arc::new(ToolLists(Arc::clone(&vault)));
        let memory = RememberedTools::new(lists, in_flight.clone(), "s".to_owned());
        (vault, in_flight, memory)
    };
    runtime.block_on(async {
        let (_, in_flight, memory) = process();
        assert!(memory.recall().await.is_none());
        memory.remember(&tools);
        assert!(in_flight.settled(keyway_testkit::PATIENCE).await);
        let (vault, in_flight, memory) = process();
        let recalled = memory.recall().await.unwrap();
        assert_eq!(recalled[0].get(), tools[0].get());
        let written = || {
            let lists = vault.get().unwrap();
            let lists = lists.sealed(Namespace::new(LISTS).unwrap());
            lists.get("s").unwrap().unwrap().generation
        };
        let before = written();
        memory.remember(&tools);
        assert!(in_flight.settled(keyway_testkit::PATIENCE).await);
        assert_eq!(written(), before);
    });
}
