//! One configuration file, read whole: which entries it declares and what it is wrapped in.

mod wrapper;

use crate::declared::{DeclaredServer, EntryFault, Field, read_entry, read_registry};
use crate::dialect::{
    Detected, Dialect, HostFile, Layout, Syntax, detect, host_file, is_of_plugin,
};
use crate::json::{self, Fault, FaultKind, Member, Node, Object, Tree, Value};
use crate::prompt::{self, Prompt};
use crate::source::{Pointer, Source, Span};
use crate::template::Template;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// `mcpServers` is there but is not an object.
    BadServers {
        /// Where its value stands.
        span: Span,
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

    fn find_entries(&mut self, root: &Object, span: Span) {
        match (self.kind, self.dialect.layout) {
            (DocumentKind::Marketplace, _) => self.read_marketplace(root),
            (_, Layout::Registry) => self.read_registry(root),
            (_, Layout::Single) => self.read_single(root),
            _ => {
                let found = wrapper::find(root, self.dialect);
                if found.is_empty() && self.is_one_entry(root) {
                    self.read_whole(root, span);
                    return;
                }
                if found.is_empty() {
                    self.wrapper = wrapper::without(root, self);
                    if self.wrapper == Wrapper::Bare {
                        self.read_map(root, &Pointer::default());
                    }
                    return;
                }
                self.wrapper = Wrapper::Wrapped;
                for (node, pointer) in found {
                    self.read_servers(node, &pointer);
                }
            }
        }
    }

    /// Reads the plugins of a marketplace, and the servers that stand beside their names.
    fn read_marketplace(&mut self, root: &Object) {
        self.wrapper = Wrapper::Absent;
        let Some(Value::Array(plugins)) = root.get("plugins").map(|it| &it.value.value) else {
            return;
        };
        let metadata = root.get("metadata").and_then(|it| it.value.as_object());
        let base = metadata.and_then(|metadata| metadata.get("pluginRoot"));
        let base = base.and_then(|base| base.value.as_str()).map(str::to_owned);
        for (index, plugin) in plugins.iter().enumerate().take(MAX_PLUGINS) {
            let Some(object) = plugin.as_object() else {
                continue;
            };
            let pointer = Pointer::default()
                .child("plugins")
                .child(&index.to_string());
            self.listed.push(ListedPlugin {
                name: string_member(object, "name", &pointer),
                path: string_member(object, "source", &pointer),
                base: base.clone(),
            });
            if let Some(servers) = object.get("mcpServers") {
                self.wrapper = Wrapper::Wrapped;
                // A path is relative to the plugin, which is read where it is found.
                if servers.value.as_object().is_some() {
                    self.read_servers(&servers.value, &pointer.child("mcpServers"));
                }
            }
        }
    }

    fn read_registry(&mut self, root: &Object) {
        let entries = read_registry(root, &self.source, self.dialect);
        self.wrapper = if entries.is_empty() {
            Wrapper::Absent
        } else {
            Wrapper::Wrapped
        };
        for entry in entries.into_iter().take(MAX_SERVERS) {
            self.prompts.extend(entry.prompts);
            self.entries.push(Entry {
                name: entry.name,
                name_span: entry.span.at_start(),
                pointer: entry.pointer,
                server: entry.server,
            });
        }
    }

    /// Reads the one entry of a file that describes one server.
    fn read_single(&mut self, root: &Object) {
        let found = wrapper::find(root, self.dialect);
        let Some((node, pointer)) = found.into_iter().next() else {
            self.wrapper = Wrapper::Absent;
            return;
        };
        self.wrapper = Wrapper::Wrapped;
        let name = root.get("name");
        let member = Member {
            key: name
                .and_then(|name| name.value.as_str())
                .unwrap_or("server")
                .to_owned(),
            key_span: name.map_or(node.span.at_start(), |name| name.value.span),
            value: node.clone(),
        };
        let server = read_entry(&member, &pointer, &self.source, self.dialect);
        self.entries.push(Entry {
            name: member.key,
            name_span: member.key_span,
            pointer,
            server,
        });
    }

    fn is_one_entry(&self, root: &Object) -> bool {
        self.dialect.layout == Layout::MapOrEntry && wrapper::has_endpoint(root)
    }

    /// Reads a file that is one entry, which its host names like the file.
    fn read_whole(&mut self, root: &Object, whole: Span) {
        self.wrapper = Wrapper::Bare;
        let name = self.source.path().rsplit(['/', '\\']).next();
        let name = name.unwrap_or_default();
        let member = Member {
            key: name.strip_suffix(".json").unwrap_or(name).to_owned(),
            key_span: whole.at_start(),
            value: Node {
                value: Value::Object(root.clone()),
                span: whole,
            },
        };
        let alone = Object {
            members: vec![member.clone()],
        };
        self.read_member(&alone, &member, Pointer::default());
    }

    /// Reads the value of `mcpServers`; in a manifest it may also name files.
    fn read_servers(&mut self, node: &Node, pointer: &Pointer) {
        match (&node.value, self.kind) {
            (Value::Object(map), _) => self.read_map(map, pointer),
            (Value::Array(items), DocumentKind::Entries) if self.takes_list() => {
                self.read_list(items, pointer);
            }
            (Value::String(text), DocumentKind::Manifest) => self.references.push(Field {
                template: Template::parse(text),
                span: node.span,
                pointer: pointer.clone(),
            }),
            (Value::Array(items), DocumentKind::Manifest) => {
                for (position, item) in items.iter().enumerate() {
                    let pointer = pointer.child(&position.to_string());
                    match &item.value {
                        Value::Array(_) => self.wrapper = Wrapper::BadServers { span: item.span },
                        _ => self.read_servers(item, &pointer),
                    }
                }
            }
            _ => self.wrapper = Wrapper::BadServers { span: node.span },
        }
    }

    fn takes_list(&self) -> bool {
        self.dialect.layout == Layout::List
    }

    /// Reads entries that carry their names themselves.
    fn read_list(&mut self, items: &[Node], pointer: &Pointer) {
        for (index, item) in items.iter().enumerate() {
            let pointer = pointer.child(&index.to_string());
            let name = item.as_object().and_then(|entry| entry.get("name"));
            let member = Member {
                key: name
                    .and_then(|name| name.value.as_str())
                    .unwrap_or_default()
                    .to_owned(),
                key_span: name.map_or(item.span.at_start(), |name| name.value.span),
                value: item.clone(),
            };
            // Something that a registry of the host supplies, named by `uses`.
            if item
                .as_object()
                .is_some_and(|entry| entry.get("uses").is_some())
            {
                continue;
            }
            let alone = Object {
                members: vec![member.clone()],
            };
            self.read_member(&alone, &member, pointer);
        }
    }

    fn read_map(&mut self, map: &Object, pointer: &Pointer) {
        for member in &map.members {
            let pointer = pointer.child(&member.key);
            let is_note = member.key == "$schema" || member.key.starts_with('_');
            let bare = self.wrapper == Wrapper::Bare;
            if is_note || (bare && member.value.as_object().is_none()) {
                let (key, span) = (member.key.clone(), member.key_span);
                self.ignored.push(IgnoredKey { key, span, pointer });
                continue;
            }
            if wrapper::is_built_in(&member.value, self.dialect) {
                continue;
            }
            self.read_member(map, member, pointer);
        }
    }

    fn read_member(&mut self, map: &Object, member: &Member, pointer: Pointer) {
        let server = if self.entries.len() >= MAX_SERVERS {
            Err(vec![EntryFault::TooMany])
        } else if map
            .members
            .iter()
            .filter(|other| other.key == member.key)
            .count()
            > 1
        {
            Err(vec![EntryFault::RepeatedKey])
        } else {
            read_entry(member, &pointer, &self.source, self.dialect)
        };
        let (name, name_span) = (member.key.clone(), member.key_span);
        self.entries.push(Entry {
            name,
            name_span,
            pointer,
            server,
        });
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

fn string_member(root: &Object, key: &str, pointer: &Pointer) -> Option<Field> {
    let member = root.get(key)?;
    let template = Template::parse(member.value.as_str()?);
    Some(Field {
        template,
        span: member.value.span,
        pointer: pointer.child(key),
    })
}

/// How many folders above a file may be its host's.
const NEAR_FOLDERS: usize = 2;

/// How many entries of a file are read.
pub const MAX_SERVERS: usize = 256;

/// How many plugins of a marketplace are read.
pub const MAX_PLUGINS: usize = 4096;
