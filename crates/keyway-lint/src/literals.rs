//! Every literal credential of a document, wherever it stands.
//!
//! One walk over the tree, whatever the file is wrapped in and whether or not its entries can be
//! loaded: the keys on the way down say what a string is, [`secrets`] says whether it is one.
//! What comes back says where a credential is, never what it is.

mod comments;

use std::fmt;

use keyway_config::document::Document;
use keyway_config::json::{self, Member, Node, Object, Value};
use keyway_config::source::{Pointer, Span};
use keyway_config::template::Template;
use keyway_secret::{hint_of, printable};

use crate::secrets::{self, Finding, Position, is_credential_name};

/// A literal credential in a document.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Literal {
    /// The entry it belongs to.
    pub server: Option<String>,
    /// What holds it.
    pub place: LiteralPlace,
    /// The pointer of the string in which it stands.
    pub pointer: Pointer,
    /// Where that string stands, quotes included.
    pub string_span: Span,
    /// Where the credential itself stands.
    pub span: Span,
    /// Its first characters, as many as may be shown.
    pub hint: String,
    /// The variable whose default it is.
    pub default_of: Option<String>,
    /// What is known about it; its range is inside the decoded string.
    pub finding: Finding,
}

/// What holds a credential, in the words of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiteralPlace {
    /// A header.
    Header(String),
    /// A variable for a process.
    Variable(String),
    /// An argument, with the flag in front of it where that is one for credentials.
    Argument(Option<String>),
    /// A comment.
    Comment,
    /// Any other field.
    Field(String),
}

impl fmt::Display for LiteralPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header `{}`", printable(name)),
            Self::Variable(name) => write!(f, "variable `{}`", printable(name)),
            Self::Argument(Some(flag)) => write!(f, "the argument of `{}`", printable(flag)),
            Self::Argument(None) => f.write_str("an argument"),
            Self::Comment => f.write_str("a comment"),
            Self::Field(name) => write!(f, "field `{}`", printable(name)),
        }
    }
}

/// Returns the literal credentials of a file in its order, whatever it is wrapped in.
///
/// Every call searches the file again.
#[must_use]
pub fn in_document(document: &Document) -> Vec<Literal> {
    let mut walk = Walk {
        text: document.source.text(),
        server: None,
        program: None,
        found: Vec::new(),
    };
    if let Some(root) = &document.tree.root {
        walk.value(root, "", StringRole::Field, &Pointer::default());
    }
    let mut found = walk.found;
    found.extend(comments::in_comments(document));
    found
}

/// What the strings below a key are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringRole {
    Field,
    Header,
    Variable,
    Arguments,
    Command,
    Address,
    OAuth,
}

struct Walk<'a> {
    text: &'a str,
    server: Option<&'a str>,
    /// The program of the entry, if it takes a password behind a flag without a blank.
    program: Option<&'a str>,
    found: Vec<Literal>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, node: &'a Node, key: &'a str, kind: StringRole, pointer: &Pointer) {
        match &node.value {
            Value::String(text) => {
                self.string(node, text, position(key, kind), pointer);
            }
            // Hosts read a bare number as the string it looks like.
            Value::Number(text) if matches!(kind, StringRole::Header | StringRole::Variable) => {
                self.string(node, text, position(key, kind), pointer);
            }
            Value::Array(items) => self.array(items, key, kind, pointer),
            Value::Object(object) => self.object(object, key, kind, pointer),
            _ => {}
        }
    }

    fn object(&mut self, object: &'a Object, key: &'a str, kind: StringRole, pointer: &Pointer) {
        let is_entry = is_entry(object);
        let outside = (self.server, self.program);
        if is_entry && self.server.is_none() && !key.is_empty() {
            self.server = Some(key);
        }
        if is_entry {
            let program = ["command", "cmd"].iter().find_map(|key| object.get(key));
            let program = program.and_then(|member| member.value.as_str());
            self.program = program.filter(|program| secrets::takes_attached_password(program));
        }
        // An entry may be called `env` or `headers`.
        let kind = if is_entry { StringRole::Field } else { kind };
        for member in &object.members {
            let name = name_of(object, member);
            let kind = kind_of(member, kind);
            self.value(&member.value, name, kind, &pointer.child(&member.key));
        }
        (self.server, self.program) = outside;
    }

    fn array(&mut self, items: &'a [Node], key: &'a str, kind: StringRole, pointer: &Pointer) {
        let is_list = matches!(
            kind,
            StringRole::Arguments | StringRole::Command | StringRole::Variable | StringRole::Header
        );
        // Which program it is decides what `-pX` means.
        let program = self.program.filter(|_| kind == StringRole::Arguments);
        let words = items.iter().map(|item| item.as_str().unwrap_or_default());
        let args: Vec<&str> = program.into_iter().chain(words).collect();
        for (index, item) in items.iter().enumerate() {
            let pointer = pointer.child(&index.to_string());
            let index = index + usize::from(program.is_some());
            match item.as_str() {
                Some(text) if is_list => {
                    let position = Position::Argument { args: &args, index };
                    let place = LiteralPlace::Argument(flag_before(&args, index));
                    self.string(item, text, (position, place), &pointer);
                }
                _ => self.value(item, key, kind, &pointer),
            }
        }
    }

    fn string(
        &mut self,
        node: &Node,
        text: &str,
        (position, place): (Position<'_>, LiteralPlace),
        pointer: &Pointer,
    ) {
        let findings = secrets::find(text, position);
        if findings.is_empty() {
            return;
        }
        let template = Template::parse(text);
        let inside = json::Inside::new(self.text, node.span);
        for finding in findings.into_iter().take(MOST_PER_STRING) {
            let literal = text.get(finding.range.clone()).unwrap_or_default();
            let span = match node.value {
                Value::String(_) => inside.span_of(&finding.range),
                _ => node.span,
            };
            self.found.push(Literal {
                server: self.server.map(str::to_owned),
                place: place.clone(),
                pointer: pointer.clone(),
                string_span: node.span,
                span,
                hint: hint_of(literal),
                default_of: default_of(&template, &finding),
                finding,
            });
        }
    }
}

