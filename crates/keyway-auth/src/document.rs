//! A JSON object from a peer that may be hostile: metadata, registrations, answers with tokens.
//!
//! The first surprise stops. Nothing that is read here is ever quoted: an error names the rule and
//! the field, and what may be a token is wiped when dropped.

mod value;

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use keyway_secret::Secret;
use thiserror::Error;

use self::value::{List, Members, Value};

/// One JSON object of at most 1 MiB, in which no member appears twice.
pub struct Document {
    members: HashMap<String, Member>,
}

struct Member {
    raw: Secret<String>,
    value: Value,
}

impl Document {
    /// Reads a whole body.
    ///
    /// # Errors
    ///
    /// Returns the first rule that the body breaks. A byte order mark is one of them
    /// (RFC 8259 section 8.1).
    pub fn parse(body: &[u8]) -> Result<Self, DocumentError> {
        if body.len() > MAX_BYTES {
            return Err(DocumentError::TooLarge);
        }
        let text = std::str::from_utf8(body).map_err(|_| DocumentError::NotUtf8)?;
        if text.starts_with('\u{feff}') {
            return Err(DocumentError::ByteOrderMark);
        }
        let trimmed = text.trim_start_matches([' ', '\t', '\r', '\n']);
        match trimmed.bytes().next() {
            None => return Err(DocumentError::Empty),
            Some(b'{') => {}
            // Whatever it is otherwise, it is JSON or it is not.
            Some(_) if is_json(text)? => return Err(DocumentError::NotObject),
            Some(_) => return Err(DocumentError::NotJson),
        }
        check_depth(text)?;
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Members<'_>>();
        let Some(Ok(Members(found))) = stream.next() else {
            return Err(DocumentError::NotJson);
        };
        let rest = text.get(stream.byte_offset()..).unwrap_or_default();
        if !rest.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
            return Err(DocumentError::TrailingText);
        }
        if found.len() > MAX_MEMBERS {
            return Err(DocumentError::TooManyMembers);
        }
        let mut members = HashMap::with_capacity(found.len());
        for (name, raw) in found {
            let value = serde_json::from_str(raw.get()).map_err(|_| DocumentError::NotJson)?;
            let raw = Secret::new(raw.get().to_owned());
            let field = shown(&name);
            if members.insert(name, Member { raw, value }).is_some() {
                return Err(DocumentError::Repeated { field });
            }
        }
        Ok(Self { members })
    }

    /// Says whether there is such a member, of whatever kind but `null`.
    #[must_use]
    pub fn has(&self, field: &str) -> bool {
        self.value(field).is_some()
    }

    /// Returns a string of at most 64 KiB; none if absent or `null`.
    ///
    /// # Errors
    ///
    /// Returns [`DocumentError::NotText`] or [`DocumentError::TextTooLong`].
    pub fn text(&self, field: &'static str) -> Result<Option<&str>, DocumentError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Text(text)) if text.expose().len() > MAX_TEXT => {
                Err(DocumentError::TextTooLong { field })
            }
            Some(Value::Text(text)) => Ok(Some(text.expose())),
            Some(_) => Err(DocumentError::NotText { field }),
        }
    }

    /// Returns a string that is confidential, as [`text`](Self::text) does.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn secret(&self, field: &'static str) -> Result<Option<Secret<String>>, DocumentError> {
        let text = self.text(field)?;
        Ok(text.map(|text| Secret::new(text.to_owned())))
    }

    /// Returns an array of at most 1000 strings of at most 4 KiB; none if absent or `null`.
    ///
    /// # Errors
    ///
    /// Returns [`DocumentError::NotTexts`], [`DocumentError::TooManyItems`] or
    /// [`DocumentError::ItemTooLong`].
    pub fn texts(&self, field: &'static str) -> Result<Option<Vec<&str>>, DocumentError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::List(List::Texts(items))) => {
                let items = items.iter().map(|item| item.expose().as_str());
                Ok(Some(items.collect()))
            }
            Some(Value::List(List::TooMany)) => Err(DocumentError::TooManyItems { field }),
            Some(Value::List(List::TooLong)) => Err(DocumentError::ItemTooLong { field }),
            Some(_) => Err(DocumentError::NotTexts { field }),
        }
    }

    /// Returns `true` or `false`; none if absent or `null`.
    ///
    /// # Errors
    ///
    /// Returns [`DocumentError::NotFlag`] for everything else, the string `"true"` included.
    pub fn flag(&self, field: &'static str) -> Result<Option<bool>, DocumentError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Flag(flag)) => Ok(Some(*flag)),
            Some(_) => Err(DocumentError::NotFlag { field }),
        }
    }

    /// Returns a time span in whole seconds, such as `expires_in`; none if absent or `null`.
    ///
    /// Servers send an integer, a decimal (`3600.0`, `31.5`, `1e3`) or a string of either. A fraction
    /// is left out, and more than 100 years is 100 years.
    ///
    /// # Errors
    ///
    /// Returns [`DocumentError::NotSeconds`] for everything else: what is negative or no number.
    pub fn seconds(&self, field: &'static str) -> Result<Option<Duration>, DocumentError> {
        let seconds = match self.value(field) {
            None => return Ok(None),
            Some(Value::Number(number)) => value::whole_number(number),
            Some(Value::Text(text)) => value::whole_digits(text.expose()),
            Some(_) => None,
        };
        let seconds = seconds.ok_or(DocumentError::NotSeconds { field })?;
        Ok(Some(Duration::from_secs(seconds.min(MAX_SECONDS))))
    }

    /// Returns a member as it was sent, in JSON.
    #[must_use]
    pub fn raw(&self, field: &str) -> Option<&str> {
        let member = self.members.get(field)?;
        Some(member.raw.expose())
    }

    fn value(&self, field: &str) -> Option<&Value> {
        let value = &self.members.get(field)?.value;
        (!matches!(value, Value::Null)).then_some(value)
    }
}

