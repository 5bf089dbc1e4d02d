//! Credentials by name, in files whose host fills in nothing: the literal goes, and a field of the
//! entry names the variable instead.

mod json;

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value as Toml};

use crate::dialect::{Dialect, HostFieldRole as Role};

/// A literal that gives way to the name of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedCredential {
    /// The entry.
    pub server: String,
    /// What holds the literal.
    pub place: NamedPlace,
    /// The variable.
    pub variable: String,
}

/// What holds a literal that a host can take by name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamedPlace {
    /// A variable of the process; the name of the variable is its own.
    Env(String),
    /// A header that is `Bearer` and the literal.
    Bearer(String),
    /// A header that is the literal.
    Header(String),
}

impl NamedCredential {
    /// Names `variable` in the place of a literal.
    #[must_use]
    pub fn new(server: &str, place: NamedPlace, variable: &str) -> Self {
        Self {
            server: server.to_owned(),
            place,
            variable: variable.to_owned(),
        }
    }
}

impl NamedPlace {
    /// Returns the field by which `dialect` takes the name.
    #[must_use]
    pub fn field(&self, dialect: &Dialect) -> Option<&'static str> {
        match self {
            Self::Env(_) => dialect.key(Role::EnvNames),
            Self::Bearer(_) => dialect.key(Role::BearerFromEnv),
            Self::Header(_) => dialect.key(Role::HeadersFromEnv),
        }
    }

    /// Returns the field that holds the literal, and its key there.
    fn literal(&self, dialect: &Dialect) -> Option<(&'static str, &str)> {
        match self {
            Self::Env(name) => Some((dialect.key(Role::Env)?, name)),
            Self::Bearer(name) | Self::Header(name) => Some((dialect.key(Role::Headers)?, name)),
        }
    }
}

/// Puts names into the place of literals in the TOML or JSON of `dialect`; everything else stays.
///
/// `None` if the file is not what it was taken for.
#[must_use]
pub fn with_names(
    text: &str,
    dialect: &Dialect,
    credentials: &[NamedCredential],
) -> Option<String> {
    if dialect.syntax.is_json() {
        let mut credentials = credentials.iter();
        return credentials.try_fold(text.to_owned(), |text, credential| {
            json::with_name(&text, dialect, credential)
        });
    }
    let mut document: DocumentMut = text.parse().ok()?;
    for credential in credentials {
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for key in dialect.written_under() {
            table = table.get_mut(key)?.as_table_like_mut()?;
        }
        let entry = table.get_mut(&credential.server)?.as_table_like_mut()?;
        replace(entry, dialect, credential)?;
    }
    Some(document.to_string())
}

fn replace(
    entry: &mut dyn TableLike,
    dialect: &Dialect,
    NamedCredential {
        place, variable, ..
    }: &NamedCredential,
) -> Option<()> {
    let (from, name) = place.literal(dialect)?;
    let values = entry.get_mut(from)?.as_table_like_mut()?;
    values.remove(name)?;
    if values.is_empty() {
        entry.remove(from);
    }
    let key = place.field(dialect)?;
    match place {
        NamedPlace::Env(_) => {
            let names = entry
                .entry(key)
                .or_insert(Item::Value(Toml::Array(Array::new())));
            let names = names.as_array_mut()?;
            if !names.iter().any(|known| known.as_str() == Some(variable)) {
                names.push(variable.as_str());
            }
        }
        NamedPlace::Bearer(_) => {
            entry.insert(key, Item::Value(variable.as_str().into()));
        }
        NamedPlace::Header(name) => {
            let headers = entry.entry(key).or_insert(Item::Table(Table::new()));
            let headers = headers.as_table_like_mut()?;
            headers.insert(name, Item::Value(variable.as_str().into()));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_a_plugins_json_give_way_to_names() {
        let plugin = |file: &str| {
            let is_there = |manifest: &str| manifest == ".codex-plugin/plugin.json";
            crate::dialect::of_plugin(file, is_there).unwrap()
        };
        let codex = plugin(".mcp.json");
        let text = r#"{"a": {"command": "x", "env": {"MODE": "m", "TOKEN": "t"}, "env_vars": ["OLD"]}, "b": {"url": "u", "http_headers": {"Authorization": "Bearer t"}}}"#;
        let credentials = [
            NamedCredential::new("a", NamedPlace::Env("TOKEN".to_owned()), "TOKEN"),
            NamedCredential::new("b", NamedPlace::Bearer("Authorization".to_owned()), "B"),
        ];
        let after = with_names(text, codex, &credentials).unwrap();
        let wrapped = with_names(&format!("{{\"mcpServers\": {text}}}"), codex, &credentials);
        let expected = r#"{"a": {"command": "x", "env": {"MODE": "m"}, "env_vars": ["OLD", "TOKEN"]}, "b": {"url": "u","bearer_token_env_var": "B"}}"#;
        let plain = |text: &str| text.replace(['\n', ' '], "");
        assert_eq!(plain(&after), plain(expected), "{after}");
        let expected = format!("{{\"mcpServers\": {expected}}}");
        assert_eq!(plain(&wrapped.unwrap()), plain(&expected));
    }

    #[test]
    fn literals_give_way_to_names_and_all_else_stays() {
        let text = "# mine\nmodel = \"m\"\n\n[mcp_servers.a]\ncommand = \"x\" # why\nenv = { TOKEN = \"t\", MODE = \"m\" }\n\n[mcp_servers.b]\nurl = \"https://h.example/mcp\"\n\n[mcp_servers.b.http_headers]\nAuthorization = \"Bearer t\"\nX-API-Key = \"k\"\n";
        let codex = Dialect::by_id("codex").unwrap();
        let place = |place: NamedPlace, server: &str, variable: &str| {
            NamedCredential::new(server, place, variable)
        };
        let after = with_names(
            text,
            codex,
            &[
                place(NamedPlace::Env("TOKEN".into()), "a", "TOKEN"),
                place(NamedPlace::Bearer("Authorization".into()), "b", "B_TOKEN"),
                place(NamedPlace::Header("X-API-Key".into()), "b", "B_KEY"),
            ],
        )
        .unwrap();
        assert_eq!(
            after,
            "# mine\nmodel = \"m\"\n\n[mcp_servers.a]\ncommand = \"x\" # why\nenv = { MODE = \"m\" }\nenv_vars = [\"TOKEN\"]\n\n[mcp_servers.b]\nurl = \"https://h.example/mcp\"\nbearer_token_env_var = \"B_TOKEN\"\n\n[mcp_servers.b.env_http_headers]\nX-API-Key = \"B_KEY\"\n"
        );
        assert!(
            with_names(
                text,
                codex,
                &[place(NamedPlace::Env("NO".into()), "a", "NO")]
            )
            .is_none()
        );
    }
}
