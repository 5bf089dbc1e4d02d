//! The environment of a child: a short list of harmless variables, and what was declared or granted.
//!
//! Nothing else of the person's environment reaches a helper or a server (contract §5 and §6). The
//! names that were withheld are kept, because a child that ends at once often missed one of them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use keyway_secret::Secret;

/// What a child finds in its environment.
#[derive(Debug, Clone, Default)]
pub struct ChildEnv {
    variables: BTreeMap<OsString, Secret<Vec<u8>>>,
    withheld: Vec<String>,
}

impl ChildEnv {
    /// What every child gets of the person's environment; `*` at the end stands for any rest.
    pub const EVERY_CHILD: &[&str] = EVERY_CHILD;

    /// Chooses from the person's environment and adds what the entry and the host supply.
    ///
    /// The host's variables win over the entry's, and those over the person's.
    pub fn build(
        person: impl IntoIterator<Item = (OsString, OsString)>,
        rules: &EnvRules<'_>,
    ) -> Self {
        let mut env = Self::default();
        for (name, value) in person {
            if rules.passes_on(&name) {
                env.set(name, value.into_vec());
            } else {
                env.withheld.push(name.to_string_lossy().into_owned());
            }
        }
        for (name, value) in rules.declared {
            env.set(name.into(), value.expose().clone().into_bytes());
        }
        for (name, value) in rules.host.pairs(rules.reader) {
            env.set(name.into(), value.into_vec());
        }
        let given = &env.variables;
        env.withheld.retain(|name| {
            !NOISE.contains(&name.as_str()) && !given.contains_key(OsStr::new(name))
        });
        env.withheld.sort_unstable();
        env
    }

    /// Returns the names of the person's variables that the child does not get, sorted.
    #[must_use]
    pub fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// Returns the names that the child gets, sorted.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.variables.keys().map(OsString::as_os_str)
    }

    /// Returns everything, for the launch spec alone.
    #[cfg(feature = "stdio")]
    pub(crate) fn expose(&self) -> impl ExactSizeIterator<Item = (&OsStr, &[u8])> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.expose().as_slice()))
    }

    fn set(&mut self, name: OsString, value: Vec<u8>) {
        self.variables.insert(name, Secret::new(value));
    }
}

/// Which variables a child gets.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EnvRules<'a> {
    /// What kind of child it is.
    pub reader: ChildKind,
    /// How much of the person's environment it may see without asking.
    pub inherit: Inherit,
    /// The entry's `env` map.
    pub declared: &'a [(String, Secret<String>)],
    /// The names that the person granted.
    pub granted: &'a [String],
    /// What the host supplies.
    pub host: &'a HostEnv,
}

impl<'a> EnvRules<'a> {
    /// Passes on what every child of the kind gets, and what the host supplies.
    #[must_use]
    pub const fn new(reader: ChildKind, host: &'a HostEnv) -> Self {
        Self {
            reader,
            inherit: Inherit::Listed,
            declared: &[],
            granted: &[],
            host,
        }
    }

    fn passes_on(&self, name: &OsStr) -> bool {
        // Names that are not text are on no list.
        let Some(name) = name.to_str() else {
            return false;
        };
        if self.granted.iter().any(|granted| granted == name) {
            return true;
        }
        if is_loader_variable(name) {
            return false;
        }
        self.inherit == Inherit::DangerousEverything
            || is_listed(EVERY_CHILD, name)
            || (self.reader == ChildKind::Server && is_listed(SERVERS, name))
    }
}

/// What kind of child reads the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildKind {
    /// A headers helper.
    Helper,
    /// A stdio server.
    Server,
}

/// How much of the person's environment a child sees without a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Inherit {
    /// The names on the list.
    #[default]
    Listed,
    /// Everything but loader and interpreter variables: the person's own decision only.
    DangerousEverything,
}

