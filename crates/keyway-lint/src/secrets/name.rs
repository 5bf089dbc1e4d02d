//! What the name of a variable, header, flag, query field or JSON key promises about its value.
//!
//! A name is cut into words (`braveApiKey`, `BRAVE_API_KEY` and `--brave-api-key` are the same
//! three) and judged by the words alone; the value is never looked at here.

/// Whether a field of this name usually holds a credential.
///
/// `API_KEY`, `X-Auth-Token` and `--db-password` do; `TOKEN_URL`, `MAX_TOKENS`, `CLIENT_ID`,
/// `PUBLIC_KEY` and `KEYBOARD` do not.
#[must_use]
pub fn is_credential_name(name: &str) -> bool {
    classify(name).is_some()
}

/// Whether a query parameter of this name may hold a credential: as [`is_credential_name`], and
/// `key`, `code` or `sig` as well.
#[must_use]
pub fn is_credential_parameter(name: &str) -> bool {
    classify_query(name).is_some()
}

/// Whether a variable says under which header a credential is sent: `API_KEY_HEADER=X-Api-Key`.
pub(crate) fn names_header(name: &str, value: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphabetic());
    words(name).last().is_some_and(|last| last == "HEADER")
        && value.contains('-')
        && value.split('-').all(is_part)
}

/// Whether the name of a credential goes on behind the word for it, as `SECRET_SANTA` does, so that it
/// may be about something else.
pub(crate) fn goes_on(name: &str) -> bool {
    let mut words = meaningful_words(name);
    let last = words.pop();
    last.is_some_and(|last| promise_of(&last, words.last().map(String::as_str)).is_none())
}

/// What a credential name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    pub(super) kind: CredentialKind,
    pub(super) strength: Strength,
}

/// What sort of text a credential of this name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CredentialKind {
    /// Chosen by a person: short, numeric and odd texts are possible.
    Password,
    /// Made by a machine: long, ASCII, without blanks.
    Token,
    /// Words with blanks between them.
    Phrase,
}

/// How much the name says without the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// Any literal here is a credential.
    Strong,
    /// Only a literal that looks random is.
    Weak,
}

impl Promise {
    pub(super) const PASSWORD: Self = Self {
        kind: CredentialKind::Password,
        strength: Strength::Strong,
    };
    pub(super) const TOKEN: Self = Self {
        kind: CredentialKind::Token,
        strength: Strength::Strong,
    };
    pub(super) const WEAK: Self = Self {
        kind: CredentialKind::Token,
        strength: Strength::Weak,
    };
    const PHRASE: Self = Self {
        kind: CredentialKind::Phrase,
        strength: Strength::Strong,
    };

    /// The same sort of credential, but only where the value looks random.
    pub(super) const fn weakened(self) -> Self {
        Self {
            kind: self.kind,
            strength: Strength::Weak,
        }
    }
}

/// What `name` promises, or `None` if it does not name a credential.
pub(super) fn classify(name: &str) -> Option<Promise> {
    if name.len() > LONGEST_NAME || matches!(name, "PWD" | "OLDPWD") {
        return None;
    }
    let words = meaningful_words(name);
    let last = words.last()?;
    if NEUTRAL_ENDINGS.contains(&last.as_str()) {
        return None;
    }
    // `NEXT_PUBLIC_X_KEY` is sent to everyone who opens the page.
    if last == "KEY"
        && words
            .iter()
            .any(|word| matches!(word.as_str(), "PUBLIC" | "PUBLISHABLE"))
    {
        return None;
    }
    let final_index = words.len() - 1;
    for (index, word) in words.iter().enumerate().rev() {
        let before = index
            .checked_sub(1)
            .and_then(|i| words.get(i))
            .map(String::as_str);
        if let Some(promise) = promise_of(word, before) {
            return Some(if index == final_index {
                promise
            } else {
                promise.weakened()
            });
        }
    }
    None
}

/// As [`classify`], for the name of a URL query field, where `code` and `sig` are common too.
pub(super) fn classify_query(name: &str) -> Option<Promise> {
    if ["sig", "code", "auth", "k", "hash"]
        .iter()
        .any(|short| name.eq_ignore_ascii_case(short))
    {
        return Some(Promise::WEAK);
    }
    if name.eq_ignore_ascii_case("key") {
        Some(Promise::TOKEN)
    } else {
        classify(name)
    }
}

