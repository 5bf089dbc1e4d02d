//! Which process may ask, among handles that stand for processes: the kernel tells them apart as
//! well.

use keyway_vault::{Folders, KeySources, Vault};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::*;

fn vault() -> (TempDir, Arc<KeptVault>) {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::below(folder.path().join("kw"));
    let own = folders.clone();
    let open = move || Vault::open(&own, KeySources::default());
    drop(open().unwrap());
    (folder, Arc::new(KeptVault::new(folders, Box::new(open))))
}

fn key() -> GrantKey {
    GrantKey::new("default").plugin("p").server("s")
}

/// Waits for a turn, gives it back at once, and returns what it said; begins to wait before it
/// returns.
async fn waiting(vault: &Arc<KeptVault>) -> JoinHandle<Option<Declined>> {
    let (told, waits) = tokio::sync::oneshot::channel();
    let vault = Arc::clone(vault);
    let task = tokio::spawn(async move {
        let turn = take(&vault, &key(), || told.send(()).unwrap()).await;
        turn.unwrap().declined()
    });
    waits.await.unwrap();
    task
}

fn must_not_wait() {
    panic!("no other process has the turn");
}

#[tokio::test]
async fn a_process_that_waited_is_told_how_it_ended_and_a_later_one_is_not() {
    let (_folder, vault) = vault();
    for how in [Declined::Refused, Declined::NoAnswer, Declined::Refused] {
        let first = take(&vault, &key(), must_not_wait).await.unwrap();
        assert_eq!(first.declined(), None, "what was before is not about us");
        let second = waiting(&vault).await;
        let third = waiting(&vault).await;
        first.decline(how);
        drop(first);
        assert_eq!(second.await.unwrap(), Some(how));
        assert_eq!(third.await.unwrap(), Some(how));
    }
}

#[tokio::test]
async fn a_process_that_waited_for_a_question_that_ended_otherwise_asks() {
    let (_folder, vault) = vault();
    let first = take(&vault, &key(), must_not_wait).await.unwrap();
    first.decline(Declined::Refused);
    drop(first);
    let first = take(&vault, &key(), must_not_wait).await.unwrap();
    let second = waiting(&vault).await;
    drop(first);
    assert_eq!(second.await.unwrap(), None);
}

#[tokio::test]
async fn what_stands_in_the_file_otherwise_says_nothing() {
    let (_folder, vault) = vault();
    let path = vault.locks().unwrap().join(name(&key()));
    for content in [&b""[..], b"short", b"........x", &[0xff; 200]] {
        let mut file = File::create(&path).unwrap();
        std::io::Write::write_all(&mut file, content).unwrap();
        let first = take(&vault, &key(), must_not_wait).await.unwrap();
        let second = waiting(&vault).await;
        drop(first);
        assert_eq!(second.await.unwrap(), None, "{content:?}");
    }
}
