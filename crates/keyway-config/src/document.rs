//! One configuration file, read whole: which entries it declares and what it is wrapped in.

mod entries;
mod wrapper;

use self::entries::string_member;
use crate::declared::{DeclaredServer, EntryFault, Field};
use crate::dialect::{Detected, Dialect, HostFile, Syntax, detect, host_file, is_of_plugin};
use crate::json::{self, Fault, FaultKind, Node, Object, Tree};
use crate::prompt::{self, Prompt};
use crate::source::{Pointer, Source, Span};
use crate::{toml, yaml};

/// A file and what was understood of it; reading never fails.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Document {
    /// The file.
    pub source: Source,
    /// Which kind of file.
    pub kind: DocumentKind,
    /// Whose it is.
    pub dialect: &'static Dialect,
    /// Which of the host's files it is; `None` if its content decided whose it is.
    pub file: Option<&'static HostFile>,
    /// What it is written in.
    pub syntax: Syntax,
    /// Its tree, with all departures from strict JSON, whether or not the host minds them.
    pub tree: Tree,
    /// Where in the file the entries are.
    pub wrapper: Wrapper,
    /// The entries, loadable or not, in the order of the file.
    pub entries: Vec<Entry>,
    /// Keys that stand among the entries without being one.
    pub ignored: Vec<IgnoredKey>,
    /// Other files that a manifest's `mcpServers` names.
    pub references: Vec<Field>,
    /// The plugin's name, if this is its manifest.
    pub plugin_name: Option<Field>,
    /// The `$schema` of the file.
    pub schema: Option<Field>,
    /// What the file says to ask a person for.
    pub prompts: Vec<Prompt>,
    /// The plugins of a marketplace.
    pub listed: Vec<ListedPlugin>,
    /// Counted once: it is asked for with every entry, and a file may have thousands.
    has_repeated_keys: bool,
}

/// A plugin that a marketplace lists.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListedPlugin {
    /// Its name.
    pub name: Option<Field>,
    /// Where it is, if that is a path of the repository.
    pub path: Option<Field>,
    /// The folder that the path is relative to, if the marketplace says so: its `pluginRoot`.
    pub base: Option<String>,
}

impl ListedPlugin {
    /// Returns the folders where the plugin may be, relative to what the marketplace belongs to.
    ///
    /// A path that begins with `./` is complete; any other is looked for below the base first.
    pub fn folders(&self) -> impl Iterator<Item = String> {
        let path = self
            .path
            .as_ref()
            .map(|path| path.template.as_str().to_owned());
        let based = self.base.as_ref().zip(path.as_ref());
        let based = based.map(|(base, path)| format!("{}/{path}", base.trim_end_matches('/')));
        based.into_iter().chain(path)
    }
}

/// Which kind of file a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentKind {
    /// A file of entries, such as `.mcp.json`.
    Entries,
    /// A plugin's manifest, of which only `mcpServers` concerns us.
    Manifest,
    /// A list of plugins, of which some declare their servers in place.
    Marketplace,
}

/// Where in a file the entries are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrapper {
    /// Under `mcpServers`.
    Wrapped,
    /// The file itself is the map.
    Bare,
    /// Under the key of another host; not loaded.
    Foreign {
        /// The key.
        key: &'static str,
        /// Whose it is.
        host: &'static str,
        /// Where the key stands.
        span: Span,
    },
    /// A manifest or a host's settings without servers.
    Absent,
    /// The host has a key for its servers, and this file has none.
    Missing,
    /// The file holds no object.
    NotAnObject,
    /// The key for servers is there, and its value is not an object.
    BadServers {
        /// Where the value stands.
        span: Span,
        /// The same, by keys.
        pointer: Pointer,
    },
}

/// An entry, loadable or not.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Where the name stands.
    pub name_span: Span,
    /// The pointer of the entry.
    pub pointer: Pointer,
    /// The entry, or why it is skipped.
    pub server: Result<DeclaredServer, Vec<EntryFault>>,
}

/// A key that is not an entry.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IgnoredKey {
    /// The key.
    pub key: String,
    /// Where it stands.
    pub span: Span,
    /// Its pointer.
    pub pointer: Pointer,
}

impl Document {
    /// Reads `source` as `kind`; its name and its content say whose it is.
    #[must_use]
    pub fn parse(source: Source, kind: DocumentKind) -> Self {
        let path = source.path().to_owned();
        Self::parse_at(&path, source, kind)
    }

    /// Reads `source` as `kind`; `path`, which may be longer than what messages show, says whose it
    /// is.
    #[must_use]
    pub fn parse_at(path: &str, source: Source, kind: DocumentKind) -> Self {
        Self::parse_of(None, path, source, kind)
    }

