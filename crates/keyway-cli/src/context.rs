//! What every command gets: output, verbosity, events and the settings of `config.toml`.

use std::error::Error;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};
use keyway::events::{Events, Listener, Topic};
use keyway::load::Loaded;
use keyway::settings::{ColorChoice, Defaults, Network, Settings, SettingsRefusal};
use keyway_code::Exit;
use keyway_secret::printable;
use keyway_terminal::Table;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::events;
use crate::report::Verbosity;
use crate::report::debug::{self, About};
use crate::settings;

/// Output, verbosity, events and settings of one run of the program.
#[derive(Debug, Clone)]
pub(crate) struct CommandContext {
    /// How much to print.
    pub(crate) verbosity: Verbosity,
    /// What the command line says.
    color: Option<Color>,
    /// Where changes are recorded.
    pub(crate) events: Events,
    /// The flags say that events or notes are written somewhere.
    pub(crate) is_recorded: bool,
    settings: Arc<Result<Settings, SettingsRefusal>>,
    /// The program as clap knows it, for commands that describe it.
    pub(crate) program: fn() -> clap::Command,
    /// The files that this call writes: they may lie in a plugin, and are not part of it.
    written: Vec<PathBuf>,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// When to use color [default: `color` in config.toml, else auto]
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<Color>,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also print notes
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Append events to FILE as JSON Lines
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Log to standard error: everything, or only these topics, as in `--debug=oauth,helper`
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "TOPICS",
        value_delimiter = ','
    )]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = EVERYTHING)]
    pub(crate) debug: Option<Vec<About>>,
    /// Append the log to FILE instead of standard error
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) debug_file: Option<PathBuf>,
}

const EVERYTHING: &str = "config,oauth,helper,transport";

