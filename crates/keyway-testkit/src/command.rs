//! Runs the built program as a person would, in an environment where nothing is inherited.

use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// One call of the program.
#[derive(Debug)]
pub struct Keyway {
    program: PathBuf,
    folder: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(String, OsString)>,
    stdin: Vec<u8>,
    memory_kib: Option<u64>,
    wrapper: Vec<OsString>,
    /// A `trust grant` is repeated with the digests that its refusal printed.
    reads_digests: bool,
}

impl Keyway {
    /// Prepares a call; `program` is `env!("CARGO_BIN_EXE_keyway")` of the calling test.
    #[must_use]
    pub fn new(program: &str, folder: &Path) -> Self {
        Self {
            program: program.into(),
            folder: folder.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            stdin: Vec::new(),
            memory_kib: None,
            wrapper: Vec::new(),
            reads_digests: true,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the process environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Sets what standard input holds.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Bounds the memory that the program may map.
    #[must_use]
    pub const fn memory_kib(mut self, limit: u64) -> Self {
        self.memory_kib = Some(limit);
        self
    }

    /// Has another program start this one: its own arguments come first, then the call.
    #[must_use]
    pub fn started_by<A: Into<OsString>>(mut self, wrapper: impl IntoIterator<Item = A>) -> Self {
        self.wrapper = wrapper.into_iter().map(Into::into).collect();
        self
    }

    /// Leaves a `trust grant` at its refusal.
    #[must_use]
    pub const fn without_digests(mut self) -> Self {
        self.reads_digests = false;
        self
    }

    /// Returns a call of another program in the same surroundings, to which a variable names this.
    #[must_use]
    pub(crate) fn of_another(&self, program: &str, name: &str) -> Self {
        let mut other = Self::new(program, &self.folder);
        other.variables.clone_from(&self.variables);
        other.env(name, &self.program)
    }

    /// Runs the program to its end; panics if it cannot be started.
    #[must_use]
    pub fn run(self) -> Outcome {
        let is_grant = self
            .arguments
            .starts_with(&["trust".into(), "grant".into()]);
        if !is_grant || !self.reads_digests {
            return self.run_once();
        }
        // Without a terminal an approval needs the digest of what was shown, as a script would pass it.
        let shown = self.run_once();
        let digests = shown.stderr.lines();
        let digests = digests.filter_map(|line| line.strip_prefix("  digest    "));
        let digests = digests.map(|digest| format!("--digest={digest}").into());
        let mut again: Vec<OsString> = digests.collect();
        if shown.code != 2 || again.is_empty() {
            return shown;
        }
        let mut arguments = self.arguments.clone();
        let at = arguments.len().min(2);
        arguments.splice(at..at, again.drain(..));
        Self { arguments, ..self }.run_once()
    }

    #[expect(
        clippy::expect_used,
        reason = "a test that cannot run the program must stop"
    )]
    fn run_once(&self) -> Outcome {
        let mut running = self.start();
        let mut stdin = running.child.stdin.take().expect("a pipe");
        let input = self.stdin.clone();
        // The program may close its input before all was written: that is its right.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let outcome = running.outcome();
        writer.join().expect("the writer");
        outcome
    }

    /// Starts the program and leaves its input open; panics if it cannot be started.
    #[must_use]
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "a test that cannot run the program must stop"
    )]
    pub fn start(&self) -> Running {
        let own = TempDir::with_prefix("keyway-home-").expect("a temporary folder");
        Running {
            child: self.command(own.path()).spawn().expect("the program"),
            folder: self.folder.clone(),
            own,
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "tests start the program as its user does"
    )]
    fn command(&self, own: &Path) -> Command {
        let mut command = match (self.memory_kib, self.wrapper.split_first()) {
            (None, None) => Command::new(&self.program),
            (None, Some((wrapper, arguments))) => {
                let mut command = Command::new(wrapper);
                command.args(arguments).arg(&self.program);
                command
            }
            (Some(limit), _) => {
                let mut shell = Command::new("/bin/sh");
                let script = format!("ulimit -v {limit} && exec \"$0\" \"$@\"");
                shell.arg("-c").arg(script).arg(&self.program);
                shell
            }
        };
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .env("HOME", own)
            .env("KEYWAY_HOME", own.join("keyway"))
            .env("TMPDIR", own)
            .env("PATH", "/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// A call that has not ended; it is killed with this value.
#[derive(Debug)]
pub struct Running {
    /// The process; its streams are pipes.
    pub child: Child,
    folder: PathBuf,
    own: TempDir,
}

impl Running {
    /// Waits for the end; streams that the test took are empty in the outcome.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "a test that cannot wait for the program must stop"
    )]
    pub fn outcome(&mut self) -> Outcome {
        drop(self.child.stdin.take());
        let errors = self
            .child
            .stderr
            .take()
            .map(|pipe| std::thread::spawn(|| all(pipe)));
        let stdout = self.child.stdout.take().map(all).unwrap_or_default();
        let stderr = errors.map(|reader| reader.join().expect("the reader"));
        let output = Output {
            status: self.child.wait().expect("its end"),
            stdout,
            stderr: stderr.unwrap_or_default(),
        };
        Outcome::new(
            &output,
            &[(&self.folder, "[PATH]"), (self.own.path(), "[HOME]")],
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn all(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    drop(pipe.read_to_end(&mut bytes));
    bytes
}

/// What a call printed and how it ended; paths are replaced by `[PATH]` and `[HOME]`.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code; -1 after a signal.
    pub code: i32,
}

impl Outcome {
    fn new(output: &Output, paths: &[(&Path, &str)]) -> Self {
        let readable = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            paths.iter().fold(text, |text, (path, name)| {
                text.replace(&*path.to_string_lossy(), name)
            })
        };
        Self {
            stdout: readable(&output.stdout),
            stderr: readable(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Returns both streams, for searching.
    #[must_use]
    pub fn everything(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    /// Returns the outcome as one text, for snapshots.
    #[must_use]
    pub fn snapshot(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&self.stderr);
        }
        text.push_str(&format!("--- exit {}\n", self.code));
        text
    }
}
