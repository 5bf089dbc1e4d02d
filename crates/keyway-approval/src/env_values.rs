//! An env file as a part of a plugin's code. Its values may change without a question, so that a
//! token can be rotated. But whatever else a file of that name says may be run by the plugin's code,
//! and counts.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use keyway_config::paths::lexical;
use keyway_files::regular_file;

use crate::code_variables::is_code_variable;
use crate::hash::{Hash, Hasher};

/// Says whether a file may be left out of a tree: others may be a program's too, whatever names
/// them.
pub(crate) fn is_env_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_named = name.is_some_and(|name| name == ".env" || name.starts_with(".env."));
    // In `.env.sh` a plain value is a line of a script, which may be the name of a program.
    let extension = path.extension().and_then(|it| it.to_str());
    let is_code = |extension: &str| {
        let mut code = CODE_EXTENSIONS.iter();
        code.any(|known| extension.eq_ignore_ascii_case(known))
    };
    is_named && !extension.is_some_and(is_code)
}

/// Hashes an env file without the lines that do no more than set a variable to a plain value;
/// `None` if it cannot be read, or is too large to be one.
pub(crate) fn without_plain(path: &Path) -> Option<Hash> {
    let mut text = Vec::new();
    let file = regular_file::open(path).ok()?;
    file.take(MAX_BYTES + 1).read_to_end(&mut text).ok()?;
    // A file that says which interpreter runs it is a program, whatever its name is.
    if u64::try_from(text.len()).ok()? > MAX_BYTES || text.starts_with(b"#!") {
        return None;
    }
    let mut hasher = Hasher::default();
    for line in text.split(|byte| *byte == b'\n') {
        let is_plain = std::str::from_utf8(line).is_ok_and(is_plain);
        if !is_plain {
            hasher.field(b"line", line);
        }
    }
    Some(hasher.finish())
}

/// Says whether a line sets a variable to what no shell or interpreter would take for a program.
fn is_plain(line: &str) -> bool {
    let line = line.trim();
    if line.is_empty() {
        return true;
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let Some((name, value)) = line.split_once('=') else {
        return false;
    };
    let quotes = ['"', '\''];
    let inner = quotes.iter().find_map(|quote| {
        let value = value.strip_prefix(*quote)?;
        value.strip_suffix(*quote)
    });
    let value = inner.unwrap_or(value);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_value = |byte: u8| byte.is_ascii_alphanumeric() || b"_.~+/=:@%,-".contains(&byte);
    !name.is_empty()
        && name.bytes().all(is_name)
        && !is_code_variable(name)
        && value.bytes().all(is_value)
        // A path is what a program is found by.
        && !value.starts_with(['/', '.', '~'])
}

/// Returns the env file of an entry, if it may be left out.
pub(crate) fn of_entry(root: &Path, written: &str) -> Option<PathBuf> {
    let path = lexical(&root.join(written));
    is_env_file(&path).then_some(path)
}

const MAX_BYTES: u64 = 1024 * 1024;

/// Endings of files that an interpreter runs or loads as a part of a program.
const CODE_EXTENSIONS: &[&str] = &[
    "bash", "bat", "cjs", "cmd", "csh", "cts", "exs", "fish", "groovy", "jl", "js", "json", "jsx",
    "ksh", "lua", "mjs", "mk", "mts", "nu", "php", "pl", "pm", "ps1", "psm1", "py", "pyw", "rb",
    "sh", "tcl", "toml", "ts", "tsx", "vim", "xml", "xsh", "yaml", "yml", "zsh",
];

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;

    use super::{is_env_file, is_plain, without_plain};

    #[test]
    fn e05_a_script_is_not_an_env_file_whatever_it_begins_with() {
        for name in [".env", ".env.local", ".env.production.local", ".env.acme"] {
            assert!(is_env_file(Path::new(name)), "{name}");
        }
        for name in ["x.env", ".env.sh", ".env.local.js", ".env.PY", ".env.mjs"] {
            assert!(!is_env_file(Path::new(name)), "{name}");
        }
    }

    /// Then all of it counts, as of any other file.
    #[test]
    fn a_file_of_more_than_a_mebibyte_is_not_taken_for_an_env_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all("A=1\n".repeat(1 << 18).as_bytes()).unwrap();
        let plain = without_plain(file.path());
        assert!(plain.is_some());
        file.write_all(b"\n").unwrap();
        assert!(without_plain(file.path()).is_none());
        let other = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(without_plain(other.path()), plain, "no line of it counts");
        file.as_file().set_len(0).unwrap();
        file.write_all(b"run()").unwrap();
        assert_ne!(without_plain(file.path()), plain);
    }

    #[test]
    fn only_a_variable_with_a_plain_value_is_left_out() {
        for line in [
            "",
            "API_TOKEN=kT8vQ2mX9w==",
            "export API_TOKEN='sk-1'",
            "  DB_URL=\"postgres://u:p@h.example:5432/db\"\r",
        ] {
            assert!(is_plain(line), "{line}");
        }
        for line in [
            "# a note",
            "API_TOKEN",
            "run()",
            "A=require('x')",
            "A=$(x)",
            "A=1;x",
            "A=x y",
            "A=/outside/evil.js",
            "A=../evil.js",
            "PATH=bin",
            "NODE_OPTIONS=--inspect",
            "a.b=c",
        ] {
            assert!(!is_plain(line), "{line}");
        }
    }
}
