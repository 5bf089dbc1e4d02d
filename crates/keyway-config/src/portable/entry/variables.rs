//! The variables of an entry's process, in the notation of a target.

use super::{HostValue, Loss, Slot, Writer, loss};
use crate::dialect::{HostFieldRole as Role, Place};

impl Writer<'_> {
    /// Writes variables of the process, by name alone where the host fills in nothing.
    pub(super) fn env(&mut self) -> Result<(), Loss> {
        let mut values = Vec::new();
        for (name, text) in &self.server.env {
            let slot = text.only_slot("");
            let by_name =
                slot.filter(|slot| slot.name == *name && self.target.key(Role::EnvNames).is_some());
            let fills_in = self.target.variables_in(Place::Env).write(name).is_some();
            match by_name {
                Some(slot) if !fills_in => {
                    self.default_of_name(slot);
                    self.names.push(name.clone());
                }
                _ => {
                    let what = format!("variable `{name}`");
                    values.push((
                        name.clone(),
                        HostValue::Text(self.text(text, Place::Env, &what)?),
                    ));
                }
            }
        }
        if !values.is_empty() {
            let key = self.required(Role::Env, "variables of the process")?;
            self.put(key, HostValue::Members(values));
        }
        Ok(())
    }

    /// A variable that a field only names has no default there.
    pub(super) fn default_of_name(&mut self, slot: &Slot) {
        if slot.written_default().is_some() {
            self.without_default(&slot.name);
        }
    }

    pub(super) fn without_default(&mut self, name: &str) {
        let host = self.target.name;
        self.losses.push(loss(format!(
            "the default of `{name}` is not carried over: {host} has no form for it"
        )));
    }

    pub(super) fn env_of_remote(&mut self, has_helper: bool) -> Result<(), Loss> {
        if self.server.env.is_empty() {
            return Ok(());
        }
        if self.target.is_contract() {
            return self.env();
        }
        if has_helper {
            return Err(loss(format!(
                "{} gives a helper no variables of its own",
                self.target.name
            )));
        }
        self.losses.push(loss(
            "`env` of a remote server is not carried over".to_owned(),
        ));
        let slots = self.server.env.iter().flat_map(|(_, text)| text.slots());
        self.lost.extend(slots.map(|slot| slot.name.clone()));
        Ok(())
    }

    pub(super) fn env_names(&mut self) {
        let Some(key) = self
            .target
            .key(Role::EnvNames)
            .filter(|_| !self.names.is_empty())
        else {
            return;
        };
        let mut names = std::mem::take(&mut self.names);
        names.sort();
        names.dedup();
        self.put(key, HostValue::texts(names));
    }
}
