//! The table of keys: what the parser accepts, and what the reference lists.

mod gateway;
mod wrapping_key;

use keyway_approval::{SandboxMechanism, SandboxProfile};

use super::words::{Algorithm, AuthMethod, ColorChoice, Dpop, Grant};

/// One table of the file with its keys.
#[derive(Debug)]
#[non_exhaustive]
pub struct Section {
    /// The names on the way down; `*` stands for a name that the person chooses.
    pub path: &'static [&'static str],
    /// How the table is written, for the reference.
    pub title: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// One key.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What it does.
    pub meaning: &'static str,
    /// A value, as one would write it.
    pub example: &'static str,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Text that is not empty.
    Text,
    /// `true` or `false`.
    Flag,
    /// A port.
    Port,
    /// A number of minutes; 0 means never.
    Minutes,
    /// A number of things, at least 1.
    Count,
    /// A number of things; 0 means any number.
    Limit,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An address: `https`, or `http` on this machine.
    Address,
    /// An address of a proxy.
    Proxy,
    /// Either of a word and an address.
    AddressOr(&'static str),
    /// A file; relative to the folder of `config.toml`, `~/` is the home.
    Path,
    /// Several files.
    Paths,
    /// Several texts.
    Texts,
    /// A program and its arguments, without a shell.
    Command,
    /// Names with texts.
    Map,
}

impl Kind {
    /// Says what a value must be.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Port => "a port from 1 to 65535".to_owned(),
            Self::Minutes => "a number of minutes from 0, which means never, to 65535".to_owned(),
            Self::Count => "a number from 1 to 4294967295".to_owned(),
            Self::Limit => "a number from 0, which means no limit, to 4294967295".to_owned(),
            Self::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
                words.join(", ")
            }
            Self::Address => "an `https` address".to_owned(),
            Self::Proxy => "the address of a proxy, `http` or `https`".to_owned(),
            Self::AddressOr(word) => format!("an `https` address, or `\"{word}\"`"),
            Self::Path => "a file".to_owned(),
            Self::Paths => "a list of files".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Command => "a list: a program and its arguments".to_owned(),
            Self::Map => "a table of texts".to_owned(),
        }
    }
}

/// A name that the person chooses.
pub(super) const ANY: &str = "*";

const fn key(name: &'static str, kind: Kind, example: &'static str, meaning: &'static str) -> Key {
    Key {
        name,
        kind,
        meaning,
        example,
    }
}

/// What binds a table to one plugin: a name is whatever a plugin calls itself.
const SOURCE: Key = key(
    "source",
    Kind::Path,
    "\"~/plugins/acme\"",
    "The folder of the plugin, or one above it. Required: another plugin of the same name gets nothing of this table",
);

const CONFINEMENT: [Key; 7] = [
    key(
        "profile",
        Kind::Word(SandboxProfile::WORDS),
        "\"confine\"",
        "What programs are kept from: `hide` what is Keyway's (the default), `confine` them to system folders, the plugin (to read), its data and what is granted, `off`",
    ),
    key(
        "mechanism",
        Kind::Word(SandboxMechanism::WORDS),
        "\"landlock\"",
        "By which means: whatever the system offers (the default), Landlock alone, or private mounts alone",
    ),
    key(
        "grants",
        Kind::Paths,
        "[\"~/.npm\"]",
        "Folders and files that confined programs may read and write, beside the plugin's data; the plugin itself only if it is named here",
    ),
    key(
        "read_only_grants",
        Kind::Paths,
        "[\"~/.aws\"]",
        "Folders and files that confined programs may read",
    ),
    key(
        "network",
        Kind::Flag,
        "false",
        "Whether confined programs have a network (the default); without it they do not reach this machine's own services either",
    ),
    key(
        "require",
        Kind::Flag,
        "true",
        "Start a program only if everything that its profile promises is in force here",
    ),
    key(
        "inherit_environment",
        Kind::Flag,
        "true",
        "Give programs the whole environment of the shell, credentials included",
    ),
];

