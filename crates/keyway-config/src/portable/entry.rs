//! An entry in the notation of a target, field by field, and what of it the target cannot say.

mod headers;
mod sign_in;
mod variables;

use super::text::{Noted, PortableText, Slot, Unwritable};
use super::value::HostValue;
use super::{PortableEndpoint, PortableServer};
use crate::dialect::{Constant, Dialect, HostFieldRole as Role, Place};
use crate::transport::Transport;

/// An entry as a host writes it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WrittenEntry {
    /// Its name.
    pub name: String,
    /// Its members.
    pub value: HostValue,
    /// What the file has to ask a person for, if its host asks in the file.
    pub asked: Vec<Slot>,
    /// What the target cannot say, although the entry works without it.
    pub losses: Vec<Loss>,
    /// Variables that stand in nothing but what the target cannot say.
    pub unwritten: Vec<String>,
}

/// Something that a target cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// One sentence without a full stop.
    pub message: String,
}

impl Loss {
    /// Says what is lost.
    #[must_use]
    pub const fn new(message: String) -> Self {
        Self { message }
    }
}

/// Writes an entry as `target` reads it.
///
/// # Errors
///
/// Returns why the entry cannot be written so that it works; it has to be left out then.
pub fn write(server: &PortableServer, target: &'static Dialect) -> Result<WrittenEntry, Loss> {
    if !target.is_writable() {
        return Err(loss(format!(
            "{} describes one package; entries are only read from it",
            target.name
        )));
    }
    let mut writer = Writer {
        server,
        target,
        members: Vec::new(),
        asked: Vec::new(),
        names: Vec::new(),
        losses: Vec::new(),
        lost: Vec::new(),
    };
    writer.entry()?;
    let unwritten = writer.unwritten();
    let Writer {
        members,
        mut asked,
        losses,
        ..
    } = writer;
    asked.sort();
    asked.dedup_by(|a, b| a.name == b.name);
    Ok(WrittenEntry {
        name: server.name.clone(),
        value: HostValue::Members(members),
        asked,
        losses,
        unwritten,
    })
}

struct Writer<'a> {
    server: &'a PortableServer,
    target: &'static Dialect,
    members: Vec<(String, HostValue)>,
    asked: Vec<Slot>,
    /// Variables that the target fills in only if the entry names them.
    names: Vec<String>,
    losses: Vec<Loss>,
    /// Variables of what was lost, as often as they stand there.
    lost: Vec<String>,
}