    /// Reads `source` as `kind` and, where given, in a dialect that something beside the file says.
    #[must_use]
    pub fn parse_of(
        dialect: Option<&'static Dialect>,
        path: &str,
        source: Source,
        kind: DocumentKind,
    ) -> Self {
        let named = host_file(path).map(|(dialect, file)| file.syntax.unwrap_or(dialect.syntax));
        let by_name = syntax_of_name(path);
        // A file that several hosts may own is read by its ending; what they tolerate comes later.
        let syntax = by_name.or(named).unwrap_or(Syntax::Json);
        let tree = match syntax {
            Syntax::Toml => toml::read(source.text()),
            Syntax::Yaml => yaml::read(source.text()),
            Syntax::Json | Syntax::JsonWithComments | Syntax::Jsonc => json::read(source.text()),
        };
        let found = match dialect {
            Some(dialect) => Detected {
                dialect,
                file: host_file(path).map(|(_, file)| file),
            },
            None => detect(path, &tree),
        };
        let own = found.file.and_then(|file| file.syntax);
        let own = own.unwrap_or(found.dialect.syntax);
        let mut document = Self {
            source,
            kind,
            dialect: found.dialect,
            file: found.file,
            syntax: if own.is_json() == syntax.is_json() {
                own
            } else {
                syntax
            },
            tree: Tree {
                root: None,
                faults: Vec::new(),
            },
            wrapper: Wrapper::NotAnObject,
            entries: Vec::new(),
            ignored: Vec::new(),
            references: Vec::new(),
            plugin_name: None,
            schema: None,
            prompts: Vec::new(),
            listed: Vec::new(),
            has_repeated_keys: false,
        };
        if let Some(node) = &tree.root
            && let Some(root) = node.as_object()
        {
            document.schema = string_member(root, "$schema", &Pointer::default());
            if kind == DocumentKind::Manifest {
                document.plugin_name = string_member(root, "name", &Pointer::default());
            }
            document.has_repeated_keys = !root.repeated().is_empty();
            document.prompts = prompt::read(root, document.dialect);
            document.find_entries(root, node.span);
        }
        document.tree = tree;
        document
    }

    /// Reads another text of the same file.
    #[must_use]
    pub fn read_again(&self, path: &str, source: Source) -> Self {
        let dialect = is_of_plugin(self.dialect).then_some(self.dialect);
        Self::parse_of(dialect, path, source, self.kind)
    }

    /// Gives the plugin the `name` of this file, as if it were the plugin's manifest.
    pub fn take_name(&mut self) {
        let root = self.tree.root.as_ref().and_then(Node::as_object);
        let name = root.and_then(|root| string_member(root, "name", &Pointer::default()));
        self.plugin_name = name;
    }

    /// Says whether the file may be used: the host reads it, and every reader reads it alike.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let root = self.tree.root.as_ref().and_then(Node::as_object);
        self.source.defect().is_none()
            && self.faults().next().is_none()
            && root.is_some()
            && !self.has_repeated_keys
    }

    /// Says whether the file is one that Claude Code reads, by its name, so that what the contract
    /// adds has no effect there.
    #[must_use]
    pub fn is_of_contract_host(&self) -> bool {
        self.dialect.is_contract() && self.file.is_some_and(HostFile::names_its_host)
    }

    /// Says whether a file that only its content gives away lies in a hidden folder, as the files
    /// of hosts do: how that host writes variables is not known, and nothing belongs beside it.
    #[must_use]
    pub fn is_of_unknown_host(&self) -> bool {
        let folders = self.source.path().rsplit(['/', '\\']).skip(1);
        let is_hidden = |folder: &str| folder.starts_with('.') && folder.len() > 2;
        let is_unnamed = self.file.is_none_or(|file| file.path == "mcp.json");
        is_unnamed && !is_of_plugin(self.dialect) && folders.take(NEAR_FOLDERS).any(is_hidden)
    }

    /// Returns what the host minds about the syntax of the file.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        let syntax = self.syntax;
        self.tree.faults.iter().filter(move |fault| {
            !matches!(
                (fault.kind, syntax),
                (FaultKind::Comment, Syntax::JsonWithComments | Syntax::Jsonc)
                    | (FaultKind::TrailingComma, Syntax::Jsonc)
            )
        })
    }

    /// Returns the entries that follow the grammar, whether or not the file may be used.
    pub fn servers(&self) -> impl Iterator<Item = &DeclaredServer> {
        self.entries
            .iter()
            .filter_map(|entry| entry.server.as_ref().ok())
    }

    /// Returns the object that an entry was read from.
    #[must_use]
    pub fn object_of(&self, entry: &Entry) -> Option<&Object> {
        self.tree.at(&entry.pointer)?.as_object()
    }
}

/// What a file is written in, by its ending.
fn syntax_of_name(path: &str) -> Option<Syntax> {
    let (_, ending) = path.rsplit_once('.')?;
    match ending {
        "toml" => Some(Syntax::Toml),
        "yaml" | "yml" => Some(Syntax::Yaml),
        "json" | "jsonc" => Some(Syntax::Json),
        _ => None,
    }
}

/// How many folders above a file may be its host's.
const NEAR_FOLDERS: usize = 2;

/// How many entries of a file are read.
pub const MAX_SERVERS: usize = 256;

/// How many plugins of a marketplace are read.
pub const MAX_PLUGINS: usize = 4096;
