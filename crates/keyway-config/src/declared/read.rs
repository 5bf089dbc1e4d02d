//! Reads one entry's object into a [`DeclaredServer`].

use super::{
    DeclaredServer, Endpoint, EntryFault, Field, Helper, HelperCommand, Local, NamedField, OAuth,
    OAuthFields, Refresh, Remote, SHORTEST_TIMEOUT_MS, Spelling, SpellingKind, Transport,
    TypeOrigin,
};
use crate::environment::is_host_variable;
use crate::fields::{OAUTH, URL_SPELLINGS};
use crate::json::{Member, Node, Object, Value};
use crate::source::{Pointer, Span};
use crate::template::{Part, Template};

/// Reads the entry that `member` declares.
///
/// # Errors
///
/// Returns everything that keeps the entry from being loaded, in the order of the file.
pub(crate) fn read_entry(
    member: &Member,
    pointer: &Pointer,
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
    let server = reader.server(member);
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

    fn server(&mut self, member: &Member) -> Option<DeclaredServer> {
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

    fn helper(&mut self) -> Option<Helper> {
        let member = self.object.get("headersHelper")?;
        let pointer = self.pointer.child("headersHelper");
        let span = member.value.span;
        let simple = |command| Helper {
            command,
            refresh: Refresh::Connection,
            ttl_ms: None,
            timeout_ms: None,
            span,
            pointer: pointer.clone(),
        };
        match &member.value.value {
            Value::String(text) => {
                let field = field(text, span, pointer.clone());
                Some(simple(if begins_like_a_path(&field.template) {
                    HelperCommand::Program(field)
                } else {
                    HelperCommand::Shell(field)
                }))
            }
            Value::Object(object) => {
                let (words, refresh, ttl_ms, timeout_ms) = self.below(object, &pointer, |inner| {
                    let words = inner.list("command");
                    if let (true, Some(empty)) = (words.is_empty(), object.get("command")) {
                        inner.wrong_kind("command", &empty.value, "an array of strings, not empty");
                    }
                    let refresh = inner.refresh();
                    (
                        words,
                        refresh,
                        inner.milliseconds("ttlMs"),
                        inner.milliseconds("timeoutMs"),
                    )
                });
                if object.get("command").is_none() {
                    let expected = "an object with `command`";
                    self.wrong_kind("headersHelper", &member.value, expected);
                }
                Some(Helper {
                    refresh,
                    ttl_ms,
                    timeout_ms,
                    ..simple(HelperCommand::Words(words))
                })
            }
            _ => {
                self.wrong_kind("headersHelper", &member.value, "a string or an object");
                None
            }
        }
    }

    fn refresh(&mut self) -> Refresh {
        let Some(member) = self.object.get("refresh") else {
            return Refresh::Connection;
        };
        match member.value.as_str() {
            Some("connection") => Refresh::Connection,
            Some("request") => Refresh::Request,
            _ => {
                self.wrong_kind("refresh", &member.value, "`connection` or `request`");
                Refresh::Connection
            }
        }
    }

    fn oauth(&mut self) -> OAuth {
        let Some(member) = self.object.get("oauth") else {
            return OAuth::Automatic;
        };
        let object = match &member.value.value {
            Value::Bool(false) => return OAuth::Off,
            Value::Bool(true) => return OAuth::Automatic,
            Value::Object(object) => object,
            _ => {
                self.wrong_kind("oauth", &member.value, "an object or `false`");
                return OAuth::Automatic;
            }
        };
        let pointer = self.pointer.child("oauth");
        let span = member.value.span;
        let fields = self.below(object, &pointer, |inner| inner.oauth_fields(span));
        OAuth::Configured(Box::new(fields))
    }

    fn oauth_fields(&mut self, span: Span) -> OAuthFields {
        let mut fields = OAuthFields {
            span,
            ..OAuthFields::default()
        };
        for spec in OAUTH.iter().filter(|spec| spec.is_string()) {
            if let (Some(value), Some(member)) =
                (self.string(spec.name), self.object.get(spec.name))
            {
                let name = spec.name.to_owned();
                fields.strings.push(NamedField {
                    name,
                    name_span: member.key_span,
                    value,
                });
            }
        }
        fields.scopes = match self.object.get("scopes").map(|member| &member.value) {
            Some(Node {
                value: Value::String(text),
                span,
            }) => {
                vec![field(text, *span, self.pointer.child("scopes"))]
            }
            Some(_) => self.list("scopes"),
            None => Vec::new(),
        };
        if let Some(member) = self.object.get("callbackPort") {
            fields.callback_port = match &member.value.value {
                Value::Number(text) => text.parse().ok().filter(|&port: &u16| port > 0),
                _ => None,
            };
            if fields.callback_port.is_none() {
                self.wrong_kind("callbackPort", &member.value, "a port number");
            }
        }
        fields
    }

    fn string(&mut self, key: &str) -> Option<Field> {
        let member = self.object.get(key)?;
        if let Value::String(text) = &member.value.value {
            return Some(field(text, member.value.span, self.pointer.child(key)));
        }
        self.wrong_kind(key, &member.value, "a string");
        None
    }

    fn list(&mut self, key: &str) -> Vec<Field> {
        let Some(member) = self.object.get(key) else {
            return Vec::new();
        };
        let Value::Array(items) = &member.value.value else {
            self.wrong_kind(key, &member.value, "an array of strings");
            return Vec::new();
        };
        let pointer = self.pointer.child(key);
        let mut fields = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let pointer = pointer.child(&index.to_string());
            fields.extend(self.element(item, pointer));
        }
        fields
    }

    fn map(&mut self, key: &str) -> Vec<NamedField> {
        let Some(member) = self.object.get(key) else {
            return Vec::new();
        };
        let Value::Object(object) = &member.value.value else {
            self.wrong_kind(key, &member.value, "an object of strings");
            return Vec::new();
        };
        let pointer = self.pointer.child(key);
        let mut fields = Vec::with_capacity(object.members.len());
        for member in &object.members {
            let value = self.element(&member.value, pointer.child(&member.key));
            let (name, name_span) = (member.key.clone(), member.key_span);
            fields.extend(value.map(|value| NamedField {
                name,
                name_span,
                value,
            }));
        }
        fields
    }

    /// Reads one value of a list or a map.
    fn element(&mut self, node: &Node, pointer: Pointer) -> Option<Field> {
        if let Value::String(text) = &node.value {
            return Some(field(text, node.span, pointer));
        }
        let (span, found) = (node.span, node.kind());
        if let Some(text) = bare_text(node) {
            let kind = SpellingKind::BareValue { found };
            self.spellings.push(Spelling {
                kind,
                span,
                pointer: pointer.clone(),
            });
            return Some(field(&text, span, pointer));
        }
        self.faults.push(EntryFault::WrongKind {
            pointer,
            span,
            expected: "a string",
            found,
        });
        None
    }

    fn milliseconds(&mut self, key: &str) -> Option<u64> {
        let member = self.object.get(key)?;
        let number = match &member.value.value {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.wrong_kind(key, &member.value, "a whole number of milliseconds");
        }
        number
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        let member = self.object.get(key)?;
        if let Value::Bool(flag) = member.value.value {
            return Some(flag);
        }
        self.wrong_kind(key, &member.value, "`true` or `false`");
        None
    }

    fn wrong_kind(&mut self, key: &str, node: &Node, expected: &'static str) {
        let (pointer, span, found) = (self.pointer.child(key), node.span, node.kind());
        self.faults.push(EntryFault::WrongKind {
            pointer,
            span,
            expected,
            found,
        });
    }
}

/// Returns a number or a boolean as the text that stands in the file.
fn bare_text(node: &Node) -> Option<String> {
    match &node.value {
        Value::Number(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn field(text: &str, span: Span, pointer: Pointer) -> Field {
    Field {
        template: Template::parse(text),
        span,
        pointer,
    }
}

fn begins_like_a_path(template: &Template) -> bool {
    match template.parts().first() {
        Some(Part::Variable(variable)) => is_host_variable(&variable.name),
        Some(Part::Literal { text, .. }) => ["/", "./", "../", "~/"]
            .iter()
            .any(|prefix| text.starts_with(prefix)),
        _ => false,
    }
}
