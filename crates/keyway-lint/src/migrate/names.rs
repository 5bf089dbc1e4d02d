//! Which variable a literal moves to: one for each value, and none that means something already.

use keyway_config::environment::{Environment, Variables, is_host_variable, is_inherited};
use keyway_config::template::is_variable_name;
use keyway_secret::Secret;

/// Which names variables get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum VariableNaming {
    /// The usual one of a credential, such as `GITHUB_TOKEN`, where it has one.
    #[default]
    Usual,
    /// One that begins with the server's, so that it is not set for another server.
    ByServer,
}

/// Hands out names and remembers them.
pub(crate) struct Namer<'a> {
    naming: VariableNaming,
    /// The person's shell.
    pub(super) environment: &'a dyn Environment,
    /// What `.env` says.
    pub(super) env_file: Variables,
    /// Names that the plugin's files use already.
    pub(super) used: Vec<String>,
    assigned: Vec<(String, Secret<String>)>,
}

/// Where the value of a name is already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// The variable is set to it.
    Environment,
    /// `.env` says so.
    EnvFile,
    /// Nowhere but in the literal.
    Nowhere,
}

/// Why a literal gets no name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameFault {
    /// `.env` gives the name another value.
    OtherLine(String),
    /// The name is a default's, and another default of it differs.
    OtherDefault(String),
    /// The host or the system supplies the name.
    Reserved(String),
}

impl<'a> Namer<'a> {
    pub(crate) const fn new(
        environment: &'a dyn Environment,
        env_file: Variables,
        used: Vec<String>,
    ) -> Self {
        Self {
            naming: VariableNaming::Usual,
            environment,
            env_file,
            used,
            assigned: Vec::new(),
        }
    }

    /// The same, where names are given out in another way.
    pub(super) fn naming(mut self, naming: VariableNaming) -> Self {
        self.naming = naming;
        self
    }

    /// Finds the name for `value` that begins with `base`: the same for the same value, else one
    /// that is free, with the server's name behind it or a number.
    pub(crate) fn choose(
        &mut self,
        base: &str,
        server: &str,
        value: &Secret<String>,
    ) -> Result<String, NameFault> {
        let known = self
            .assigned
            .iter()
            .find(|(_, other)| other.is_same_as(value));
        if let Some((name, _)) = known {
            return Ok(name.clone());
        }
        let server = part(server);
        let has_server = base.starts_with(&format!("{server}_"));
        let base = match self.naming {
            VariableNaming::ByServer if !has_server => &after_server(&server, base),
            _ => base,
        };
        let suffixed = if has_server || self.naming == VariableNaming::ByServer {
            base.to_owned()
        } else {
            format!("{base}_{server}")
        };
        let numbered = (2_u32..).map(|number| format!("{suffixed}_{number}"));
        let candidates = [base.to_owned(), suffixed.clone()].into_iter();
        for name in candidates.chain(numbered).take(MOST_CANDIDATES) {
            if self.is_free(&name, value)? {
                self.assigned.push((name.clone(), value.clone()));
                return Ok(name);
            }
        }
        Err(NameFault::Reserved(base.to_owned()))
    }

    /// Takes the name that a default already has.
    pub(super) fn fix(&mut self, name: &str, value: &Secret<String>) -> Result<(), NameFault> {
        if is_reserved(name) {
            return Err(NameFault::Reserved(name.to_owned()));
        }
        let assigned = self.assigned.iter().find(|(other, _)| other == name);
        if let Some((_, other)) = assigned {
            return if other.is_same_as(value) {
                Ok(())
            } else {
                Err(NameFault::OtherDefault(name.to_owned()))
            };
        }
        self.require_line_fits(name, value)?;
        self.assigned.push((name.to_owned(), value.clone()));
        Ok(())
    }

    /// Says where the value of a name is already.
    pub(super) fn known(&self, name: &str, value: &Secret<String>) -> Known {
        let is_value = |found: Option<Secret<String>>| found.is_some_and(|f| f.is_same_as(value));
        if is_value(self.environment.get(name)) {
            Known::Environment
        } else if is_value(self.env_file.get(name)) {
            Known::EnvFile
        } else {
            Known::Nowhere
        }
    }

    fn is_free(&self, name: &str, value: &Secret<String>) -> Result<bool, NameFault> {
        if is_reserved(name) || self.assigned.iter().any(|(other, _)| other == name) {
            return Ok(false);
        }
        let set = self
            .environment
            .get(name)
            .filter(|v| !v.expose().is_empty());
        // A shell that has another value would send that instead.
        if set.is_some_and(|set| !set.is_same_as(value)) {
            return Ok(false);
        }
        let is_known = self.known(name, value) != Known::Nowhere;
        if !is_known && self.used.iter().any(|used| used == name) {
            return Ok(false);
        }
        self.require_line_fits(name, value)?;
        Ok(true)
    }

