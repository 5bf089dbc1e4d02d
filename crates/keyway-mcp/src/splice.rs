//! JSON objects as text: members are read, replaced and added, and the rest stays as it was written.

mod raw_object;

pub(crate) use self::raw_object::RawObject;

/// Returns a member of an object as written; of members with one name, the last.
pub(crate) fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    RawObject::read(object)?.all(key).last()
}

/// Returns a member that is a string.
pub(crate) fn string(object: &str, key: &str) -> Option<String> {
    serde_json::from_str(member(object, key)?).ok()
}

/// Returns the object with `value`, which is JSON, as the member `key`; every other byte stays.
///
/// The member keeps its place; where it is written twice, both are replaced, so that no reader can
/// see the old one. One that is missing comes first. `None` means that `object` is not an object.
pub fn with_member(object: &str, key: &str, value: &str) -> Option<String> {
    let found: Vec<&str> = RawObject::read(object)?.all(key).collect();
    let mut text = String::with_capacity(object.len() + key.len() + value.len() + 8);
    if found.is_empty() {
        let rest = object.trim_start().strip_prefix('{')?;
        let comma = if rest.trim_start().starts_with('}') {
            ""
        } else {
            ","
        };
        let key = quoted(key);
        text.push_str(&format!("{{{key}:{value}{comma}"));
        text.push_str(rest);
        return Some(text);
    }
    let mut done = 0;
    for old in found {
        let start = old.as_ptr() as usize - object.as_ptr() as usize;
        text.push_str(object.get(done..start)?);
        text.push_str(value);
        done = start + old.len();
    }
    text.push_str(object.get(done..)?);
    Some(text)
}

/// Returns a string as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_member_stays_as_it_was_written() {
        let object = r#"{ "z":12345678901234567890123, "na\u006de" : "a" ,"b":{"name":"x"} }"#;
        let expected = r#"{ "z":12345678901234567890123, "na\u006de" : "s__a" ,"b":{"name":"x"} }"#;
        let changed = with_member(object, "name", &quoted("s__a"));
        assert_eq!(changed.as_deref(), Some(expected));
    }

    #[test]
    fn a_member_that_is_missing_is_added_and_one_written_twice_is_replaced_twice() {
        for (object, expected) in [
            ("{}", r#"{"k":1}"#),
            (" { } ", r#"{"k":1 } "#),
            (r#"{"a":0}"#, r#"{"k":1,"a":0}"#),
            (r#"{"k":2,"a":0,"k":"}"}"#, r#"{"k":1,"a":0,"k":1}"#),
        ] {
            assert_eq!(with_member(object, "k", "1").as_deref(), Some(expected));
        }
    }

    #[test]
    fn text_other_than_an_object_has_no_members() {
        for text in ["", "[]", "null", "{", "{} {}", "1"] {
            assert_eq!(with_member(text, "k", "1"), None, "{text}");
            assert!(member(text, "k").is_none(), "{text}");
        }
    }

    #[test]
    fn only_a_string_is_read_as_one() {
        assert_eq!(string(r#"{"a":"\u00e9"}"#, "a").as_deref(), Some("\u{e9}"));
        assert_eq!(string(r#"{"a":1}"#, "a"), None);
    }
}