/// A client that was registered beforehand, wherever it is described.
const CLIENT: [Key; 8] = [
    key("client_id", Kind::Text, "\"keyway-at-work\"", "The client"),
    key(
        "client_secret_env",
        Kind::Text,
        "\"WORK_CLIENT_SECRET\"",
        "The variable that holds its secret",
    ),
    key(
        "client_secret_command",
        Kind::Command,
        "[\"pass\", \"show\", \"work/keyway\"]",
        "The program that prints its secret",
    ),
    key(
        "private_key_file",
        Kind::Path,
        "\"keyway-at-work.pem\"",
        "The key that signs its assertions, PEM, readable by you alone",
    ),
    key(
        "key_id",
        Kind::Text,
        "\"2026-11\"",
        "The key's name in the client's key set",
    ),
    key(
        "signing_algorithm",
        Kind::Word(Algorithm::WORDS),
        "\"ES256\"",
        "How assertions are signed; otherwise what fits the key",
    ),
    key(
        "auth_method",
        Kind::Word(AuthMethod::WORDS),
        "\"private_key_jwt\"",
        "How the client authenticates; otherwise what the authorization server offers",
    ),
    key(
        "token_endpoint",
        Kind::Address,
        "\"https://login.example/token\"",
        "The token endpoint. Needed where an entry names its endpoints itself: your client goes to no other one",
    ),
];

const REFRESHES_PER_SECOND: Key = key(
    "refreshes_per_second",
    Kind::Limit,
    "20",
    "How many token requests renewals send to an authorization server in a second, all gateways of one database together; 100 unless set, 0 for any number. A renewal beyond that waits. While its token is still good no call waits for it",
);
const REFRESH_BURST: Key = key(
    "refresh_burst",
    Kind::Count,
    "40",
    "How many of them may come at once after a while without any; as many as in a second unless set here",
);