/// When to use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl CommandContext {
    /// Looks at the flags and at `config.toml`; streams and environment are looked at when
    /// something is printed.
    pub(crate) fn open(global: &Global, program: fn() -> clap::Command) -> Self {
        let settings = settings::read();
        let flags = (global.quiet, global.verbose);
        let verbosity = match (flags, settings.as_ref().map(|kept| &kept.defaults)) {
            ((true, _), _) => Verbosity::Quiet,
            ((_, true), _) => Verbosity::Verbose,
            (_, Ok(Defaults { quiet: true, .. })) => Verbosity::Quiet,
            (_, Ok(Defaults { verbose: true, .. })) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Self {
            verbosity,
            color: global.color,
            events: Events::default(),
            is_recorded: false,
            settings: Arc::new(settings),
            program,
            written: Vec::new(),
        }
    }

    /// Returns the files that this call writes.
    pub(crate) fn written(&self) -> &[PathBuf] {
        &self.written
    }

    /// Records what happens from now on, where the flags say so.
    pub(crate) fn record(&mut self, global: &Global) -> Result<(), CliError> {
        let open = |path: &Path| {
            events::append(path).map_err(|source| CliError::Generate {
                path: path.to_owned(),
                source,
            })
        };
        let mut listeners = Vec::new();
        if let Some(path) = &global.events {
            listeners.push(events::to_file(open(path)?));
        }
        if global.debug.is_some() || global.debug_file.is_some() {
            let file = global.debug_file.as_deref().map(open).transpose()?;
            let about = global.debug.as_deref().unwrap_or_default();
            listeners.push(debug::listener(about, file));
        }
        self.is_recorded = !listeners.is_empty();
        listeners.push(events::isolation_warning());
        self.events = Events::new(listeners);
        let written = [&global.events, &global.debug_file];
        self.written = written.into_iter().flatten().cloned().collect();
        Ok(())
    }

    /// Returns the same context with one more listener for events.
    pub(crate) fn watched(&self, listener: Arc<dyn Listener>) -> Self {
        let mut watched = self.clone();
        watched.events = self.events.with(listener);
        watched
    }

    /// Tells what was read.
    pub(crate) fn read(&self, loaded: &Loaded) {
        self.events.plugin(&loaded.plugin);
        for document in &loaded.plugin.documents {
            self.events.note(Topic::Config, None, || {
                let (file, count) = (document.source.path(), document.entries.len());
                format!("read `{file}`, entries: {count}")
            });
        }
    }

    /// Returns what `config.toml` says.
    ///
    /// A command that connects or starts anything must not guess what a broken file was to say.
    pub(crate) fn settings(&self) -> Result<&Settings, CliError> {
        let settings = self.settings.as_ref().as_ref();
        settings.map_err(|refusal| CliError::Settings(refusal.clone()))
    }

    /// Returns what `config.toml` says about the network; nothing for a program that another
    /// Keyway started, which hides the file from it.
    pub(crate) fn network(&self) -> Result<Network, CliError> {
        match self.settings.as_ref() {
            Ok(settings) => Ok(settings.network.clone()),
            Err(refusal) if refusal.is_hidden => Ok(Network::default()),
            Err(refusal) => Err(CliError::Settings(refusal.clone())),
        }
    }

    /// Says whether standard output gets colours.
    pub(crate) fn colors_output(&self) -> bool {
        self.colors(&io::stdout())
    }

    /// Renders a table for standard output.
    pub(crate) fn render<const N: usize>(&self, table: &Table<N>) -> String {
        let style = self.head_style();
        table.render(self.width(), |head| format!("{style}{head}{style:#}"))
    }

    /// Returns how many columns there are to print a table in; `None` without a limit.
    pub(crate) fn width(&self) -> Option<usize> {
        let terminal = || terminal_size::terminal_size_of(io::stdout());
        ProcessEnvironment::columns().or_else(|| Some(usize::from(terminal()?.0.0)))
    }

    /// Prints a command's result. A closed pipe ends the command with `exit`.
    pub(crate) fn print(&self, text: &str, exit: Exit) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(CliError::BrokenPipe { exit })
            }
            Err(source) => Err(CliError::Output { source }),
        }
    }

    /// Prints why a command gave up, with what a program said before it ended.
    pub(crate) fn print_failure(&self, error: &CliError) {
        // On a terminal the person has just been shown it.
        if let Some(question) = error.question().filter(|_| !io::stdin().is_terminal()) {
            self.print_aside(&format!("{question}\n"));
        }
        self.print_chain(error, error.last_lines(), error.hint().as_deref());
    }

    /// Prints the same for one of several servers.
    pub(crate) fn print_failure_of(&self, server: &str, error: &CliError) {
        self.print_aside(&format!("\n`{}`:\n", printable(server)));
        self.print_failure(error);
    }

    /// Prints an error with what lies behind it and what to do next.
    pub(crate) fn print_error(&self, error: &dyn Error, hint: Option<&str>) {
        self.print_chain(error, &[], hint);
    }

    fn print_chain(&self, error: &dyn Error, lines: &[String], hint: Option<&str>) {
        let style = self.error_style();
        let mut text = format!("{style}error{style:#}: {}\n", printable(&error.to_string()));
        let mut cause = error.source();
        while let Some(below) = cause {
            text.push_str(&format!("  caused by: {}\n", printable(&below.to_string())));
            cause = below.source();
        }
        for line in lines {
            text.push_str(&format!("  | {}\n", printable(line)));
        }
        if let Some(hint) = hint {
            text.push_str(&format!("\nhint: {}\n", printable(hint)));
        }
        self.print_aside(&text);
    }

    /// Prints something besides the result; without a reader it is lost, which is not a failure.
    pub(crate) fn print_aside(&self, text: &str) {
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }

    /// Returns how the head of a table looks.
    pub(crate) fn head_style(&self) -> Style {
        if self.colors_output() {
            Style::new().bold()
        } else {
            Style::new()
        }
    }

    fn error_style(&self) -> Style {
        if self.colors(&io::stderr()) {
            AnsiColor::BrightRed.on_default().bold()
        } else {
            Style::new()
        }
    }

    fn colors(&self, stream: &impl io::IsTerminal) -> bool {
        let is_refused =
            || ProcessEnvironment::is_set("NO_COLOR") || ProcessEnvironment::has_dumb_terminal();
        let kept = self.settings.as_ref().as_ref().ok();
        let kept = kept.and_then(|settings| settings.defaults.color);
        match (self.color, kept) {
            (Some(Color::Always), _) => true,
            (Some(Color::Never), _) => false,
            (None, Some(ColorChoice::Always)) => !is_refused(),
            (None, Some(ColorChoice::Never)) => false,
            _ => stream.is_terminal() && !is_refused(),
        }
    }
}
