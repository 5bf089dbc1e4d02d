//! What a client has to show: a capability, kept as a hash, with the servers that it opens; and what
//! a host has to show before it may approve entries, kept in the same way.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use keyway::config::names::{of_server_id, path_segment, server_id};
use keyway_secret::{Secret, hex, shell_word};
use serde::{Deserialize, Serialize};

/// A gateway token as it is stored. A reader of the record cannot use it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayToken {
    /// How the person calls the client that has it.
    pub name: String,
    /// What it opens; everything if there is no list.
    pub servers: Option<Vec<TokenScope>>,
    hash: TokenHash,
    /// Seconds since 1970; earlier versions did not record it.
    created: Option<u64>,
    /// The account that it is bound to, if it is for a job without a person.
    account: Option<String>,
}

/// The record of a token.
#[derive(Serialize, Deserialize)]
struct StoredToken {
    name: String,
    servers: Option<Vec<StoredScope>>,
    hash: [u8; 32],
    #[serde(default)]
    created: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredScope {
    plugin: String,
    server: Option<String>,
}

impl GatewayToken {
    /// Describes the holder of `token`, which is kept as a hash alone.
    #[must_use]
    pub fn new(
        name: &str,
        servers: Option<Vec<TokenScope>>,
        token: &Secret<String>,
        now: SystemTime,
    ) -> Self {
        Self {
            name: name.to_owned(),
            servers,
            hash: TokenHash::of(token.expose()),
            created: now.duration_since(UNIX_EPOCH).ok().map(|it| it.as_secs()),
            account: None,
        }
    }

    /// Binds it to the sign-in of one account, if there is one: a service account.
    #[must_use]
    pub fn bound_to(mut self, account: Option<&str>) -> Self {
        self.account = account.map(str::to_owned);
        self
    }

    /// Says whether it opens a server.
    #[must_use]
    pub fn opens(&self, plugin: &str, server: &str) -> bool {
        let scopes = self.servers.as_deref();
        scopes.is_none_or(|scopes| scopes.iter().any(|scope| scope.covers(plugin, server)))
    }

    /// Returns when it was made, if that was recorded.
    #[must_use]
    pub fn created_at(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.created?))
    }

    /// Returns the record, which does not hold the token; `None` is for what cannot happen.
    pub(crate) fn to_record(&self) -> Option<Vec<u8>> {
        let scope = |TokenScope { plugin, server }: &TokenScope| StoredScope {
            plugin: plugin.clone(),
            server: server.clone(),
        };
        let servers = self.servers.as_ref();
        let stored = StoredToken {
            name: self.name.clone(),
            servers: servers.map(|all| all.iter().map(scope).collect()),
            hash: self.hash.0,
            created: self.created,
            account: self.account.clone(),
        };
        serde_json::to_vec(&stored).ok()
    }

    /// Reads a record; `None` if it is not one.
    pub(crate) fn from_record(record: &[u8]) -> Option<Self> {
        let StoredToken {
            name,
            servers,
            hash,
            created,
            account,
        } = serde_json::from_slice(record).ok()?;
        let scope = |StoredScope { plugin, server }| TokenScope { plugin, server };
        Some(Self {
            name,
            servers: servers.map(|all| all.into_iter().map(scope).collect()),
            hash: TokenHash(hash),
            created,
            account,
        })
    }

    /// Returns the account whose sign-in it uses, if it is a service account: no person is asked.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Returns what the gateway tells apart its holders by.
    #[must_use]
    pub const fn hash(&self) -> TokenHash {
        self.hash
    }

    #[cfg(test)]
    pub(crate) fn for_test(token: &str, servers: Option<&[&str]>) -> Self {
        let scope = |text: &&str| TokenScope::read(text).unwrap();
        let servers = servers.map(|all| all.iter().map(scope).collect());
        let token = Secret::new(token.to_owned());
        Self {
            created: None,
            ..Self::new("test", servers, &token, UNIX_EPOCH)
        }
    }
}

/// One server of a plugin, or all of them. A name alone is never enough: any plugin may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenScope {
    plugin: String,
    server: Option<String>,
}

impl TokenScope {
    /// Names one server.
    #[must_use]
    pub fn server(plugin: &str, server: &str) -> Self {
        Self {
            plugin: plugin.to_owned(),
            server: Some(server.to_owned()),
        }
    }