/// Neither values nor names: the peer chose both.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("members", &self.members.len())
            .finish()
    }
}

/// Which rule a document breaks. Never holds a value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is longer than 1 MiB.
    #[error("it is larger than 1 MiB")]
    TooLarge,
    /// It has no content.
    #[error("it is empty")]
    Empty,
    /// It is not UTF-8 (RFC 8259 section 8.1).
    #[error("it is not UTF-8")]
    NotUtf8,
    /// It begins with a byte order mark (RFC 8259 section 8.1).
    #[error("it begins with a byte order mark")]
    ByteOrderMark,
    /// Objects and arrays are nested more than 64 deep.
    #[error("it is nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// It is not JSON, or JSON that no program can hold.
    #[error("it is not JSON")]
    NotJson,
    /// It is JSON, but no object.
    #[error("it is not a JSON object")]
    NotObject,
    /// Something follows the object.
    #[error("something follows the JSON object")]
    TrailingText,
    /// It has more than 1000 members.
    #[error("it has more than {MAX_MEMBERS} members")]
    TooManyMembers,
    /// A member appears twice; readers differ in which one they take.
    #[error("`{field}` appears twice")]
    Repeated {
        /// Which.
        field: String,
    },
    /// A member should be a string.
    #[error("`{field}` is not a string")]
    NotText {
        /// Which.
        field: &'static str,
    },
    /// A member that has to be there is not, or is empty.
    #[error("`{field}` is missing")]
    Missing {
        /// Which.
        field: &'static str,
    },
    /// A member has a value that was not asked for.
    #[error("`{field}` is not what was asked for")]
    Unexpected {
        /// Which.
        field: &'static str,
    },
    /// A string is longer than 64 KiB.
    #[error("`{field}` is longer than 64 KiB")]
    TextTooLong {
        /// Which.
        field: &'static str,
    },
    /// A member should be an array of strings.
    #[error("`{field}` is not an array of strings")]
    NotTexts {
        /// Which.
        field: &'static str,
    },
    /// An array has more than 1000 items.
    #[error("`{field}` has more than {MAX_ITEMS} items")]
    TooManyItems {
        /// Which.
        field: &'static str,
    },
    /// An item of an array is longer than 4 KiB.
    #[error("an item of `{field}` is longer than 4 KiB")]
    ItemTooLong {
        /// Which.
        field: &'static str,
    },
    /// A member should be `true` or `false`.
    #[error("`{field}` is neither true nor false")]
    NotFlag {
        /// Which.
        field: &'static str,
    },
    /// A member should be a number of seconds.
    #[error("`{field}` is not a number of seconds")]
    NotSeconds {
        /// Which.
        field: &'static str,
    },
}

fn is_json(text: &str) -> Result<bool, DocumentError> {
    check_depth(text)?;
    Ok(serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
}

/// Counts brackets outside of strings, before anything recurses.
fn check_depth(text: &str) -> Result<(), DocumentError> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(DocumentError::TooDeep);
        }
    }
    Ok(())
}

/// Returns the name of a member if it looks like one; a peer chose it, and it will be printed.
fn shown(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain) {
        name.to_owned()
    } else {
        "a member".to_owned()
    }
}

const MAX_BYTES: usize = 1024 * 1024;
const MAX_DEPTH: usize = 64;
const MAX_MEMBERS: usize = 1000;
const MAX_ITEMS: usize = 1000;
const MAX_ITEM: usize = 4 * 1024;
const MAX_TEXT: usize = 64 * 1024;
/// 100 years; longer is forever.
const MAX_SECONDS: u64 = 100 * 365 * 24 * 60 * 60;

#[cfg(test)]
mod tests;
