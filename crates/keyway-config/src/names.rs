//! Server names: as they appear where only a few characters are allowed, and which was meant.

use std::borrow::Cow;

use percent_encoding::{percent_decode_str, percent_encode};

use crate::address::ENCODED;
use crate::environment::nearest;

/// Returns `name` as it stands in front of a tool's name: everything outside `[A-Za-z0-9_-]` is
/// replaced by `_`, one for each character.
///
/// Two names may become one; the rule `name-collision` reports that.
#[must_use]
pub fn normalised(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}

/// Returns `name` as one part of a path in an address; it may be a file's, which is bytes.
pub fn path_segment(name: impl AsRef<[u8]>) -> String {
    percent_encode(name.as_ref(), ENCODED).to_string()
}

/// Returns the name that a part of a path stands for; `None` if that is not UTF-8.
#[must_use]
pub fn of_path_segment(segment: &str) -> Option<String> {
    let name = percent_decode_str(segment).decode_utf8().ok()?;
    Some(name.into_owned())
}

/// Returns the name that a part of a path stands for, or the part as it is written if that is not UTF-8.
#[must_use]
pub fn decoded_segment(segment: &str) -> String {
    of_path_segment(segment).unwrap_or_else(|| segment.to_owned())
}

/// Returns the full id of a server, `PLUGIN:SERVER`, which no other server has.
///
/// The first colon ends the plugin's name. One inside of it is written as `%3A`, so that server `c` of
/// plugin `a:b` is not server `b:c` of plugin `a`; what looks like that escape is escaped itself.
#[must_use]
pub fn server_id(plugin: &str, server: &str) -> String {
    let mut id = String::with_capacity(plugin.len() + server.len() + 1);
    for (at, c) in plugin.char_indices() {
        let rest = plugin.get(at..).unwrap_or_default();
        match c {
            ':' => id.push_str(COLON),
            '%' if rest.starts_with(COLON) || rest.starts_with(PERCENT) => id.push_str(PERCENT),
            _ => id.push(c),
        }
    }
    id.push(':');
    id.push_str(server);
    id
}

/// Reads the full id of a server: the names of the plugin and of the server; `None` without a colon.
#[must_use]
pub fn of_server_id(id: &str) -> Option<(Cow<'_, str>, &str)> {
    let (plugin, server) = id.split_once(':')?;
    if !plugin.contains(COLON) && !plugin.contains(PERCENT) {
        return Some((Cow::Borrowed(plugin), server));
    }
    let mut parts = plugin.split('%');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Without their percent sign, which the split took.
        match (part.strip_prefix("3A"), part.strip_prefix("25")) {
            (Some(rest), _) => name.extend([":", rest]),
            (_, Some(rest)) => name.extend(["%", rest]),
            _ => name.extend(["%", part]),
        }
    }
    Some((Cow::Owned(name), server))
}

/// Returns the one of `names` that looks most like `name`, if any does.
pub fn nearest_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(name, names).first().map(|near| (*near).to_owned())
}

/// Returns 16 digits that stand for these parts in this order, the same on every machine and in
/// every release. Not for anything secret.
#[must_use]
pub fn stable_id(parts: &[&str]) -> String {
    let mut hash = FNV_OFFSET;
    for byte in parts.join("\0").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    }
    format!("{hash:016x}")
}

/// A colon, and what begins it, in the name of a plugin that stands in an id.
const COLON: &str = "%3A";
const PERCENT: &str = "%25";
/// FNV-1a.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_digits_hyphen_and_underscore_survive() {
        assert_eq!(normalised("Dev Box/MCP.v2"), "Dev_Box_MCP_v2");
        assert_eq!(normalised("größe-1_x"), "gr__e-1_x");
        assert_eq!(normalised(""), "");
    }

    #[test]
    fn one_slip_in_a_short_name_is_understood_and_another_name_is_not() {
        let near = |name: &str| nearest_name(name, ["echo", "get-sum"].into_iter());
        for slip in ["ecko", "ehco", "echoo", "acho"] {
            assert_eq!(near(slip).as_deref(), Some("echo"), "{slip}");
        }
        assert_eq!(near("get-sun").as_deref(), Some("get-sum"));
        for other in ["list", "each", "sum", "ec"] {
            assert_eq!(near(other), None, "{other}");
        }
    }

    #[test]
    fn no_two_servers_have_one_id_and_ordinary_names_stand_as_they_are() {
        assert_eq!(server_id("acme", "docs"), "acme:docs");
        assert_eq!(server_id("100% acme", "a:b%3Ac"), "100% acme:a:b%3Ac");
        assert_eq!(server_id("a:b", "c"), "a%3Ab:c");
        let names = [
            "", "a", ":", "a:b", "a%3Ab", "a%253Ab", "%", "%:", "%2", "%25", "%2525", "%3", "%3A",
            "%%3A", "25", "3A", "ä:ß%",
        ];
        let mut ids = std::collections::HashSet::new();
        for plugin in names {
            for server in names {
                let id = server_id(plugin, server);
                let (read, of_it) = of_server_id(&id).unwrap();
                assert_eq!((&*read, of_it), (plugin, server), "{id}");
                assert!(ids.insert(id));
            }
        }
        assert_eq!(of_server_id("acme"), None);
    }

    #[test]
    fn nothing_in_a_name_ends_its_part_of_a_path() {
        assert_eq!(path_segment("a/b?c#d%2F e"), "a%2Fb%3Fc%23d%252F%20e");
        assert_eq!(path_segment("größe-1_x.~"), "gr%C3%B6%C3%9Fe-1_x.~");
        assert_eq!(path_segment(b"\xff"), "%FF");
        for name in ["a/b?c#d%2F e", "größe-1_x.~"] {
            assert_eq!(of_path_segment(&path_segment(name)).as_deref(), Some(name));
        }
        assert_eq!(of_path_segment("%FF"), None);
        assert_eq!(decoded_segment("%FF%20"), "%FF%20");
    }
}
