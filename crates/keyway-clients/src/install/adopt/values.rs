//! Which variable a value of an adopted server moves to.
//!
//! Every name begins with the server's: the shell's environment goes before the vault, and a plain
//! `API_KEY` there is another service's.

use keyway_config::env_file;
use keyway_config::environment::Environment;
use keyway_lint::migrate::with_assignment;
use keyway_lint::secrets::is_credential_parameter;
use keyway_secret::Secret;
use percent_encoding::percent_decode_str;

use super::{InstallError, MOST_NAMES};

/// The values of one server, as they move to the vault.
pub(super) struct Values<'a> {
    pub(super) server: &'a str,
    /// The person's shell.
    pub(super) environment: &'a dyn Environment,
    /// What moves, as lines of an env file.
    pub(super) env: Option<Secret<String>>,
    /// The variables that hold something now.
    pub(super) variables: Vec<String>,
}

impl Values<'_> {
    /// Returns what stands in the place of a header's value.
    pub(super) fn header(
        &mut self,
        header: &str,
        value: &Secret<String>,
    ) -> Result<String, InstallError> {
        let text = value.expose();
        if text.contains("${") {
            return Ok(text.clone());
        }
        let bearer = text
            .split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let (prefix, rest, end) = match bearer {
            Some((scheme, token)) => (format!("{scheme} "), token.trim(), "TOKEN"),
            None => (String::new(), text.as_str(), header),
        };
        let name = self.keep(end, &Secret::new(rest.to_owned()))?;
        Ok(format!("{prefix}${{{name}}}"))
    }

    /// Returns an address without the values of parameters that are named like credentials.
    pub(super) fn address(&mut self, address: &str) -> Result<String, InstallError> {
        let Some((before, query)) = address.split_once('?') else {
            return Ok(address.to_owned());
        };
        let mut moved = format!("{before}?");
        for pair in query.split_inclusive(['&', '#']) {
            let (pair, end) = match pair.strip_suffix(['&', '#']) {
                Some(bare) => (bare, pair.get(bare.len()..).unwrap_or_default()),
                None => (pair, ""),
            };
            match pair.split_once('=') {
                Some((field, value)) if is_moved(field, value) => {
                    let name = self.parameter(field, value)?;
                    moved.push_str(&format!("{field}=${{{name}}}"));
                }
                _ => moved.push_str(pair),
            }
            moved.push_str(end);
        }
        Ok(moved)
    }

    /// A variable in an address is encoded when it is filled in, so it holds what the text means.
    fn parameter(&mut self, field: &str, value: &str) -> Result<String, InstallError> {
        let not_moved = || InstallError::CredentialNotMoved {
            name: self.server.to_owned(),
        };
        // A plus sign is a blank to some servers and itself to others.
        if value.contains('+') {
            return Err(not_moved());
        }
        let text = percent_decode_str(value).decode_utf8();
        let value = Secret::new(text.map_err(|_| not_moved())?.into_owned());
        self.keep(field, &value)
    }

    /// Returns the variable that holds a value from now on.
    fn keep(&mut self, end: &str, value: &Secret<String>) -> Result<String, InstallError> {
        let base = shouted(&format!("{}_{end}", self.server));
        let known = env_file::parse(self.env.as_ref().map_or("", |env| env.expose()));
        let is_usable = |name: &String| {
            let is_same =
                |found: Option<Secret<String>>| found.is_none_or(|found| found.is_same_as(value));
            is_same(known.get(name)) && is_same(self.environment.get(name))
        };
        let numbered = (2..MOST_NAMES).map(|number| format!("{base}_{number}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        let not_kept = || InstallError::NotKept {
            name: base.clone(),
            path: VAULT.to_owned(),
        };
        let name = names.find(is_usable).ok_or_else(not_kept)?;
        if known.get(&name).is_none() {
            let after = with_assignment(self.env.as_ref(), (&name, value));
            self.env = Some(after.ok_or_else(not_kept)?);
        }
        self.variables.push(name.clone());
        Ok(name)
    }
}

/// Says whether a parameter goes to a variable, whatever its value looks like.
fn is_moved(field: &str, value: &str) -> bool {
    let field = percent_decode_str(field).decode_utf8_lossy();
    !value.is_empty() && !value.contains("${") && is_credential_parameter(&field)
}

fn shouted(name: &str) -> String {
    let shouted = name.chars().map(|c| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    });
    let shouted: String = shouted.collect();
    if shouted.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("_{shouted}");
    }
    shouted
}

const VAULT: &str = "the vault";
