//! How many programs run for people at once: for each of them, and for all.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use keyway::settings::PeopleSettings;
use keyway_code::Code;
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::gateway::RoomMaker;
use crate::timeouts::{PROGRAM_END_TIMEOUT, PROGRAM_PLACE_TIMEOUT};

/// The limits, and how many programs there are. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ProgramLimits {
    for_each: u32,
    for_all: u32,
    places: Arc<Places>,
}

#[derive(Default)]
struct Places {
    /// By the digest of the person. Held for one look and one change.
    running: Mutex<HashMap<[u8; 32], u32>>,
    /// Tells those who wait that a place is free.
    freed: Notify,
    /// Ends a session of a person that is idle; set once, before the first client comes.
    room_maker: OnceLock<RoomMaker>,
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places")
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}

/// The place of one program, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct ProgramPlace {
    places: Arc<Places>,
    person: [u8; 32],
}

/// Why there is no place, and how many programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoPlace {
    ForPerson(u32),
    ForAll(u32),
}

impl NoPlace {
    fn problem(self) -> ServerProblem {
        match self {
            Self::ForPerson(own) => busy(
                format!("{own} programs run for you at this gateway, which is the limit"),
                "end a session that you do not need, then call again",
            ),
            Self::ForAll(all) => busy(
                format!("{all} programs run at this gateway, which is the limit"),
                "call again a little later",
            ),
        }
    }
}

impl ProgramLimits {
    pub(super) fn new(settings: &PeopleSettings) -> Self {
        Self {
            for_each: settings.programs_for_each,
            for_all: settings.programs_for_all,
            places: Arc::default(),
        }
    }

    /// Sets what has an idle session give way.
    pub(super) fn make_room_by(&self, room_maker: RoomMaker) {
        let _first = self.places.room_maker.set(room_maker);
    }

    /// Takes a place for a program of a person. At the limit of this person, their own session that has
    /// been idle for longest gives way: clients that crash do not end theirs.
    ///
    /// Cancel safety: cancel safe; a session may have ended.
    pub(super) async fn take(&self, person: &Person) -> Result<ProgramPlace, ServerProblem> {
        // Heard from now on: a place may be free before the session that gave way has ended.
        let mut freed = pin!(self.places.freed.notified());
        freed.as_mut().enable();
        match self.take_free(person) {
            Ok(place) => return Ok(place),
            Err(full @ NoPlace::ForAll(_)) => return Err(full.problem()),
            Err(full @ NoPlace::ForPerson(_)) => {
                let Some(room_maker) = self.places.room_maker.get() else {
                    return Err(full.problem());
                };
                // A session that is just ending makes room by itself.
                if timeout(PROGRAM_END_TIMEOUT, freed.as_mut()).await.is_ok() {
                    freed.set(self.places.freed.notified());
                    freed.as_mut().enable();
                    if let Ok(place) = self.take_free(person) {
                        return Ok(place);
                    }
                }
                if !room_maker(person) {
                    return Err(full.problem());
                }
            }
        }
        let waiting = async {
            loop {
                freed.as_mut().await;
                freed.set(self.places.freed.notified());
                freed.as_mut().enable();
                if let Ok(place) = self.take_free(person) {
                    return place;
                }
            }
        };
        match timeout(PROGRAM_PLACE_TIMEOUT, waiting).await {
            Ok(place) => Ok(place),
            Err(_) => self.take_free(person).map_err(NoPlace::problem),
        }
    }

    fn take_free(&self, person: &Person) -> Result<ProgramPlace, NoPlace> {
        let person = person.digest();
        let mut running = self.places.running();
        let own = running.get(&person).copied().unwrap_or_default();
        if own >= self.for_each {
            return Err(NoPlace::ForPerson(own));
        }
        let all: u32 = running.values().sum();
        if all >= self.for_all {
            return Err(NoPlace::ForAll(all));
        }
        running.insert(person, own + 1);
        drop(running);
        Ok(ProgramPlace {
            places: Arc::clone(&self.places),
            person,
        })
    }
}

impl Places {
    fn running(&self) -> MutexGuard<'_, HashMap<[u8; 32], u32>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ProgramPlace {
    fn drop(&mut self) {
        let mut running = self.places.running();
        if let Some(own) = running.get_mut(&self.person) {
            *own -= 1;
            if *own == 0 {
                running.remove(&self.person);
            }
        }
        drop(running);
        self.places.freed.notify_waiters();
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

    fn limits(for_each: u32, for_all: u32) -> ProgramLimits {
        ProgramLimits {
            for_each,
            for_all,
            places: Arc::default(),
        }
    }

    fn person(name: &str) -> Person {
        Person::new("https://idp.example", name).unwrap()
    }

    #[tokio::test]
    async fn each_person_has_so_many_programs_and_all_together_so_many() {
        let limits = limits(2, 3);
        let (ada, bob) = (person("ada"), person("bob"));
        let first = limits.take(&ada).await.unwrap();
        let _second = limits.take(&ada).await.unwrap();
        let refused = limits.take(&ada).await.unwrap_err();
        assert_eq!(refused.code, Code::Busy);
        assert!(refused.message.contains("for you"), "{refused:?}");
        let _third = limits.take(&bob).await.unwrap();
        let refused = limits.take(&bob).await.unwrap_err();
        assert!(!refused.message.contains("for you"), "{refused:?}");
        drop(first);
        let again = limits.take(&bob).await.unwrap();
        assert!(limits.take(&ada).await.is_err(), "all places are taken");
        drop(again);
        assert!(limits.take(&ada).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_limit_of_a_person_their_own_idle_program_gives_way() {
        let limits = limits(1, 3);
        let (ada, bob) = (person("ada"), person("bob"));
        let of_bob = limits.take(&bob).await.unwrap();
        let idle = Arc::new(Mutex::new(Some(limits.take(&ada).await.unwrap())));
        let ending = Arc::clone(&idle);
        limits.make_room_by(Box::new(move |person| {
            assert_eq!(person.subject(), "ada");
            let ended = ending.lock().unwrap().take();
            let was_there = ended.is_some();
            // A session takes a while to end.
            drop(tokio::spawn(async move {
                tokio::task::yield_now().await;
                drop(ended);
            }));
            was_there
        }));
        let place = limits.take(&ada).await.unwrap();
        let refused = limits.take(&ada).await.unwrap_err();
        assert_eq!(refused.code, Code::Busy, "none is idle any more");
        drop((place, of_bob));
    }
}
