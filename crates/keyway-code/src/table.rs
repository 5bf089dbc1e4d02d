//! The table: one row per code.
//!
//! A row says, in this order: the step at which the code stops a server, the state that it leaves
//! the server in, the exit status, who can fix it, whether waiting helps, and the hint where the
//! error itself knows nothing better. The page has the name of the code and lies in `pages/`.

use crate::{Exit, Facts, Fixer, Kind, Reason, ServerState, Stage, State};

macro_rules! codes {
    (
        errors { $($error:ident $text:literal $stage:ident $state:ident $exit:ident $fixer:ident $wait:ident $hint:literal)* }
        rules { $($rule:ident $id:literal $(=> $at:ident $leaves:ident $ends:ident $by:ident $later:ident $advice:literal)?)* }
    ) => {
        /// A code: why something does not work, in every format under the same name.
        #[expect(
            clippy::exhaustive_enums,
            reason = "a match over codes has to name each, so that none is forgotten"
        )]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = include_str!(concat!("../pages/errors/", $text, ".md"))] $error,)*
            $(#[doc = include_str!(concat!("../pages/rules/", $id, ".md"))] $rule,)*
        }

        impl Code {
            /// Every code: errors first, then rules, each in the order of their texts.
            pub const ALL: &[Self] = &[$(Self::$error,)* $(Self::$rule,)*];

            /// Returns the row of the table.
            #[must_use]
            pub const fn facts(self) -> Facts {
                match self {
                    $(Self::$error => Facts {
                        text: $text,
                        page: include_str!(concat!("../pages/errors/", $text, ".md")),
                        kind: Kind::Error,
                        stage: $stage,
                        state: $state,
                        exit: Exit::$exit,
                        fixer: Fixer::$fixer,
                        waiting_helps: $wait,
                        hint: $hint,
                    },)*
                    $(Self::$rule => Facts {
                        text: $id,
                        page: include_str!(concat!("../pages/rules/", $id, ".md")),
                        kind: Kind::Rule,
                        $(stage: $at,
                        state: $leaves,
                        exit: Exit::$ends,
                        fixer: Fixer::$by,
                        waiting_helps: $later,
                        hint: $advice,)?
                        ..RULE
                    },)*
                }
            }
        }
    };
}

