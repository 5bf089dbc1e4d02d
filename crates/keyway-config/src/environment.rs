//! Where the values of variables come from: always an argument, never the process itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use keyway_secret::Secret;

/// A source of variables, such as the user's shell.
pub trait Environment {
    /// Returns the value of a variable, `None` if it is unset.
    fn get(&self, name: &str) -> Option<Secret<String>>;

    /// Returns the names of all variables, for suggestions.
    fn names(&self) -> Vec<String>;

    /// Returns what kind of source this is.
    fn origin(&self) -> Origin {
        Origin::Process
    }

    /// Returns which source a variable has its value from; `None` if it is unset or empty.
    fn origin_of(&self, name: &str) -> Option<Origin> {
        let is_set = self.get(name).is_some_and(|it| !it.expose().is_empty());
        is_set.then(|| self.origin())
    }

    /// Returns the variables as an entry sees them whose `envFile` is `written`; `None` if such a
    /// file adds nothing.
    ///
    /// An entry gets nothing out of a file that another entry names.
    fn with_env_file(&self, _written: &str) -> Option<&dyn Environment> {
        None
    }
}

/// Where the value of a variable comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The environment of the process.
    Process,
    /// An env file that the person named.
    File,
    /// An env file that the entry names, wherever it lies: the plugin chose it, so that what it says
    /// is the plugin's own.
    Plugin,
    /// Kept by the person, sealed.
    Vault,
}

impl Origin {
    /// Returns the word used in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Process => "environment",
            Self::File | Self::Plugin => "file",
            Self::Vault => "vault",
        }
    }
}

/// Variables held in memory: an env file, or a test.
#[derive(Debug, Clone, Default)]
pub struct Variables(BTreeMap<String, Secret<String>>);

impl Variables {
    /// Collects variables; a repeated name keeps its last value.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(n, v)| (n.into(), Secret::new(v.into())))
                .collect(),
        )
    }

    /// Joins several; of a repeated name the last value is kept.
    #[must_use]
    pub fn joined(several: impl IntoIterator<Item = Self>) -> Self {
        Self(several.into_iter().flat_map(|one| one.0).collect())
    }
}

impl Environment for Variables {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        self.0.get(name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn origin(&self) -> Origin {
        Origin::File
    }
}

/// Two sources, the first of which wins.
#[derive(Debug, Clone, Copy)]
pub struct Layered<'a, A, B>(&'a A, &'a B);

impl<'a, A, B> Layered<'a, A, B> {
    /// Takes the source that wins, and the other.
    #[must_use]
    pub const fn new(first: &'a A, second: &'a B) -> Self {
        Self(first, second)
    }
}

impl<A: Environment, B: Environment> Environment for Layered<'_, A, B> {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        let first = self.0.get(name).filter(|value| !value.expose().is_empty());
        first.or_else(|| self.1.get(name))
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.0.names();
        names.extend(self.1.names());
        names
    }

    fn origin(&self) -> Origin {
        self.0.origin()
    }

    fn origin_of(&self, name: &str) -> Option<Origin> {
        self.0.origin_of(name).or_else(|| self.1.origin_of(name))
    }
}

/// What the host itself supplies; the environment cannot override it.
#[derive(Debug, Clone, Default)]
pub struct HostVariables {
    /// `HOST_PLUGIN_ROOT`: the folder of the plugin; for the server of a bundle the one to which that
    /// was unpacked.
    pub plugin_root: PathBuf,
    /// The folder of the plugin, if `plugin_root` is that of a bundle.
    pub bundle_of: Option<PathBuf>,
    /// `HOST_PLUGIN_DATA`: where the plugin may keep files across upgrades.
    pub plugin_data: PathBuf,
    /// `HOST_PROJECT_DIR`: where the person works.
    pub project_dir: PathBuf,
    /// Holds a folder for each program of the plugin, out of reach of its other programs. No
    /// variable leads there.
    pub program_folders: PathBuf,
    /// What the plugin's files say where a person gave no value, by variable.
    pub defaults: BTreeMap<String, String>,
}

impl HostVariables {
    /// Returns the folder by which the plugin is known, wherever its bundle was unpacked.
    #[must_use]
    pub fn source(&self) -> &Path {
        self.bundle_of.as_deref().unwrap_or(&self.plugin_root)
    }

    /// Makes `folder`, to which a bundle of the plugin was unpacked, the root.
    pub fn unpacked_to(&mut self, folder: &Path) {
        let plugin = std::mem::replace(&mut self.plugin_root, folder.to_owned());
        self.bundle_of.get_or_insert(plugin);
    }

    /// Returns the value of a host variable under any of its names.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        let path = match name {
            "HOST_PLUGIN_ROOT" | "CLAUDE_PLUGIN_ROOT" | "PLUGIN_ROOT" => &self.plugin_root,
            "HOST_PLUGIN_DATA" | "CLAUDE_PLUGIN_DATA" | "PLUGIN_DATA" => &self.plugin_data,
            "HOST_PROJECT_DIR" | "CLAUDE_PROJECT_DIR" => &self.project_dir,
            _ => return None,
        };
        Some(path.to_string_lossy().into_owned())
    }
}

/// Says whether only the host supplies `name`.
#[must_use]
pub fn is_host_variable(name: &str) -> bool {
    HOST_VARIABLES
        .iter()
        .any(|(host, aliases)| *host == name || aliases.contains(&name))
}