/// What the host tells a child.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HostEnv {
    /// The folder of the plugin.
    pub plugin_root: Option<PathBuf>,
    /// Where the plugin may keep files.
    pub plugin_data: Option<PathBuf>,
    /// Where the person works.
    pub project_dir: Option<PathBuf>,
    /// The name of the server; for helpers.
    pub server_name: Option<String>,
    /// The address of the server, already redacted; for helpers.
    pub server_url: Option<String>,
}

impl HostEnv {
    fn pairs(&self, reader: ChildKind) -> Vec<(&'static str, OsString)> {
        let mut pairs = Vec::new();
        for (path, names) in [
            (&self.plugin_root, PLUGIN_ROOT),
            (&self.plugin_data, PLUGIN_DATA),
            (&self.project_dir, PROJECT_DIR),
        ] {
            let path = path.iter();
            pairs.extend(path.flat_map(|path| {
                let value = path.as_os_str();
                names.iter().map(|name| (*name, value.to_owned()))
            }));
        }
        if reader == ChildKind::Helper {
            let name = self.server_name.iter().map(|name| (SERVER_NAME, name));
            let url = self.server_url.iter().map(|url| (SERVER_URL, url));
            pairs.extend(name.chain(url).map(|(name, value)| (name, value.into())));
        }
        pairs
    }
}

/// Says whether a variable changes which code a program loads.
fn is_loader_variable(name: &str) -> bool {
    is_listed(LOADERS, name)
}

/// A name that ends with `*` stands for all that begin like it.
fn is_listed(list: &[&str], name: &str) -> bool {
    list.iter().any(|listed| match listed.strip_suffix('*') {
        Some(start) => name.as_bytes().starts_with(start.as_bytes()),
        None => *listed == name,
    })
}

/// What every child gets.
const EVERY_CHILD: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TERM",
    "TMPDIR",
    "TZ",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// What servers get as well.
const SERVERS: &[&str] = &[
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
];

/// What is never inherited, whatever else is.
const LOADERS: &[&str] = &["LD_*", "DYLD_*", "NODE_OPTIONS", "PYTHON*"];

/// What a shell sets for itself: no child needs it.
const NOISE: &[&str] = &["_", "OLDPWD", "PWD", "SHLVL"];

