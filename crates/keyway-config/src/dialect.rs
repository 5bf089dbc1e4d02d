//! The hosts whose files are understood: one file each, and the table of them.
//!
//! A dialect is data: where a host's files are, in which syntax, under which key the entries stand,
//! what the fields are called, how variables are written and where they are replaced, and how the
//! host asks for secrets. Reading, rules, migrations and documentation all go by it, so that nothing
//! else in the program knows a host by name. Each file says where its facts are from.

mod agent_plugins;
mod amazon_q;
mod claude_code;
mod claude_desktop;
mod cline;
mod codex;
mod continue_dev;
mod copilot_cli;
mod cursor;
mod detect;
mod fields;
mod gemini_cli;
mod goose;
mod kiro;
mod lm_studio;
mod mcpb;
mod opencode;
mod registry;
mod roo;
mod vs_code;
mod windsurf;
mod zed;

use crate::json::Object;
use crate::template::{KnownValue, VariableForm, VariableSyntax};
use crate::transport::Transport;

pub use self::detect::{
    Detected, detect, folders_above, has_marks, host_file, is_bundle, is_copy, is_in_bundle,
};
pub use self::fields::{HostField, HostFieldRole};

/// Every dialect, in the order of the alphabet.
pub static DIALECTS: &[&Dialect] = &[
    &agent_plugins::DIALECT,
    &amazon_q::DIALECT,
    &claude_code::DIALECT,
    &claude_desktop::DIALECT,
    &cline::DIALECT,
    &codex::DIALECT,
    &continue_dev::DIALECT,
    &copilot_cli::DIALECT,
    &cursor::DIALECT,
    &gemini_cli::DIALECT,
    &goose::DIALECT,
    &kiro::DIALECT,
    &lm_studio::DIALECT,
    &mcpb::DIALECT,
    &opencode::DIALECT,
    &registry::DIALECT,
    &roo::DIALECT,
    &vs_code::DIALECT,
    &windsurf::DIALECT,
    &zed::DIALECT,
];

/// The files of plugins that are written for one host alone, by the manifest beside them.
static PLUGIN_FILES: &[(&str, &[&str], &Dialect)] = &[
    (
        ".codex-plugin/plugin.json",
        &[".mcp.json", ".codex-plugin/plugin.json"],
        &codex::PLUGIN,
    ),
    (
        ".cursor-plugin/plugin.json",
        &["mcp.json", ".cursor-plugin/plugin.json"],
        &cursor::PLUGIN,
    ),
];

/// The files that a host reads in another way than its usual one.
static FILE_DIALECTS: &[(&str, &Dialect)] = &[(".continue/mcpServers/*.json", &continue_dev::JSON)];

/// Finds the dialect of a plugin's file, by its path below the plugin and by the manifests that
/// `has` finds there; `None` if several hosts read it, or its name says whose it is.
#[must_use]
pub fn of_plugin(file: &str, has: impl Fn(&str) -> bool) -> Option<&'static Dialect> {
    const SHARED: &[&str] = &[
        ".claude-plugin/plugin.json",
        "plugin.json",
        ".plugin/plugin.json",
    ];
    let hosts = PLUGIN_FILES.iter().filter(|(manifest, _, _)| has(manifest));
    let mut hosts: Vec<_> = hosts.take(2).collect();
    let (_, files, dialect) = hosts.pop()?;
    let is_alone = hosts.is_empty() && !SHARED.iter().any(|manifest| has(manifest));
    (is_alone && files.contains(&file)).then_some(*dialect)
}

/// Says whether a dialect is one that only a plugin's files are in.
#[must_use]
pub fn is_of_plugin(dialect: &Dialect) -> bool {
    PLUGIN_FILES
        .iter()
        .any(|(_, _, known)| std::ptr::eq(*known, dialect))
}

/// The dialect of a file that names no host: the contract's own, which is Claude Code's.
pub static CONTRACT: &Dialect = &claude_code::DIALECT;

/// What the contract adds to the files of Claude Code, which neither reads nor replaces it.
pub static CONTRACT_ADDITIONS: &ContractAdditions = &claude_code::ADDITIONS;

/// What is read in a file although its own host does not.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContractAdditions {
    /// The forms of references that the host passes on as they are written.
    pub forms: &'static [VariableForm],
    /// The fields in which it replaces nothing.
    pub places: &'static [Place],
    /// The fields that it does not read, each with what to do for the host.
    pub fields: &'static [(&'static str, &'static str)],
}

