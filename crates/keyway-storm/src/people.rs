//! The sign-ins of all people: put into the database by the product's own store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keyway_postgres::{Person, Replica, Settings};
use keyway_secret::Secret;
use keyway_store::{GrantKey, GrantStore as _, Tokens};

use crate::families::Profile;
use crate::issuer::subject;
use crate::transit::DirectKey;
use crate::upstream::World;

/// One of the sign-ins of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignIn {
    pub(crate) family: usize,
    pub(crate) person: usize,
    /// The number of its server, and of that one's profile.
    pub(crate) server: usize,
}

impl SignIn {
    pub(crate) fn profile(&self) -> Profile {
        Profile::ALL[self.server]
    }
}

/// Opens the store as the replicas do; dropped, it is a replica that says that it ends.
pub(crate) fn store(address: &str, world: &World) -> Replica {
    let key = DirectKey(Arc::clone(&world.transit));
    let settings = Settings::new(address).expect("an address");
    Replica::open(&settings, Arc::new(key)).expect("the database")
}

/// Names a person as the gateway does.
pub(crate) fn person(world: &World, number: usize) -> Person {
    Person::new("default", name(world, number)).expect("a name")
}

pub(crate) fn name(world: &World, number: usize) -> String {
    format!("{} {}", world.issuer.name, subject(number))
}

/// Stores three sign-ins of each person, as copies of what the tenant's own sign-ins are; removes those.
/// Returns the sign-ins, and how each server's are called in the store.
pub(crate) fn store_all(
    replica: &Replica,
    world: &World,
    people: usize,
) -> (Vec<SignIn>, Vec<GrantKey>) {
    let of = |person| EACH.map(|step| (person, (person + step) % Profile::ALL.len()));
    let wanted: Vec<_> = (0..people).flat_map(of).collect();
    store_each(replica, world, &wanted)
}

/// The same for sign-ins that are given by person and server.
pub(crate) fn store_each(
    replica: &Replica,
    world: &World,
    wanted: &[(usize, usize)],
) -> (Vec<SignIn>, Vec<GrantKey>) {
    let own = replica.grants(Person::shared("default").expect("a name"));
    let mut keys: Vec<_> = own
        .list("default")
        .expect("a list")
        .into_iter()
        .map(|it| it.grant)
        .collect();
    keys.sort_by_key(|key| key.name());
    assert_eq!(
        keys.len(),
        Profile::ALL.len(),
        "one sign-in for each server: {keys:?}"
    );
    let details = keys.iter().map(|key| {
        let grant = own.read(key).expect("a sign-in").expect("a sign-in");
        own.delete(key).expect("a sign-out");
        grant.details.expose().clone()
    });
    let details: Vec<Vec<u8>> = details.collect();
    let mut all = Vec::new();
    let mut tokens = Vec::new();
    for (person, server) in wanted.iter().copied() {
        let profile = Profile::ALL[server];
        let (family, issued) = world.families(|families| {
            let issued = families.begin(profile, person, Duration::ZERO);
            (families.0.len() - 1, issued)
        });
        all.push(SignIn {
            family,
            person,
            server,
        });
        tokens.push(issued);
    }
    // Relaxed: each number is given out once, and nothing else depends on it.
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while let Some(sign_in) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let number = sign_in.family - all[0].family;
                    let (access, refresh) = &tokens[number];
                    let tokens = Tokens::new(Secret::new(access.clone()))
                        .with_refresh(Secret::new(refresh.clone()))
                        .with_details(Secret::new(details[sign_in.server].clone()))
                        .with_lifetime(Duration::from_millis(1));
                    let grants = replica.grants(person(world, sign_in.person));
                    grants
                        .put(&keys[sign_in.server], &tokens)
                        .expect("a place for a sign-in");
                }
            });
        }
    });
    (all, keys)
}

/// Which servers each person uses.
const EACH: [usize; 3] = [0, 1, 3];
const WRITERS: usize = 12;