    /// An empty line is there to be filled in.
    fn require_line_fits(&self, name: &str, value: &Secret<String>) -> Result<(), NameFault> {
        let line = self.env_file.get(name).filter(|v| !v.expose().is_empty());
        match line {
            Some(line) if !line.is_same_as(value) => Err(NameFault::OtherLine(name.to_owned())),
            _ => Ok(()),
        }
    }
}

/// Makes a variable name of any text, such as the name of a header.
pub(super) fn from_words(text: &str) -> Option<String> {
    let name = part(text.trim_start_matches('-'));
    let name = name.trim_matches('_');
    is_variable_name(name).then(|| name.to_owned())
}

/// Turns text into capitals, digits and underscores.
pub(super) fn part(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric();
    text.chars()
        .map(|c| {
            if allowed(c) {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect()
}

/// Puts a server's name before another; no variable begins with a digit.
pub(super) fn after_server(server: &str, base: &str) -> String {
    let is_digit = server.starts_with(|c: char| c.is_ascii_digit());
    format!("{}{server}_{base}", if is_digit { "_" } else { "" })
}

fn is_reserved(name: &str) -> bool {
    is_host_variable(name) || is_inherited(name) || !is_variable_name(name)
}

/// No plugin has so many entries that share a name and a variable.
const MOST_CANDIDATES: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn one_name_for_one_value_and_another_for_another() {
        let environment = Variables::default();
        let mut namer = Namer::new(&environment, Variables::default(), Vec::new());
        let mut choose =
            |server: &str, value: &str| namer.choose("API_KEY", server, &secret(value)).unwrap();
        assert_eq!(choose("a", "1"), "API_KEY");
        assert_eq!(choose("b", "1"), "API_KEY");
        assert_eq!(choose("b-x", "2"), "API_KEY_B_X");
        assert_eq!(choose("b-x", "3"), "API_KEY_B_X_2");
        assert_eq!(choose("b.x", "4"), "API_KEY_B_X_3");
        assert_eq!(choose("api", "5"), "API_KEY_2");
    }

    #[test]
    fn a_name_by_the_server_begins_with_it() {
        let environment = Variables::default();
        let namer = Namer::new(&environment, Variables::default(), Vec::new());
        let mut namer = namer.naming(VariableNaming::ByServer);
        let mut choose = |base: &str, server: &str, value: &str| {
            namer.choose(base, server, &secret(value)).unwrap()
        };
        assert_eq!(choose("GITHUB_TOKEN", "my-hub", "1"), "MY_HUB_GITHUB_TOKEN");
        assert_eq!(
            choose("GITHUB_TOKEN", "my.hub", "2"),
            "MY_HUB_GITHUB_TOKEN_2"
        );
        assert_eq!(choose("S_TOKEN", "s", "3"), "S_TOKEN");
        assert_eq!(choose("API_KEY", "7s", "4"), "_7S_API_KEY");
    }

    #[test]
    fn a_variable_that_means_something_else_is_not_taken() {
        let environment = Variables::from_pairs([("SET", "other"), ("SAME", "mine")]);
        let used = ["USED", "SAME", "FILED"].map(str::to_owned).to_vec();
        let file = Variables::from_pairs([("FILED", "mine"), ("EMPTY", "")]);
        let chosen = |base: &str| {
            let mut namer = Namer::new(&environment, file.clone(), used.clone());
            namer.choose(base, "s", &secret("mine")).unwrap()
        };
        for (base, name) in [
            ("SET", "SET_S"),
            ("USED", "USED_S"),
            ("PATH", "PATH_S"),
            ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT_S"),
            ("SAME", "SAME"),
            ("FILED", "FILED"),
            ("EMPTY", "EMPTY"),
        ] {
            assert_eq!(chosen(base), name);
        }
    }

    #[test]
    fn a_line_with_another_value_is_a_conflict() {
        let environment = Variables::default();
        let file = Variables::from_pairs([("A", "theirs")]);
        let mut namer = Namer::new(&environment, file, Vec::new());
        let fault = NameFault::OtherLine("A".to_owned());
        assert_eq!(namer.choose("A", "s", &secret("mine")), Err(fault.clone()));
        assert_eq!(namer.fix("A", &secret("mine")), Err(fault));
        namer.fix("B", &secret("1")).unwrap();
        let other = NameFault::OtherDefault("B".to_owned());
        assert_eq!(namer.fix("B", &secret("2")), Err(other));
    }
}
