//! Server names: as they appear where only a few characters are allowed, and which was meant.

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
    fn nothing_in_a_name_ends_its_part_of_a_path() {
        assert_eq!(path_segment("a/b?c#d%2F e"), "a%2Fb%3Fc%23d%252F%20e");
        assert_eq!(path_segment("größe-1_x.~"), "gr%C3%B6%C3%9Fe-1_x.~");
        assert_eq!(path_segment(b"\xff"), "%FF");
        for name in ["a/b?c#d%2F e", "größe-1_x.~"] {
            assert_eq!(of_path_segment(&path_segment(name)).as_deref(), Some(name));
        }
        assert_eq!(of_path_segment("%FF"), None);
    }
}