fn position(key: &str, kind: StringRole) -> (Position<'_>, LiteralPlace) {
    let name = key.to_owned();
    match kind {
        StringRole::Header => (Position::Header { name: key }, LiteralPlace::Header(name)),
        StringRole::Variable => (Position::Env { name: key }, LiteralPlace::Variable(name)),
        StringRole::Address => (Position::Url, LiteralPlace::Field(name)),
        StringRole::Command | StringRole::Arguments => {
            (Position::Command, LiteralPlace::Field(name))
        }
        StringRole::OAuth => (
            Position::OAuthField { name: key },
            LiteralPlace::Field(name),
        ),
        StringRole::Field => (Position::Env { name: key }, LiteralPlace::Field(name)),
    }
}

/// What the value of a member is, by its key; `around` is what the object itself is.
fn kind_of(member: &Member, around: StringRole) -> StringRole {
    let is_text = matches!(member.value.value, Value::String(_) | Value::Number(_));
    if is_text && matches!(around, StringRole::Header | StringRole::Variable) {
        return around;
    }
    let key: String = member
        .key
        .chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect();
    match key.as_str() {
        "headers" | "httpheaders" => StringRole::Header,
        "env" | "environment" | "envs" => StringRole::Variable,
        "args" | "arguments" => StringRole::Arguments,
        "command" | "cmd" => StringRole::Command,
        "url" | "uri" | "serverurl" | "httpurl" => StringRole::Address,
        "oauth" | "auth" => StringRole::OAuth,
        _ if around == StringRole::OAuth => StringRole::OAuth,
        _ => StringRole::Field,
    }
}

/// The name that a string goes by: its key, or what stands beside it in `{"name": …, "value": …}`.
fn name_of<'a>(object: &'a Object, member: &'a Member) -> &'a str {
    if !matches!(member.key.as_str(), "value" | "default") {
        return &member.key;
    }
    let beside = ["name", "key", "id"].iter().find_map(|key| object.get(key));
    beside
        .and_then(|member| member.value.as_str())
        .unwrap_or(&member.key)
}

fn is_entry(object: &Object) -> bool {
    let is_text = |key: &str| {
        object
            .get(key)
            .is_some_and(|member| member.value.as_str().is_some())
    };
    let is_list = |key: &str| {
        object
            .get(key)
            .is_some_and(|member| matches!(member.value.value, Value::Array(_)))
    };
    [
        "command",
        "cmd",
        "url",
        "uri",
        "serverUrl",
        "httpUrl",
        "tcp",
    ]
    .into_iter()
    .any(is_text)
        || is_list("command")
}

/// The flag in front of an argument, if it is one for credentials and nothing else.
fn flag_before(args: &[&str], index: usize) -> Option<String> {
    let flag = index.checked_sub(1).and_then(|before| args.get(before))?;
    let name = flag.strip_prefix("--")?;
    let is_plain = |byte: u8| byte.is_ascii_alphabetic() || byte == b'-' || byte == b'_';
    let is_name = name.len() <= LONGEST_FLAG && name.bytes().all(is_plain);
    (is_name && is_credential_name(name)).then(|| (*flag).to_owned())
}

/// The variable whose default the finding is.
fn default_of(template: &Template, finding: &Finding) -> Option<String> {
    let mut variables = template.variables();
    let around = variables.find(|variable| {
        variable.default_range.start <= finding.range.start
            && finding.range.end <= variable.default_range.end
    });
    around.map(|variable| variable.name.clone())
}

const LONGEST_FLAG: usize = 40;

/// How many credentials of one string are returned; a string with more is a dump.
const MOST_PER_STRING: usize = 32;

#[cfg(test)]
mod tests {
    use keyway_config::document::DocumentKind;
    use keyway_config::source::Source;

    use super::*;

    const TOKEN: &str = "not-a-real-token-4711";

