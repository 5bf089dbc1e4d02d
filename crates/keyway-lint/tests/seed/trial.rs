//! A small plugin, and what reading, resolving and linting make of it.

use keyway_config::declared::DeclaredServer;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::method::Method;
use keyway_config::plugin::{EnvFile, Plugin, Program, ProgramState};
use keyway_config::resolve::{
    LocalSpec, RemoteSpec, ResolveErrors, Resolved, ServerSpec, SpecEndpoint, resolve,
};
use keyway_config::source::Source;
use keyway_lint::{Context, RULES, lint};

/// A plugin in the folder `/plugin`, its `.mcp.json` given as text.
pub(crate) struct Trial {
    plugin: Plugin,
    variables: Variables,
    strict: bool,
}

impl Trial {
    /// Reads a whole file.
    pub(crate) fn file(text: &str) -> Self {
        let source = Source::new(".mcp.json", text.as_bytes());
        let plugin = Plugin::new(
            "/plugin",
            vec![Document::parse(source, DocumentKind::Entries)],
        );
        Self {
            plugin,
            variables: Variables::default(),
            strict: false,
        }
    }

    /// Reads a file of one entry named `s`.
    pub(crate) fn entry(fields: &str) -> Self {
        Self::file(&format!(r#"{{"s": {{{fields}}}}}"#))
    }

    /// Reads a file of one `http` entry with these headers.
    pub(crate) fn headers(headers: &str) -> Self {
        let url = r#""type": "http", "url": "https://api.example.com/mcp""#;
        Self::entry(&format!(r#"{url}, "headers": {{{headers}}}"#))
    }

    pub(crate) fn with(mut self, variables: &[(&str, &str)]) -> Self {
        self.variables = Variables::from_pairs(variables.iter().copied());
        self
    }

    pub(crate) fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    pub(crate) fn manifest(mut self, text: &str) -> Self {
        let source = Source::new("plugin.json", text.as_bytes());
        let document = Document::parse(source, DocumentKind::Manifest);
        self.plugin.documents.push(document);
        self
    }

    pub(crate) fn readme(mut self, text: &str) -> Self {
        let readme = Source::new("README.md", text.as_bytes());
        self.plugin.snapshot.prose.push(readme.clone());
        self.plugin.snapshot.readme = Some(readme);
        self
    }

    /// Puts a `.env` into the plugin folder.
    pub(crate) fn env_file(mut self, versioned: Versioned) -> Self {
        let mut file = EnvFile::new(".env");
        file.ignored = Some(versioned == Versioned::Ignored);
        file.tracked = versioned == Versioned::Committed;
        self.plugin.snapshot.env_files.push(file);
        self
    }

    /// Puts a script where the helper `text` leads to.
    pub(crate) fn script(mut self, text: &str, state: ProgramState, script: &str) -> Self {
        let program = Program::new(
            state,
            true,
            Some(Source::new("scripts/headers.sh", script.as_bytes())),
        );
        let programs = &mut self.plugin.snapshot.programs;
        programs.insert(text.to_owned(), program);
        self
    }

    pub(crate) const fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// The entry named `s`.
    #[track_caller]
    pub(crate) fn server(&self) -> &DeclaredServer {
        let mut servers = self.plugin.servers();
        let found = servers.find(|(_, server)| server.name == "s");
        found.map_or_else(|| panic!("`s` is not loaded"), |(_, server)| server)
    }

    /// The entry `s` with its variables filled in, and the host's own.
    pub(crate) fn resolve(&self) -> Result<ServerSpec, ResolveErrors> {
        let host = self.plugin.host_variables();
        resolve(self.server(), &Scope::new(&host, &self.variables))
    }

    #[track_caller]
    pub(crate) fn spec(&self) -> ServerSpec {
        self.resolve().unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    pub(crate) fn method(&self) -> Method {
        self.spec().method
    }

    /// What stands in the way of resolving, as `pointer: message`.
    #[track_caller]
    pub(crate) fn errors(&self) -> Vec<String> {
        let errors = self.resolve().err();
        let lines = errors.iter().flatten();
        lines
            .map(|error| format!("{}: {}", error.location.pointer.as_str(), error.fault))
            .collect()
    }

    #[track_caller]
    pub(crate) fn remote(&self) -> Box<RemoteSpec> {
        match self.spec().endpoint {
            SpecEndpoint::Remote(remote) => remote,
            other => panic!("not remote: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn local(&self) -> LocalSpec {
        match self.spec().endpoint {
            SpecEndpoint::Local(local) => local,
            other => panic!("not local: {other:?}"),
        }
    }

    /// The headers that would be sent.
    #[track_caller]
    pub(crate) fn sent(&self) -> Vec<(String, String)> {
        pairs(&self.remote().headers)
    }

    /// The address that would be connected to.
    #[track_caller]
    pub(crate) fn address(&self) -> String {
        self.remote().address.url().expose().clone()
    }

    /// The variables that the process or the helper would get.
    #[track_caller]
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        pairs(&self.spec().env)
    }

    /// Everything that the linter finds; nothing is resolved.
    pub(crate) fn lint(&self) -> Vec<Diagnostic> {
        lint(
            &Context::new(&self.plugin)
                .pedantic(true)
                .strict(self.strict),
        )
    }

    /// The same against the variables, as `--env` does it.
    pub(crate) fn lint_env(&self) -> Vec<Diagnostic> {
        let host = HostVariables {
            plugin_root: "/plugin".into(),
            ..HostVariables::default()
        };
        let context = Context::new(&self.plugin)
            .pedantic(true)
            .strict(self.strict);
        lint(&context.with_scope(Scope::new(&host, &self.variables)))
    }

    /// Where the rule `id` finds something.
    #[track_caller]
    pub(crate) fn found(&self, id: &str) -> Vec<String> {
        places(&self.lint(), id)
    }

    /// The same against the variables.
    #[track_caller]
    pub(crate) fn found_env(&self, id: &str) -> Vec<String> {
        places(&self.lint_env(), id)
    }
}

/// What version control does with a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versioned {
    Ignored,
    Untracked,
    Committed,
}

/// Where `diagnostics` of the rule `id` point to; the rule must exist, so that none means none.
#[track_caller]
fn places(diagnostics: &[Diagnostic], id: &str) -> Vec<String> {
    assert!(
        RULES.iter().any(|rule| rule.id.as_str() == id),
        "no rule `{id}`"
    );
    let of_rule = diagnostics.iter().filter(|d| d.code.as_str() == id);
    of_rule
        .map(|d| {
            let location = d.location.as_ref();
            location.map_or_else(String::new, |l| l.pointer.as_str().to_owned())
        })
        .collect()
}

fn pairs(values: &[(String, Resolved)]) -> Vec<(String, String)> {
    let values = values.iter();
    values
        .map(|(name, value)| (name.clone(), value.value().expose().clone()))
        .collect()
}

/// Turns string literals into what [`Trial::sent`] and [`Trial::environment`] return.
pub(crate) fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

pub(crate) const NOTHING: &[String] = &[];
