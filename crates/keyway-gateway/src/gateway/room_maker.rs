//! What ends an idle session of a person, so that a new program of theirs has a place.

use std::sync::Arc;

use keyway_people::Person;

use super::Gateway;

/// Has the session of a person end that runs a program and is idle; says whether there was one.
pub(crate) type RoomMaker = Box<dyn Fn(&Person) -> bool + Send + Sync>;

impl Gateway {
    /// Returns what has an idle session of a person end, so that a new program of theirs has a place.
    pub(crate) fn room_maker(&self) -> RoomMaker {
        // Neither is kept by it: the servers hold on to it, and both hold on to the servers.
        let (sessions, router) = (Arc::downgrade(&self.sessions), Arc::downgrade(&self.router));
        Box::new(move |person| {
            let both = sessions.upgrade().zip(router.upgrade());
            both.is_some_and(|(sessions, router)| sessions.give_way(person, &router.closing))
        })
    }
}
