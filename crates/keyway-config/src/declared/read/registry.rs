//! Reads the registry's `server.json`: each address and each package is an entry.

use super::EntryReader;
use crate::declared::{
    DeclaredServer, Endpoint, EntryFault, Field, Local, NamedField, OAuth, Remote, Transport,
    TypeOrigin,
};
use crate::dialect::{Dialect, Place};
use crate::json::{Member, Node, Object, Value};
use crate::prompt::{AnsweredBy, Prompt};
use crate::source::{Pointer, Source, Span};
use crate::template::{Template, environment_name, input_variable, is_variable_name};

/// An entry with the name it got, where it stands, and what a person is asked for.
pub(crate) struct RegistryEntry {
    /// The name.
    pub(crate) name: String,
    /// Where the entry stands.
    pub(crate) span: Span,
    /// Its pointer.
    pub(crate) pointer: Pointer,
    /// The entry, or why it is skipped.
    pub(crate) server: Result<DeclaredServer, Vec<EntryFault>>,
    /// What it needs from a person.
    pub(crate) prompts: Vec<Prompt>,
}

/// Reads all entries of a `server.json`.
pub(crate) fn read_registry(
    root: &Object,
    source: &Source,
    dialect: &'static Dialect,
) -> Vec<RegistryEntry> {
    let full = root.get("name").and_then(|it| it.value.as_str());
    let base = full.and_then(|name| name.rsplit('/').next());
    let base = base.filter(|name| !name.is_empty()).unwrap_or("server");
    let mut entries = Vec::new();
    for list in ["remotes", "packages"] {
        let Some(Value::Array(items)) = root.get(list).map(|member| &member.value.value) else {
            continue;
        };
        for (index, item) in items.iter().enumerate() {
            let name = match entries.len() {
                0 => base.to_owned(),
                more => format!("{base}-{}", more + 1),
            };
            let pointer = Pointer::default().child(list).child(&index.to_string());
            entries.push(read_item(item, (name, list), pointer, source, dialect));
        }
    }
    entries
}

fn read_item(
    item: &Node,
    (name, list): (String, &str),
    pointer: Pointer,
    source: &Source,
    dialect: &'static Dialect,
) -> RegistryEntry {
    let span = item.span;
    let mut prompts = Vec::new();
    let server = match item.as_object() {
        None => Err(vec![EntryFault::NotAnObject { found: item.kind() }]),
        Some(object) => {
            let mut reader = RegistryReader {
                inner: EntryReader::new(object, &pointer, dialect),
                prompts: &mut prompts,
            };
            let found = match list {
                "remotes" => reader.remote(object, &pointer),
                _ => reader.package(object, &pointer),
            };
            let faults = reader.inner.faults;
            match found {
                Some(found) if faults.is_empty() => Ok(found.server(&name, item, &pointer, source)),
                _ if faults.is_empty() => Err(vec![EntryFault::NoEndpoint]),
                _ => Err(faults),
            }
        }
    };
    RegistryEntry {
        name,
        span,
        pointer,
        server,
        prompts,
    }
}

/// The keys of an item that are read here.
pub(crate) const ITEM_KEYS: &[&str] = &[
    "type",
    "url",
    "headers",
    "variables",
    "registryType",
    "identifier",
    "version",
    "transport",
    "environmentVariables",
    "runtimeHint",
    "runtimeArguments",
    "packageArguments",
];

/// What an item says, without its name and place.
struct Item {
    transport: Transport,
    endpoint: Endpoint,
    env: Vec<NamedField>,
}

impl Item {
    fn server(self, name: &str, item: &Node, pointer: &Pointer, source: &Source) -> DeclaredServer {
        DeclaredServer {
            name: name.to_owned(),
            name_span: item.span.at_start(),
            span: item.span,
            pointer: pointer.clone(),
            source: source.clone(),
            transport: self.transport,
            type_origin: TypeOrigin::Declared,
            disabled: false,
            endpoint: self.endpoint,
            env: self.env,
            env_file: None,
            timeout_ms: None,
            spellings: Vec::new(),
        }
    }
}

