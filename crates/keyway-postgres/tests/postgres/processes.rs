//! A replica in a process of its own: this test binary starts itself again.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use keyway_postgres::{FileKey, Person, Replica};
use keyway_secret::Secret;
use keyway_store::{Claim, GrantKey, GrantStore as _, OwnerId, Tokens};

use crate::server::{Database, ada, settings};

/// A process that holds a claim until it is told otherwise; killed when dropped.
pub(crate) struct Worker {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts a process that does what its role says, perhaps by way of another program.
    pub(crate) fn start(database: &Database<'_>, role: &str, through: &[&str]) -> Self {
        let this = std::env::current_exe().unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test starts itself")]
        let mut command = match through {
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(this);
                command
            }
            [] => Command::new(this),
        };
        let mut child = command
            .args(["--exact", "processes::worker", "--ignored", "--nocapture"])
            .env(ROLE, role)
            .env(ADDRESS, database.address("keyway"))
            .env(PLACE, database.place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// Waits for what it says next.
    pub(crate) fn says(&mut self) -> String {
        let mut line = String::new();
        while self.said.read_line(&mut line).unwrap() > 0 {
            if let Some((_, event)) = line.split_once("@ ") {
                return event.trim().to_owned();
            }
            line.clear();
        }
        panic!("the worker ended");
    }

    /// Lets it go on.
    pub(crate) fn go_on(&mut self) {
        drop(self.child.stdin.take());
    }

    pub(crate) fn signal(&self, name: &str) {
        #[expect(clippy::disallowed_methods, reason = "the standard library only kills")]
        let sent = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
#[ignore = "runs only as a worker of the other tests"]
fn worker() {
    let (Some(role), Some(address), Some(place)) =
        (variable(ROLE), variable(ADDRESS), variable(PLACE))
    else {
        return;
    };
    let place = Path::new(&place);
    let key = FileKey::read(&place.join("key")).unwrap();
    let replica = Replica::open(&settings(&address, place), Arc::new(key)).unwrap();
    let grants = replica.grants(ada());
    match role.as_str() {
        "claim" => {
            let generation = grants.read(&grant()).unwrap().unwrap().generation;
            let claim = grants.claim(&grant(), generation, CLAIM).unwrap();
            assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
            println!("@ {}", grants.owner().unwrap());
            wait_for_input();
            // As the engine does: a commit that fails for now is tried again.
            let answer = loop {
                match grants.commit(&grant(), generation, &tokens("late")) {
                    Err(error) if error.is_transient() => {}
                    answer => break answer,
                }
            };
            println!("@ {answer:?}");
            wait_for_input();
        }
        "claim for all" => {
            for number in 0..PEOPLE {
                let grants = replica.grants(one_of_many(number));
                let generation = grants.read(&grant()).unwrap().unwrap().generation;
                let claim = grants.claim(&grant(), generation, CLAIM).unwrap();
                assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
            }
            println!("@ {}", grants.owner().unwrap());
            wait_for_input();
        }
        "sign in" => {
            grants.put(&grant(), &tokens("elsewhere")).unwrap();
            println!("@ stored");
            wait_for_input();
        }
        other => panic!("{other}"),
    }
}

fn wait_for_input() {
    let mut line = String::new();
    drop(std::io::stdin().read_line(&mut line));
}

#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub(crate) fn grant() -> GrantKey {
    GrantKey::new("default").plugin("demo").server("search")
}

/// One of the people whose sign-ins are claimed at once.
pub(crate) fn one_of_many(number: usize) -> Person {
    Person::new("acme", format!("https://idp.example p{number}")).unwrap()
}

pub(crate) fn tokens(name: &str) -> Tokens {
    let text = |kind: &str| Secret::new(format!("{kind}-{name}"));
    Tokens::new(text("access"))
        .with_refresh(text("refresh"))
        .with_details(Secret::new(b"details".to_vec()))
        .with_lifetime(Duration::from_secs(3600))
}

pub(crate) fn owner(said: &str) -> OwnerId {
    OwnerId::new(said)
}

/// How long claims last in the product.
pub(crate) const CLAIM: Duration = Duration::from_secs(120);
pub(crate) const PEOPLE: usize = 10;
const ROLE: &str = "KEYWAY_TEST_ROLE";
const ADDRESS: &str = "KEYWAY_TEST_ADDRESS";
const PLACE: &str = "KEYWAY_TEST_PLACE";