/// Each host variable with the other names it answers to.
pub const HOST_VARIABLES: &[(&str, &[&str])] = &[
    ("HOST_PLUGIN_ROOT", &["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"]),
    ("HOST_PLUGIN_DATA", &["CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"]),
    ("HOST_PROJECT_DIR", &["CLAUDE_PROJECT_DIR"]),
];

/// Says whether every helper and child process gets `name` without an entry that passes it.
#[must_use]
pub fn is_inherited(name: &str) -> bool {
    INHERITED.contains(&name)
        || name.starts_with("LC_")
        || name.starts_with("HOST_")
        || is_host_variable(name)
        || PROXY_VARIABLES
            .iter()
            .any(|proxy| name.eq_ignore_ascii_case(proxy))
}

/// What is passed on of the person's environment.
pub const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "TMPDIR",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Proxy variables, passed on in capitals and in small letters.
pub const PROXY_VARIABLES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// Everything a template is expanded against.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    host: &'a HostVariables,
    environment: &'a dyn Environment,
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope")
            .field("host", self.host)
            .finish_non_exhaustive()
    }
}

impl<'a> Scope<'a> {
    /// Joins the host's own variables, which win, and the person's.
    #[must_use]
    pub const fn new(host: &'a HostVariables, environment: &'a dyn Environment) -> Self {
        Self { host, environment }
    }

    /// Returns what an entry is expanded against that names an env file: `written` is its text.
    #[must_use]
    pub fn with_env_file(self, written: Option<&str>) -> Self {
        let own = written.and_then(|written| self.environment.with_env_file(written));
        Self {
            environment: own.unwrap_or(self.environment),
            ..self
        }
    }

    /// Says whether a variable has a value that is not empty.
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.lookup(name).is_some()
    }

    /// Returns where the person's variable has its value from; `None` if it has none.
    #[must_use]
    pub fn origin(&self, name: &str) -> Option<Origin> {
        self.environment.origin_of(name)
    }

    /// Returns the value of a variable, be it the host's or the person's; an empty one counts as unset.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<Secret<String>> {
        if is_host_variable(name) {
            return self
                .host
                .get(name)
                .filter(|path| !path.is_empty())
                .map(Secret::new);
        }
        let given = self
            .environment
            .get(name)
            .filter(|value| !value.expose().is_empty());
        given.or_else(|| self.host.defaults.get(name).cloned().map(Secret::new))
    }

    /// Returns up to three names that are set and look like `name`, the closest first.
    #[must_use]
    pub fn near(&self, name: &str) -> Vec<String> {
        nearest(name, self.environment.names().iter().map(String::as_str))
            .into_iter()
            .filter(|near| self.is_set(near))
            .take(3)
            .map(str::to_owned)
            .collect()
    }
}

/// Returns the candidates that look like `word`, the closest first; never the word itself.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if word.len() > LONGEST_WORD {
        return Vec::new();
    }
    let lower = word.to_ascii_lowercase();
    let mut scored: Vec<(f64, &str)> = candidates
        .filter(|candidate| *candidate != word && candidate.len() <= LONGEST_WORD)
        .map(|candidate| {
            (
                similarity(&lower, &candidate.to_ascii_lowercase()),
                candidate,
            )
        })
        .filter(|(score, _)| *score > ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Says how alike two words are, from 0 to 1; one wrong letter in a short word is little.
fn similarity(word: &str, other: &str) -> f64 {
    let score = strsim::jaro_winkler(word, other);
    let is_slip = word.len() >= SHORTEST_SLIP && strsim::osa_distance(word, other) == 1;
    if is_slip { score.max(SLIP) } else { score }
}

const ALIKE: f64 = 0.88;
const SLIP: f64 = 0.9;
const SHORTEST_SLIP: usize = 4;
/// Comparing two words takes the product of their lengths; longer names are not typed by hand.
const LONGEST_WORD: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Foreign, Template};

    #[test]
    fn the_environment_cannot_override_a_host_variable() {
        let host = HostVariables {
            plugin_root: "/plugin".into(),
            ..HostVariables::default()
        };
        let variables = Variables::from_pairs([("CLAUDE_PLUGIN_ROOT", "/evil")]);
        let scope = Scope::new(&host, &variables);
        for name in ["HOST_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"] {
            let template = Template::parse(&format!("${{{name}}}/run"));
            let value = template.expand(&scope, Foreign::Refuse).unwrap();
            assert_eq!(value.expose(), "/plugin/run");
        }
    }

    #[test]
    fn an_empty_value_in_the_first_layer_does_not_hide_the_second() {
        let first = Variables::from_pairs([("A", ""), ("B", "1")]);
        let second = Variables::from_pairs([("A", "2"), ("B", "2")]);
        let layered = Layered::new(&first, &second);
        assert_eq!(layered.get("A").unwrap().expose(), "2");
        assert_eq!(layered.get("B").unwrap().expose(), "1");
    }

    #[test]
    fn near_names_are_suggested_only_when_they_are_set() {
        let host = HostVariables::default();
        let variables = Variables::from_pairs([("API_TOKENS", ""), ("API_TOKEN_1", "x")]);
        let scope = Scope::new(&host, &variables);
        assert_eq!(scope.near("API_TOKEN"), ["API_TOKEN_1"]);
    }
}
