//! One configuration file, read whole: which entries it declares and what it is wrapped in.

use crate::declared::{DeclaredServer, EntryFault, Field, read_entry};
use crate::json::{self, Member, Node, Object, Tree, Value};
use crate::source::{Pointer, Source, Span};
use crate::template::Template;

/// A file and what was understood of it; reading never fails.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file.
    pub source: Source,
    /// Which kind of file.
    pub kind: DocumentKind,
    /// Its tree, with all departures from strict JSON.
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
}

/// Which kind of file a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentKind {
    /// A file of entries, such as `.mcp.json`.
    Entries,
    /// A plugin's manifest, of which only `mcpServers` concerns us.
    Manifest,
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
    /// A manifest without servers.
    Absent,
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
pub struct IgnoredKey {
    /// The key.
    pub key: String,
    /// Where it stands.
    pub span: Span,
    /// Its pointer.
    pub pointer: Pointer,
}

impl Document {
    /// Reads `source` as `kind`.
    #[must_use]
    pub fn parse(source: Source, kind: DocumentKind) -> Self {
        let tree = json::read(source.text());
        let mut document = Self {
            source,
            kind,
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
        };
        if let Some(root) = tree.root.as_ref().and_then(Node::as_object) {
            document.schema = string_member(root, "$schema");
            if kind == DocumentKind::Manifest {
                document.plugin_name = string_member(root, "name");
            }
            document.find_entries(root);
        }
        document.tree = tree;
        document
    }

    /// Says whether the file may be used: strict JSON that every reader understands alike.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let root = self.tree.root.as_ref().and_then(Node::as_object);
        self.source.defect().is_none()
            && self.tree.faults.is_empty()
            && root.is_some_and(|root| root.repeated().is_empty())
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

    fn find_entries(&mut self, root: &Object) {
        if let Some(member) = root.get(SERVERS_KEY) {
            self.wrapper = Wrapper::Wrapped;
            self.read_servers(&member.value, &Pointer::default().child(SERVERS_KEY));
        } else if self.kind == DocumentKind::Manifest {
            self.wrapper = Wrapper::Absent;
        } else if let Some(wrapper) = foreign_wrapper(root) {
            self.wrapper = wrapper;
        } else {
            self.wrapper = Wrapper::Bare;
            self.read_map(root, &Pointer::default());
        }
    }

    /// Reads the value of `mcpServers`; in a manifest it may also name files.
    fn read_servers(&mut self, node: &Node, pointer: &Pointer) {
        match (&node.value, self.kind) {
            (Value::Object(map), _) => self.read_map(map, pointer),
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
            read_entry(member, &pointer, &self.source)
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

/// Finds the wrapper of another host; a server that happens to have such a name does not count.
fn foreign_wrapper(root: &Object) -> Option<Wrapper> {
    FOREIGN_WRAPPERS.iter().find_map(|&(key, host)| {
        let member = root.get(key)?;
        let object = member.value.as_object()?;
        let is_entry = ["command", "url"].iter().any(|field| {
            object
                .get(field)
                .is_some_and(|member| member.value.as_str().is_some())
        });
        (!is_entry).then_some(Wrapper::Foreign {
            key,
            host,
            span: member.key_span,
        })
    })
}

fn string_member(root: &Object, key: &str) -> Option<Field> {
    let member = root.get(key)?;
    let template = Template::parse(member.value.as_str()?);
    Some(Field {
        template,
        span: member.value.span,
        pointer: Pointer::default().child(key),
    })
}

/// How many entries of a file are read.
pub const MAX_SERVERS: usize = 256;

const SERVERS_KEY: &str = "mcpServers";

/// Keys under which other hosts keep their servers.
const FOREIGN_WRAPPERS: &[(&str, &str)] = &[
    ("servers", "VS Code"),
    ("mcp", "opencode"),
    ("context_servers", "Zed"),
    ("mcp_servers", "Codex"),
];
