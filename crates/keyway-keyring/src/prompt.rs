//! Prompts: the service's own windows, in which it asks the person for the keyring's password.

use std::time::{Duration, Instant};

use keyway_vault::KeyringFailure;

use crate::bus::Bus;
use crate::message::Call;
use crate::names::{DESTINATION, PROMPT};
use crate::wire::Writer;

/// Whether the service may ask the person, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// What is locked stays locked.
    Never,
    /// A person sits there and has so much time.
    UpTo(Duration),
}

impl Asking {
    /// Has a prompt shown and waits for its end; `/` stands for none.
    pub(crate) fn settle(self, bus: &mut Bus, prompt: &str) -> Result<(), KeyringFailure> {
        if prompt == NOTHING {
            return Ok(());
        }
        let Self::UpTo(time) = self else {
            // A courtesy: the service need not keep what is never shown.
            drop(bus.call(call(prompt, "Dismiss", "", Writer::default())));
            return Err(KeyringFailure::Locked);
        };
        bus.extend(Instant::now() + time);
        bus.add_match(&format!(
            "type='signal',interface='{PROMPT}',member='{COMPLETED}',path='{prompt}'"
        ))?;
        let mut window = Writer::default();
        window.text("");
        bus.call(call(prompt, "Prompt", "s", window))?;
        let ended = bus.wait_for(prompt, COMPLETED)?;
        if ended.dismissed().map_err(crate::bus::BusError::from)? {
            return Err(KeyringFailure::Refused);
        }
        Ok(())
    }
}

fn call<'a>(path: &'a str, member: &'a str, signature: &'a str, body: Writer) -> Call<'a> {
    Call {
        destination: DESTINATION,
        path,
        interface: PROMPT,
        member,
        signature,
        body,
    }
}

/// The path that stands for no object.
pub(crate) const NOTHING: &str = "/";
const COMPLETED: &str = "Completed";
