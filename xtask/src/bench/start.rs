//! `cargo xtask bench start`: what Keyway adds to the start of a local server, by what its program is
//! kept from.
//!
//! Measured is the time from the start of a process to its answer to `initialize`: of a small server
//! started directly, and of `keyway run` before the same server under each profile. Runs are
//! interleaved, and the lower quartile of each counts, because a busy moment of the machine only adds:
//! so the ratios mean something on a machine that is not idle, and times would not. Nothing but ratios
//! is printed.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::ratio;
use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Measures, prints the table, and fails if another version starts much faster under `hide`.
///
/// # Errors
///
/// Returns [`XtaskError::TooSlow`] if `hide` takes more than [`AT_MOST`] times what `against` takes.
pub(crate) fn measure(
    workspace: &Workspace,
    runs: usize,
    built: Option<PathBuf>,
    against: Option<PathBuf>,
) -> Result<(), XtaskError> {
    let keyway = match built {
        Some(program) => program,
        None => {
            let release = ["build", "--release", "--locked", "--package", "keyway-cli"];
            child::run(&mut child::cargo(workspace, &release))?;
            workspace.target.join("release/keyway")
        }
    };
    let folder = workspace.target.join("bench-start");
    let scene = Scene::make(&folder).map_err(XtaskError::file(&folder))?;
    let mut contestants = vec![Contestant::bare(&scene)];
    for profile in PROFILES {
        let home = scene.home("this", profile);
        let home = home.map_err(XtaskError::file(&folder))?;
        contestants.push(Contestant::keyway(profile, &keyway, &home, &scene));
    }
    if let Some(other) = &against {
        let home = scene.home("other", HIDE);
        let home = home.map_err(XtaskError::file(&folder))?;
        contestants.push(Contestant::keyway(OTHER, other, &home, &scene));
    }
    for round in 0..runs + WARMING {
        for contestant in &mut contestants {
            let taken = contestant.start().map_err(|source| XtaskError::Measure {
                command: contestant.label,
                log: contestant.folder.clone(),
                source,
            })?;
            if round >= WARMING {
                contestant.times.push(taken);
            }
        }
    }
    report(&mut contestants, runs)
}

fn report(contestants: &mut [Contestant], runs: usize) -> Result<(), XtaskError> {
    let quartiles: Vec<(&str, Duration)> = contestants
        .iter_mut()
        .map(|it| (it.label, lower_quartile(&mut it.times)))
        .collect();
    let of = |wanted: &str| {
        let found = quartiles.iter().find(|(label, _)| *label == wanted);
        found.map_or(Duration::ZERO, |(_, time)| *time)
    };
    println!(
        "\nfrom the start to the answer to `initialize`, lower quartile of {runs} runs in turn"
    );
    println!("{:<24}{:>10}{:>10}", "", "× bare", "× off");
    for (label, time) in &quartiles {
        let (bare, off) = (ratio(*time, of(BARE)), ratio(*time, of(OFF)));
        println!("{label:<24}{bare:>10.2}{off:>10.2}");
    }
    if of(OTHER).is_zero() {
        return Ok(());
    }
    kept(of(HIDE), of(OTHER))
}

fn kept(ours: Duration, others: Duration) -> Result<(), XtaskError> {
    let times = ratio(ours, others);
    println!("`{HIDE}` takes {times:.2} times what the other version takes");
    if times <= AT_MOST {
        return Ok(());
    }
    let broken = vec![format!(
        "a start under `{HIDE}` takes {times:.2} times what the other version takes, not {AT_MOST}"
    )];
    Err(XtaskError::TooSlow { broken })
}

fn lower_quartile(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 4).copied().unwrap_or_default()
}

/// A plugin, its server, and homes for each profile.
struct Scene {
    folder: PathBuf,
    plugin: PathBuf,
    server: PathBuf,
}