struct RegistryReader<'a, 'p> {
    inner: EntryReader<'a>,
    prompts: &'p mut Vec<Prompt>,
}

impl RegistryReader<'_, '_> {
    fn remote(&mut self, object: &Object, pointer: &Pointer) -> Option<Item> {
        let word = object.get("type").and_then(|it| it.value.as_str());
        let transport = word.and_then(|word| self.inner.dialect.transport(word));
        let url = self.inner.string("url", Place::Url)?;
        self.variables(object, pointer);
        let headers = self.named_inputs(object, "headers", pointer, Place::Headers);
        let transport = transport.unwrap_or_else(|| Transport::from_url(url.template.as_str()));
        let remote = Remote {
            url,
            headers,
            helper: None,
            oauth: OAuth::Automatic,
        };
        Some(Item {
            transport,
            endpoint: Endpoint::Remote(Box::new(remote)),
            env: Vec::new(),
        })
    }

    /// Starts a package by the runner of its registry, as the registry's own clients do.
    fn package(&mut self, object: &Object, pointer: &Pointer) -> Option<Item> {
        let text = |key: &str| object.get(key).and_then(|it| it.value.as_str());
        let identifier = object.get("identifier")?;
        let package = identifier.value.as_str()?;
        let version = text("version").filter(|version| !version.is_empty());
        let (runner, words) = runner(text("registryType")?, package, version)?;
        let env = self.named_inputs(object, "environmentVariables", pointer, Place::Env);
        self.inner.check_env_names(&env);
        let place = |text: &str| Field {
            template: Template::parse_as(text, &crate::template::VariableSyntax::NONE),
            span: identifier.value.span,
            pointer: pointer.child("identifier"),
        };
        let mut args = self.arguments(object, "runtimeArguments", pointer);
        if runner == "docker" {
            args.insert(0, place("run"));
            args.extend(["-i", "--rm"].map(place));
            for variable in &env {
                args.extend(["-e", &variable.name].map(place));
            }
        }
        args.extend(words.iter().map(|word| place(word)));
        args.extend(self.arguments(object, "packageArguments", pointer));
        let command = place(
            text("runtimeHint")
                .filter(|hint| !hint.is_empty())
                .unwrap_or(runner),
        );
        Some(Item {
            transport: Transport::Stdio,
            endpoint: Endpoint::Local(Local {
                command,
                args,
                cwd: None,
            }),
            env,
        })
    }

    /// Reads a list of `{name, value, …}`; one without a value is asked for under its own name.
    fn named_inputs(
        &mut self,
        object: &Object,
        key: &str,
        pointer: &Pointer,
        place: Place,
    ) -> Vec<NamedField> {
        let mut fields = Vec::new();
        for (item, pointer) in items(object, key, pointer) {
            let Some(name) = item.get("name") else {
                continue;
            };
            let Some(text) = name.value.as_str() else {
                continue;
            };
            self.variables(item, &pointer);
            let given = ["value", "default"]
                .iter()
                .find_map(|key| item.get(key))
                .filter(|member| member.value.as_str().is_some());
            let value = match given {
                Some(member) => self.value(member, &pointer, place),
                None => self.asked_for(item, name, &pointer, place),
            };
            fields.extend(value.map(|value| NamedField {
                name: text.to_owned(),
                name_span: name.value.span,
                value,
            }));
        }
        fields
    }

    fn value(&self, member: &Member, pointer: &Pointer, place: Place) -> Option<Field> {
        let text = member.value.as_str()?;
        let pointer = pointer.child(&member.key);
        Some(self.inner.field(text, member.value.span, pointer, place))
    }

