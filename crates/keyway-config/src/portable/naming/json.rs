//! The same in JSON, which a plugin's files are written in.

use super::super::layout::{put, with_text};
use super::super::value::HostValue;
use super::{NamedCredential, NamedPlace};
use crate::dialect::Dialect;
use crate::edit::{self, Edit};
use crate::json::{self, Node, Object};
use crate::source::Source;

pub(super) fn with_name(
    text: &str,
    dialect: &Dialect,
    credential: &NamedCredential,
) -> Option<String> {
    let tree = json::read(text);
    let root = tree.root.as_ref()?;
    // The file itself may be the map of entries.
    let wrapper = dialect.written_under();
    let wrapper = if at(root, wrapper).is_some() {
        wrapper
    } else {
        &[]
    };
    let mut path: Vec<&str> = wrapper.to_vec();
    path.push(&credential.server);
    let (from, name) = credential.place.literal(dialect)?;
    let text = without(text, at(root, &path)?, (from, name))?;
    path.push(credential.place.field(dialect)?);
    let variable = &credential.variable;
    match &credential.place {
        NamedPlace::Env(_) => with_text(&text, &path, variable).ok(),
        NamedPlace::Bearer(_) => put(&text, &path, &HostValue::Text(variable.clone())).ok(),
        NamedPlace::Header(name) => {
            path.push(name);
            put(&text, &path, &HostValue::Text(variable.clone())).ok()
        }
    }
}

/// Removes a member of one of the entry's maps, and the map with its last member.
fn without(text: &str, entry: &Object, (from, name): (&str, &str)) -> Option<String> {
    let source = Source::new("", text.as_bytes());
    let index = |object: &Object, key: &str| object.members.iter().position(|it| it.key == key);
    let outer = index(entry, from)?;
    let values = entry.members.get(outer)?.value.as_object()?;
    let inner = index(values, name)?;
    let edit = match values.members.len() {
        1 => Edit::remove_member(&source, entry, outer)?,
        _ => Edit::remove_member(&source, values, inner)?,
    };
    Some(edit::apply(text, &[&edit]))
}

fn at<'a>(root: &'a Node, path: &[&str]) -> Option<&'a Object> {
    let mut object = root.as_object()?;
    for key in path {
        object = object.get(key)?.value.as_object()?;
    }
    Some(object)
}
