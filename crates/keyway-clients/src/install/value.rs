//! An entry as text, in any of the syntaxes of clients' files.

use keyway_config::json::quote;

/// A value that can be laid out anywhere.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    /// As it stands in the file, or a word that is the same in every syntax.
    Raw(String),
    Members(Vec<(String, Self)>),
}

/// How new text in JSON is laid out.
pub(super) struct Layout<'a> {
    pub(super) newline: &'static str,
    pub(super) unit: &'a str,
    /// The indentation that everything is below.
    pub(super) base: &'a str,
    pub(super) is_flat: bool,
}

impl Layout<'_> {
    pub(super) fn line(&self, depth: usize) -> String {
        format!("{}{}{}", self.newline, self.base, self.unit.repeat(depth))
    }
}

impl Value {
    /// Returns an object with one member.
    pub(super) fn wrapped(key: &str, value: Self) -> Self {
        Self::Members(vec![(key.to_owned(), value)])
    }

    /// Renders JSON.
    pub(super) fn render(&self, layout: &Layout<'_>, depth: usize) -> String {
        let members: Vec<String> = match self {
            Self::Members(members) => members
                .iter()
                .map(|(key, value)| member(key, &value.render(layout, depth + 1)))
                .collect(),
            _ => return self.inline(),
        };
        if layout.is_flat {
            return format!("{{{}}}", members.join(", "));
        }
        let (inner, outer) = (layout.line(depth + 1), layout.line(depth));
        let separator = format!(",{inner}");
        format!("{{{inner}{}{outer}}}", members.join(&separator))
    }

    /// Renders lines of TOML below the header of a table.
    pub(super) fn toml_lines(&self) -> Vec<String> {
        let Self::Members(members) = self else {
            return Vec::new();
        };
        let line =
            |(key, value): &(String, Self)| format!("{key} = {}", toml_text(&value.inline()));
        members.iter().map(line).collect()
    }

    /// Renders lines of YAML, without indentation. Quoted strings and flow lists of YAML are JSON's.
    pub(super) fn yaml_lines(&self) -> Vec<String> {
        let Self::Members(members) = self else {
            return Vec::new();
        };
        let line = |(key, value): &(String, Self)| format!("{key}: {}", value.inline());
        members.iter().map(line).collect()
    }

    fn inline(&self) -> String {
        match self {
            Self::Text(text) => quote(text),
            Self::Raw(text) => text.clone(),
            Self::Texts(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
                format!("[{}]", texts.join(", "))
            }
            Self::Members(_) => "{}".to_owned(),
        }
    }
}

pub(super) fn member(key: &str, value: &str) -> String {
    format!("{}: {value}", quote(key))
}

/// The escapes of a basic string are those of JSON but for one character.
pub(super) fn toml_text(json: &str) -> String {
    json.replace('\u{7f}', "\\u007f")
}
