//! How rules walk over the raw objects of entries, and how they name what they find.

use keyway_config::declared::{DeclaredServer, EntryFault, Field};
use keyway_config::dialect::{Asks, Dialect, FileScope, HostFieldRole, HostFile};
use keyway_config::document::{Document, Entry};
use keyway_config::json::Object;
use keyway_config::plugin::Plugin;
use keyway_config::portable::input_id;
use keyway_config::template::environment_name;
use keyway_config::usage::FieldRole;
use keyway_secret::printable;

use super::Context;
use crate::secrets::is_credential_name;

/// Returns every entry that is an object, loadable or not, with that object; of a repeated name
/// only the last.
pub(super) fn objects(plugin: &Plugin) -> impl Iterator<Item = (&Document, &Entry, &Object)> {
    let read = plugin.entries().filter(|(_, entry)| !is_left_out(entry));
    read.filter_map(|(document, entry)| {
        let is_repeated = document.entries.iter().any(|other| {
            other.name_span.start > entry.name_span.start && other.pointer == entry.pointer
        });
        let object = document.object_of(entry).filter(|_| !is_repeated)?;
        Some((document, entry, object))
    })
}

/// Returns the entries of files that follow the contract; other hosts have rules of their own.
pub(super) fn contract_objects(
    plugin: &Plugin,
) -> impl Iterator<Item = (&Document, &Entry, &Object)> {
    objects(plugin).filter(|(document, ..)| document.dialect.is_contract())
}

/// Returns the same as far as they follow the grammar.
pub(super) fn contract_servers(
    plugin: &Plugin,
) -> impl Iterator<Item = (&Document, &DeclaredServer)> {
    plugin
        .servers()
        .filter(|(document, _)| document.dialect.is_contract())
}

/// Says whether an entry stands behind the last one that is read.
pub(super) fn is_left_out(entry: &Entry) -> bool {
    matches!(&entry.server, Err(faults) if faults.contains(&EntryFault::TooMany))
}

/// Names a field in a message, as the file names it.
pub(super) fn named(role: FieldRole<'_>) -> String {
    match role {
        FieldRole::Url => "`url`".to_owned(),
        FieldRole::Header(name) => format!("header `{}`", shown(name)),
        FieldRole::Env(name) => format!("variable `{}`", shown(name)),
        FieldRole::Cwd => "`cwd`".to_owned(),
        FieldRole::EnvFile => "`envFile`".to_owned(),
        FieldRole::OAuth(key) => format!("`oauth.{}`", shown(key)),
        FieldRole::Command => "`command`".to_owned(),
        FieldRole::Argument(number) => format!("argument {number}"),
    }
}

/// Says how a credential is written in this place by the host of the file.
pub(super) fn in_own_syntax(document: &Document, role: FieldRole<'_>) -> String {
    let name = match role {
        FieldRole::Env(name) => environment_name(name),
        FieldRole::Header(name) => environment_name(name).filter(|it| it != "AUTHORIZATION"),
        _ => None,
    };
    let name = name.unwrap_or_else(|| "VARIABLE".to_owned());
    let dialect = document.dialect;
    if document.is_of_unknown_host() {
        return UNKNOWN_SYNTAX.to_owned();
    }
    let own = dialect.variables_in(role.place()).write(&name);
    match (own, by_name(document, role)) {
        (_, Some(key)) => format!("name the variable in `{key}`, which each person sets"),
        (Some(own), None) => format!("write `{}` instead, which each person sets", shown(&own)),
        (None, None) => asked_for(dialect, &name).unwrap_or_else(|| {
            format!(
                "start the server through `keyway run`, since {} replaces no variables here",
                dialect.name
            )
        }),
    }
}

/// Says whether a file can only be a sample: its host reads it in the person's own folder, it lies
/// elsewhere, and the host has no way to leave a value open. Others copy it and fill it in.
pub(super) fn is_sample(document: &Document, role: FieldRole<'_>) -> bool {
    let is_persons = |file: &HostFile| file.scope == FileScope::User && !file.path.contains('/');
    let dialect = document.dialect;
    let folder = document.source.path().rsplit(['/', '\\']).nth(1);
    let folder = folder.filter(|folder| !folder.is_empty());
    // Claude Desktop's own folder is `Claude`.
    let is_in_place = folder.is_some_and(|folder| dialect.name.starts_with(folder));
    let is_open = dialect.variables_in(role.place()).write("NAME").is_some()
        || by_name(document, role).is_some()
        || asked_for(dialect, "NAME").is_some();
    document.file.is_some_and(is_persons) && !is_in_place && !is_open
}

/// What to do in the file of a program whose variables are not known.
pub(super) const UNKNOWN_SYNTAX: &str =
    "use a variable, as the program writes it that reads this file";

/// Says how a host that fills in no variable asks the person for a value; `None` if it does not.
pub(super) fn asked_for(dialect: &Dialect, name: &str) -> Option<String> {
    let id = shown(&input_id(name));
    match dialect.asks {
        Asks::UserConfig => Some(format!(
            "write `${{user_config.{id}}}` and declare `{id}` in `user_config` as `sensitive`"
        )),
        Asks::InPlace => {
            Some("remove the value and set `isSecret`, so that it is asked for".to_owned())
        }
        _ => None,
    }
}

/// Returns the field in which the host of the file takes the name of a variable, where it fills in
/// none by itself.
pub(super) fn by_name(document: &Document, role: FieldRole<'_>) -> Option<&'static str> {
    let dialect = document.dialect;
    if dialect.variables_in(role.place()).write("X").is_some() {
        return None;
    }
    match role {
        FieldRole::Env(_) => dialect.key(HostFieldRole::EnvNames),
        FieldRole::Header(name) if name.eq_ignore_ascii_case("authorization") => dialect
            .key(HostFieldRole::BearerFromEnv)
            .or_else(|| dialect.key(HostFieldRole::HeadersFromEnv)),
        FieldRole::Header(_) => dialect.key(HostFieldRole::HeadersFromEnv),
        _ => None,
    }
}

/// Says whether the scanner takes the value for a credential, which is worse.
pub(super) fn is_reported_as_secret(
    context: &Context<'_>,
    document: &Document,
    field: &Field,
) -> bool {
    context
        .literals()
        .any(|(other, literal)| std::ptr::eq(other, document) && literal.string_span == field.span)
}

/// Says whether an argument is a flag whose value is a credential.
pub(super) fn credential_flag(argument: &str) -> bool {
    let name = argument.strip_prefix("--");
    name.is_some_and(|name| !name.contains('=') && is_credential_name(name))
}

/// Returns an untrusted name in a form that a message may carry: printable and short.
pub(super) fn shown(text: &str) -> String {
    let clean = printable(text);
    if clean.chars().count() <= LONGEST_SHOWN {
        return clean;
    }
    let start: String = clean.chars().take(LONGEST_SHOWN).collect();
    format!("{start}…")
}

const LONGEST_SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::plugin;

    #[test]
    fn of_a_repeated_name_the_object_that_counts_is_walked_once() {
        let plugin = plugin(r#"{"s": {"a": 1}, "s": {"b": 2}}"#);
        let keys: Vec<_> = objects(&plugin)
            .flat_map(|(_, _, object)| &object.members)
            .map(|member| member.key.as_str())
            .collect();
        assert_eq!(keys, ["b"]);
    }

    #[test]
    fn long_and_invisible_text_is_shortened() {
        assert_eq!(shown("a\u{202e}b\n"), "ab ");
        assert_eq!(shown(&"x".repeat(100)).chars().count(), 61);
    }
}
