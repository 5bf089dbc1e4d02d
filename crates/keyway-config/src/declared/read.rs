//! Reads one entry's object into a [`DeclaredServer`], by the names that its host gives to fields.

mod credentials;
mod helper;
mod oauth;
mod platform;
mod registry;
mod values;

use super::{
    DeclaredServer, Endpoint, EntryFault, Field, Local, NamedField, Remote, SHORTEST_TIMEOUT_MS,
    Spelling, SpellingKind, Transport, TypeOrigin,
};
use crate::dialect::{Dialect, HostField, HostFieldRole as Role, Place, Untyped};
use crate::fields::URL_SPELLINGS;
use crate::json::{Member, Node, Object, Value};
use crate::source::{Pointer, Source};

pub(crate) use self::registry::{ITEM_KEYS, read_registry};

/// Reads the entry that `member` declares.
///
/// # Errors
///
/// Returns everything that keeps the entry from being loaded, in the order of the file.
pub(crate) fn read_entry(
    member: &Member,
    pointer: &Pointer,
    source: &Source,
    dialect: &'static Dialect,
) -> Result<DeclaredServer, Vec<EntryFault>> {
    let Some(object) = member.value.as_object() else {
        return Err(vec![EntryFault::NotAnObject {
            found: member.value.kind(),
        }]);
    };
    let mut reader = EntryReader::new(object, pointer, dialect);
    if !is_valid_name(&member.key) {
        reader.faults.push(EntryFault::BadName);
    }
    if has_repeated_key(&member.value) {
        reader.faults.push(EntryFault::RepeatedKey);
    }
    let server = reader.server(member, source);
    match server {
        Some(server) if reader.faults.is_empty() => Ok(server),
        _ => Err(reader.faults),
    }
}

/// Says whether a name may be used: 1 to 128 characters, none of them a control character.
fn is_valid_name(name: &str) -> bool {
    (1..=128).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}

fn has_repeated_key(node: &Node) -> bool {
    match &node.value {
        Value::Object(object) => {
            !object.repeated().is_empty()
                || object
                    .members
                    .iter()
                    .any(|member| has_repeated_key(&member.value))
        }
        Value::Array(items) => items.iter().any(has_repeated_key),
        _ => false,
    }
}

struct EntryReader<'a> {
    object: &'a Object,
    pointer: &'a Pointer,
    dialect: &'static Dialect,
    faults: Vec<EntryFault>,
    spellings: Vec<Spelling>,
}

/// The program with what stands in the same field as it.
#[derive(Default)]
struct Program {
    command: Option<Field>,
    args: Vec<Field>,
    env: Vec<NamedField>,
}

impl<'a> EntryReader<'a> {
    const fn new(object: &'a Object, pointer: &'a Pointer, dialect: &'static Dialect) -> Self {
        Self {
            object,
            pointer,
            dialect,
            faults: Vec::new(),
            spellings: Vec::new(),
        }
    }

    /// Reads an object below this one with `read`, keeping what it reports.
    fn below<T>(
        &mut self,
        object: &Object,
        pointer: &Pointer,
        read: impl FnOnce(&mut EntryReader<'_>) -> T,
    ) -> T {
        let mut inner = EntryReader::new(object, pointer, self.dialect);
        let value = read(&mut inner);
        self.faults.append(&mut inner.faults);
        self.spellings.append(&mut inner.spellings);
        value
    }

    /// Returns the fields of the host that are there and have a role.
    fn present(&self, has: impl Fn(Role) -> bool) -> Vec<&'static HostField> {
        let fields = self.dialect.fields.iter();
        fields
            .filter(|field| has(field.role) && self.object.get(field.key).is_some())
            .collect()
    }

