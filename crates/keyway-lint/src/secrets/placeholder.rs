//! Text that stands where a credential will be put: `YOUR_API_KEY`, `<token>`, `ntn_****`.
//!
//! A placeholder is recognised by its marks (brackets, stars, dots), by words of instruction in several
//! human languages, or by repeating the name of the field it fills.

use super::appearance::looks_random;
use super::limits::LONGEST_VALUE;
use super::name;

/// Whether `value` only marks the place of a credential.
#[must_use]
pub fn is_placeholder(value: &str) -> bool {
    stands_for_credential(
        value,
        Filling {
            name: None,
            chosen_by_person: false,
        },
    )
}

/// What is known about the place that a value fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling<'a> {
    /// The name of the field, where there is one.
    pub(super) name: Option<&'a str>,
    /// Passwords may hold counting digits or words that no machine-made token would.
    pub(super) chosen_by_person: bool,
}

pub(super) fn stands_for_credential(value: &str, filling: Filling<'_>) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    if value.len() > LONGEST_VALUE {
        return false;
    }
    if value.is_empty() || is_bracketed(value) || is_masked(value) || is_foreign_script(value) {
        return true;
    }
    let lower = value.to_lowercase();
    STOCK.contains(&lower.as_str())
        || contains_marker(&lower)
        || is_variable_name(value)
        || is_cut_jwt(value)
        || is_wording(value, filling)
        || (!filling.chosen_by_person
            && (is_sequence(&lower) || is_monotonous(value) || opens_bracket(value)))
}

/// `<…>` anywhere, or one pair of brackets around all of it.
fn is_bracketed(value: &str) -> bool {
    let angle = value
        .find('<')
        .zip(value.rfind('>'))
        .is_some_and(|(open, close)| open + 1 < close);
    let wrapped = |open: &str, close: &str| {
        value.len() > open.len() + close.len() && value.starts_with(open) && value.ends_with(close)
    };
    angle
        || wrapped("[", "]")
        || wrapped("{", "}") && !value.contains(['"', ':'])
        || wrapped("(", ")")
        || wrapped("__", "__")
        || wrapped("%%", "%%")
        || wrapped("@@", "@@")
        || wrapped("#{", "}#")
        || has_slot(value)
}

/// `sha256={signature}`: a word in braces is filled in by a program, or by a person.
fn has_slot(value: &str) -> bool {
    let mut rest = value;
    while let Some((_, behind)) = rest.split_once('{') {
        let word = behind.split('}').next().unwrap_or_default();
        let is_closed = word.len() < behind.len();
        if is_closed && word.len() >= 3 && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        {
            return true;
        }
        rest = behind;
    }
    false
}

/// `x.<base64url(`: the rest of the bracket is behind a quote.
fn opens_bracket(value: &str) -> bool {
    value.split_once('<').is_some_and(|(_, behind)| {
        let letters = behind.bytes().take_while(u8::is_ascii_lowercase).count();
        letters >= 3
    })
}

/// Stars, dots or a run of `x` in place of the real characters.
fn is_masked(value: &str) -> bool {
    let dots = value.contains("...") || value.contains('…') || value.contains('•');
    let stars = value.contains("***") || value.contains("___") || value.contains("###");
    let crossed = longest_run(value, |c| matches!(c, 'x' | 'X')) >= 4
        || value
            .split(['-', '_', '.', ':'])
            .any(|part| part.eq_ignore_ascii_case("xxx"));
    dots || stars || crossed || matches!(value, "*" | "**" | "-" | "?" | "??" | "???" | "xx")
}