codes! {
    errors {
        AdminApprovalNeeded "admin-approval-needed" CHALLENGE FORBIDDEN Failed ServerOperator NO
            "ask the administrator of that account; then keyway doctor SERVER"
        AuthFailed "auth-failed" TOKEN REFUSED Failed Person NO
            "sign in again and agree: keyway login SERVER"
        AuthRejected "auth-rejected" CHALLENGE REFUSED Failed Person NO
            "check that the variable behind the credential is set, complete and not expired"
        AuthorizationServerError "authorization-server-error" TOKEN OFFLINE Network ServerOperator YES
            "nothing was lost; try again when the authorization server answers"
        BadArguments "bad-arguments" ANY CONNECTED Usage Person NO
            "look at its schema: keyway tools SERVER --format json"
        BadBundle "bad-bundle" FILE UNUSABLE Failed PluginAuthor NO
            "its author has to pack it again; download it once more if it is cut off"
        BadMetadata "bad-metadata" DISCOVERY REFUSED Failed ServerOperator NO
            "its operator has to correct that document; until then, put a token into `headers` if the server takes one"
        Busy "busy" ANY CONNECTED Failed Person YES
            "wait for answers before sending more; if none comes: keyway doctor SERVER"
        CallbackPortBusy "callback-port-busy" TOKEN REFUSED Failed Person NO
            "end the program that uses the port (ss -ltnp), or remove `callbackPort` from the entry; then keyway login SERVER"
        Cancelled "cancelled" ANY UNUSABLE Failed Person NO
            "run the command again"
        CertificateExpired "certificate-expired" TLS OFFLINE Network ServerOperator NO
            "compare the clock: date -u; if it is right, its operator has to renew the certificate"
        CertificateName "certificate-name" TLS OFFLINE Network ServerOperator NO
            "put the name that the certificate has into `url`"
        CertificateUntrusted "certificate-untrusted" TLS OFFLINE Network Person NO
            "if you know the authority, name its file in `config.toml`: [network] roots = [\"/path/to/ca.pem\"]"
        ChildEnded "child-ended" ANY BROKEN Failed PluginAuthor NO
            "its last lines say why; otherwise run its command by hand"
        ClientAuthentication "client-authentication" TOKEN REFUSED Failed Person NO
            "put the secret of the client into a variable and refer to it in the entry: \"oauth\": {\"clientId\": \"…\", \"clientSecret\": \"${CLIENT_SECRET}\"}; or name its key in `config.toml`"
        ClockSkew "clock-skew" CHALLENGE REFUSED Failed Person NO
            "set the clock: timedatectl set-ntp true"
        ConfigError "config-error" ANY UNUSABLE Failed PluginAuthor NO
            "correct that field of the entry or of `config.toml`: keyway check shows where the entry stands"
        Connecting "connecting" ANY CONNECTING Network Network YES
            "its tools are listed as soon as it answers; if it never does: keyway doctor SERVER"
        ConnectionClosed "connection-closed" ANY OFFLINE Network ServerOperator YES
            "try again; if it happens each time, its operator has to find out why"
        CrossOriginRedirect "cross-origin-redirect" ANY UNUSABLE Failed PluginAuthor NO
            "put the address that the server redirects to into `url`"
        DcrUnsupported "dcr-unsupported" REGISTRATION REFUSED Failed Person NO
            "register a client there yourself, and put its id into `oauth.clientId` of the entry or below `[oauth.issuers]` of `config.toml`; or host a client-ID metadata document: keyway client-metadata"
        DemoFailed "demo-failed" ANY UNUSABLE Failed Keyway NO
            "see which stage it stopped at: keyway demo --check"
        Disabled "disabled" FILE DISABLED Failed Person NO
            "take `disabled` (or `enabled`) out of its entry to use it"
        FolderReplaced "folder-replaced" ANY UNUSABLE Failed Person NO
            "find out which program moved it; put it back, or stop Keyway and start it again"
        Forbidden "forbidden" CHALLENGE FORBIDDEN Failed Person NO
            "the credential is valid but not allowed to do this: check its permissions, and the tenant or workspace variable"
        ForbiddenAddress "forbidden-address" ANY UNUSABLE Failed PluginAuthor NO
            "check the host in `url`; an address of this kind is never connected to"
        GrantHidden "grant-hidden" ANY UNUSABLE Failed Person NO
            "find out which program put a link there; remove it, or take that folder out of `grants` in config.toml; a plugin cannot lie in Keyway's own folders"
        HelperEmpty "helper-empty" TOKEN HELPER Failed PluginAuthor NO
            "run the helper by hand: it has to print one JSON object of headers and end with 0"
        HelperFailed "helper-failed" TOKEN HELPER Failed PluginAuthor NO
            "run the helper by hand: it has to print one JSON object of headers and end with 0"
        HelperOutput "helper-output" TOKEN HELPER Failed PluginAuthor NO
            "run the helper by hand: it has to print one JSON object of headers and end with 0"
        HelperTimeout "helper-timeout" TOKEN HELPER Failed PluginAuthor YES
            "run the helper by hand, with its input closed (</dev/null): it has to end by itself"
        HttpError "http-error" ANY OFFLINE Failed ServerOperator NO
            "check the path of `url`, and whether `type` fits the server: keyway doctor SERVER"
        IdentityRefused "identity-refused" TOKEN REFUSED Failed ServerOperator NO
            "your organisation decides who may use this server: give its administrator the message above; if it has changed since you signed in there: keyway logout SERVER, then keyway login SERVER"
        InsufficientScope "insufficient-scope" CHALLENGE SCOPE SignInNeeded Person NO
            "agree to the scopes that the server asks for: keyway login SERVER"
        Internal "internal" ANY UNUSABLE Failed Keyway NO
            "please report it, with what this writes: keyway doctor --bundle report.tar"
        InvalidSetting "invalid-setting" ANY UNUSABLE Failed Person NO
            "correct that line; `docs/configuration.md` lists every key"
        InvalidToml "invalid-toml" ANY UNUSABLE Failed Person NO
            "correct that line; `docs/configuration.md` lists every key"
        IsolationUnavailable "isolation-unavailable" ANY UNUSABLE Failed Person NO
            "see what this system offers: keyway status; to start it anyway, take `require` out of `[sandbox]` in config.toml"
        IssuerMismatch "issuer-mismatch" DISCOVERY REFUSED Failed ServerOperator NO
            "do not sign in there: its operator has to correct `issuer`"
        KeyNotSupplied "key-not-supplied" TRUST UNUSABLE Failed Person NO
            "see where the key comes from: keyway vault status"
        KeySourceDiffers "key-source-differs" TRUST UNUSABLE Failed Person NO
            "leave the key out; to use it from now on: keyway vault rekey --key-file FILE"
        KeyUnavailable "key-unavailable" TRUST UNUSABLE Failed Person NO
            "see where the key comes from: keyway vault status"
        KeyringAbsent "keyring-absent" TRUST UNUSABLE Failed Person NO
            "use your desktop session, where the keyring service runs; nothing was changed"
        KeyringFailed "keyring-failed" TRUST UNUSABLE Failed Person NO
            "check that the keyring service runs; nothing was changed"
        KeyringLocked "keyring-locked" TRUST UNUSABLE Failed Person YES
            "unlock the keyring, then try again; nothing was changed"
        KeyringRefused "keyring-refused" TRUST UNUSABLE Failed Person NO
            "unlock the keyring, then try again; nothing was changed"
        KeyringTimeout "keyring-timeout" TRUST UNUSABLE Failed Person YES
            "check that the keyring service runs; nothing was changed"
        LauncherNotInitialized "launcher-not-initialized" ANY UNUSABLE Failed Keyway NO
            "call `keyway::init()` as the first line of `main`; this is a fault of the host, not of the plugin"
        LostInConversion "lost-in-conversion" ANY UNUSABLE Failed PluginAuthor NO
            "look at the entry in the new file, and add what the message names if the host has another way for it"
        MalformedKey "malformed-key" TRUST UNUSABLE Failed Person NO
            "make a key: openssl rand -hex 32 > FILE"
        MessageTooLarge "message-too-large" ANY BROKEN Failed ServerOperator NO
            "ask for less at once, such as a page of a list or a part of a file; otherwise its operator has to split the answer"
        NameNotFound "name-not-found" NAME OFFLINE Network Network NO
            "check the host in `url` and the variables in it"
        NetworkError "network-error" TOKEN OFFLINE Network Network YES
            "nothing was lost; try again when the authorization server answers"
        NoAssertion "no-assertion" TOKEN REFUSED Failed Person NO
            "check in `config.toml` where it is taken from, and that the program that writes it runs"
        NoCommonVersion "no-common-version" ANY BROKEN Failed ServerOperator NO
            "update the server or Keyway, whichever is older: keyway doctor SERVER says which"
        NoEndpoint "no-endpoint" DISCOVERY REFUSED Failed ServerOperator NO
            "its operator has to complete the metadata; if you know the addresses, put `authorizationUrl` and `tokenUrl` into `oauth` of the entry"
        NoMetadata "no-metadata" DISCOVERY REFUSED Failed ServerOperator NO
            "if you know where it is published, put `authServerMetadataUrl`, or `authorizationUrl` and `tokenUrl`, into `oauth` of the entry; otherwise its operator has to publish it"
        NotAVault "not-a-vault" TRUST UNUSABLE Failed Person NO
            "move that file away; see where the vault belongs: keyway vault status"
        NotBuiltIn "not-built-in" ANY UNUSABLE Failed Keyway NO
            "build the program with that feature of `keyway`, or use another one, such as `keyway` itself"
        NotConfigured "not-configured" VARIABLES NOT_CONFIGURED Failed Person NO
            "write the address into `url` of the entry"
        NotConverted "not-converted" ANY UNUSABLE Failed PluginAuthor NO
            "add the entry by hand in the way of that host, or let the host start it through Keyway: keyway install CLIENT"
        NotGranted "not-granted" ANY UNUSABLE Failed Person NO
            "add that path to `read_only_grants` of `[sandbox]` in config.toml, or of the server's own section; to `grants` if the program has to write there"
        NotMigrated "not-migrated" ANY UNUSABLE Failed PluginAuthor NO
            "change what the message names by hand, then run the same keyway migrate command again"
        OauthLoop "oauth-loop" TOKEN REFUSED Failed ServerOperator NO
            "its operator has to correct the audience or issuer of the tokens; after that: keyway login SERVER"
        OauthNotChecked "oauth-not-checked" ANY UNUSABLE Failed Person NO
            "ask the server: keyway migrate oauth SERVER"
        OauthNotOffered "oauth-not-offered" CHALLENGE REFUSED Failed Person NO
            "the server takes no sign-in by OAuth; put a token for it into `headers`"
        OtherAccount "other-account" TOKEN REFUSED Failed Person NO
            "begin a new session with the account that is signed in: connect the client again"
        PendingTrust "pending-trust" TRUST PENDING_TRUST NotTrusted Person NO
            "look at what it does and approve it: keyway trust grant SERVER"
        PkceUnsupported "pkce-unsupported" DISCOVERY REFUSED Failed ServerOperator NO
            "if you know that it supports PKCE, say so: `pkce = \"assume-s256\"` below `[servers.\"PLUGIN:SERVER\".oauth]` of `config.toml`"
        ProtocolError "protocol-error" ANY BROKEN Failed ServerOperator NO
            "check `url` and `type`: keyway doctor SERVER; if both are right, only its operator can fix it"
        ProxyRefused "proxy-refused" ANY OFFLINE Network Network NO
            "check the proxy variables and the proxy's credential, or exempt the host with NO_PROXY"
        RateLimited "rate-limited" ANY OFFLINE Failed Person YES
            "wait a minute, then try again; the server limits how often it may be asked"
        ReadmeLeftAlone "readme-left-alone" ANY UNUSABLE Failed PluginAuthor NO
            "change it by hand: keyway readme prints what belongs there"
        ReadmeOutdated "readme-outdated" ANY UNUSABLE Failed PluginAuthor NO
            "bring it up to date: keyway readme --write"
        RedirectRefused "redirect-refused" DISCOVERY REFUSED Failed ServerOperator NO
            "its operator has to publish the document where it is looked for; if you know where it is, put `authServerMetadataUrl` into `oauth` of the entry"
        RefreshFailed "refresh-failed" TOKEN REAUTH SignInNeeded Person NO
            "sign in again: keyway login SERVER"
        RefreshUnanswered "refresh-unanswered" TOKEN OFFLINE Network Network YES
            "the authorization server may have replaced the token without the new one arriving; try again: the old one is tried once more, and if that is refused, keyway login SERVER"
        RegistrationRefused "registration-refused" REGISTRATION REFUSED Failed Person NO
            "register a client there yourself, and put its id into `oauth.clientId` of the entry or below `[oauth.issuers]` of `config.toml`; or host a client-ID metadata document: keyway client-metadata"
        ResourceMismatch "resource-mismatch" DISCOVERY REFUSED Failed ServerOperator NO
            "check `url`: if the address in the message is the right one, put it there"
        RotateToken "rotate-token" ANY UNUSABLE Failed Person NO
            "make a new token at the server and withdraw the old one: keyway rotate SERVER"
        ServerError "server-error" ANY BROKEN Failed ServerOperator NO
            "do what the server's message says; if it names nothing that you can change, send its operator the log that this writes: keyway doctor SERVER --debug=transport --debug-file keyway-debug.txt"
        SignInRequired "sign-in-required" TOKEN NEEDS_AUTH SignInNeeded Person NO
            "sign in once: keyway login SERVER"
        SpawnFailed "spawn-failed" ANY UNUSABLE Failed PluginAuthor NO
            "check that the program is installed and in PATH, or write its whole path into `command`"
        StoreUnreachable "store-unreachable" ANY OFFLINE Network Network YES
            "wait and try again; if it stays away, look at the database: no sign-in is lost"
        SystemLimit "system-limit" ANY UNUSABLE Failed Person YES
            "end other programs of yours, or raise the limit: ulimit -u for threads, ulimit -n for files; in a container, its limit of processes"
        Timeout "timeout" ANY OFFLINE Network ServerOperator YES
            "try again, with more time: --timeout SECONDS; if it stays silent: keyway doctor SERVER"
        TlsFailed "tls-failed" TLS OFFLINE Network ServerOperator NO
            "check the port in `url`, and whether the server wants a client certificate"
        TokenExpired "token-expired" CHALLENGE REFUSED Failed Person NO
            "make a new token and set its variable; then keyway doctor SERVER"
        TokenPlaceholder "token-placeholder" CHALLENGE REFUSED Failed Person NO
            "make a token at the server and set its variable; then keyway doctor SERVER"
        TokenRefused "token-refused" TOKEN REFUSED Failed Person NO
            "check `clientId` and the variable behind `clientSecret`, then: keyway login SERVER"
        TransferRefused "transfer-refused" TRUST UNUSABLE Failed Person NO
            "make another sign-in for the target: keyway login SERVER --for KEY"
        UnknownServer "unknown-server" FILE UNUSABLE Usage Person NO
            "list them: keyway status; those of another plugin: keyway status --config PATH"
        UnknownSetting "unknown-setting" ANY UNUSABLE Failed Person NO
            "correct the key; `docs/configuration.md` lists all"
        UnknownTool "unknown-tool" LIST CONNECTED Usage Person NO
            "list them: keyway tools SERVER"
        Unreachable "unreachable" ANY OFFLINE Network Network YES
            "check the address, the network and the proxy variables"
        UnreadableFile "unreadable-file" FILE UNUSABLE Failed Person NO
            "check the path and its permissions: ls -l"
        Vault "vault" TRUST UNUSABLE Failed Person NO
            "look at what is kept: keyway vault status, then keyway vault verify"
        VaultBusy "vault-busy" TRUST UNUSABLE Failed Person YES
            "try again in a moment; nothing was changed"
        VaultCorrupt "vault-corrupt" TRUST UNUSABLE Failed Person NO
            "keyway vault repair keeps what still opens; keyway vault restore FILE puts a backup in place"
        VaultExposed "vault-exposed" TRUST UNUSABLE Failed Person NO
            "make it your own and private: chmod 700 FOLDER; then keyway vault status"
        VaultFailed "vault-failed" TRUST UNUSABLE Failed Person NO
            "look at what is kept: keyway vault status, then keyway vault verify"
        VaultFolder "vault-folder" TRUST UNUSABLE Failed Person NO
            "set `KEYWAY_HOME` to a folder on a local disk, by its absolute path"
        VaultLost "vault-lost" TRUST UNUSABLE Failed Person NO
            "put the file back, or keyway vault restore FILE"
        VaultNewer "vault-newer" TRUST UNUSABLE Failed Person NO
            "use the newer version of keyway"
        VaultUnwritable "vault-unwritable" TRUST UNUSABLE Failed Person NO
            "free space on the disk, or make the folder writable"
        WrongKey "wrong-key" TRUST UNUSABLE Failed Person NO
            "supply the key that the vault was made with; nothing was changed"
        WrongTenant "wrong-tenant" CHALLENGE FORBIDDEN Failed Person NO
            "check the tenant, workspace or organisation variable; then keyway doctor SERVER"
        WrongTransport "wrong-transport" ANY UNUSABLE Failed PluginAuthor NO
            "change `type` of the entry; then keyway doctor SERVER"
        WrongUsage "wrong-usage" ANY UNUSABLE Usage Person NO
            "keyway help COMMAND"
    }
    rules {
        AuthConflict "auth-conflict"
        BadReference "bad-reference"
        BridgeNotNeeded "bridge-not-needed"
        CredentialInArgs "credential-in-args"
        CredentialInHost "credential-in-host"
        CredentialInUrl "credential-in-url"
        DeprecatedSse "deprecated-sse"
        DuplicateKey "duplicate-key"
        DuplicateServer "duplicate-server"
        EmptyCredential "empty-credential"
        EmptyHeaderDropped "empty-header-dropped"
        EmptyUrl "empty-url"
        EnvFileNotIgnored "env-file-not-ignored"
        EnvFileTracked "env-file-tracked"
        FieldOfOtherTransport "field-of-other-transport"
        ForeignSchema "foreign-schema"
        ForeignSpelling "foreign-spelling"
        ForeignVariableSyntax "foreign-variable-syntax"
        ForeignWrapper "foreign-wrapper"
        HelperNeedsEnv "helper-needs-env"
        HelperNotExecutable "helper-not-executable" => TOKEN HELPER Failed PluginAuthor NO
            "check that the file is there, and let it be executed: chmod +x FILE"
        HelperOutsidePlugin "helper-outside-plugin" => TOKEN HELPER Failed PluginAuthor NO
            "move the program into the plugin's folder"
        HelperRunsOnce "helper-runs-once"
        HostVariableRedefined "host-variable-redefined"
        IgnoredKey "ignored-key"
        InsecureUrl "insecure-url"
        InvalidEntry "invalid-entry"
        InvalidHeader "invalid-header"
        InvalidJson "invalid-json"
        InvalidOauth "invalid-oauth"
        InvalidSource "invalid-source"
        InvalidUrl "invalid-url"
        LiteralDefault "literal-default"
        LiteralInCredentialPlace "literal-in-credential-place"
        LiteralSecret "literal-secret"
        MachinePath "machine-path"
        MissingField "missing-field"
        MtlsInEntry "mtls-in-entry"
        NameCollision "name-collision"
        OauthNeedsApproval "oauth-needs-approval"
        PlaceholderCredential "placeholder-credential" => VARIABLES UNUSABLE Failed Person NO
            "replace the placeholder by a variable, and set it: export NAME=…"
        PreferOauth "prefer-oauth" => LIST CONNECTED Done PluginAuthor NO
            "keyway migrate oauth SERVER"
        SecretInDocs "secret-in-docs"
        SharedToken "shared-token"
        ShortTimeout "short-timeout"
        TransportOwnedHeader "transport-owned-header"
        TwoEntryFiles "two-entry-files"
        TypeAlias "type-alias"
        UndocumentedScopes "undocumented-scopes"
        UndocumentedVariable "undocumented-variable"
        UnknownField "unknown-field"
        UnknownType "unknown-type"
        UnpinnedPackage "unpinned-package"
        UnresolvedVariable "unresolved-variable" => VARIABLES UNUSABLE Failed Person NO
            "set the variable: export NAME=…, or keep it: keyway env set NAME"
        UnsupportedSchema "unsupported-schema"
        UnusableValue "unusable-value" => VARIABLES UNUSABLE Failed Person NO
            "correct the value of the variable; then keyway doctor SERVER"
        UnusedSuppression "unused-suppression"
        UrlMissingType "url-missing-type"
        WhitespaceInValue "whitespace-in-value" => CHALLENGE REFUSED Failed Person NO
            "set the variable without the whitespace; then keyway doctor SERVER"
        WrongHeaderFormat "wrong-header-format" => CHALLENGE REFUSED Failed Person NO
            "keyway check --fix --unsafe-fixes; then keyway doctor SERVER"
    }
}