/// The words of `name`, in capitals, without trailing digits.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut characters = name.chars().peekable();
    let mut previous = ' ';
    while let Some(c) = characters.next() {
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let starts_word = c.is_uppercase()
            && (previous.is_lowercase() || (previous.is_uppercase() && next_is_lower));
        if starts_word || !c.is_alphanumeric() {
            push_word(&mut words, &mut word);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_uppercase());
        }
        previous = c;
    }
    push_word(&mut words, &mut word);
    words
}

/// The same without endings that say nothing.
fn meaningful_words(name: &str) -> Vec<String> {
    let mut words = words(name);
    while words.len() > 1 && words.last().is_some_and(|last| is_noise(last)) {
        words.pop();
    }
    words
}

/// A usual environment variable name for a field called `name`, such as `BRAVE_API_KEY`.
pub(super) fn variable_for(name: &str) -> Option<String> {
    let joined = words(name).join("_");
    let joined = joined.strip_prefix("X_").unwrap_or(&joined);
    let usable = joined
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && joined.starts_with(|c: char| c.is_ascii_alphabetic())
        && !matches!(
            joined,
            "AUTHORIZATION" | "PROXY_AUTHORIZATION" | "COOKIE" | "KEY" | "AUTH"
        );
    (usable && joined.len() <= LONGEST_NAME).then(|| joined.to_owned())
}

fn push_word(words: &mut Vec<String>, word: &mut String) {
    if word.is_empty() {
        return;
    }
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    words.push(if letters.is_empty() {
        word.clone()
    } else {
        letters.to_owned()
    });
    word.clear();
}

fn is_noise(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit()) || NOISE.contains(&word)
}

fn promise_of(word: &str, before: Option<&str>) -> Option<Promise> {
    let after = |list: &[&str]| before.is_some_and(|before| list.contains(&before));
    match word {
        "PASSWORD" | "PASSWD" | "PASS" | "PWD" | "PSWD" | "PW" | "DBPASS" | "DBPWD"
        | "PASSPHRASE" | "PASSCODE" | "PASSWORT" | "KENNWORT" | "SENHA" | "CONTRASENA"
        | "CONTRASEÑA" => Some(Promise::PASSWORD),
        "TOKEN" if after(NOT_BEFORE_TOKEN) => None,
        "TOKENS" | "KEYS" | "SECRETS" => after(BEFORE_PLURAL).then_some(Promise::TOKEN),
        "SECRET" | "TOKEN" | "CREDENTIAL" | "CREDENTIALS" | "CREDS" | "JWT" | "PAT" | "BEARER"
        | "COOKIE" | "COOKIES" | "AUTHORIZATION" | "APIKEY" | "APIKEYS" | "APITOKEN"
        | "AUTHTOKEN" | "PASSKEY" => Some(Promise::TOKEN),
        "HASH" if after(&["API"]) => Some(Promise::TOKEN),
        "KEY" if before.is_none() => Some(Promise::WEAK),
        "KEY" => (!after(NOT_BEFORE_KEY)).then_some(Promise::TOKEN),
        "AUTH" if after(&["BASIC", "X"]) => Some(Promise::TOKEN),
        "AUTH" | "SIGNATURE" | "SESSION" | "BYPASS" | "CLAVE" | "CHAVE" => Some(Promise::WEAK),
        "STRING" if after(&["SESSION"]) => Some(Promise::TOKEN),
        "MNEMONIC" => Some(Promise::PHRASE),
        "PHRASE" if after(&["SEED", "RECOVERY", "SECRET", "MNEMONIC"]) => Some(Promise::PHRASE),
        _ => promise_of_compound(word),
    }
}

/// Words written without a separator, such as `GITHUBTOKEN` or `dbpassword`.
fn promise_of_compound(word: &str) -> Option<Promise> {
    let ends = |endings: &[&str]| {
        endings
            .iter()
            .any(|e| word.len() > e.len() && word.ends_with(e))
    };
    if ends(&["PASSWORD", "PASSWD", "PASSPHRASE"]) {
        Some(Promise::PASSWORD)
    } else if ends(&[
        "APIKEY",
        "ACCESSKEY",
        "SECRETKEY",
        "PRIVATEKEY",
        "AUTHKEY",
        "TOKEN",
    ]) || ends(&["SECRET"])
        || matches!(word, "ACCESSKEY" | "SECRETKEY" | "PRIVATEKEY" | "AUTHKEY")
    {
        Some(Promise::TOKEN)
    } else {
        None
    }
}

const LONGEST_NAME: usize = 128;

