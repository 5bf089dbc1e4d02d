//! LiteLLM keeps the tokens of people in its database only; here it is tried, and what it says is told.

use std::path::Path;
use std::process::{Command, Stdio};

use super::processes::version;
use keyway_testkit::{Folder, PostgresServer, free_port};

/// Prepares its database as it does itself at its start; returns its name and what it says to that.
pub(super) fn tried(environment: &Path) -> (String, String) {
    let port = free_port();
    let database = PostgresServer::start_on(port);
    database.sql("postgres", "CREATE DATABASE litellm OWNER keyway");
    let folder = Folder::new();
    let address = format!("postgresql://keyway@127.0.0.1:{port}/litellm");
    let done = Command::new(environment.join("bin/python"))
        .args(["-c", PREPARE])
        .env("DATABASE_URL", address)
        .env("HOME", folder.path())
        .env(
            "PATH",
            format!("{}/bin:/usr/bin:/bin", environment.display()),
        )
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output();
    let said = match done {
        Err(error) => error.to_string(),
        Ok(done) if done.status.success() => {
            "its database can be made; this program has no people \
                                              for it yet"
                .to_owned()
        }
        Ok(done) => {
            let text = [done.stdout, done.stderr].concat();
            last_line(&String::from_utf8_lossy(&text))
        }
    };
    let query = "import importlib.metadata as it; print(it.version('litellm'))";
    let version = version(&environment.join("bin/python"), &["-c", query]).unwrap_or_default();
    let why = format!("sign-ins of people need its database, and that: {said}");
    (format!("LiteLLM {version}"), why)
}

/// Returns the last line that says something.
fn last_line(text: &str) -> String {
    let mut lines = text.lines().rev().map(str::trim);
    let last = lines.find(|line| line.chars().any(char::is_alphabetic));
    last.unwrap_or("nothing").to_owned()
}

/// What its start-up does: `prisma db push` of its own schema, which fetches the engine first.
const PREPARE: &str = "import os, subprocess, sys, importlib.util as it
schema = os.path.join(it.find_spec('litellm').submodule_search_locations[0], 'proxy', 'schema.prisma')
sys.exit(subprocess.run(['prisma', 'generate', '--schema', schema]).returncode)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_last_is_told() {
        assert_eq!(
            last_line("a\nERROR: it failed\n\n  ---\n"),
            "ERROR: it failed"
        );
        assert_eq!(last_line(""), "nothing");
    }
}