/// What holds for a rule whose row says nothing else: it is about the file alone.
const RULE: Facts = Facts {
    text: "",
    page: "",
    kind: Kind::Rule,
    stage: RULES,
    state: UNUSABLE,
    exit: Exit::Failed,
    fixer: Fixer::PluginAuthor,
    waiting_helps: NO,
    hint: "correct that place; then keyway check",
};

const ANY: Option<Stage> = None;
const FILE: Option<Stage> = Some(Stage::File);
const RULES: Option<Stage> = Some(Stage::Rules);
const VARIABLES: Option<Stage> = Some(Stage::Variables);
const TRUST: Option<Stage> = Some(Stage::Trust);
const NAME: Option<Stage> = Some(Stage::Name);
const TLS: Option<Stage> = Some(Stage::Tls);
const CHALLENGE: Option<Stage> = Some(Stage::Challenge);
const DISCOVERY: Option<Stage> = Some(Stage::Discovery);
const REGISTRATION: Option<Stage> = Some(Stage::Registration);
const TOKEN: Option<Stage> = Some(Stage::Token);
const LIST: Option<Stage> = Some(Stage::List);

const CONNECTED: ServerState = ServerState::CONNECTED;
const CONNECTING: ServerState = ServerState::CONNECTING;
const DISABLED: ServerState = ServerState::without_reason(State::Disabled);
const NOT_CONFIGURED: ServerState = ServerState::new(State::Pending, Reason::NotConfigured);
const PENDING_TRUST: ServerState = ServerState::new(State::Pending, Reason::PendingTrust);
const NEEDS_AUTH: ServerState = ServerState::without_reason(State::NeedsAuth);
const REAUTH: ServerState = ServerState::new(State::NeedsAuth, Reason::ReauthRequired);
const SCOPE: ServerState = ServerState::new(State::NeedsAuth, Reason::InsufficientScope);
const REFUSED: ServerState = ServerState::new(State::NeedsAuth, Reason::AuthFailed);
const FORBIDDEN: ServerState = ServerState::new(State::Failed, Reason::AuthFailed);
const HELPER: ServerState = ServerState::new(State::Failed, Reason::HelperFailed);
const UNUSABLE: ServerState = ServerState::new(State::Failed, Reason::ConfigError);
const OFFLINE: ServerState = ServerState::new(State::Failed, Reason::NetworkError);
/// What a server does wrong has no name among the reasons; the code says it.
const BROKEN: ServerState = ServerState::without_reason(State::Failed);

const YES: bool = true;
const NO: bool = false;