/// What is known of a host's files.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// The name on the command line and of the page.
    pub id: &'static str,
    /// The name that people know.
    pub name: &'static str,
    /// Its files.
    pub files: &'static [HostFile],
    /// What its readers accept.
    pub syntax: Syntax,
    /// The keys that lead to the entries, from the outside in; `*` is any key.
    pub wrappers: &'static [&'static [&'static str]],
    /// What stands there.
    pub layout: Layout,
    /// The types of entries that are part of the host itself, which we skip.
    pub built_in: &'static [&'static str],
    /// Members of a file that the host wants beside the entries.
    pub head: &'static [(&'static str, &'static str)],
    /// Members of an entry that the host wants whatever the server is.
    pub constants: &'static [(&'static str, Constant)],
    /// Whether an entry without program and address is part of the host as well.
    pub may_lack_endpoint: bool,
    /// Members without which the host refuses an entry, besides program and address.
    pub required: &'static [(&'static str, EntryKind)],
    /// Whether the host refuses an entry that has a field it does not know.
    pub is_closed: bool,
    /// The fields of an entry.
    pub fields: &'static [HostField],
    /// The members of an entry's object for OAuth, with the contract's name for each.
    pub oauth: &'static [(&'static str, &'static str)],
    /// The words for a transport.
    pub types: &'static [(&'static str, Transport)],
    /// What an address without such a word is.
    pub untyped: Untyped,
    /// How references to variables are written.
    pub variables: VariableSyntax,
    /// The fields in which they are replaced.
    pub expands: &'static [Place],
    /// What becomes of a variable that is not set.
    pub unset: Unset,
    /// How a person is asked for a value.
    pub asks: Asks,
    /// Which of two entries of one name counts, in words.
    pub same_name: &'static str,
    /// What its plugins and marketplaces look like, in words.
    pub plugins: &'static str,
    /// What else a person should know.
    pub notes: &'static [&'static str],
    /// Where the facts are from.
    pub sources: &'static [&'static str],
}

/// A file of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostFile {
    /// The end of its path; `*` stands for part of a name.
    pub path: &'static str,
    /// Whose it is.
    pub scope: FileScope,
    /// What it holds.
    pub holds: Holds,
    /// The syntax, where it is not the dialect's.
    pub syntax: Option<Syntax>,
    /// Members without which the host refuses the file: paths with dots, in which `*` is every
    /// member of an object and `|` stands between two names of one member. Members of something
    /// that is not there are not missed.
    pub required: &'static [&'static str],
}

impl HostFile {
    /// Says whether only this host has files of that name: a file that several hosts read, each
    /// in its own way, is not judged by one of them.
    #[must_use]
    pub fn names_its_host(&self) -> bool {
        const SHARED: &[&str] = &[
            "mcp.json",
            "mcp_config.json",
            "manifest.json",
            "server.json",
            "plugin.json",
            ".codex-plugin/plugin.json",
            ".agents/plugins/marketplace.json",
        ];
        !SHARED.contains(&self.path)
    }
}

/// To which scope a file belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileScope {
    /// Shared by all who work on the project.
    Project,
    /// One person's.
    User,
    /// A plugin's or extension's.
    Plugin,
    /// The machine's, set by an administrator.
    System,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holds {
    /// Entries.
    Entries,
    /// Settings of the host, maybe with entries among them; a file without entries is ignored.
    Settings,
    /// A plugin's manifest.
    Manifest,
    /// A list of plugins.
    Marketplace,
}

/// What a reader of the host accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Syntax {
    /// JSON and nothing else.
    Json,
    /// JSON with comments.
    JsonWithComments,
    /// JSON with comments and commas before closing brackets.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// What stands under the wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// A map from names to entries.
    Map,
    /// The same, and the file itself may be the map.
    MapOrBare,
    /// The same, and the file itself may be one entry, which is named like the file.
    MapOrEntry,
    /// A list of entries with a `name`.
    List,
    /// One entry, named by the file's `name`.
    Single,
    /// The registry's lists of addresses and packages.
    Registry,
}

/// What the transport of an address is that comes without a word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untyped {
    /// The host tries, or tells it from the address.
    Inferred,
    /// Always this one.
    Always(Transport),
    /// The host refuses the entry.
    Refused,
}

/// A field in which variables may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The program.
    Command,
    /// Its arguments.
    Args,
    /// Its variables.
    Env,
    /// Its folder.
    Cwd,
    /// The file with more variables.
    EnvFile,
    /// The address.
    Url,
    /// The headers.
    Headers,
    /// What configures OAuth.
    OAuth,
}

/// What becomes of a variable that is not set and has no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unset {
    /// The reference is passed on as it is written.
    Literal,
    /// Nothing takes its place.
    Empty,
    /// The header that holds it is left out.
    HeaderDropped,
    /// It is not documented.
    Unknown,
}

/// For which entries something counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// All of them.
    Any,
    /// Those that start a program.
    Local,
    /// Those that have an address.
    Remote,
}

impl EntryKind {
    /// Says whether an entry over a transport is one of these.
    #[must_use]
    pub const fn has(self, is_local: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Local => is_local,
            Self::Remote => !is_local,
        }
    }
}

/// What a member holds that the host wants in each of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Constant {
    /// `true`.
    True,
    /// The name of the entry.
    Name,
    /// An array with `*`: every tool.
    EveryTool,
}

/// How a host asks a person for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asks {
    /// It does not.
    Never,
    /// `inputs` beside the entries.
    Inputs,
    /// `userConfig` or `user_config` of the manifest.
    UserConfig,
    /// `settings` of the manifest, each naming a variable.
    Settings,
    /// `variables` of the manifest, a schema.
    Variables,
    /// Names of variables in the entry, whose values the host keeps.
    Names,
    /// Inputs described where they are used.
    InPlace,
}