impl Writer<'_> {
    fn entry(&mut self) -> Result<(), Loss> {
        let server = self.server;
        self.constants();
        match &server.endpoint {
            PortableEndpoint::Local { command, args, cwd } => {
                self.transport(Transport::Stdio)?;
                self.command(command, args)?;
                self.env()?;
                self.optional(Role::Cwd, Place::Cwd, cwd.as_ref(), "working folder")?;
                let env_file = server.env_file.as_ref();
                self.optional(Role::EnvFile, Place::EnvFile, env_file, "env file")?;
            }
            PortableEndpoint::Remote {
                url,
                headers,
                helper,
                oauth,
            } => {
                self.transport(server.transport)?;
                self.url(url)?;
                self.headers(headers)?;
                self.helper(helper.as_ref())?;
                self.oauth(oauth)?;
                self.env_of_remote(helper.is_some())?;
            }
        }
        self.env_names();
        self.timeout();
        self.switch()?;
        for key in &server.host_keys {
            self.losses.push(loss(format!(
                "`{key}` is not carried over: only its own host reads it"
            )));
        }
        self.assumed();
        self.secret_defaults();
        Ok(())
    }

    fn put(&mut self, key: &str, value: HostValue) {
        self.members.push((key.to_owned(), value));
    }

    fn constants(&mut self) {
        for (key, constant) in self.target.constants {
            let value = match constant {
                Constant::True if self.server.is_disabled => HostValue::Flag(false),
                Constant::True => HostValue::Flag(true),
                Constant::Name => HostValue::Text(self.server.name.clone()),
                Constant::EveryTool => HostValue::texts(["*"]),
            };
            self.put(key, value);
        }
    }

    /// Writes the word for the transport, where the host has one.
    fn transport(&mut self, transport: Transport) -> Result<(), Loss> {
        let target = self.target;
        let is_local = transport == Transport::Stdio;
        let words = target.types.iter();
        let word = words
            .filter(|(_, of)| *of == transport)
            .map(|(word, _)| *word)
            .next();
        let by_key = target
            .fields
            .iter()
            .any(|field| field.role == Role::Url(Some(transport)));
        let is_inferred = is_local || by_key;
        match (target.key(Role::Type), word) {
            // The contract leaves the word out where it is the usual one.
            (Some(_), Some(_)) if is_local && target.is_contract() => {}
            (Some(key), Some(word)) => self.put(key, HostValue::Text(word.to_owned())),
            (None, Some(word)) => {
                if transport == Transport::Sse {
                    let host = target.name;
                    let message =
                        format!("`{word}` is not said: {host} finds the transport out itself");
                    self.losses.push(loss(message));
                }
            }
            (_, None) if is_inferred => {}
            (_, None) => {
                let why = format!("{} does not speak `{}`", target.name, transport.as_str());
                return Err(loss(why));
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &PortableText, args: &[PortableText]) -> Result<(), Loss> {
        let key = self.required(Role::Command, "programs")?;
        let program = self.text(command, Place::Command, "the program")?;
        let mut words = Vec::with_capacity(args.len());
        for (index, argument) in args.iter().enumerate() {
            words.push(self.text(argument, Place::Args, &format!("argument {}", index + 1))?);
        }
        match self.target.key(Role::Args) {
            Some(args_key) => {
                self.put(key, HostValue::Text(program));
                let is_required = self.target.required.iter().any(|(key, _)| *key == args_key);
                if !words.is_empty() || is_required {
                    self.put(args_key, HostValue::texts(words));
                }
            }
            None => {
                words.insert(0, program);
                self.put(key, HostValue::texts(words));
            }
        }
        Ok(())
    }

    fn url(&mut self, url: &PortableText) -> Result<(), Loss> {
        let roles = [Role::Url(None), Role::Url(Some(self.server.transport))];
        let mut fields = roles.iter().filter_map(|role| self.target.key(*role));
        let Some(key) = fields.next() else {
            let host = self.target.name;
            let is_known = self
                .target
                .fields
                .iter()
                .any(|it| matches!(it.role, Role::Url(_)));
            let what = if is_known {
                "this transport"
            } else {
                "addresses"
            };
            return Err(loss(format!("entries of {host} have no field for {what}")));
        };
        let text = self.text(url, Place::Url, "the address")?;
        self.put(key, HostValue::Text(text));
        Ok(())
    }

    fn timeout(&mut self) {
        let Some(time) = self.server.timeout_ms else {
            return;
        };
        if let Some(key) = self.target.key(Role::TimeoutMs) {
            self.put(key, HostValue::Number(time));
        } else if let Some(key) = self.target.key(Role::TimeoutSeconds) {
            self.put(key, HostValue::Number(time.div_ceil(1000)));
            if time % 1000 != 0 {
                self.losses.push(loss(
                    "the time limit was rounded up to whole seconds".to_owned(),
                ));
            }
        } else {
            self.losses.push(loss(format!(
                "{} has no field for a time limit",
                self.target.name
            )));
        }
    }

    fn switch(&mut self) -> Result<(), Loss> {
        if !self.server.is_disabled {
            return Ok(());
        }
        let target = self.target;
        if target
            .constants
            .iter()
            .any(|(key, _)| Some(*key) == target.key(Role::Enabled))
        {
            return Ok(());
        }
        match (target.key(Role::Disabled), target.key(Role::Enabled)) {
            (Some(key), _) => self.put(key, HostValue::Flag(true)),
            (None, Some(key)) => self.put(key, HostValue::Flag(false)),
            (None, None) => {
                return Err(loss(format!(
                    "it is disabled, and {} cannot disable an entry",
                    target.name
                )));
            }
        }
        Ok(())
    }

    fn optional(
        &mut self,
        role: Role,
        place: Place,
        text: Option<&PortableText>,
        what: &str,
    ) -> Result<(), Loss> {
        let Some(text) = text else { return Ok(()) };
        match self.target.key(role) {
            Some(key) => {
                let text = self.text(text, place, &format!("the {what}"))?;
                self.put(key, HostValue::Text(text));
                Ok(())
            }
            None if role == Role::Cwd && text.is_folder() => {
                let host = self.target.name;
                let message = format!(
                    "{host} has no field for the {what}, and starts it in a folder of its choice"
                );
                self.losses.push(loss(message));
                Ok(())
            }
            None => Err(loss(format!(
                "{} has no field for the {what}",
                self.target.name
            ))),
        }
    }

    /// Writes a text, and keeps what it takes or costs.
    fn text(&mut self, text: &PortableText, place: Place, what: &str) -> Result<String, Loss> {
        let target = self.target;
        let unwritable =
            |why: Unwritable| loss(format!("{what} cannot be written: {}", why.why(target)));
        let Noted {
            text,
            asked,
            without_default,
            fixed,
        } = text.write(target, place).map_err(unwritable)?;
        self.asked.extend(asked);
        for name in without_default {
            self.without_default(&name);
        }
        for name in fixed {
            self.losses.push(loss(format!(
                "{what} has the default of `{name}` for good: {} fills in no variable there",
                target.name
            )));
        }
        Ok(text)
    }

    fn required(&self, role: Role, what: &str) -> Result<&'static str, Loss> {
        let key = self.target.key(role);
        key.ok_or_else(|| {
            loss(format!(
                "entries of {} have no field for {what}",
                self.target.name
            ))
        })
    }

    /// Returns the variables that stand in no text but those that were lost.
    fn unwritten(&self) -> Vec<String> {
        let texts = self.server.texts();
        let all: Vec<&str> = texts
            .into_iter()
            .flat_map(PortableText::slots)
            .map(|slot| slot.name.as_str())
            .collect();
        let count = |name: &str| all.iter().filter(|other| **other == name).count();
        let is_gone = |name: &&String| {
            let lost = self.lost.iter().filter(|other| other == name).count();
            lost == count(name)
        };
        self.lost.iter().filter(is_gone).cloned().collect()
    }

    /// Says which variables lose a default that may be a credential.
    fn secret_defaults(&mut self) {
        let texts = self.server.texts();
        let slots = texts.into_iter().flat_map(PortableText::slots);
        let mut names: Vec<&str> = slots
            .filter(|slot| slot.loses_default())
            .map(|slot| slot.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            self.losses.push(loss(format!(
                "the default of `{name}` is not written: it may be a credential"
            )));
        }
    }

    /// Says which references the old host left as they are.
    fn assumed(&mut self) {
        let mut names: Vec<&str> = Vec::new();
        for text in self.server.texts() {
            names.extend(
                text.slots()
                    .filter(|slot| slot.is_assumed)
                    .map(|slot| slot.name.as_str()),
            );
        }
        names.sort_unstable();
        names.dedup();
        for name in names {
            let message = format!(
                "`{name}` is expanded from now on; its own host passed the reference on as text"
            );
            self.losses.push(loss(message));
        }
    }
}

const fn loss(message: String) -> Loss {
    Loss::new(message)
}
