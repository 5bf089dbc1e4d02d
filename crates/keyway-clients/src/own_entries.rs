//! What entries of ours say in clients' files, by how the client reaches the server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_secret::shell_word;
use url::{Host, Url};

use crate::clients::Client;
use crate::install::{
    ClientFile, Command, HelperEntry, InstallError, OwnEntry, Receipt, Receipts, Remote, entry_name,
};

/// How a client reaches a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Via {
    /// The client starts `keyway run`.
    #[default]
    Run,
    /// The client connects to the gateway, with a token from `keyway headers`.
    Gateway,
    /// The client connects to the server itself, with the access token from `keyway headers`.
    Direct,
}

/// Entries for servers of the person's own plugin.
#[derive(Clone)]
pub struct OwnEntries {
    /// The program, by its absolute path.
    program: String,
    /// The plugin's folder, by its absolute path.
    folder: String,
    /// Where the gateway serves a server.
    gateway_url: GatewayUrl,
}

type GatewayUrl = Arc<dyn Fn(&str) -> String + Send + Sync>;

impl fmt::Debug for OwnEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnEntries")
            .field("program", &self.program)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl OwnEntries {
    /// Makes entries that start `program` for the plugin in `folder`, both by their absolute paths, or
    /// that reach the gateway, which serves a server at the URL that `gateway_url` returns for it.
    #[must_use]
    pub fn new(
        program: impl Into<String>,
        folder: impl Into<String>,
        gateway_url: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            program: program.into(),
            folder: folder.into(),
            gateway_url: Arc::new(gateway_url),
        }
    }

    /// Returns the entry for a server that is at `remote`.
    ///
    /// A client without a field for a helper always starts `keyway run`.
    #[must_use]
    pub fn entry(&self, client: &Client, server: &str, (via, remote): (Via, &Remote)) -> OwnEntry {
        let url = remote.url().expose();
        match via {
            Via::Gateway if client.helper.is_some() => {
                let helper = self.helper(client, server, "");
                OwnEntry::Helper(HelperEntry::new((self.gateway_url)(server), helper))
            }
            Via::Direct if client.helper.is_some() && is_plain(remote) => {
                let helper = self.helper(client, server, " --direct");
                OwnEntry::Helper(HelperEntry::new(url.clone(), helper))
            }
            _ => self.run(server),
        }
    }

    /// Returns the entry that is right on every machine that has Keyway: the program by its name, the
    /// server by its address. Here that leads to the server of the person's own plugin.
    pub(crate) fn anywhere(remote: &Remote) -> OwnEntry {
        OwnEntry::Run(Command {
            program: "keyway".to_owned(),
            args: vec!["run".to_owned(), remote.url().expose().clone()],
        })
    }

    /// Returns the entry that starts `keyway run`.
    #[must_use]
    pub fn run(&self, server: &str) -> OwnEntry {
        let (program, folder) = (self.program.clone(), self.folder.clone());
        OwnEntry::Run(run_command(program, folder, Some(server)))
    }

    /// Writes a new server into the files of clients; a name that a client has already is an error
    /// there. Returns the files that were written.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::NameTaken`], or why a file could not be read or written; files of
    /// clients before that one stay written.
    pub fn install(
        &self,
        clients: &[(&'static Client, PathBuf)],
        server: &str,
        (via, remote): (Via, &Remote),
        data: &Path,
    ) -> Result<Vec<PathBuf>, InstallError> {
        let mut written = Vec::new();
        let mut records = Receipts::open(data)?;
        for (client, path) in clients {
            let own = self.entry(client, server, (via, remote));
            let mut file = ClientFile::read(client, path.clone())?;
            if file.entries()?.iter().any(|entry| entry.name == server) {
                let (name, client) = (server.to_owned(), client.title);
                return Err(InstallError::NameTaken { name, client });
            }
            let patch = file.put(server, &own)?;
            let mut receipt = Receipt::new(&file, (server, &own), &patch);
            receipt.own_server = Some(server.to_owned());
            records.back_up(&file)?;
            records.all.push(receipt);
            records.save()?;
            file.write(false)?;
            written.push(file.path().to_path_buf());
        }
        Ok(written)
    }

    fn helper(&self, client: &Client, server: &str, more: &str) -> String {
        let program = shell_word(&self.program);
        let name = shell_word(&format!("{OWN_PLUGIN}:{server}"));
        // Codex says cleanly that a helper failed; of a refused header it concludes that it should sign in.
        let fail = if client.name == "codex" {
            " --fail"
        } else {
            ""
        };
        format!("{program} headers {name}{more}{fail}")
    }
}

/// Says whether the address is all that there is to an entry: a client would not fill in our
/// variables, and knows nothing of our other headers.
pub(crate) fn is_plain(remote: &Remote) -> bool {
    !remote.url().expose().contains("${") && remote.has_no_headers()
}

/// Returns what a client starts for one server of the plugin at `root`, or for all.
#[must_use]
pub fn run_command(program: String, root: String, server: Option<&str>) -> Command {
    let mut args = vec!["run".to_owned()];
    args.extend(
        server
            .into_iter()
            .flat_map(|it| ["--server".to_owned(), it.to_owned()]),
    );
    args.extend(["--config".to_owned(), root]);
    Command { program, args }
}

/// Takes the name of a server from its host: `linear` for `mcp.linear.app`.
#[must_use]
pub fn name_of_url(url: &Url) -> String {
    let host = url.host_str().unwrap_or("server");
    if url
        .host()
        .is_some_and(|host| !matches!(host, Host::Domain(_)))
    {
        return entry_name(host.trim_matches(['[', ']']));
    }
    let mut labels: Vec<&str> = host.split('.').collect();
    if labels.len() > 1 {
        labels.pop();
    }
    let is_plain = |label: &&&str| !matches!(**label, "mcp" | "www" | "api" | "co" | "com");
    let label = labels.iter().rev().find(is_plain);
    entry_name(label.unwrap_or(&host))
}

/// Takes the name of a server from its command: the package that a runner runs, else the program.
#[must_use]
pub fn name_of_command(words: &[String]) -> String {
    let base = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let name = name
            .split('@')
            .find(|part| !part.is_empty())
            .unwrap_or(name);
        let name = name.strip_prefix("mcp-server-").unwrap_or(name);
        let name = name.strip_prefix("server-").unwrap_or(name);
        entry_name(name.trim_end_matches("-mcp"))
    };
    let is_runner = |word: &str| matches!(word, "npx" | "uvx" | "bunx" | "pnpx" | "pipx");
    let mut rest = words.iter().map(String::as_str);
    let program = rest.next().unwrap_or("server");
    let package = rest.find(|word| !word.starts_with('-'));
    match package.filter(|_| is_runner(program)) {
        Some(package) => base(package),
        None => base(program),
    }
}

/// The name of the person's own plugin, which is that of its folder.
pub const OWN_PLUGIN: &str = "own";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_a_person_would_say() {
        for (url, name) in [
            ("https://mcp.linear.app/mcp", "linear"),
            ("https://linear.app", "linear"),
            ("https://api.example.co.uk/mcp", "example"),
            ("https://mcp.example.com:8443/sse", "example"),
            ("http://127.0.0.1:8000/mcp", "127-0-0-1"),
            ("http://localhost:1/mcp", "localhost"),
        ] {
            assert_eq!(name_of_url(&Url::parse(url).unwrap()), name, "{url}");
        }
        for (line, name) in [
            ("uvx mcp-server-time", "time"),
            (
                "npx -y @modelcontextprotocol/server-everything@1.0",
                "everything",
            ),
            ("/opt/bin/wiki --stdio", "wiki"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(name_of_command(&words), name, "{line}");
        }
    }
}
