//! Approvals that several gateways share, and those of one person beside them.

use std::sync::Arc;

use keyway_store::{NamedValue, ValueStore};

use super::*;

/// A store that counts what is written.
#[derive(Debug, Default)]
struct Values {
    all: Mutex<BTreeMap<String, Vec<u8>>>,
    written: Mutex<usize>,
}

impl ValueStore for Values {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let found = self.all.lock().unwrap().get(name).cloned();
        Ok(found.map(Secret::new))
    }

    fn all(&self) -> Result<Vec<NamedValue>, StoreError> {
        let all = self.all.lock().unwrap().clone().into_iter();
        Ok(all.map(|(name, it)| (name, Secret::new(it))).collect())
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        *self.written.lock().unwrap() += 1;
        let mut all = self.all.lock().unwrap();
        all.insert(name.to_owned(), value.to_vec());
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.all.lock().unwrap().remove(name).is_some())
    }
}

fn shared(values: &Arc<Values>) -> SharedApprovals {
    SharedApprovals::new(Arc::clone(values) as _, "default", None)
}

const PROGRAM: &str = r#""command": "./run.sh""#;

#[test]
fn a_program_is_for_people_only_as_it_was_approved_for_them() {
    let place = Place::new();
    place.file("run.sh", "1");
    let values = Arc::new(Values::default());
    let approvals = shared(&values);
    let question = place.ask(PROGRAM).confined().unwrap();
    let is_for_people = |question: &Question| {
        let found = approvals.find(&place.root, "s").unwrap();
        found.is_some_and(|it| it.is_for_people(question))
    };
    approvals.approve(&yes(&question)).unwrap();
    assert!(
        !is_for_people(&question),
        "an approval alone is not for people"
    );
    approvals.approve(&yes(&question).for_people()).unwrap();
    assert!(is_for_people(&question));
    // Approved once more, for whatever reason, it stays so; another content never is.
    approvals.approve(&yes(&question)).unwrap();
    assert!(is_for_people(&question));
    place.file("run.sh", "2");
    let changed = place.ask(PROGRAM).confined().unwrap();
    assert!(!is_for_people(&changed));
    approvals.approve(&yes(&changed)).unwrap();
    assert!(!is_for_people(&changed));
    let unconfined = place.ask(PROGRAM);
    assert!(!is_for_people(&unconfined));
    assert!(approvals.ledger().revoke(&place.root, "s").unwrap());
    assert!(!is_for_people(&question));
}

#[test]
fn two_gateways_that_find_other_times_at_their_files_do_not_write_for_ever() {
    let place = Place::new();
    place.file("run.sh", "1");
    let values = Arc::new(Values::default());
    let (one, other) = (shared(&values), shared(&values));
    let question = place.ask(PROGRAM);
    one.approve(&yes(&question)).unwrap();
    let written = || *values.written.lock().unwrap();
    assert_eq!(written(), 1);
    // The same file, written again: as another machine has it.
    place.file("run.sh", "1");
    let again = place.ask(PROGRAM);
    assert_eq!(again.digest, question.digest);
    let find = |store: &SharedApprovals| store.find(&place.root, "s").unwrap().unwrap();
    assert!(find(&other).is_outdated_for(&again));
    let renewed = find(&other).renewed(&again).unwrap();
    other.approve(&renewed).unwrap();
    assert_eq!(written(), 1, "what only this process knows is not written");
    assert!(!find(&other).is_outdated_for(&again), "and is known to it");
    assert!(find(&one).is_outdated_for(&again));
    // What is approved again is.
    place.file("run.sh", "2");
    one.approve(&yes(&place.ask(PROGRAM))).unwrap();
    assert_eq!(written(), 2);
    assert!(
        !find(&other).covers(&again.digest),
        "no memory outlives that"
    );
}

#[test]
fn what_a_person_agreed_to_stands_beside_what_the_admins_approved_and_ends_with_it() {
    let fields = r#""type": "http", "url": "${BASE_URL}/x", "headers": {"X-Key": "${KEY}"}"#;
    let mut place = Place::new();
    place.person("KEY", "x");
    place.person("BASE_URL", "https://for-all.example");
    let of_admins = place.ask(fields);
    place.person("BASE_URL", "https://mine.example");
    let of_ada = place.ask(fields);
    assert_ne!(of_admins.digest, of_ada.digest);
    let (admins, own) = (Arc::<Values>::default(), Arc::<Values>::default());
    let approvals = PersonApprovals::new(Arc::new(shared(&admins)), Arc::new(shared(&own)));
    let covers = |question: &Question| {
        let found = approvals.find(&place.root, "s").unwrap();
        found.is_some_and(|it| it.covers(&question.digest))
    };
    // What no admin approved, no person can.
    approvals.approve(&yes(&of_ada)).unwrap();
    assert!(!covers(&of_ada) && !covers(&of_admins));
    shared(&admins).approve(&yes(&of_admins)).unwrap();
    assert!(!covers(&of_ada) && covers(&of_admins));
    approvals.approve(&yes(&of_ada)).unwrap();
    assert!(covers(&of_ada) && covers(&of_admins));
    // Nothing of a person's is written for all, or is for programs.
    assert_eq!(*admins.written.lock().unwrap(), 1);
    assert_eq!(*own.written.lock().unwrap(), 2);
    approvals.approve(&yes(&of_admins)).unwrap();
    assert_eq!(
        *own.written.lock().unwrap(),
        2,
        "it needs no approval of hers"
    );
    approvals.approve(&yes(&of_ada).for_people()).unwrap();
    let found = approvals.find(&place.root, "s").unwrap().unwrap();
    assert!(!found.is_for_people(&of_ada));
    // Asked again, the admins say the same: hers stands.
    shared(&admins).approve(&yes(&of_admins)).unwrap();
    assert!(covers(&of_ada));
    assert!(shared(&admins).ledger().revoke(&place.root, "s").unwrap());
    assert!(!covers(&of_ada));
    // Approved once more, it is another approval, beside which she has agreed to nothing.
    shared(&admins).approve(&yes(&of_admins)).unwrap();
    assert!(covers(&of_admins) && !covers(&of_ada));
    approvals.approve(&yes(&of_ada)).unwrap();
    assert!(covers(&of_ada));
}