    fn found(text: &str) -> Vec<Literal> {
        let text = text.replace("TOKEN4711", TOKEN);
        let source = Source::new("f.json", text.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let found = in_document(&document);
        for literal in &found {
            assert_eq!(document.source.slice(literal.span), TOKEN);
        }
        found
    }

    #[test]
    fn a_password_attached_to_its_flag_is_found_by_the_program_of_the_entry() {
        for program in ["mysql", "/usr/bin/mysqldump", "sshpass"] {
            let text =
                format!(r#"{{"s": {{"command": "{program}", "args": ["-pTOKEN4711", "db"]}}}}"#);
            let found = found(&text);
            assert_eq!(found.len(), 1, "{program}");
            assert_eq!(found[0].pointer.as_str(), "/s/args/0");
        }
        // Another program has another meaning for the flag, and an entry does not know its neighbour.
        for text in [
            r#"{"s": {"command": "mysql-mcp", "args": ["-pretty"]}}"#,
            r#"{"s": {"command": "mysql", "args": ["-p3306"]}, "t": {"command": "x", "args": ["-prod7"]}}"#,
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn credentials_are_found_under_every_wrapper() {
        for (before, after) in [
            (r#"{"mcpServers": {"#, "}}"),
            ("{", "}"),
            (r#"{"servers": {"#, "}}"),
            (r#"{"mcp": {"servers": {"#, "}}}"),
            (r#"{"mcp_servers": {"#, "}}"),
            (r#"{"projects": {"/home/u": {"mcpServers": {"#, "}}}}"),
        ] {
            let entry = r#""s": {"command": "x", "env": {"API_TOKEN": "TOKEN4711"}}"#;
            let found = found(&format!("{before}{entry}{after}"));
            assert_eq!(found.len(), 1, "{before}");
            assert_eq!(found[0].server.as_deref(), Some("s"), "{before}");
            assert_eq!(
                found[0].place,
                LiteralPlace::Variable("API_TOKEN".to_owned())
            );
        }
    }

    #[test]
    fn the_keys_on_the_way_say_what_a_string_is() {
        for (fields, place) in [
            (
                r#""url": "https://h.example", "headers": {"Authorization": "Bearer TOKEN4711"}"#,
                "header `Authorization`",
            ),
            (
                r#""url": "https://h.example", "http_headers": {"X-API-Key": "TOKEN4711"}"#,
                "header `X-API-Key`",
            ),
            (
                r#""url": "https://h.example", "requestInit": {"headers": {"X-API-Key": "TOKEN4711"}}"#,
                "header `X-API-Key`",
            ),
            (
                r#""command": "x", "environment": {"API_KEY": "TOKEN4711"}"#,
                "variable `API_KEY`",
            ),
            (
                r#""command": "x", "args": ["--api-key", "TOKEN4711"]"#,
                "the argument of `--api-key`",
            ),
            (
                r#""command": "x", "args": ["--api-key=TOKEN4711"]"#,
                "an argument",
            ),
            (
                r#""command": ["x", "--api-key", "TOKEN4711"]"#,
                "the argument of `--api-key`",
            ),
            (
                r#""url": "https://h.example?api_key=TOKEN4711""#,
                "field `url`",
            ),
            (
                r#""serverUrl": "https://h.example?api_key=TOKEN4711""#,
                "field `serverUrl`",
            ),
            (
                r#""url": "https://h.example", "oauth": {"clientSecret": "TOKEN4711"}"#,
                "field `clientSecret`",
            ),
            (
                r#""url": "https://h.example", "bearer_token": "TOKEN4711""#,
                "field `bearer_token`",
            ),
        ] {
            let found = found(&format!(r#"{{"s": {{{fields}}}}}"#));
            assert_eq!(found.len(), 1, "{fields}");
            assert_eq!(found[0].place.to_string(), place, "{fields}");
        }
    }

    #[test]
    fn inputs_and_pairs_go_by_the_name_beside_them() {
        for text in [
            r#"{"inputs": [{"id": "api-key", "type": "promptString", "default": "TOKEN4711"}], "servers": {}}"#,
            r#"{"s": {"command": "x", "env": [{"name": "API_KEY", "value": "TOKEN4711"}]}}"#,
            r#"{"s": {"command": "x", "env": ["API_KEY=TOKEN4711"]}}"#,
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_password_may_be_written_as_a_number() {
        let text = r#"{"s": {"command": "x", "env": {"DB_PASSWORD": 8214796035, "PORT": 5432}}}"#;
        let source = Source::new("f.json", text.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let found = in_document(&document);
        assert_eq!(found.len(), 1);
        assert_eq!(document.source.slice(found[0].span), "8214796035");
    }

    #[test]
    fn a_server_may_have_the_name_of_a_field() {
        for name in ["env", "headers", "auth", "args"] {
            let text =
                format!(r#"{{"{name}": {{"command": "x", "args": ["--token", "TOKEN4711"]}}}}"#);
            let found = found(&text);
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].server.as_deref(), Some(name));
        }
    }

    #[test]
    fn nothing_that_comes_back_holds_the_credential() {
        let found = found(r#"{"s": {"command": "x", "env": {"A_TOKEN": "TOKEN4711"}}}"#);
        assert_eq!(found[0].hint, "not-…");
        assert!(!format!("{found:?}").contains("4711"));
    }
}
