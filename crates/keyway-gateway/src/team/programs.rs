//! How many programs run for people at once: for each of them, and for all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use keyway::settings::PeopleSettings;
use keyway_code::Code;
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;

/// The limits, and how many programs there are.
#[derive(Debug, Clone)]
pub(crate) struct ProgramLimits {
    for_each: u32,
    for_all: u32,
    /// By the digest of the person. Held for one look and one change.
    running: Arc<Mutex<HashMap<[u8; 32], u32>>>,
}

/// The place of one program, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct ProgramPlace {
    limits: ProgramLimits,
    person: [u8; 32],
}

impl ProgramLimits {
    pub(super) fn new(settings: &PeopleSettings) -> Self {
        Self {
            for_each: settings.programs_for_each,
            for_all: settings.programs_for_all,
            running: Arc::default(),
        }
    }

    /// Takes a place for a program of a person, if there is one.
    pub(super) fn take(&self, person: &Person) -> Result<ProgramPlace, ServerProblem> {
        let person = person.digest();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let own = running.get(&person).copied().unwrap_or_default();
        if own >= self.for_each {
            let message = format!("{own} programs run for you at this gateway, which is the limit");
            return Err(busy(
                message,
                "end a session that you do not need, then call again",
            ));
        }
        let all: u32 = running.values().sum();
        if all >= self.for_all {
            let message = format!("{all} programs run at this gateway, which is the limit");
            return Err(busy(message, "call again a little later"));
        }
        running.insert(person, own + 1);
        drop(running);
        Ok(ProgramPlace {
            limits: self.clone(),
            person,
        })
    }
}

impl Drop for ProgramPlace {
    fn drop(&mut self) {
        let running = &self.limits.running;
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = running.get_mut(&self.person) {
            *own -= 1;
            if *own == 0 {
                running.remove(&self.person);
            }
        }
    }
}

fn busy(message: String, hint: &str) -> ServerProblem {
    let mut problem = ServerProblem::new(Code::Busy, message).with_hint(hint);
    problem.is_transient = true;
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_person_has_so_many_programs_and_all_together_so_many() {
        let limits = ProgramLimits {
            for_each: 2,
            for_all: 3,
            running: Arc::default(),
        };
        let person = |name| Person::new("https://idp.example", name).unwrap();
        let (ada, bob) = (person("ada"), person("bob"));
        let first = limits.take(&ada).unwrap();
        let _second = limits.take(&ada).unwrap();
        let refused = limits.take(&ada).unwrap_err();
        assert_eq!(refused.code, Code::Busy);
        assert!(refused.message.contains("for you"), "{refused:?}");
        let _third = limits.take(&bob).unwrap();
        let refused = limits.take(&bob).unwrap_err();
        assert!(!refused.message.contains("for you"), "{refused:?}");
        drop(first);
        let again = limits.take(&bob).unwrap();
        assert!(limits.take(&ada).is_err(), "all places are taken");
        drop(again);
        assert!(limits.take(&ada).is_ok());
    }
}