/// Endings that say nothing: what stands before them decides.
const NOISE: &[&str] = &[
    "VALUE",
    "LITERAL",
    "PLAIN",
    "PLAINTEXT",
    "RAW",
    "BASE64",
    "B",
    "B64",
    "DEV",
    "DEVELOPMENT",
    "PROD",
    "PRODUCTION",
    "TEST",
    "TESTING",
    "STAGING",
    "STAGE",
    "LIVE",
    "SANDBOX",
    "LOCAL",
    "MAIN",
    "PRIMARY",
    "SECONDARY",
    "DEFAULT",
    "BACKUP",
    "OLD",
    "NEW",
    "HEADER",
    "V",
];

/// Endings that make a name speak *about* a credential.
#[rustfmt::skip]
const NEUTRAL_ENDINGS: &[&str] = &[
    "FILE", "FILES", "FILENAME", "FILEPATH", "PATH", "PATHS", "DIR", "DIRECTORY", "FOLDER",
    "LOCATION", "URL", "URLS", "URI", "ENDPOINT", "HOST", "HOSTNAME", "PORT", "SOCK", "SOCKET",
    "TYPE", "TYPES", "MODE", "METHOD", "METHODS", "SCHEME", "KIND", "NAME", "NAMES", "ID", "IDS",
    "USER", "USERNAME", "LOGIN", "EMAIL", "LIMIT", "LIMITS", "COUNT", "SIZE", "LENGTH", "LEN",
    "BUDGET", "MAX", "MIN", "TTL", "EXPIRY", "EXPIRES", "EXPIRATION", "EXPIRED", "TIMEOUT",
    "DURATION", "AGE", "INTERVAL", "ENABLED", "DISABLED", "REQUIRED", "ENABLE", "DISABLE",
    "OPTIONAL", "ALLOWED", "REALM", "SCOPE", "SCOPES", "AUDIENCE", "ISSUER", "PROVIDER", "DOMAIN",
    "REGION", "ZONE", "VERSION", "ALGORITHM", "ALG", "FORMAT", "PREFIX", "SUFFIX", "ENV", "VAR",
    "VARIABLE", "VAULT", "STORE", "STORAGE", "CACHE", "MANAGER", "SERVICE", "SERVER", "BACKEND",
    "REDIRECT", "CALLBACK", "LEVEL", "POLICY", "STRATEGY", "FLOW", "ROTATION", "SOURCE", "FIELD",
    "COLUMN", "PARAM", "HINT", "ALIAS", "ARN", "INDEX", "FINGERPRINT", "MODEL", "ADDRESS",
    "SYMBOL", "MINT", "CONTRACT", "PAIR", "CHAIN", "NETWORK", "DECIMALS", "BALANCE", "COMMAND",
    "CMD", "HELPER", "SCRIPT", "DESCRIPTION", "TITLE", "LABEL", "MESSAGE", "DOC", "DOCS", "STDIN",
    "TOOL", "TOOLS", "PROJECT", "ORG", "ORGANIZATION", "TENANT", "ACCOUNT", "PROFILE", "ROLE",
    "GROUP", "BINDING", "BINDINGS", "PROMPT", "STATUS", "STATE", "USAGE", "WINDOW", "ENCODING",
    "CERT", "CERTIFICATE", "JWKS", "SIGNIN", "STYLE", "GRANT", "CLASS", "RATIO", "RATE", "COST",
];

const NOT_BEFORE_KEY: &[&str] = &[
    "PUBLIC",
    "PUBLISHABLE",
    "PUB",
    "PRIMARY",
    "FOREIGN",
    "SORT",
    "PARTITION",
    "CACHE",
    "PROJECT",
    "ISSUE",
    "SPACE",
    "BOARD",
    "FILE",
    "ROW",
    "HOT",
    "OBJECT",
    "GROUP",
    "SITE",
    "IDEMPOTENCY",
    "MAP",
    "META",
    "BY",
    "I18N",
    "TRANSLATION",
    "DOCUMENT",
    "PARENT",
    "CHILD",
    "HOST",
    "REGISTRY",
    "SHORTCUT",
    "COMPOSITE",
    "UNIQUE",
    "INDEX",
    "TICKET",
    "EPIC",
    "DATA",
    "STATE",
    "FLAG",
    "FEATURE",
    "EXPERIMENT",
    "LOOKUP",
];

const NOT_BEFORE_TOKEN: &[&str] = &[
    "MAX", "MIN", "NUM", "TOTAL", "INPUT", "OUTPUT", "PER", "STOP", "EOS", "BOS", "PAD", "NO",
];

const BEFORE_PLURAL: &[&str] = &[
    "API", "ACCESS", "AUTH", "BEARER", "BOT", "REFRESH", "SECRET", "CLIENT", "PRIVATE",
];
