//! The pages of hosts: what the table of dialects says, in words.

use keyway_config::dialect::{
    Asks, DIALECTS, Dialect, FileScope, Holds, HostFieldRole, Layout, Place, Unset, Untyped,
};
use keyway_config::template::KnownValue;

/// Returns the page of each host, and the list of them, by their paths in the repository.
#[must_use]
pub fn pages() -> Vec<(String, String)> {
    let mut pages = vec![("docs/hosts/README.md".to_owned(), overview())];
    for dialect in DIALECTS {
        pages.push((format!("docs/hosts/{}.md", dialect.id), page(dialect)));
    }
    pages
}

fn overview() -> String {
    let mut text = "# Hosts\n\n\
        Whose files `keyway check` understands and `keyway run` uses. Each page is made from the table that \
        the program itself goes by; what a host does not document is marked so.\n\n\
        | host | files | servers under | syntax | variables |\n|---|---|---|---|---|\n"
        .to_owned();
    for dialect in DIALECTS {
        let files: Vec<String> = dialect.files.iter().map(|file| code(file.path)).collect();
        let files = match files.as_slice() {
            [] => "by its `$schema`".to_owned(),
            files => files.join(", "),
        };
        text.push_str(&format!(
            "| [{}]({}.md) | {files} | {} | {} | {} |\n",
            dialect.name,
            dialect.id,
            wrappers(dialect),
            dialect.syntax.name(),
            forms(dialect)
        ));
    }
    text
}

fn page(dialect: &Dialect) -> String {
    let mut text = format!("# {}\n", dialect.name);
    text.push_str("\n## Files\n\n");
    if dialect.files.is_empty() {
        text.push_str("No name of its own; the `$schema` says whose the file is.\n");
    } else {
        text.push_str("| file | whose | holds |\n|---|---|---|\n");
    }
    for file in dialect.files {
        let syntax = file.syntax.map(|it| format!(", {}", it.name()));
        text.push_str(&format!(
            "| {} | {} | {}{} |\n",
            code(file.path),
            scope(file.scope),
            holds(file.holds),
            syntax.unwrap_or_default()
        ));
    }
    text.push_str(&format!(
        "\nSyntax: {}. Servers: {}. Same name twice: {}.\n",
        dialect.syntax.name(),
        layout(dialect),
        dialect.same_name
    ));
    if !dialect.fields.is_empty() {
        text.push_str("\n## Fields of an entry\n\n| field | is |\n|---|---|\n");
        for field in dialect.fields {
            text.push_str(&format!("| {} | {} |\n", code(field.key), role(field.role)));
        }
    }
    if !dialect.oauth.is_empty() {
        let names: Vec<String> = dialect.oauth.iter().map(|(key, _)| code(key)).collect();
        text.push_str(&format!("\nMembers for OAuth: {}.\n", names.join(", ")));
    }
    text.push_str(&transports(dialect));
    text.push_str(&variables(dialect));
    if !dialect.plugins.is_empty() {
        text.push_str(&format!("\n## Plugins\n\n{}\n", dialect.plugins));
    }
    if !dialect.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        for note in dialect.notes {
            text.push_str(&format!("- {note}\n"));
        }
    }
    text.push_str("\n## Sources\n\n");
    for source in dialect.sources {
        text.push_str(&format!("- <{source}>\n"));
    }
    text
}

fn transports(dialect: &Dialect) -> String {
    let mut text = "\n## Transports\n\n".to_owned();
    if dialect.types.is_empty() {
        text.push_str("There is no word for it: `command` or the address decides.");
    } else {
        let words: Vec<String> = dialect
            .types
            .iter()
            .map(|(word, transport)| match transport.as_str() {
                same if same == *word => code(word),
                other => format!("{} ({other})", code(word)),
            })
            .collect();
        text.push_str(&format!("Words: {}.", words.join(", ")));
    }
    let untyped = match dialect.untyped {
        Untyped::Inferred => "is tried, or told from the address".to_owned(),
        Untyped::Always(transport) => format!("is {}", code(transport.as_str())),
        _ => "is refused".to_owned(),
    };
    text.push_str(&format!(" An address without a word {untyped}.\n"));
    text
}