    /// Reads `PLUGIN:SERVER`, or `PLUGIN:*` for all of a plugin.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (plugin, server) = of_server_id(text)?;
        if plugin.is_empty() || server.is_empty() {
            return None;
        }
        Some(Self {
            plugin: plugin.into_owned(),
            server: (server != "*").then(|| server.to_owned()),
        })
    }

    /// Returns the plugin and the server, if it is one server.
    #[must_use]
    pub fn only_server(&self) -> Option<(&str, &str)> {
        Some((&self.plugin, self.server.as_deref()?))
    }

    fn covers(&self, plugin: &str, server: &str) -> bool {
        let same_server = self.server.as_deref().is_none_or(|own| own == server);
        self.plugin == plugin && same_server
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.server.as_deref().unwrap_or("*");
        f.write_str(&server_id(&self.plugin, server))
    }
}

/// The hash of a gateway token. It has 256 random bits, so that it needs no salt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Hashes what a client showed.
    #[must_use]
    pub fn of(token: &str) -> Self {
        let mut hasher = Blake2b::<U32>::new();
        hasher.update(b"keyway capability 1\0");
        hasher.update(token.as_bytes());
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for TokenHash {
    type Err = NotAHash;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Self, NotAHash> {
        hex::read(text).map(Self).ok_or(NotAHash)
    }
}

/// A text that is not the hash of a token.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotAHash;

/// Says whether a token may have a name: it can be told apart in a table, and typed.
#[must_use]
pub fn is_token_name(name: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace();
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain)
}

/// Says how a client shows the token: at the server's own path if it opens only one, else at that of
/// all servers together.
#[must_use]
pub fn token_usage(name: &str, scopes: Option<&[TokenScope]>) -> String {
    let only = match scopes {
        Some([only]) => Some(only.to_string()),
        _ => None,
    };
    let path = only.as_deref().and_then(|only| only.split_once(':'));
    let path = path
        .filter(|(_, server)| *server != "*")
        .map(|(plugin, server)| {
            let (plugin, server) = (path_segment(plugin), path_segment(server));
            format!("/{plugin}/{server}")
        });
    let (name, path) = (shell_word(name), path.unwrap_or_default());
    format!(
        "The token is shown only this once. A client sends it as a header, for example:\n  \
         claude mcp add --transport http {name} http://127.0.0.1:5399/mcp{path} \
         --header \"Authorization: Bearer TOKEN\"\n\
         `keyway serve` prints its address, if it is another one.\n"
    )
}

const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c10_a_scope_opens_its_plugin_and_no_other() {
        let limited = GatewayToken::for_test("t", Some(&["a:s", "b:*"]));
        for (plugin, server, expected) in [
            ("a", "s", true),
            ("a", "t", false),
            ("b", "s", true),
            ("b", "t", true),
            ("c", "s", false),
            ("", "s", false),
        ] {
            assert_eq!(limited.opens(plugin, server), expected, "{plugin}:{server}");
        }
        // A name that holds the colon is another plugin's, also after the text was read again.
        let scope = TokenScope::server("a:b", "c").to_string();
        let limited = GatewayToken::for_test("t", Some(&[&scope]));
        assert!(limited.opens("a:b", "c") && !limited.opens("a", "b:c"));
        assert!(GatewayToken::for_test("t", None).opens("c", "s"));
        assert!(!GatewayToken::for_test("t", Some(&[])).opens("c", "s"));
    }

    #[test]
    fn a_name_without_a_plugin_is_not_a_scope() {
        for text in ["s", "", ":", ":s", "a:"] {
            assert_eq!(TokenScope::read(text), None, "{text}");
        }
        for text in ["a:s", "a:*", "a:b:c"] {
            assert_eq!(TokenScope::read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn token_of_a_version_that_recorded_no_date_is_read() {
        let record = GatewayToken::for_test("t", Some(&["p:*"]))
            .to_record()
            .unwrap();
        let mut kept: serde_json::Value = serde_json::from_slice(&record).unwrap();
        kept.as_object_mut().unwrap().remove("created").unwrap();
        let read = GatewayToken::from_record(kept.to_string().as_bytes()).unwrap();
        assert_eq!(read, GatewayToken::for_test("t", Some(&["p:*"])));
    }

    #[test]
    fn what_is_kept_does_not_hold_the_token() {
        let kept = GatewayToken::for_test("CANARY", None);
        let record = String::from_utf8(kept.to_record().unwrap()).unwrap();
        let text = format!("{kept:?} {record}");
        assert!(!text.contains("CANARY"), "{text}");
        assert_ne!(TokenHash::of("CANARY"), TokenHash::of("CANARX"));
    }

    #[test]
    fn a_hash_is_read_as_it_is_written_and_nothing_else_is() {
        let hash = TokenHash::of("t");
        let text = hash.to_string();
        assert_eq!(text.parse::<TokenHash>().unwrap(), hash);
        for other in [
            "",
            &text[2..],
            &text[1..],
            &format!("{text}0"),
            &"+1".repeat(32),
        ] {
            assert!(other.parse::<TokenHash>().is_err(), "{other}");
        }
    }
}
