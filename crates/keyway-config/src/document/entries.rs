//! Where the entries of a document stand, by its kind and its host's layout.

use super::{
    Document, DocumentKind, Entry, IgnoredKey, ListedPlugin, MAX_PLUGINS, MAX_SERVERS, Wrapper,
    wrapper,
};
use crate::declared::{EntryFault, Field, read_entry, read_registry};
use crate::dialect::Layout;
use crate::json::{Member, Node, Object, Value};
use crate::source::{Pointer, Span};
use crate::template::Template;

impl Document {
    pub(super) fn find_entries(&mut self, root: &Object, span: Span) {
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
        let found = wrapper::find(root, self.dialect).into_iter().next();
        let found = found.map(|(node, pointer)| (node.clone(), pointer));
        let Some((node, pointer)) = found.or_else(|| run_by_uv(root)) else {
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
            value: node,
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
                        Value::Array(_) => self.wrapper = bad_servers(item, &pointer),
                        _ => self.read_servers(item, &pointer),
                    }
                }
            }
            _ => self.wrapper = bad_servers(node, pointer),
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

/// Returns what starts a bundle of type `uv` that does not say so itself: since version 0.4 that is
/// left to the host.
fn run_by_uv(root: &Object) -> Option<(Node, Pointer)> {
    let server = &root.get("server")?.value;
    let text = |key: &str| server.as_object()?.get(key)?.value.as_str();
    if text("type") != Some("uv") {
        return None;
    }
    let span = server.span.at_start();
    let node = |value: Value| Node { value, span };
    let word = |text: &str| node(Value::String(text.to_owned()));
    let member = |key: &str, value: Node| Member {
        key: key.to_owned(),
        key_span: span,
        value,
    };
    let args = ["run", "--directory", "${__dirname}", text("entry_point")?];
    let args = node(Value::Array(args.map(word).to_vec()));
    let members = vec![member("command", word("uv")), member("args", args)];
    let pointer = Pointer::default().child("server").child("mcp_config");
    Some((node(Value::Object(Object { members })), pointer))
}

/// Reads a member that is a string.
pub(super) fn string_member(root: &Object, key: &str, pointer: &Pointer) -> Option<Field> {
    let member = root.get(key)?;
    let template = Template::parse(member.value.as_str()?);
    Some(Field {
        template,
        span: member.value.span,
        pointer: pointer.child(key),
    })
}

/// Notes a value that is not what its key wants.
fn bad_servers(node: &Node, pointer: &Pointer) -> Wrapper {
    Wrapper::BadServers {
        span: node.span,
        pointer: pointer.clone(),
    }
}