/// Every table with its keys.
pub const SECTIONS: &[Section] = &[
    Section {
        path: &["defaults"],
        title: "[defaults]",
        about: "Defaults for flags that neither the command line nor the environment sets.",
        keys: &[
            key(
                "profile",
                Kind::Text,
                "\"work\"",
                "`--profile`: whose approvals and sign-ins to use",
            ),
            key(
                "account",
                Kind::Text,
                "\"ada@example.com\"",
                "`--account`: which account to use if a server has several",
            ),
            key(
                "browser",
                Kind::Text,
                "\"firefox\"",
                "`--browser`: the program that opens a page for signing in",
            ),
            key(
                "color",
                Kind::Word(ColorChoice::WORDS),
                "\"never\"",
                "`--color`: when to use colour; `NO_COLOR` overrides it",
            ),
            key("quiet", Kind::Flag, "true", "`--quiet`: print errors only"),
            key(
                "verbose",
                Kind::Flag,
                "true",
                "`--verbose`: print notes as well",
            ),
        ],
    },
    Section {
        path: &["sandbox"],
        title: "[sandbox]",
        about: "What helpers and stdio servers are kept from.",
        keys: &CONFINEMENT,
    },
    Section {
        path: &["sandbox", "servers", ANY],
        title: "[sandbox.servers.\"PLUGIN:SERVER\"]",
        about: "The same for one server; what is not set here is as in `[sandbox]`.",
        keys: &{
            let [
                profile,
                mechanism,
                grants,
                read_only,
                network,
                require,
                inherit,
            ] = CONFINEMENT;
            [
                SOURCE, profile, mechanism, grants, read_only, network, require, inherit,
            ]
        },
    },
    Section {
        path: &["network"],
        title: "[network]",
        about: "How the network is reached.",
        keys: &[
            key(
                "proxy",
                Kind::Proxy,
                "\"http://proxy.example:3128\"",
                "The proxy for everything that `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY` do not cover; never used for this machine",
            ),
            key(
                "no_proxy",
                Kind::Texts,
                "[\"intranet.example\", \"10.0.0.0/8\"]",
                "Hosts, domains and networks to reach directly, unless `NO_PROXY` is set",
            ),
            key(
                "roots",
                Kind::Paths,
                "[\"corporate-ca.pem\"]",
                "Files of additional root certificates to trust",
            ),
            key(
                "client_certificate",
                Kind::Path,
                "\"client.pem\"",
                "The certificate chain for servers that ask for a client certificate",
            ),
            key(
                "client_key",
                Kind::Path,
                "\"client.key\"",
                "The key of `client_certificate`, not encrypted",
            ),
        ],
    },
    Section {
        path: &["oauth"],
        title: "[oauth]",
        about: "Settings for every authorization server.",
        keys: &[
            key(
                "client_metadata_url",
                Kind::Address,
                "\"https://ada.example/keyway.json\"",
                "Where you host the document that `keyway client-metadata` prints; without it no such document is used",
            ),
            REFRESHES_PER_SECOND,
            REFRESH_BURST,
        ],
    },
    Section {
        path: &["oauth", "issuers", ANY],
        title: "[oauth.issuers.\"https://ISSUER\"]",
        about: "A client that was registered beforehand, and exceptions, for one authorization server.",
        keys: &[
            CLIENT[0],
            CLIENT[1],
            CLIENT[2],
            CLIENT[3],
            CLIENT[4],
            CLIENT[5],
            CLIENT[6],
            CLIENT[7],
            REFRESHES_PER_SECOND,
            REFRESH_BURST,
            key(
                "callback_port",
                Kind::Port,
                "8123",
                "The port of the callback that was registered",
            ),
            key(
                "metadata_issuer",
                Kind::Text,
                "\"https://other.example\"",
                "Accept metadata that names this issuer although it was requested from another; weakens the protection against a spoofed authorization server",
            ),
        ],
    },
    Section {
        path: &["servers", ANY, "oauth"],
        title: "[servers.\"PLUGIN:SERVER\".oauth]",
        about: "How to sign in to one server; each key overrides the plugin's entry.",
        keys: &[
            SOURCE,
            key(
                "grant",
                Kind::Word(Grant::WORDS),
                "\"client-credentials\"",
                "How a token is obtained; by default a person signs in with a browser",
            ),
            key(
                "issuer",
                Kind::Address,
                "\"https://as.example\"",
                "The authorization server, where the server names several or none",
            ),
            CLIENT[0],
            CLIENT[1],
            CLIENT[2],
            CLIENT[3],
            CLIENT[4],
            CLIENT[5],
            CLIENT[6],
            CLIENT[7],
            key("scopes", Kind::Texts, "[\"read\"]", "What is asked for"),
            key(
                "resource",
                Kind::AddressOr("omit"),
                "\"https://api.example/mcp\"",
                "The `resource` to name, or `omit` for authorization servers that refuse the parameter",
            ),
            key(
                "authorize_params",
                Kind::Map,
                "{ prompt = \"consent\" }",
                "More parameters of the authorization request",
            ),
            key(
                "pkce",
                Kind::Word(&["assume-s256"]),
                "\"assume-s256\"",
                "Assume that PKCE with S256 is supported although the metadata does not say so",
            ),
            key(
                "refresh_scope",
                Kind::Word(&["granted"]),
                "\"granted\"",
                "Name the granted scopes in each refresh, for providers that otherwise issue a token for something else",
            ),
            key(
                "private_issuer",
                Kind::Flag,
                "true",
                "Let the authorization server have a private address although the server has a public one",
            ),
            key(
                "dpop",
                Kind::Word(Dpop::WORDS),
                "\"always\"",
                "Whether tokens are bound to a key: where it is offered (the default), always, never",
            ),
            key(
                "idp_issuer",
                Kind::Address,
                "\"https://login.example\"",
                "For `id-jag`: the identity provider, where you sign in once for all servers; its client is set in `[oauth.issuers]`",
            ),
            key(
                "idp_token_endpoint",
                Kind::Address,
                "\"https://login.example/token\"",
                "For `id-jag`: where the ID token is exchanged; otherwise as the provider's metadata says",
            ),
            key(
                "id_token_env",
                Kind::Text,
                "\"CORPORATE_ID_TOKEN\"",
                "For `id-jag`: the variable that holds the ID token, if another program signs in there",
            ),
            key(
                "id_token_command",
                Kind::Command,
                "[\"corp-login\", \"--id-token\"]",
                "For `id-jag`: the program that prints the ID token, if another one signs in there",
            ),
            key(
                "jwt_file",
                Kind::Path,
                "\"/var/run/secrets/token\"",
                "For `workload-identity`: the file that the platform keeps the token in, read again each time",
            ),
            key(
                "jwt_command",
                Kind::Command,
                "[\"gcloud\", \"auth\", \"print-identity-token\"]",
                "For `workload-identity`: the program that prints the token",
            ),
        ],
    },
    gateway::GATEWAY,
    gateway::PEOPLE,
    gateway::CLIENT_LIMITS,
    gateway::SERVER_LIMITS,
    Section {
        path: &["vault"],
        title: "[vault]",
        about: "Sign-ins in a PostgreSQL database that several gateways share, in place of this machine's vault. With people their variables and approvals are there too; gateway tokens and rules for tools stay in the vault.",
        keys: &[
            key(
                "address",
                Kind::Text,
                "\"postgres://keyway@db.example/keyway\"",
                "The database, without a password; `--vault` of `keyway serve` comes before it",
            ),
            key(
                "tenant",
                Kind::Text,
                "\"acme\"",
                "Whose sign-ins they are, if several organisations share the database; `default` unless set here",
            ),
            key(
                "password_file",
                Kind::Path,
                "\"/etc/keyway/database-password\"",
                "The file whose first line is the password, readable by its owner alone",
            ),
            key(
                "password_command",
                Kind::Text,
                "\"pass show keyway/database\"",
                "The command line that prints the password, run by a shell; `PGPASSFILE` is read if neither is set",
            ),
            key(
                "key_file",
                Kind::Path,
                "\"/etc/keyway/wrapping.key\"",
                "The file that holds the wrapping key, 64 hexadecimal digits, readable by its owner alone",
            ),
            key(
                "key_command",
                Kind::Text,
                "\"pass show keyway/wrapping-key\"",
                "The command line that prints the wrapping key, run by a shell",
            ),
            key(
                "ca_file",
                Kind::Path,
                "\"/etc/keyway/database-ca.pem\"",
                "The certificates that the database is verified against, in place of the system's",
            ),
            key(
                "connections",
                Kind::Count,
                "8",
                "How many connections a gateway makes at most, 2 to 64, and one more that shows that it runs; 16 unless set here",
            ),
        ],
    },
    wrapping_key::KEY,
    wrapping_key::PREVIOUS_KEY,
    Section {
        path: &["policies", ANY],
        title: "[policies.\"PLUGIN:SERVER\"]",
        about: "Which tools of one server clients of the gateway may see and call. From then on a tool that is new or has changed is denied until you have looked at it.",
        keys: &[key(
            "tools",
            Kind::Map,
            "{ delete_repository = \"deny\", create_issue = \"ask\", \"*\" = \"allow\" }",
            TOOLS,
        )],
    },
    Section {
        path: &["policies", ANY, "clients", ANY],
        title: "[policies.\"PLUGIN:SERVER\".clients.CLIENT]",
        about: "The same for one client, by the name of its gateway token; it comes before the rules for all clients.",
        keys: &[key(
            "tools",
            Kind::Map,
            "{ search = \"allow\", \"*\" = \"deny\" }",
            TOOLS,
        )],
    },
];

/// What a table of tool rules says.
const TOOLS: &str = "`allow`, `ask` or `deny` for each tool by its name; `*` stands for every tool that is not named. Without a rule a tool is allowed";
