//! The name of a sign-in.

use crate::error::StoreError;

/// Names a sign-in. Two that differ in any part are two sign-ins.
///
/// Parts that do not apply stay empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GrantKey {
    profile: String,
    parts: [String; PARTS],
}

impl GrantKey {
    /// Starts with a profile.
    #[must_use]
    pub fn new(profile: impl Into<String>) -> Self {
        Self {
            profile: profile.into(),
            parts: Default::default(),
        }
    }

    /// Returns the profile.
    #[must_use]
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Returns all parts but the profile as one text, for a backend's key column.
    ///
    /// Each part follows its length, so [`GrantKey::parse`] can tell them apart. The format is
    /// stable.
    #[must_use]
    pub fn name(&self) -> String {
        let mut name = String::new();
        for part in &self.parts {
            name.push_str(&part.len().to_string());
            name.push(':');
            name.push_str(part);
        }
        name
    }

    /// Reads what [`GrantKey::name`] returned; `None` for any other text.
    #[must_use]
    pub fn parse(profile: &str, mut name: &str) -> Option<Self> {
        let mut key = Self::new(profile);
        for part in &mut key.parts {
            let (length, rest) = name.split_once(':')?;
            let (text, rest) = rest.split_at_checked(length.parse().ok()?)?;
            text.clone_into(part);
            name = rest;
        }
        name.is_empty().then_some(key)
    }

    /// Returns all parts and the profile as one text: equal for equal keys only.
    #[must_use]
    pub fn index(&self) -> String {
        format!("{}:{}{}", self.profile.len(), self.profile, self.name())
    }

    /// Reads what [`GrantKey::index`] returned; `None` for any other text.
    #[must_use]
    pub fn parse_index(index: &str) -> Option<Self> {
        let (length, rest) = index.split_once(':')?;
        let (profile, name) = rest.split_at_checked(length.parse().ok()?)?;
        Self::parse(profile, name)
    }

    /// Checks that there is a profile and that the key is not longer than 16 KiB.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::InvalidName`] otherwise.
    pub fn check(&self) -> Result<(), StoreError> {
        let length = self.index().len();
        if self.profile.is_empty() || length > LONGEST {
            return Err(StoreError::invalid_name(&self.profile));
        }
        Ok(())
    }
}

macro_rules! parts {
    ($($index:literal $part:ident $set:ident $what:literal),*) => {
        impl GrantKey {
            $(
                #[doc = concat!("Sets ", $what, ".")]
                #[must_use]
                pub fn $part(mut self, value: impl Into<String>) -> Self {
                    if let Some(part) = self.parts.get_mut($index) {
                        *part = value.into();
                    }
                    self
                }

                #[doc = concat!("Returns ", $what, ".")]
                #[must_use]
                pub fn $set(&self) -> &str {
                    self.parts.get($index).map_or("", String::as_str)
                }
            )*
        }
    };
}

parts! {
    0 plugin plugin_name "the plugin",
    1 server server_name "the server's name within the plugin",
    2 resource resource_uri "the resource that the tokens are for",
    3 issuer issuer_uri "the authorization server",
    4 client client_id "the client",
    5 account account_name "the account, where the person named one"
}

const PARTS: usize = 6;
const LONGEST: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_joining_whatever_they_contain() {
        let key = GrantKey::new("p")
            .plugin("1:a")
            .server("")
            .resource("ü:3")
            .account("x\0y");
        assert_eq!(GrantKey::parse_index(&key.index()).as_ref(), Some(&key));
        assert_eq!(GrantKey::parse_index("9:p"), None);
        assert_eq!(GrantKey::parse("p", &key.name()), Some(key));
    }

    #[test]
    fn shifted_parts_are_another_sign_in() {
        let names = [
            GrantKey::new("p").plugin("ab").server("c"),
            GrantKey::new("p").plugin("a").server("bc"),
            GrantKey::new("p").plugin("a").server("b").resource("c"),
            GrantKey::new("p1:").plugin("a"),
        ]
        .map(|key| key.index());
        for (position, name) in names.iter().enumerate() {
            assert!(!names[position + 1..].contains(name), "{name}");
        }
    }

    #[test]
    fn name_that_was_not_joined_by_us_is_not_read() {
        for name in [
            "",
            "1:a",
            "9:a",
            "x:a",
            "0:0:0:0:0:0:x",
            "1:é0:0:0:0:0:",
            "-1:",
        ] {
            assert_eq!(GrantKey::parse("p", name), None, "{name}");
        }
    }
}