    /// Returns the key of the first field that is there and has a role.
    fn key(&self, role: Role) -> Option<&'static str> {
        Some(self.present(|found| found == role).first()?.key)
    }

    fn server(&mut self, member: &Member, source: &Source) -> Option<DeclaredServer> {
        let url = self.url();
        let program = self.on_platform(Role::Command, |entry| entry.program());
        let command = program.command;
        if let (None, Some(Field { template, span, .. })) = (&url, &command)
            && template.as_str().trim().is_empty()
        {
            let span = *span;
            self.faults.push(EntryFault::EmptyCommand { span });
        }
        let (transport, type_origin) = self.transport(url.as_ref(), command.as_ref())?;
        let mut env = program.env;
        env.extend(self.on_platform(Role::Env, |entry| entry.env()));
        self.check_env_names(&env);
        let env_file = self.key(Role::EnvFile);
        let env_file = env_file.and_then(|key| self.string(key, Place::EnvFile));
        let endpoint = match (url, command) {
            (Some((url, _)), None) => Endpoint::Remote(Box::new(Remote {
                url,
                headers: self.headers(),
                helper: self.helper(),
                oauth: self.oauth(),
            })),
            (None, Some(command)) => {
                let mut args = program.args;
                args.extend(self.on_platform(Role::Args, |entry| entry.args()));
                let cwd = self.key(Role::Cwd);
                let cwd = cwd.and_then(|key| self.string(key, Place::Cwd));
                Endpoint::Local(Local { command, args, cwd })
            }
            _ => return None,
        };
        let timeout_ms = self.timeout();
        let disabled = self.is_off();
        Some(DeclaredServer {
            name: member.key.clone(),
            name_span: member.key_span,
            span: member.value.span,
            pointer: self.pointer.clone(),
            source: source.clone(),
            transport,
            type_origin,
            disabled,
            endpoint,
            env,
            env_file,
            spellings: std::mem::take(&mut self.spellings),
            timeout_ms: timeout_ms.filter(|&ms| ms >= SHORTEST_TIMEOUT_MS),
        })
    }

    fn args(&mut self) -> Vec<Field> {
        match self.key(Role::Args) {
            Some(key) => self.list(key, Place::Args),
            None => Vec::new(),
        }
    }

    fn is_off(&mut self) -> bool {
        let disabled = self.key(Role::Disabled);
        let enabled = self.key(Role::Enabled);
        let is_off = disabled.is_some_and(|key| self.flag(key) == Some(true));
        enabled.is_some_and(|key| self.flag(key) == Some(false)) || is_off
    }

    fn timeout(&mut self) -> Option<u64> {
        if let Some(key) = self.key(Role::TimeoutMs) {
            return self.milliseconds(key);
        }
        let key = self.key(Role::TimeoutSeconds)?;
        self.seconds(key)
    }

    /// Reads the address under the host's name or under that of another, with the transport that
    /// the name implies.
    fn url(&mut self) -> Option<(Field, Option<Transport>)> {
        let own = self.present(|role| matches!(role, Role::Url(_)));
        if let Some(field) = own.first() {
            let Role::Url(transport) = field.role else {
                return None;
            };
            return Some((self.string(field.key, Place::Url)?, transport));
        }
        let canonical = self.dialect.fields.iter();
        let canonical = canonical.filter(|field| matches!(field.role, Role::Url(_)));
        let canonical = canonical.map(|field| field.key).next().unwrap_or("url");
        // A host that has no field for it does not reach servers; Keyway does.
        let &key = ["url"]
            .iter()
            .chain(URL_SPELLINGS)
            .find(|key| self.object.get(key).is_some())?;
        let member = self.object.get(key)?;
        if key == canonical {
            return Some((self.string(key, Place::Url)?, None));
        }
        let kind = SpellingKind::Key {
            written: key,
            canonical,
        };
        self.spellings.push(Spelling {
            kind,
            span: member.key_span,
            pointer: self.pointer.child(key),
        });
        Some((self.string(key, Place::Url)?, None))
    }

    /// Reads the program; some hosts write it together with its arguments, as an array or an object.
    fn program(&mut self) -> Program {
        let key = self.key(Role::Command).unwrap_or("command");
        let Some(member) = self.object.get(key) else {
            return Program::default();
        };
        match &member.value.value {
            Value::Array(items) if !items.is_empty() => {
                let pointer = self.pointer.child(key);
                // Where the host has no other field for arguments, the array is its own way.
                if self.dialect.key(Role::Args).is_some() {
                    self.spellings.push(Spelling {
                        kind: SpellingKind::CommandArray,
                        span: member.value.span,
                        pointer,
                    });
                }
                let mut words = self.list(key, Place::Args).into_iter();
                Program {
                    command: words.next(),
                    args: words.collect(),
                    env: Vec::new(),
                }
            }
            Value::Object(object) if object.get("path").is_some() => {
                let pointer = self.pointer.child(key);
                self.below(object, &pointer, |inner| Program {
                    command: inner.string("path", Place::Command),
                    args: inner.list("args", Place::Args),
                    env: inner.map("env", Place::Env),
                })
            }
            _ => Program {
                command: self.string(key, Place::Command),
                ..Program::default()
            },
        }
    }

    fn transport(
        &mut self,
        url: Option<&(Field, Option<Transport>)>,
        command: Option<&Field>,
    ) -> Option<(Transport, TypeOrigin)> {
        let declared = self.declared_type();
        // A field of the wrong kind is there, but gives no value; it was reported already.
        let is_there = |key: Option<&str>, default: &str| {
            let key = key.unwrap_or(default);
            self.object.get(key).is_some()
        };
        let has_url = is_there(None, "url") || url.is_some();
        let present = (
            has_url,
            is_there(self.dialect.key(Role::Command), "command"),
        );
        match present {
            (true, true) => self.faults.push(EntryFault::TwoEndpoints),
            (false, false) => self.faults.push(EntryFault::NoEndpoint),
            _ => {}
        }
        let found = match (&declared, url, command) {
            (Some((_, None)), ..) => return None,
            (Some((_, Some(found))), ..) => *found,
            (None, _, Some(_)) => (Transport::Stdio, TypeOrigin::FromCommand),
            (None, Some((_, Some(transport))), _) => (*transport, TypeOrigin::Declared),
            (None, Some((url, None)), _) => match self.dialect.untyped {
                Untyped::Always(transport) => (transport, TypeOrigin::Declared),
                Untyped::Inferred | Untyped::Refused => (
                    Transport::from_url(url.template.as_str()),
                    TypeOrigin::FromUrl,
                ),
            },
            (None, None, None) => return None,
        };
        let fits = (found.0 == Transport::Stdio) == present.1;
        if let (false, true, Some((field, _))) = (fits, present.0 != present.1, declared) {
            let span = field.span;
            self.faults.push(EntryFault::TypeWithoutItsField {
                transport: found.0,
                span,
            });
        }
        Some(found)
    }

    /// Reads the word for the transport, and what it means: nothing if no host knows it.
    fn declared_type(&mut self) -> Option<(Field, Option<(Transport, TypeOrigin)>)> {
        let Some(key) = self.key(Role::Type) else {
            // The host does not look at it, but it says what was meant.
            let member = self.object.get("type")?;
            let known = Transport::from_type(member.value.as_str()?)?;
            return Some((self.string("type", Place::Command)?, Some(known)));
        };
        let field = self.string(key, Place::Command)?;
        let word = field.template.as_str();
        let own = self.dialect.transport(word);
        let known = match own.filter(|_| !self.dialect.is_contract()) {
            Some(transport) => Some((transport, TypeOrigin::Declared)),
            None => Transport::from_type(word).map(|(transport, origin)| {
                let is_ours = self.dialect.is_contract();
                let origin = if is_ours { origin } else { TypeOrigin::Alias };
                (transport, origin)
            }),
        };
        if known.is_none() {
            let found = word.to_owned();
            let span = field.span;
            self.faults.push(EntryFault::UnknownType { found, span });
        }
        Some((field, known))
    }
}
