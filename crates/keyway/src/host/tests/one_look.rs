//! How often the ledger is read for one plan.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use keyway_store::StoreError;

use super::*;
use crate::approval::{Agreement, Answer, Approval, Manifest};
use crate::host::approving::OneLook;

/// Keeps the last approval, and counts who asks for it.
#[derive(Debug, Default)]
struct Counting {
    kept: Mutex<Option<Approval>>,
    looks: AtomicUsize,
    is_broken: AtomicBool,
}

impl Counting {
    fn looks(&self) -> usize {
        self.looks.swap(0, Ordering::Relaxed)
    }
}

impl ApprovalStore for Counting {
    fn find(&self, _: &Path, _: &str) -> Result<Option<Approval>, StoreError> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        match self.is_broken.load(Ordering::Relaxed) {
            true => Err(StoreError::Busy),
            false => Ok(self.kept.lock().unwrap().clone()),
        }
    }

    fn approve(&self, agreement: &Agreement) -> Result<(), StoreError> {
        let approval = Approval::beside(agreement.question(), None);
        *self.kept.lock().unwrap() = Some(approval);
        Ok(())
    }

    fn find_files(&self, _: &Path, _: &str) -> Result<Option<Manifest>, StoreError> {
        Ok(None)
    }
}

#[test]
fn a_plan_reads_the_ledger_once_and_what_grants_it_reads_it_again() {
    let folder = Folder::with_entries(r#"{"s": {"command": "./server.sh"}}"#);
    folder.put("server.sh", "#!/bin/sh\n");
    let store = Arc::new(Counting::default());
    let host = Host::builder().without_vault();
    let host = host
        .approval_store(Arc::clone(&store) as _)
        .build()
        .unwrap();
    let plugin = host.load(folder.path()).unwrap();
    let plan = plugin.plan("s").unwrap();
    assert_eq!(store.looks(), 1);
    let question = plan.question().unwrap().clone();
    store
        .approve(&question.dangerous_answer(Answer::Yes).unwrap())
        .unwrap();
    // Not what was found when the plan was made.
    assert!(plan.is_approved());
    assert_eq!(store.looks(), 1);
    *store.kept.lock().unwrap() = None;
    assert!(!plan.is_approved());
}

#[test]
fn one_look_is_of_one_entry_and_a_store_that_cannot_be_read_is_asked_again() {
    let store = Counting::default();
    let (here, there) = (Path::new("/here"), Path::new("/there"));
    let look = OneLook::new(&store, here, "s");
    store.is_broken.store(true, Ordering::Relaxed);
    assert!(look.find(here, "s").is_err());
    store.is_broken.store(false, Ordering::Relaxed);
    for _ in 0..3 {
        assert!(look.find(here, "s").unwrap().is_none());
    }
    assert_eq!(store.looks(), 2);
    for (source, server) in [(there, "s"), (here, "t")] {
        assert!(look.find(source, server).unwrap().is_none());
        assert_eq!(store.looks(), 1, "{source:?} {server}");
    }
}