const PLUGIN_ROOT: &[&str] = &["HOST_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"];
const PLUGIN_DATA: &[&str] = &["HOST_PLUGIN_DATA", "CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"];
const PROJECT_DIR: &[&str] = &["HOST_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];
const SERVER_NAME: &str = "HOST_MCP_SERVER_NAME";
const SERVER_URL: &str = "HOST_MCP_SERVER_URL";

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn person(names: &[&str]) -> Vec<(OsString, OsString)> {
        names
            .iter()
            .map(|name| (name.into(), "person".into()))
            .collect()
    }

    fn rules<'a>(reader: ChildKind, host: &'a HostEnv) -> EnvRules<'a> {
        EnvRules {
            reader,
            inherit: Inherit::Listed,
            declared: &[],
            granted: &[],
            host,
        }
    }

    fn names(env: &ChildEnv) -> Vec<&str> {
        env.names().map(|name| name.to_str().unwrap()).collect()
    }

    fn value<'a>(env: &'a ChildEnv, name: &str) -> &'a [u8] {
        env.expose().find(|(other, _)| *other == name).unwrap().1
    }

    /// Threats D9 and D14.
    #[test]
    fn d14_only_listed_names_are_inherited_and_the_rest_is_named() {
        let host = HostEnv::default();
        let person = person(&[
            "PATH",
            "LC_TIME",
            "FOO_TOKEN",
            "DISPLAY",
            "https_proxy",
            "PWD",
        ]);
        let helper = ChildEnv::build(person.clone(), &rules(ChildKind::Helper, &host));
        assert_eq!(names(&helper), ["LC_TIME", "PATH", "https_proxy"]);
        assert_eq!(helper.withheld(), ["DISPLAY", "FOO_TOKEN"]);
        let server = ChildEnv::build(person, &rules(ChildKind::Server, &host));
        assert_eq!(
            names(&server),
            ["DISPLAY", "LC_TIME", "PATH", "https_proxy"]
        );
    }

    #[test]
    fn d14_loader_variables_are_not_inherited_but_may_be_declared() {
        let host = HostEnv::default();
        let loaders = ["LD_PRELOAD", "DYLD_X", "NODE_OPTIONS", "PYTHONPATH"];
        let declared = [("PYTHONPATH".to_owned(), Secret::new("declared".to_owned()))];
        let everything = EnvRules {
            inherit: Inherit::DangerousEverything,
            declared: &declared,
            ..rules(ChildKind::Server, &host)
        };
        let env = ChildEnv::build(person(&loaders), &everything);
        assert_eq!(names(&env), ["PYTHONPATH"]);
        assert_eq!(value(&env, "PYTHONPATH"), b"declared");
        assert_eq!(env.withheld(), ["DYLD_X", "LD_PRELOAD", "NODE_OPTIONS"]);
    }

    #[test]
    fn granted_variable_is_passed_and_host_variables_win() {
        let host = HostEnv {
            plugin_root: Some("/plugin".into()),
            server_name: Some("search".into()),
            ..HostEnv::default()
        };
        let granted = ["FOO_TOKEN".to_owned()];
        let declared = [("PLUGIN_ROOT".to_owned(), Secret::new("/evil".to_owned()))];
        let with_grant = EnvRules {
            granted: &granted,
            declared: &declared,
            ..rules(ChildKind::Helper, &host)
        };
        let env = ChildEnv::build(person(&["FOO_TOKEN", "HOST_PLUGIN_ROOT"]), &with_grant);
        let expected = [
            "CLAUDE_PLUGIN_ROOT",
            "FOO_TOKEN",
            "HOST_MCP_SERVER_NAME",
            "HOST_PLUGIN_ROOT",
            "PLUGIN_ROOT",
        ];
        assert_eq!(names(&env), expected);
        assert_eq!(value(&env, "PLUGIN_ROOT"), b"/plugin");
        assert_eq!(value(&env, "HOST_PLUGIN_ROOT"), b"/plugin");
        assert!(env.withheld().is_empty());
        assert!(!format!("{env:?}").contains("person"));
    }

    #[test]
    fn variable_names_that_are_not_utf8_are_dropped() {
        let host = HostEnv::default();
        let odd = OsStr::from_bytes(b"LC_\xff").to_owned();
        let env = ChildEnv::build([(odd, "x".into())], &rules(ChildKind::Server, &host));
        assert_eq!(env.names().count(), 0);
    }

    #[test]
    fn everything_but_loaders_is_inherited_only_where_the_person_said_so() {
        let host = HostEnv {
            server_name: Some("search".into()),
            ..HostEnv::default()
        };
        let everything = EnvRules {
            inherit: Inherit::DangerousEverything,
            ..EnvRules::new(ChildKind::Server, &host)
        };
        let person = person(&["FOO_TOKEN", "LD_PRELOAD", "PWD"]);
        let env = ChildEnv::build(person.clone(), &everything);
        assert_eq!(names(&env), ["FOO_TOKEN", "PWD"], "a server has no name");
        let env = ChildEnv::build(person, &EnvRules::new(ChildKind::Server, &host));
        assert_eq!(env.names().count(), 0);
        // A person may grant a loader by its name, and that one alone.
        let granted = ["LD_PRELOAD".to_owned()];
        let with_grant = EnvRules {
            granted: &granted,
            ..EnvRules::new(ChildKind::Helper, &host)
        };
        let given = [
            ("LD_PRELOAD".into(), "x".into()),
            ("LD_X".into(), "y".into()),
        ];
        let env = ChildEnv::build(given, &with_grant);
        assert_eq!(names(&env), ["HOST_MCP_SERVER_NAME", "LD_PRELOAD"]);
    }
}
