//! The stdio server: the binary itself, started as a child with one variable.

use std::io::{self, BufRead, Write};
use std::path::Path;

use keyway_config::environment::Environment;

use crate::credentials::{PASSWORD, fingerprint};
use crate::error::DemoError;
use crate::journal::Journal;
use crate::servers::mcp_answer;

/// The file in the plugin by which the right password is recognised.
pub(crate) const FINGERPRINT: &str = "password.sha256";

/// Serves MCP on `input` and `output` until the input ends, if the password in `environment` is
/// the one that `folder`, the plugin, knows.
///
/// # Errors
///
/// Returns [`DemoError::Variable`] for a wrong password.
pub fn serve_stdio(
    environment: &dyn Environment,
    folder: &Path,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<(), DemoError> {
    let expected = std::fs::read_to_string(folder.join(FINGERPRINT)).unwrap_or_default();
    let given = environment.get(PASSWORD);
    let is_right = given.is_some_and(|given| fingerprint(given.expose()) == expected.trim());
    if !is_right {
        return Err(DemoError::Variable { name: PASSWORD });
    }
    let journal = Journal::default();
    let converse = || -> io::Result<()> {
        for line in input.lines() {
            if let Some(reply) = mcp_answer(&line?, "local", &journal) {
                writeln!(output, "{reply}")?;
                output.flush()?;
            }
        }
        Ok(())
    };
    match converse() {
        // The client went away: so do we.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|source| DemoError::Stdio { source }),
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::environment::Variables;

    use super::*;

    const HELLO: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}
not json
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

    fn served(password: Option<&str>) -> (Result<(), DemoError>, String) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FINGERPRINT);
        keyway_files::write::create(&file, fingerprint("right").as_bytes(), 0o644).unwrap();
        let environment = Variables::from_pairs(password.map(|value| (PASSWORD, value)));
        let mut output = Vec::new();
        let served = serve_stdio(&environment, folder.path(), HELLO, &mut output);
        (served, String::from_utf8(output).unwrap())
    }

    #[test]
    fn the_right_password_is_served_one_line_per_request() {
        let (served, output) = served(Some("right"));
        served.unwrap();
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.len(), 2, "{output}");
        assert!(lines[0].contains(r#""result":{}"#), "{output}");
        assert!(lines[1].contains("-32700"), "{output}");
    }

    #[test]
    fn a_wrong_password_or_none_is_not_served() {
        for password in [Some("wrong"), Some(""), None] {
            let (served, output) = served(password);
            let error = served.unwrap_err();
            assert!(matches!(error, DemoError::Variable { name: PASSWORD }));
            assert_eq!(output, "");
        }
    }
}
