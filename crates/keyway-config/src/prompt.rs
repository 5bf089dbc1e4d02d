//! What a host asks a person for: `inputs`, `userConfig`, an extension's `settings`.
//!
//! Each becomes a variable. Keyway asks for it once on a terminal and keeps it sealed, so that an
//! entry that works in its own host works here as well.

use crate::dialect::{Asks, Dialect};
use crate::json::{Member, Node, Object, Value};
use crate::source::{Pointer, Span};
use crate::template::{input_variable, is_variable_name, user_config_variable};

/// A value that a file says to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompt {
    /// The variable that entries get it by.
    pub variable: String,
    /// What the file calls it.
    pub key: String,
    /// What it is, in the author's words.
    pub description: Option<String>,
    /// Whether it is a credential.
    pub is_secret: bool,
    /// Whether the server needs it.
    pub is_required: bool,
    /// What counts if the person gives nothing.
    pub default: Option<String>,
    /// The values to choose from, any if empty.
    pub choices: Vec<String>,
    /// Who can answer.
    pub answered_by: AnsweredBy,
    /// Where it stands.
    pub span: Span,
    /// Its pointer.
    pub pointer: Pointer,
}

/// Who can answer a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnsweredBy {
    /// A person, on a terminal as well as in the host.
    Person,
    /// Only the host itself, such as by a command of an editor.
    Host,
}

/// Reads what a file asks for.
pub(crate) fn read(root: &Object, dialect: &Dialect) -> Vec<Prompt> {
    let top = Pointer::default();
    let prompts = match dialect.asks {
        Asks::Inputs => inputs(root, dialect),
        Asks::UserConfig => {
            let mut prompts = below(root, &top, "userConfig", setting);
            prompts.extend(below(root, &top, "user_config", setting));
            prompts
        }
        Asks::Settings => below(root, &top, "settings", named_variable),
        Asks::Variables => schema(root),
        Asks::Never | Asks::Names | Asks::InPlace => Vec::new(),
    };
    prompts.into_iter().take(MOST).collect()
}

/// Reads the inputs of an editor, which stand beside the servers: at the top of its own file,
/// further in where the file holds other settings as well.
fn inputs(root: &Object, dialect: &Dialect) -> Vec<Prompt> {
    let mut places = dialect.around_entries(root);
    // Inputs without servers are still asked for, where a file has nothing but these.
    if places.is_empty() {
        places.push(&[]);
    }
    let found = places.into_iter().flat_map(|keys| {
        let object = keys
            .iter()
            .try_fold(root, |object, key| object.get(key)?.value.as_object());
        let pointer = keys
            .iter()
            .fold(Pointer::default(), |at, key| at.child(key));
        object.map_or_else(Vec::new, |object| below(object, &pointer, "inputs", input))
    });
    let mut known = Vec::new();
    let mut found: Vec<Prompt> = found.collect();
    // The same input at two levels is one question.
    found.retain(|prompt| {
        let is_new = !known.contains(&prompt.variable);
        known.push(prompt.variable.clone());
        is_new
    });
    found
}

/// One object that describes a prompt, with its key if it stands in a map.
struct Described<'a> {
    key: Option<&'a str>,
    object: &'a Object,
    span: Span,
    pointer: Pointer,
}

