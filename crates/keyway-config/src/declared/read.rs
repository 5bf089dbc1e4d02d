//! Reads one entry's object into a [`DeclaredServer`].

mod helper;
mod oauth;
mod values;

use super::{
    DeclaredServer, Endpoint, EntryFault, Field, Local, Remote, SHORTEST_TIMEOUT_MS, Spelling,
    SpellingKind, Transport, TypeOrigin,
};
use crate::fields::URL_SPELLINGS;
use crate::json::{Member, Node, Object, Value};
use crate::source::{Pointer, Source};

/// Reads the entry that `member` declares.
///
/// # Errors
///
/// Returns everything that keeps the entry from being loaded, in the order of the file.
pub(crate) fn read_entry(
    member: &Member,
    pointer: &Pointer,
    source: &Source,
) -> Result<DeclaredServer, Vec<EntryFault>> {
    let Some(object) = member.value.as_object() else {
        return Err(vec![EntryFault::NotAnObject {
            found: member.value.kind(),
        }]);
    };
    let mut reader = EntryReader::new(object, pointer);
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
    faults: Vec<EntryFault>,
    spellings: Vec<Spelling>,
}

impl<'a> EntryReader<'a> {
    const fn new(object: &'a Object, pointer: &'a Pointer) -> Self {
        Self {
            object,
            pointer,
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
        let mut inner = EntryReader::new(object, pointer);
        let value = read(&mut inner);
        self.faults.append(&mut inner.faults);
        self.spellings.append(&mut inner.spellings);
        value
    }

    fn server(&mut self, member: &Member, source: &Source) -> Option<DeclaredServer> {
        let url = self.url();
        let (command, first_args) = self.command();
        if let (None, Some(Field { template, span, .. })) = (&url, &command)
            && template.as_str().trim().is_empty()
        {
            let span = *span;
            self.faults.push(EntryFault::EmptyCommand { span });
        }
        let (transport, type_origin) = self.transport(url.as_ref(), command.as_ref())?;
        let env = self.map("env");
        let env_file = self.string("envFile");
        let timeout_ms = self.milliseconds("timeout");
        let disabled = self.flag("disabled") == Some(true) || self.flag("enabled") == Some(false);
        let endpoint = match (url, command) {
            (Some(url), None) => Endpoint::Remote(Box::new(Remote {
                url,
                headers: self.map("headers"),
                helper: self.helper(),
                oauth: self.oauth(),
            })),
            (None, Some(command)) => {
                let mut args = first_args;
                args.extend(self.list("args"));
                Endpoint::Local(Local {
                    command,
                    args,
                    cwd: self.string("cwd"),
                })
            }
            _ => return None,
        };
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

    /// Reads the address under our name or under that of another host.
    fn url(&mut self) -> Option<Field> {
        if self.object.get("url").is_some() {
            return self.string("url");
        }
        let &key = URL_SPELLINGS
            .iter()
            .find(|key| self.object.get(key).is_some())?;
        let member = self.object.get(key)?;
        let kind = SpellingKind::Key {
            written: key,
            canonical: "url",
        };
        self.spellings.push(Spelling {
            kind,
            span: member.key_span,
            pointer: self.pointer.child(key),
        });
        self.string(key)
    }

    /// Reads the program; another host writes it together with its arguments, as an array.
    fn command(&mut self) -> (Option<Field>, Vec<Field>) {
        match self.object.get("command") {
            Some(Member {
                value:
                    Node {
                        value: Value::Array(items),
                        span,
                    },
                ..
            }) if !items.is_empty() => {
                let pointer = self.pointer.child("command");
                self.spellings.push(Spelling {
                    kind: SpellingKind::CommandArray,
                    span: *span,
                    pointer,
                });
                let mut words = self.list("command").into_iter();
                (words.next(), words.collect())
            }
            _ => (self.string("command"), Vec::new()),
        }
    }

    fn transport(
        &mut self,
        url: Option<&Field>,
        command: Option<&Field>,
    ) -> Option<(Transport, TypeOrigin)> {
        let declared = self.string("type");
        let known = declared
            .as_ref()
            .map(|field| Transport::from_type(field.template.as_str()));
        if let (Some(field), Some(None)) = (&declared, known) {
            let found = field.template.as_str().to_owned();
            self.faults.push(EntryFault::UnknownType {
                found,
                span: field.span,
            });
        }
        // A field of the wrong kind is there, but gives no value; it was reported already.
        let has_url = self.object.get("url").is_some() || url.is_some();
        let present = (has_url, self.object.get("command").is_some());
        match (present, url, command) {
            ((true, true), ..) => self.faults.push(EntryFault::TwoEndpoints),
            ((false, false), ..) => self.faults.push(EntryFault::NoEndpoint),
            _ => {}
        }
        let found = match (known, url, command) {
            (Some(None), ..) => return None,
            (Some(Some(found)), ..) => found,
            (None, _, Some(_)) => (Transport::Stdio, TypeOrigin::FromCommand),
            (None, Some(url), _) => (
                Transport::from_url(url.template.as_str()),
                TypeOrigin::FromUrl,
            ),
            (None, None, None) => return None,
        };
        let fits = (found.0 == Transport::Stdio) == present.1;
        if let (false, true, Some(field)) = (fits, present.0 != present.1, declared) {
            let span = field.span;
            self.faults.push(EntryFault::TypeWithoutItsField {
                transport: found.0,
                span,
            });
        }
        Some(found)
    }
}