fn variables(dialect: &Dialect) -> String {
    let mut text = "\n## Variables and secrets\n\n".to_owned();
    if dialect.variables.is_empty() {
        text.push_str("Nothing is replaced.");
    } else {
        text.push_str(&format!("Replaced: {}", forms(dialect)));
        for (name, value) in dialect.variables.known {
            let value = match value {
                KnownValue::Variable(name) => code(&format!("${{{name}}}")),
                KnownValue::Text(text) => code(text),
                _ => String::new(),
            };
            text.push_str(&format!(", `${{{name}}}` ({value} in Keyway)"));
        }
        let places: Vec<&str> = dialect.expands.iter().copied().map(place).collect();
        text.push_str(&format!("; in {}.", places.join(", ")));
    }
    let unset = match dialect.unset {
        Unset::Literal => "stays as it is written",
        Unset::Empty => "becomes nothing",
        Unset::HeaderDropped => "drops its header",
        _ => "is not documented",
    };
    if !dialect.variables.is_empty() || dialect.unset == Unset::HeaderDropped {
        text.push_str(&format!(
            " A variable that is not set {unset}; Keyway refuses the entry."
        ));
    }
    text.push_str(&format!(" {}\n", asks(dialect.asks)));
    text
}

const fn asks(asks: Asks) -> &'static str {
    match asks {
        Asks::Inputs => {
            "The host asks for the `inputs` of the file; Keyway asks once on a terminal and keeps the \
             value sealed, or takes it from `INPUT_ID` in the environment."
        }
        Asks::UserConfig => {
            "The host asks for the settings that the manifest declares; Keyway asks once on a terminal \
             and keeps the value sealed, or takes it from `USER_CONFIG_KEY` in the environment."
        }
        Asks::Settings => {
            "The host asks for the `settings` of the manifest, each of which names a variable."
        }
        Asks::Variables => {
            "The host asks for the `variables` of a plugin's manifest, each under its own name."
        }
        Asks::Names => {
            "Secrets are named in the entry and kept by the host; in Keyway each is a variable."
        }
        Asks::InPlace => "The host asks for each input where it is described.",
        _ => "The host asks for nothing.",
    }
}

fn wrappers(dialect: &Dialect) -> String {
    let keys: Vec<String> = dialect
        .wrappers
        .iter()
        .map(|keys| code(&keys.join(".")))
        .collect();
    if keys.is_empty() {
        "`remotes`, `packages`".to_owned()
    } else {
        keys.join(", ")
    }
}

fn layout(dialect: &Dialect) -> String {
    let under = wrappers(dialect);
    match dialect.layout {
        Layout::Map => format!("a map under {under}"),
        Layout::MapOrBare => format!("a map under {under}, or the file itself"),
        Layout::MapOrEntry => format!("a map under {under}, or the file is one entry"),
        Layout::List => format!("a list under {under}, each with its `name`"),
        Layout::Single => format!("one, under {under}"),
        _ => "each of `remotes` and `packages`".to_owned(),
    }
}

fn forms(dialect: &Dialect) -> String {
    let forms = dialect.variables.forms.iter();
    let forms: Vec<String> = forms.map(|form| code(form.shown())).collect();
    match (forms.is_empty(), dialect.variables.known.is_empty()) {
        (true, true) => "none".to_owned(),
        (true, false) => "names of the host".to_owned(),
        _ => forms.join(", "),
    }
}

fn role(role: HostFieldRole) -> String {
    match role {
        HostFieldRole::OAuthMember(name) => format!("{}: `{name}`", role.describe()),
        _ => role.describe().to_owned(),
    }
}

const fn scope(scope: FileScope) -> &'static str {
    match scope {
        FileScope::Project => "project",
        FileScope::User => "person",
        FileScope::Plugin => "plugin",
        _ => "machine",
    }
}

const fn holds(holds: Holds) -> &'static str {
    match holds {
        Holds::Entries => "servers",
        Holds::Settings => "settings, servers among them",
        Holds::Manifest => "a plugin's manifest",
        _ => "a list of plugins",
    }
}

const fn place(place: Place) -> &'static str {
    match place {
        Place::Command => "the program",
        Place::Args => "arguments",
        Place::Env => "variables of the process",
        Place::Cwd => "the working folder",
        Place::EnvFile => "the name of the env file",
        Place::Url => "the address",
        Place::Headers => "headers",
        _ => "settings of OAuth",
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