impl Described<'_> {
    fn text(&self, key: &str) -> Option<String> {
        let text = self.object.get(key)?.value.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn flag(&self, key: &str) -> bool {
        let value = self.object.get(key).map(|member| &member.value.value);
        matches!(value, Some(Value::Bool(true)))
    }

    fn default(&self) -> Option<String> {
        match &self.object.get("default")?.value.value {
            Value::String(text) | Value::Number(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
        .filter(|text| !text.is_empty())
    }

    fn choices(&self, key: &str) -> Vec<String> {
        match self.object.get(key).map(|member| &member.value.value) {
            Some(Value::Array(items)) => {
                let texts = items.iter().filter_map(|item| match &item.value {
                    Value::Object(option) => option.get("value")?.value.as_str(),
                    _ => item.as_str(),
                });
                texts.map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Makes a prompt; the fields that hosts share are read here.
    fn prompt(&self, variable: String, key: &str) -> Prompt {
        Prompt {
            variable,
            key: key.to_owned(),
            description: self.text("description").or_else(|| self.text("title")),
            is_secret: false,
            is_required: true,
            default: self.default(),
            choices: Vec::new(),
            answered_by: AnsweredBy::Person,
            span: self.span,
            pointer: self.pointer.clone(),
        }
    }
}

fn below(
    object: &Object,
    at: &Pointer,
    key: &str,
    read: fn(&Described<'_>) -> Option<Prompt>,
) -> Vec<Prompt> {
    let Some(member) = object.get(key) else {
        return Vec::new();
    };
    let pointer = at.child(key);
    described(member, &pointer)
        .iter()
        .filter_map(read)
        .collect()
}

/// Returns the objects below a member, be it an array or a map.
fn described<'a>(member: &'a Member, pointer: &Pointer) -> Vec<Described<'a>> {
    let one = |key: Option<&'a str>, node: &'a Node, span, below: String| {
        Some(Described {
            key,
            object: node.as_object()?,
            span,
            pointer: pointer.child(&below),
        })
    };
    match &member.value.value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| one(None, item, item.span, index.to_string()))
            .collect(),
        Value::Object(map) => map
            .members
            .iter()
            .filter_map(|member| {
                let key = member.key.clone();
                one(Some(&member.key), &member.value, member.key_span, key)
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// An input of an editor.
fn input(described: &Described<'_>) -> Option<Prompt> {
    let id = described.text("id")?;
    let prompt = described.prompt(input_variable(&id)?, &id);
    Some(Prompt {
        is_secret: described.flag("password"),
        answered_by: match described.text("type").as_deref() {
            Some("command") => AnsweredBy::Host,
            _ => AnsweredBy::Person,
        },
        choices: described.choices("options"),
        ..prompt
    })
}

fn setting(described: &Described<'_>) -> Option<Prompt> {
    let key = described.key?;
    let prompt = described.prompt(user_config_variable(key)?, key);
    Some(Prompt {
        is_secret: described.flag("sensitive"),
        is_required: described.flag("required"),
        ..prompt
    })
}

fn named_variable(described: &Described<'_>) -> Option<Prompt> {
    let variable = described
        .text("envVar")
        .filter(|name| is_variable_name(name))?;
    let key = described.text("name").unwrap_or_else(|| variable.clone());
    let prompt = described.prompt(variable, &key);
    Some(Prompt {
        is_secret: described.flag("sensitive"),
        ..prompt
    })
}

/// The `properties` of a schema, each a variable.
fn schema(root: &Object) -> Vec<Prompt> {
    let Some(schema) = root.get("variables").and_then(|it| it.value.as_object()) else {
        return Vec::new();
    };
    let Some(properties) = schema.get("properties") else {
        return Vec::new();
    };
    let required = match schema.get("required").map(|member| &member.value.value) {
        Some(Value::Array(items)) => items.iter().filter_map(Node::as_str).collect(),
        _ => Vec::new(),
    };
    let pointer = Pointer::default().child("variables").child("properties");
    let found = described(properties, &pointer);
    let prompts = found.iter().filter_map(|described| {
        let name = described.key.filter(|name| is_variable_name(name))?;
        Some(Prompt {
            is_required: required.contains(&name),
            // A schema does not say what is confidential, so everything is taken to be.
            is_secret: true,
            choices: described.choices("enum"),
            ..described.prompt(name.to_owned(), name)
        })
    });
    prompts.collect()
}

/// How many values one file may ask for.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn prompts(text: &str, asks: Asks) -> Vec<Prompt> {
        let tree = json::read(text);
        let dialects = crate::dialect::DIALECTS.iter().copied();
        let dialect = dialects
            .chain(crate::dialect::of_plugin("mcp.json", |it| {
                it == ".cursor-plugin/plugin.json"
            }))
            .find(|it| it.asks == asks);
        read(tree.root.unwrap().as_object().unwrap(), dialect.unwrap())
    }

    #[test]
    fn inputs_stand_beside_the_servers_wherever_those_are() {
        let inputs = r#""inputs": [{"type": "promptString", "id": "k", "password": true}]"#;
        let servers = r#""servers": {"s": {"command": "x", "env": {"K": "${input:k}"}}}"#;
        for (text, pointer) in [
            (format!("{{{inputs}, {servers}}}"), "/inputs/0"),
            (
                format!(r#"{{"mcp": {{{inputs}, {servers}}}}}"#),
                "/mcp/inputs/0",
            ),
            (
                format!(
                    r#"{{"customizations": {{"vscode": {{"mcp": {{{inputs}, {servers}}}}}}}}}"#
                ),
                "/customizations/vscode/mcp/inputs/0",
            ),
            (
                format!(
                    r#"{{"customizations": {{"vscode": {{"settings": {{"mcp": {{{inputs}, {servers}}}}}}}}}}}"#
                ),
                "/customizations/vscode/settings/mcp/inputs/0",
            ),
            (format!("{{{inputs}}}"), "/inputs/0"),
        ] {
            let found = prompts(&text, Asks::Inputs);
            let found: Vec<_> = found
                .iter()
                .map(|it| (it.variable.as_str(), it.pointer.as_str()))
                .collect();
            assert_eq!(found, [("INPUT_K", pointer)], "{text}");
        }
        // Settings of an editor may have a key of that name for something else.
        let elsewhere = format!(r#"{{{inputs}, "mcp": {{{servers}}}}}"#);
        assert!(prompts(&elsewhere, Asks::Inputs).is_empty());
    }

    #[test]
    fn inputs_of_an_editor_are_asked_for_unless_a_command_answers() {
        let found = prompts(
            r#"{"inputs": [
                {"type": "promptString", "id": "api-key", "description": "Key", "password": true},
                {"type": "pickString", "id": "region", "options": ["eu", {"label": "US", "value": "us"}], "default": "eu"},
                {"type": "command", "id": "c", "command": "x"}]}"#,
            Asks::Inputs,
        );
        let names: Vec<_> = found.iter().map(|it| it.variable.as_str()).collect();
        assert_eq!(names, ["INPUT_API_KEY", "INPUT_REGION", "INPUT_C"]);
        let answers: Vec<_> = found.iter().map(|it| it.answered_by).collect();
        assert_eq!(
            answers,
            [AnsweredBy::Person, AnsweredBy::Person, AnsweredBy::Host]
        );
        assert!(found[0].is_secret && found[0].description.as_deref() == Some("Key"));
        assert_eq!(found[1].choices, ["eu", "us"]);
        assert_eq!(found[1].default.as_deref(), Some("eu"));
        assert_eq!(found[1].pointer.as_str(), "/inputs/1");
    }

    #[test]
    fn settings_of_plugins_are_asked_for_under_either_spelling() {
        for key in ["userConfig", "user_config"] {
            let text = format!(
                r#"{{"{key}": {{"api_token": {{"type": "string", "title": "Token", "sensitive": true, "required": true}},
                   "port": {{"type": "number", "default": 8080}}}}}}"#
            );
            let found = prompts(&text, Asks::UserConfig);
            assert_eq!(found[0].variable, "USER_CONFIG_API_TOKEN");
            assert!(found[0].is_secret && found[0].is_required);
            assert_eq!(found[1].default.as_deref(), Some("8080"));
            assert!(!found[1].is_required);
        }
    }

    #[test]
    fn settings_of_extensions_and_schemas_of_plugins_name_variables() {
        let found = prompts(
            r#"{"settings": [{"name": "API key", "envVar": "MY_KEY", "sensitive": true}, {"envVar": "not a name"}]}"#,
            Asks::Settings,
        );
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].variable.as_str(), found[0].key.as_str()),
            ("MY_KEY", "API key")
        );
        let found = prompts(
            r#"{"variables": {"properties": {"TENANT": {"type": "string"}, "KEY": {}}, "required": ["KEY"]}}"#,
            Asks::Variables,
        );
        let required: Vec<_> = found.iter().map(|it| it.is_required).collect();
        assert_eq!(required, [false, true]);
    }
}
