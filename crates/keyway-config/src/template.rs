//! The `${VAR}` and `${VAR:-default}` syntax inside configuration strings.
//!
//! A string is parsed once into a [`Template`] and expanded later against an `Environment`, so
//! that a file can be linted on a machine where the variables are not set. What is shown to people
//! is always the template, never what it expands to.

mod syntax;

use std::fmt;
use std::ops::Range;

use keyway_secret::Secret;

pub use self::syntax::{
    KnownValue, VariableForm, VariableSyntax, environment_name, input_variable, is_asked_for,
    user_config_variable,
};
use crate::environment::Scope;

/// A configuration string, split into literal text and variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

/// A piece of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Text that stands for itself, `$${` already turned into `${`.
    Literal {
        /// The text.
        text: String,
        /// Where it came from.
        range: Range<usize>,
    },
    /// A variable.
    Variable(Variable),
    /// A `${…}` of some other syntax, kept as it is.
    Foreign {
        /// Where it stands.
        range: Range<usize>,
    },
}

/// A `${NAME}` or `${NAME:-default}`, with or without the `env:` prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// The name.
    pub name: String,
    /// What stands in when the variable is unset or empty.
    pub default: Option<String>,
    /// Where the whole reference stands.
    pub range: Range<usize>,
    /// Where the default stands, empty if there is none.
    pub default_range: Range<usize>,
}

/// Why a template could not be expanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// The variable has neither a value nor a default.
    #[error("variable `{name}` is not set")]
    Unset {
        /// Its name.
        name: String,
        /// Names that are set and look alike.
        near: Vec<String>,
    },
    /// The template has a `${…}` of another host's syntax.
    #[error("`{text}` is not a valid variable reference")]
    Foreign {
        /// As written.
        text: String,
    },
}

