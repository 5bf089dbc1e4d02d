//! A server that a person adds to their own plugin, from an address or a command.

use std::path::Path;

use keyway_config::environment::Variables;
use keyway_secret::Secret;
use url::Url;

use crate::install::{Command, Home, InstallError, Remote, entry_name};
use crate::own_entries::{name_of_command, name_of_url};

/// A server that is to be added; `Debug` leaves values out.
#[derive(Debug, Clone)]
pub struct NewServer {
    name: String,
    kind: NewServerKind,
}

#[derive(Debug, Clone)]
enum NewServerKind {
    Remote(Remote),
    Program(Command),
}

impl NewServer {
    /// Reads the address of a server; `None` if it is not one.
    #[must_use]
    pub fn address(text: &str) -> Option<Url> {
        let url = Url::parse(text).ok().filter(|_| text.contains("://"))?;
        matches!(url.scheme(), "https" | "http" | "wss" | "ws").then_some(url)
    }

    /// A server at an address; without a name, its host gives one.
    #[must_use]
    pub fn at(name: Option<&str>, url: &Url) -> Self {
        let transport = match url.scheme() {
            "ws" | "wss" => "ws",
            _ if url.path().trim_end_matches('/').ends_with("/sse") => "sse",
            _ => "http",
        };
        Self {
            name: name.map_or_else(|| name_of_url(url), entry_name),
            kind: NewServerKind::Remote(Remote::new(url.as_str(), transport)),
        }
    }

    /// A program and its arguments; without a name, they give one. `None` for no words.
    #[must_use]
    pub fn program(name: Option<&str>, words: &[String]) -> Option<Self> {
        let (program, args) = words.split_first()?;
        Some(Self {
            name: name.map_or_else(|| name_of_command(words), entry_name),
            kind: NewServerKind::Program(Command::new(program, args.to_vec())),
        })
    }

    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = entry_name(name);
        self
    }

    /// Sends a header; `Authorization` with a bare token gets the scheme `Bearer`. A program has none.
    #[must_use]
    pub fn with_header(mut self, header: &str, value: Secret<String>) -> Self {
        let is_bare =
            header.eq_ignore_ascii_case("authorization") && !value.expose().trim().contains(' ');
        let value = match is_bare {
            true => Secret::new(format!("Bearer {}", value.expose().trim())),
            false => value,
        };
        self.kind = match self.kind {
            NewServerKind::Remote(remote) => NewServerKind::Remote(remote.header(header, value)),
            program @ NewServerKind::Program(_) => program,
        };
        self
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns where it is, for entries of clients; `None` for a program.
    #[must_use]
    pub const fn remote(&self) -> Option<&Remote> {
        match &self.kind {
            NewServerKind::Remote(remote) => Some(remote),
            NewServerKind::Program(_) => None,
        }
    }

    /// Writes the entry into the person's own plugin in `folder`. Values go to `keep` first, by the
    /// names of their variables, so that no entry refers to what is not there.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::NameTaken`] if the plugin has a server of that name, or why a file
    /// could not be written; what `keep` says passes as it is.
    pub fn add<E: From<InstallError>>(
        &self,
        folder: &Path,
        keep: impl FnOnce(&[(String, Secret<String>)]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut home = Home::open(folder)?;
        let name = self.name.clone();
        if home.names().contains(&name) {
            let client = "your own plugin";
            return Err(InstallError::NameTaken { name, client }.into());
        }
        match &self.kind {
            NewServerKind::Program(command) => drop(home.add_program(&name, command)?),
            NewServerKind::Remote(remote) => {
                drop(home.adopt(&name, remote, &Variables::default())?);
            }
        }
        keep(&home.values())?;
        home.write()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(server: &NewServer, folder: &Path) -> Result<Vec<String>, InstallError> {
        let mut kept = Vec::new();
        server.add(folder, |values| {
            kept.extend(
                values
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value.expose())),
            );
            Ok::<_, InstallError>(())
        })?;
        Ok(kept)
    }

    #[test]
    fn a_key_goes_to_the_keeper_and_its_variable_into_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let url = NewServer::address("https://mcp.example.com/mcp").unwrap();
        let server = NewServer::at(None, &url);
        let server = server.with_header("authorization", Secret::new("CANARY".to_owned()));
        let kept = added(&server, folder.path()).unwrap();
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert!(kept[0].ends_with("=CANARY"), "{kept:?}");
        let text = std::fs::read_to_string(folder.path().join(".mcp.json")).unwrap();
        assert!(
            text.contains("\"Bearer ${") && !text.contains("CANARY"),
            "{text}"
        );
        let again = added(&server, folder.path());
        assert!(
            matches!(again, Err(InstallError::NameTaken { .. })),
            "{again:?}"
        );
        assert!(!format!("{server:?}").contains("CANARY"));
    }

    #[test]
    fn an_entry_whose_value_was_not_kept_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let url = NewServer::address("https://mcp.example.com/mcp").unwrap();
        let server = NewServer::at(Some("a b"), &url);
        assert_eq!(server.name(), "a-b");
        let refused = server.add(folder.path(), |_| {
            let (name, path) = (String::new(), String::new());
            Err(InstallError::NotKept { name, path })
        });
        assert!(matches!(refused, Err(InstallError::NotKept { .. })));
        assert!(!folder.path().join(".mcp.json").exists());
    }

    #[test]
    fn the_transport_is_read_out_of_the_address() {
        for (text, transport) in [
            ("wss://x.example/mcp", "ws"),
            ("https://x.example/sse/", "sse"),
            ("https://x.example/mcp", "http"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let server = NewServer::at(None, &NewServer::address(text).unwrap());
            added(&server, folder.path()).unwrap();
            let written = std::fs::read_to_string(folder.path().join(".mcp.json")).unwrap();
            assert!(
                written.contains(&format!("\"{transport}\"")),
                "{text}: {written}"
            );
        }
        for text in [
            "docs",
            "http:docs",
            "file:///etc/passwd",
            "javascript:1",
            "",
        ] {
            assert_eq!(NewServer::address(text), None, "{text}");
        }
    }
}