impl Scene {
    fn make(folder: &Path) -> io::Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let scene = Self {
            folder: folder.to_owned(),
            plugin: folder.join("plugin"),
            // Outside of the plugin: what lies there is hashed at each start, which is not measured.
            server: folder.join("server.sh"),
        };
        fs::create_dir_all(&scene.plugin)?;
        fs::write(&scene.server, SERVER)?;
        let entry = json!({"up": {"command": "/bin/sh", "args": [&scene.server]}});
        fs::write(scene.plugin.join(".mcp.json"), entry.to_string())?;
        Ok(scene)
    }

    /// Makes a home whose settings name the profile.
    fn home(&self, version: &str, profile: &str) -> io::Result<PathBuf> {
        let home = self.folder.join(format!("{version}-{profile}"));
        let settings = home.join(".config/keyway");
        fs::create_dir_all(&settings)?;
        // What other users can enter is refused.
        for folder in [&settings, &home] {
            fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        }
        let text = format!("[sandbox]\nprofile = \"{profile}\"\n");
        fs::write(settings.join("config.toml"), text)?;
        Ok(home)
    }
}

/// Something that answers `initialize`, and how long it took.
struct Contestant {
    label: &'static str,
    command: Vec<PathBuf>,
    folder: PathBuf,
    times: Vec<Duration>,
}

impl Contestant {
    fn bare(scene: &Scene) -> Self {
        Self {
            label: BARE,
            command: vec!["/bin/sh".into(), scene.server.clone()],
            folder: scene.folder.clone(),
            times: Vec::new(),
        }
    }

    fn keyway(label: &'static str, program: &Path, home: &Path, scene: &Scene) -> Self {
        let words = [
            "run",
            "--server",
            "up",
            "--trust",
            "--standalone",
            "--config",
        ];
        let mut command = vec![program.to_owned()];
        command.extend(words.map(PathBuf::from));
        command.push(scene.plugin.clone());
        Self {
            label,
            command,
            folder: home.to_owned(),
            times: Vec::new(),
        }
    }

    /// Starts it, waits for the answer, and for its end.
    fn start(&self) -> io::Result<Duration> {
        let (program, words) = self.command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let begin = Instant::now();
        let mut child = Command::new(program)
            .args(words)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        input.write_all(INITIALIZE.as_bytes())?;
        let mut answer = String::new();
        BufReader::new(output).read_line(&mut answer)?;
        let taken = begin.elapsed();
        drop(input);
        child.wait()?;
        match answer.contains("protocolVersion") {
            true => Ok(taken),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

const BARE: &str = "the server itself";
const OFF: &str = "off";
const HIDE: &str = "hide";
const OTHER: &str = "hide, other version";
const PROFILES: [&str; 3] = [OFF, HIDE, "confine"];
/// How much longer a start may take than with the other version.
const AT_MOST: f64 = 1.3;
/// The first runs make folders and fill caches.
const WARMING: usize = 3;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);
/// Answers `initialize`, and nothing else.
const SERVER: &str = r#"read -r request
printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"small","version":"1"}}}'
while read -r request; do :; done
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_may_take_three_tenths_more_and_not_any_longer() {
        let others = Duration::from_millis(10);
        assert!(kept(Duration::from_millis(13), others).is_ok());
        let broken = kept(Duration::from_micros(13_100), others);
        assert!(matches!(broken, Err(XtaskError::TooSlow { .. })));
    }

    #[test]
    fn a_quarter_of_the_runs_is_below_the_time_that_counts() {
        let mut times: Vec<Duration> = (1..=8).rev().map(Duration::from_millis).collect();
        assert_eq!(lower_quartile(&mut times), Duration::from_millis(3));
        assert_eq!(lower_quartile(&mut []), Duration::ZERO);
    }

    #[test]
    fn the_server_that_is_measured_answers() {
        let folder = std::env::temp_dir().join(format!("bench-start-{}", std::process::id()));
        let scene = Scene::make(&folder).unwrap();
        let taken = Contestant::bare(&scene).start();
        fs::remove_dir_all(&folder).unwrap();
        assert!(!taken.unwrap().is_zero());
    }
}