impl Template {
    /// Splits `text` by the syntax of the contract: `${NAME}`, `${NAME:-text}`, `${env:NAME}`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::parse_as(text, &VariableSyntax::CONTRACT)
    }

    /// Splits `text` by a host's own syntax, in one pass from left to right; inserted text is never
    /// looked at again.
    ///
    /// A `${…}` that the host does not know is [`Part::Foreign`], even if another host knows it.
    #[must_use]
    pub fn parse_as(text: &str, syntax: &VariableSyntax) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut literal_start = 0;
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let Some(found) = rest.find(syntax.beginnings()) else {
                literal.push_str(rest);
                at = text.len();
                break;
            };
            let begin = at + found;
            literal.push_str(text.get(at..begin).unwrap_or_default());
            let behind = text.get(begin..).unwrap_or_default();
            if syntax.has_escape && behind.starts_with("${") && literal.ends_with('$') {
                // `$${`: the first dollar escapes the second, and what follows is plain text.
                literal.push('{');
                at = begin + 2;
                continue;
            }
            let Some(part) = syntax.reference(text, begin) else {
                let length = behind.chars().next().map_or(1, char::len_utf8);
                literal.push_str(behind.get(..length).unwrap_or_default());
                at = begin + length;
                continue;
            };
            flush(&mut parts, &mut literal, literal_start..begin);
            at = part.range().end;
            literal_start = at;
            parts.push(part);
        }
        flush(&mut parts, &mut literal, literal_start..at);
        Self {
            text: text.to_owned(),
            parts,
        }
    }

    /// Makes a template that a file says in other words, such as `bearer_token_env_var = "NAME"`.
    ///
    /// `text` is in the syntax of the contract; it is what is shown, though the file has other text.
    #[must_use]
    pub fn implied(text: &str) -> Self {
        Self::parse(text)
    }

    /// Returns the template as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the pieces in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the variables in order, a repeated one repeatedly.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(variable) => Some(variable),
            _ => None,
        })
    }

    /// Says whether the template has no variable of any syntax.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.parts
            .iter()
            .all(|part| matches!(part, Part::Literal { .. }))
    }

    /// Returns the text outside variables, each variable replaced by nothing.
    #[must_use]
    pub fn literal_text(&self) -> String {
        let literals = self.parts.iter().filter_map(|part| match part {
            Part::Literal { text, .. } => Some(text.as_str()),
            _ => None,
        });
        literals.collect()
    }

    /// Returns the text as written with every `${…}` blanked out by [`MASK`], so that what stands
    /// inside a reference is not taken for structure and every offset stays what it was.
    #[must_use]
    pub fn masked(&self) -> String {
        let mut masked = String::with_capacity(self.text.len());
        for part in &self.parts {
            match part {
                Part::Literal { range, .. } => {
                    masked.push_str(self.text.get(range.clone()).unwrap_or_default());
                }
                _ => masked.extend(part.range().map(|_| MASK)),
            }
        }
        masked
    }

    /// Fills in every variable, leaving foreign syntax as it is where `foreign` allows it.
    ///
    /// # Errors
    ///
    /// Returns each [`ExpandError`] that stands in the way once, up to [`MOST_ERRORS`]. An empty
    /// value counts as unset.
    pub fn expand(
        &self,
        scope: &Scope<'_>,
        foreign: Foreign,
    ) -> Result<Secret<String>, Vec<ExpandError>> {
        let mut pieces = Vec::with_capacity(self.parts.len());
        let mut errors = Vec::new();
        for part in &self.parts {
            match self.expand_part(part, scope, foreign) {
                Ok(piece) => pieces.push(piece),
                Err(error) if errors.contains(&error) => {}
                Err(error) => errors.push(error),
            }
            if errors.len() == MOST_ERRORS {
                break;
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        // As long as it gets: growing would leave a copy behind.
        let length = pieces.iter().map(|piece| piece.expose().len()).sum();
        let mut value = String::with_capacity(length);
        for piece in &pieces {
            value.push_str(piece.expose());
        }
        Ok(Secret::new(value))
    }

    /// Fills in one piece.
    pub(crate) fn expand_part(
        &self,
        part: &Part,
        scope: &Scope<'_>,
        foreign: Foreign,
    ) -> Result<Secret<String>, ExpandError> {
        match part {
            Part::Literal { text, .. } => Ok(Secret::new(text.clone())),
            Part::Variable(variable) => variable.value_in(scope),
            Part::Foreign { range } => {
                let text = self.text.get(range.clone()).unwrap_or_default().to_owned();
                match foreign {
                    Foreign::Keep => Ok(Secret::new(text)),
                    Foreign::Refuse => Err(ExpandError::Foreign { text }),
                }
            }
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Variable {
    /// Returns the value in `scope`, or the default.
    pub(crate) fn value_in(&self, scope: &Scope<'_>) -> Result<Secret<String>, ExpandError> {
        if let Some(value) = scope.lookup(&self.name) {
            return Ok(value);
        }
        match &self.default {
            Some(default) => Ok(Secret::new(default.clone())),
            None => Err(ExpandError::Unset {
                name: self.name.clone(),
                near: scope.near(&self.name),
            }),
        }
    }
}

/// What to do with a `${…}` that is not of this contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Leave it to the program that gets it: `command` and `args`.
    Keep,
    /// Refuse: everywhere else, nothing is sent.
    Refuse,
}

impl Part {
    /// Returns where the piece stands in the template.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Literal { range, .. } | Self::Foreign { range } => range.clone(),
            Self::Variable(variable) => variable.range.clone(),
        }
    }
}

/// Says whether `name` can be a variable: `[A-Za-z_][A-Za-z0-9_]*`.
#[must_use]
pub fn is_variable_name(name: &str) -> bool {
    let first_is_letter = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first_is_letter
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn flush(parts: &mut Vec<Part>, literal: &mut String, range: Range<usize>) {
    if !literal.is_empty() {
        parts.push(Part::Literal {
            text: std::mem::take(literal),
            range,
        });
    }
}

/// How many errors of one string are worth a person's time.
pub const MOST_ERRORS: usize = 32;

/// What [`Template::masked`] puts in the place of each byte of a reference.
pub const MASK: char = '\0';

#[cfg(test)]
mod tests;
