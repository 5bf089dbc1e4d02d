//! The keys of `[vault.key]` and `[vault.previous_key]`.

use super::{Key, Kind, Section, key};

/// The key that wraps the keys of people's data.
pub(super) const KEY: Section = Section {
    path: &["vault", "key"],
    title: "[vault.key]",
    about: "The wrapping key of the database, where it is not in a file: in a PKCS#11 token or in Transit of Vault or OpenBao, neither of which it leaves. `key_file` in `[vault]` is short for `file`, `key_command` for `command`.",
    keys: &KEYS,
};

/// The one that wrapped them so far.
pub(super) const PREVIOUS_KEY: Section = Section {
    path: &["vault", "previous_key"],
    title: "[vault.previous_key]",
    about: "The wrapping key that counted so far, while `keyway vault rekey --database` changes it. Every gateway gets both; then the key is changed; then this section is removed.",
    keys: &KEYS,
};

const KEYS: [Key; 9] = [
    key(
        "file",
        Kind::Path,
        "\"/etc/keyway/wrapping.key\"",
        "The file that holds the key, 64 hexadecimal digits, readable by its owner alone",
    ),
    key(
        "command",
        Kind::Text,
        "\"pass show keyway/wrapping-key\"",
        "The command line that prints the key, run by a shell",
    ),
    key(
        "pkcs11_module",
        Kind::Path,
        "\"/usr/lib/softhsm/libsofthsm2.so\"",
        "The PKCS#11 library of the token's vendor",
    ),
    key(
        "pkcs11_token",
        Kind::Text,
        "\"keyway\"",
        "The label of the PKCS#11 token",
    ),
    key(
        "transit_url",
        Kind::Address,
        "\"https://vault.example:8200/v1/transit\"",
        "The address at which the Transit engine of Vault or OpenBao is mounted",
    ),
    key(
        "name",
        Kind::Text,
        "\"keyway\"",
        "The label of the key in the token, or its name in Transit",
    ),
    key(
        "secret_file",
        Kind::Path,
        "\"/etc/keyway/wrapping-pin\"",
        "The file whose first line is the PIN of the token, or the token for Transit, readable by its owner alone",
    ),
    key(
        "secret_command",
        Kind::Text,
        "\"pass show keyway/wrapping-pin\"",
        "The command line that prints it, run by a shell",
    ),
    key(
        "ca_file",
        Kind::Path,
        "\"/etc/keyway/vault-ca.pem\"",
        "The certificates that Transit is verified against, beside the system's",
    ),
];