impl Dialect {
    /// Finds a dialect by its name on the command line.
    #[must_use]
    pub fn by_id(id: &str) -> Option<&'static Self> {
        DIALECTS.iter().copied().find(|dialect| dialect.id == id)
    }

    /// Says whether this is the contract's own dialect.
    #[must_use]
    pub fn is_contract(&self) -> bool {
        std::ptr::eq(self, CONTRACT)
    }

    /// Returns the syntax of variables that counts in a field.
    #[must_use]
    pub fn variables_in(&self, place: Place) -> &VariableSyntax {
        if self.expands.contains(&place) {
            &self.variables
        } else {
            &VariableSyntax::NONE
        }
    }

    /// Returns the host's own name for what a field is.
    #[must_use]
    pub fn key(&self, role: HostFieldRole) -> Option<&'static str> {
        let mut fields = self.fields.iter();
        Some(fields.find(|field| field.role == role)?.key)
    }

    /// Returns a field by its key.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&'static HostField> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// Returns the keys under which new entries are written.
    ///
    /// It is the shortest wrapper, which every version of the host reads.
    #[must_use]
    pub fn written_under(&self) -> &'static [&'static str] {
        let fixed = self.wrappers.iter().filter(|keys| !keys.contains(&"*"));
        fixed
            .min_by_key(|keys| keys.len())
            .copied()
            .unwrap_or_default()
    }

    /// Returns the keys of the objects in which the entries of a file stand, from the outside in,
    /// the file itself being none: `inputs` stand beside the entries, wherever those are.
    pub(crate) fn around_entries(&self, root: &Object) -> Vec<&'static [&'static str]> {
        let wrappers = self.wrappers.iter().filter(|keys| !keys.contains(&"*"));
        let found = wrappers.filter(|keys| {
            let mut keys = keys.iter();
            let first = keys.next().and_then(|key| root.get(key));
            let last = keys.try_fold(first, |member, key| {
                Some(member?.value.as_object()?.get(key))
            });
            last.flatten().is_some()
        });
        let around = found.filter_map(|keys| Some(keys.split_last()?.1));
        around.collect()
    }

    /// Says whether entries can be written for the host: what describes one package, or has no
    /// file of its own, is only read.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        !matches!(self.layout, Layout::Single | Layout::Registry) && !self.files.is_empty()
    }

    /// Returns the file in which a project keeps its entries, or a person does.
    #[must_use]
    pub fn project_file(&self) -> Option<&'static str> {
        let of = |scope: FileScope| {
            let mut files = self.files.iter().filter(|file| file.scope == scope);
            files
                .find(|file| !file.path.contains('*'))
                .map(|file| file.path)
        };
        of(FileScope::Project)
    }

    /// Returns the key under which the entries stand, as a person would name it.
    #[must_use]
    pub fn wrapper(&self) -> String {
        let keys = self.wrappers.first().copied().unwrap_or_default();
        keys.join(".")
    }

    /// Reads the host's word for a transport.
    #[must_use]
    pub fn transport(&self, word: &str) -> Option<Transport> {
        let found = self.types.iter().find(|(known, _)| *known == word)?;
        Some(found.1)
    }
}

/// The name that a host has for the folder of a project or plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownPath(pub(crate) &'static str);

impl KnownPath {
    /// Returns the name that a host replaces by the folder.
    #[must_use]
    pub fn of(dialect: &Dialect) -> Option<Self> {
        if dialect.is_contract() {
            return Some(Self("CLAUDE_PROJECT_DIR:-."));
        }
        let mut known = dialect.variables.known.iter();
        let folder = known.find(|(_, value)| *value == KnownValue::Variable("HOST_PLUGIN_ROOT"))?;
        Some(Self(folder.0))
    }

    /// Returns the name, with the default that the host needs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl Syntax {
    /// Says whether files are JSON of some kind.
    #[must_use]
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::JsonWithComments | Self::Jsonc)
    }

    /// Returns the name that people know.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::JsonWithComments => "JSON with comments",
            Self::Jsonc => "JSON with comments and trailing commas",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }
}

/// Everything that a server entry may hold.
const EVERYWHERE: &[Place] = &[
    Place::Command,
    Place::Args,
    Place::Env,
    Place::Cwd,
    Place::EnvFile,
    Place::Url,
    Place::Headers,
    Place::OAuth,
];

/// A file whose syntax is the dialect's.
const fn file(path: &'static str, scope: FileScope, holds: Holds) -> HostFile {
    HostFile {
        path,
        scope,
        holds,
        syntax: None,
        required: &[],
    }
}

/// A plugin's file that its host refuses without these members.
const fn whole_file(
    path: &'static str,
    holds: Holds,
    required: &'static [&'static str],
) -> HostFile {
    HostFile {
        required,
        ..file(path, FileScope::Plugin, holds)
    }
}

#[cfg(test)]
mod tests;
