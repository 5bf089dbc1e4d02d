//! Scopes (RFC 6749 section 3.3): a set that keeps its order.

/// At most 64 different scopes of at most 256 characters, in the order in which they were named.
///
/// A peer's list is often careless: what is not a scope, or one too many, is left out, so that it
/// is neither asked for nor shown. Where a person wrote the list, [`is_scope`] tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scopes(Vec<String>);

impl Scopes {
    /// Reads what stands between blanks.
    pub(crate) fn parse(text: &str) -> Self {
        text.split_ascii_whitespace().collect()
    }

    /// Says whether there is none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns them in order.
    pub(crate) fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Says whether one of them is `scope`; upper and lower case differ.
    pub(crate) fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|ours| ours == scope)
    }

    /// Returns all of them, and then those of `other` that are new.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let all = self.0.iter().chain(&other.0);
        all.map(String::as_str).collect()
    }

    /// Returns those that are not in `other`.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let left = self.0.iter().filter(|scope| !other.contains(scope));
        left.map(String::as_str).collect()
    }

    /// Returns the value of the parameter `scope`; none if there is nothing to ask for.
    pub(crate) fn to_parameter(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.0.join(" "))
    }
}

impl<'a> FromIterator<&'a str> for Scopes {
    fn from_iter<I: IntoIterator<Item = &'a str>>(items: I) -> Self {
        let mut scopes = Self::default();
        for scope in items {
            if scopes.0.len() == MAX_SCOPES {
                break;
            }
            if is_scope(scope) && !scopes.contains(scope) {
                scopes.0.push(scope.to_owned());
            }
        }
        scopes
    }
}

/// Says whether text is one scope: visible ASCII but `"` and `\`, at most 256 of them.
pub(crate) fn is_scope(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    (1..=MAX_SCOPE).contains(&text.len()) && text.bytes().all(is_allowed)
}

const MAX_SCOPES: usize = 64;
const MAX_SCOPE: usize = 256;

#[cfg(test)]
mod tests;