    /// An input without a value; an optional one that is not set is left out.
    fn asked_for(
        &mut self,
        item: &Object,
        name: &Member,
        pointer: &Pointer,
        place: Place,
    ) -> Option<Field> {
        let text = name.value.as_str()?;
        let variable = match place {
            Place::Env => is_variable_name(text).then(|| text.to_owned())?,
            _ => environment_name(text)?,
        };
        let prompt = prompt(
            item,
            variable.clone(),
            text,
            (name.value.span, pointer.clone()),
        );
        let is_required = prompt.is_required;
        self.prompts.push(prompt);
        is_required.then(|| Field {
            template: Template::implied(&format!("${{{variable}}}")),
            span: name.value.span,
            pointer: pointer.child("name"),
        })
    }

    /// Reads what the `{name}` of a value stand for.
    fn variables(&mut self, item: &Object, pointer: &Pointer) {
        let Some(variables) = item.get("variables").and_then(|it| it.value.as_object()) else {
            return;
        };
        for member in &variables.members {
            let (Some(object), Some(variable)) =
                (member.value.as_object(), input_variable(&member.key))
            else {
                continue;
            };
            let pointer = pointer.child("variables").child(&member.key);
            let place = (member.key_span, pointer);
            self.prompts
                .push(prompt(object, variable, &member.key, place));
        }
    }

    fn arguments(&mut self, object: &Object, key: &str, pointer: &Pointer) -> Vec<Field> {
        let mut fields = Vec::new();
        for (item, pointer) in items(object, key, pointer) {
            self.variables(item, &pointer);
            let text = |key: &str| item.get(key).and_then(|it| it.value.as_str());
            let is_named = text("type") == Some("named");
            let given = ["value", "default"].iter().find_map(|key| item.get(key));
            let value = given.and_then(|member| self.value(member, &pointer, Place::Args));
            if let Some(name) = item.get("name").filter(|_| is_named) {
                let is_flag = value.is_some() || is_required(item);
                fields.extend(self.value(name, &pointer, Place::Args).filter(|_| is_flag));
            }
            fields.extend(value);
        }
        fields
    }
}

fn items<'a>(object: &'a Object, key: &str, pointer: &Pointer) -> Vec<(&'a Object, Pointer)> {
    let Some(Value::Array(items)) = object.get(key).map(|member| &member.value.value) else {
        return Vec::new();
    };
    let pointer = pointer.child(key);
    let numbered = items.iter().enumerate();
    numbered
        .filter_map(|(index, item)| Some((item.as_object()?, pointer.child(&index.to_string()))))
        .collect()
}

/// The program that starts a package of a registry, and how it names the package.
fn runner(
    registry: &str,
    package: &str,
    version: Option<&str>,
) -> Option<(&'static str, Vec<String>)> {
    let pinned =
        |mark: &str| version.map_or_else(|| package.to_owned(), |v| format!("{package}{mark}{v}"));
    Some(match registry {
        "npm" => ("npx", vec!["-y".to_owned(), pinned("@")]),
        "pypi" => ("uvx", vec![pinned("==")]),
        "nuget" => ("dnx", vec![pinned("@"), "--yes".to_owned()]),
        "oci" if package.contains(':') => ("docker", vec![package.to_owned()]),
        "oci" => ("docker", vec![pinned(":")]),
        _ => return None,
    })
}

fn is_required(item: &Object) -> bool {
    flag(item, "isRequired")
}

fn flag(item: &Object, key: &str) -> bool {
    let value = item.get(key).map(|member| &member.value.value);
    matches!(value, Some(Value::Bool(true)))
}

fn prompt(item: &Object, variable: String, key: &str, (span, pointer): (Span, Pointer)) -> Prompt {
    let text = |key: &str| {
        let text = item.get(key).and_then(|it| it.value.as_str());
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let choices = match item.get("choices").map(|member| &member.value.value) {
        Some(Value::Array(items)) => items.iter().filter_map(Node::as_str).collect(),
        _ => Vec::new(),
    };
    Prompt {
        variable,
        key: key.to_owned(),
        description: text("description"),
        is_secret: flag(item, "isSecret"),
        is_required: is_required(item),
        default: text("default"),
        choices: choices.into_iter().map(str::to_owned).collect(),
        answered_by: AnsweredBy::Person,
        span,
        pointer,
    }
}
