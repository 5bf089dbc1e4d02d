//! Values of a host's file, whichever syntax it has.

/// A value of a host's file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostValue {
    /// A string.
    Text(String),
    /// A number.
    Number(u64),
    /// A flag.
    Flag(bool),
    /// A list.
    List(Vec<Self>),
    /// An object, in this order.
    Members(Vec<(String, Self)>),
}

impl HostValue {
    /// Makes a list of strings.
    pub fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::List(
            texts
                .into_iter()
                .map(|text| Self::Text(text.into()))
                .collect(),
        )
    }

    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}