fn longest_run(value: &str, counts: impl Fn(char) -> bool) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in value.chars() {
        run = if counts(c) { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Letters beyond Latin: no vendor issues such tokens, while instructions are often written so.
fn is_foreign_script(value: &str) -> bool {
    value
        .chars()
        .any(|c| c.is_alphabetic() && u32::from(c) > LAST_LATIN)
}

fn contains_marker(lower: &str) -> bool {
    let marked = |word: &str| {
        MARKERS.contains(&word) || MARKER_STARTS.iter().any(|start| word.starts_with(start))
    };
    MARKERS_ANYWHERE.iter().any(|marker| lower.contains(marker))
        || word_list(lower).any(marked)
        // Two or three letters between separators may come about by chance.
        || word_list(lower).any(|word| SHORT_MARKERS.contains(&word)) && !looks_random(lower)
}

fn word_list(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// `OPENAI_API_KEY` as a value: the name of a variable instead of its content.
fn is_variable_name(value: &str) -> bool {
    let shaped = value.contains('_')
        && value.starts_with(|c: char| c.is_ascii_uppercase())
        && value
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if !shaped {
        return false;
    }
    !value.bytes().any(|b| b.is_ascii_digit()) || name::is_credential_name(value)
}

/// The first part of a JSON Web Token, all of which begin alike, and nothing after it.
fn is_cut_jwt(value: &str) -> bool {
    value.starts_with("eyJ") && value.len() < 50 && !value.contains('.')
}

/// Plain words that speak about a credential instead of being one.
fn is_wording(value: &str, filling: Filling<'_>) -> bool {
    let field = filling.name;
    let words = name::words(value);
    if words.is_empty() || !words.iter().all(|w| w.chars().all(char::is_alphabetic)) {
        return field.is_some_and(|field| name::words(field) == words);
    }
    let known = field.map(name::words).unwrap_or_default();
    let about = |word: &String| {
        let word = word.as_str();
        ABOUT.contains(&word) || is_joined_wording(word)
    };
    let filler = |word: &String| FILLERS.contains(&word.as_str());
    // `root` is a password in `ROOT_PASSWORD`, while `github` is not a token in `GITHUB_TOKEN`.
    let says_password =
        |word: &String| is_joined_wording(word) && SAYS_PASSWORD.iter().any(|s| word.contains(s));
    if filling.chosen_by_person
        && (value.bytes().any(|b| b.is_ascii_digit()) || !words.iter().any(says_password))
    {
        return false;
    }
    let echoed = words
        .iter()
        .all(|w| about(w) || filler(w) || known.contains(w));
    let instructed =
        words.iter().any(&about) && words.iter().any(|w| INSTRUCTIONS.contains(&w.as_str()));
    echoed || (instructed && words.len() > 1) || ends_like_a_name(&words)
}

/// `monday-api-token`: some product's name and then what the field is called.
fn ends_like_a_name(words: &[String]) -> bool {
    let mut tail = words.iter().rev().map(String::as_str);
    let last = tail.next().unwrap_or_default();
    let before = tail.next().unwrap_or_default();
    words.len() <= 4
        && matches!(last, "KEY" | "TOKEN" | "SECRET" | "PAT")
        && matches!(
            before,
            "API" | "ACCESS" | "AUTH" | "BOT" | "PERSONAL" | "CLIENT" | "INTEGRATION"
        )
}

/// `mysecretpassword`, `yourapikey`: known words without separators.
fn is_joined_wording(word: &str) -> bool {
    if word.is_empty() {
        return false;
    }
    if word.len() > LONGEST_JOINED {
        return false;
    }
    let mut rest = word;
    while !rest.is_empty() {
        let next = ABOUT
            .iter()
            .chain(FILLERS)
            .filter(|w| w.len() > 1 && rest.starts_with(**w));
        let Some(longest) = next.max_by_key(|w| w.len()) else {
            return false;
        };
        rest = rest.get(longest.len()..).unwrap_or_default();
    }
    true
}

/// Counting digits or the alphabet: made up by a person who needed some characters.
fn is_sequence(lower: &str) -> bool {
    [
        "123456",
        "abcdefg",
        "abc123",
        "987654321",
        "qwerty",
        "deadbeef",
        "a1b2c3",
        "abcd1234",
    ]
    .iter()
    .any(|run| lower.contains(run))
        || lower.contains("1234-5678")
        || is_alphabet_in_parts(lower)
}

/// `AbCdEf.GhIjKl`: the alphabet goes on behind each separator.
fn is_alphabet_in_parts(lower: &str) -> bool {
    let joined: String = lower
        .chars()
        .filter(|c| !matches!(c, '.' | '-' | '_'))
        .collect();
    joined.contains("abcdefghij")
}

/// One or two characters over and over, such as a UUID of zeros.
fn is_monotonous(value: &str) -> bool {
    let tail = value.rsplit(['_', ':', '=', '.']).next().unwrap_or(value);
    let mut seen = [None; 2];
    for c in tail.chars().filter(|c| *c != '-') {
        match seen {
            [Some(a), _] if a == c => {}
            [_, Some(b)] if b == c => {}
            [None, _] => seen[0] = Some(c),
            [_, None] => seen[1] = Some(c),
            _ => return false,
        }
    }
    tail.len() >= 4
}

const LAST_LATIN: u32 = 0x024F;
const LONGEST_JOINED: usize = 40;

/// Whole values that people write when they have nothing to write.
#[rustfmt::skip]
const STOCK: &[&str] = &[
    "none", "null", "nil", "undefined", "nan", "n/a", "na", "tbd", "tba", "todo", "fixme",
    "optional", "required", "empty", "blank", "unused", "ignored", "anything", "whatever",
    "string", "text", "value", "foo", "bar", "baz", "foobar", "abc", "abcd", "test", "demo",
    "ollama", "lm-studio", "lmstudio", "not-needed", "not_needed", "no-key", "nokey", "no_key",
    "sk-no-key-required", "unknown", "default", "fake", "dummy", "mock", "sample", "hidden",
    "secret", "password", "passwd", "pass", "pwd", "token", "key", "changeme", "change-me",
    "change_me", "changeit", "letmein", "x", "xx", "y", "z", "...",
];

/// Parts that no real credential contains by chance.
#[rustfmt::skip]
const MARKERS_ANYWHERE: &[&str] = &[
    "changeme", "change_me", "change-me", "change_this", "change-this", "replaceme", "replace_",
    "replace-", "placeholder", "redacted", "tokenhere", "keyhere", "_here", "-here", "secrethere",
    "passwordhere", "apikeyhere", "goes_here", "goes-here", "example", "your_", "your-", "your ",
    "yourapi", "yourtoken", "yourkey", "yoursecret", "yourpass", "youraccess", "my_api_key",
    "insert_", "insert-", "paste_", "paste-", "fill_in", "fill-in", "dummy", "not-needed",
    "not_needed", "not-required", "not_required", "no-key-required", "base64(", "base64_encoded",
    "to_be_", "to-be-", "fill-me", "fill_me", "user-provided", "user_provided", "xxxx",
];

/// Words that make the whole a placeholder, in several languages.
#[rustfmt::skip]
const MARKERS: &[&str] = &[
    "your", "yours", "votre", "remplacez", "remplacer", "remplace", "dein", "deine",
    "deinen", "ihre", "ihren", "ersetzen", "einfügen", "einfuegen", "hier", "eintragen",
    "aqui", "aquí", "reemplazar", "reemplaza", "reemplace", "inserta",
    "inserte", "ingresa", "ingrese", "pega", "cambiar", "cambia", "cambiame", "suas",
    "seus", "substitua", "substituir", "insira", "coloque", "cole", "inserisci",
    "sostituisci", "jouw", "vervang", "twoj", "twój", "twoja", "twoje", "wstaw",
    "wpisz", "tutaj", "buraya", "anahtarınız", "girin", "anda", "masukkan", "disini", "ganti",
    "nhập", "thay", "bạn", "váš", "vlož", "ditt", "här", "vash", "tvoj",
    "placeholder", "redacted", "changeme", "replaceme", "todo", "fixme", "xxx", "omitted",
    "masked", "censored", "hidden", "removed", "sanitized", "scrubbed", "snip", "snipped",
];

const SHORT_MARKERS: &[&str] = &[
    "tu", "tus", "su", "sua", "seu", "tuo", "tua", "qui", "vul", "vas", "din", "moj", "ihr", "vos",
];

const MARKER_STARTS: &[&str] = &[
    "your",
    "votre",
    "placeholder",
    "redacted",
    "changeme",
    "remplacez",
];

/// Verbs and adverbs of an instruction; with a word about credentials beside them, a placeholder.
#[rustfmt::skip]
const INSTRUCTIONS: &[&str] = &[
    "INSERT", "ENTER", "PUT", "PASTE", "REPLACE", "ADD", "SET", "USE", "FILL", "PROVIDE", "GET",
    "CHANGE", "HERE", "ICI", "THIS", "MY", "SOME", "ANY", "NEEDED", "REQUIRED", "OPTIONAL",
    "FAKE", "DUMMY", "SAMPLE", "MOCK", "DEMO", "GOES", "FROM", "NOT", "NO", "ACTUAL", "REAL",
    "VALID",
];

/// Words without content of their own beside a word about credentials.
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "MY", "YOUR", "OUR", "THE", "A", "AN", "SOME", "HERE", "INSERT", "ENTER", "PUT", "PASTE",
    "REPLACE", "ADD", "SET", "USE", "WITH", "IN", "FROM", "TO", "OF", "FOR", "THIS", "TEST",
    "DEMO", "FAKE", "DUMMY", "SAMPLE", "MOCK", "EXAMPLE", "REAL", "ACTUAL", "VALID", "NEW", "GOES",
    "NOT", "NO", "NEEDED", "REQUIRED", "OPTIONAL", "IF", "ANY", "ONE", "TBD", "X", "MCP", "AI", "SK", "PK",
];

/// Words without which a text does not speak about a password.
const SAYS_PASSWORD: &[&str] = &[
    "PASS",
    "PWD",
    "SECRET",
    "TOKEN",
    "KEY",
    "CREDENTIAL",
    "SENHA",
    "CONTRASE",
    "KENNWORT",
];

/// Words about credentials.
#[rustfmt::skip]
const ABOUT: &[&str] = &[
    "API", "KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "ACCESS", "AUTH", "PASSWORD",
    "PASSWD", "PASS", "PWD", "PASSPHRASE", "PASSCODE", "PAT", "PERSONAL", "BOT", "CLIENT", "USER",
    "USERNAME", "ID", "APP", "SERVICE", "ACCOUNT", "BEARER", "JWT", "CREDENTIAL", "CREDENTIALS",
    "APIKEY", "APITOKEN", "AUTHORIZATION", "BASIC", "OAUTH", "REFRESH", "SESSION", "COOKIE",
    "PRIVATE", "ADMIN", "ROLE", "ANON", "STRING", "CONNECTION", "URL", "DATABASE", "DB", "DSN",
    "WEBHOOK", "SIGNING", "INTEGRATION", "INTERNAL", "ORG", "PROJECT", "TENANT", "WORKSPACE",
    "LICENSE", "READ", "WRITE", "CLÉ", "CLE", "JETON", "CLAVE", "CHAVE", "CHIAVE", "SCHLÜSSEL",
    "SCHLUESSEL", "SENHA", "CONTRASEÑA", "PASSWORT", "KLUCZ", "SLEUTEL", "ANAHTAR",
];
