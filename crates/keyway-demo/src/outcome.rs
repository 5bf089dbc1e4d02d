//! What a tour through the demo brought, in words and as JSON.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use keyway_mcp::states::State;
use keyway_secret::{Secret, shell_word};
use serde_json::{Value, json};

use crate::demo::Demo;
use crate::tour::Row;

/// What a tour brought.
#[derive(Debug)]
pub struct Outcome<'a> {
    rows: Vec<Row>,
    /// What became of a token that expired; absent if the demo did not wait for that.
    renewal: Option<Renewal>,
    /// The demo that keeps running; absent where it ends.
    demo: Option<&'a Demo>,
}

/// What became of an access token that expired.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Renewal {
    /// Whether a tool could be called afterwards.
    pub works: bool,
    /// How often a refresh token was redeemed meanwhile.
    pub refreshes: usize,
    /// How often a person was asked since the start.
    pub sign_ins: usize,
    /// How long the token lived.
    pub token_life: Duration,
}

impl Renewal {
    /// Says whether the token was renewed, and no person was asked again.
    const fn is_silent(self) -> bool {
        self.works && self.refreshes > 0 && self.sign_ins == 1
    }
}

impl<'a> Outcome<'a> {
    /// Sums up a tour after which a token expired.
    #[must_use]
    pub const fn of_check(rows: Vec<Row>, renewal: Renewal) -> Self {
        Self {
            rows,
            renewal: Some(renewal),
            demo: None,
        }
    }

    /// Sums up a tour through a demo that keeps running.
    #[must_use]
    pub const fn of_tour(rows: Vec<Row>, demo: &'a Demo) -> Self {
        Self {
            rows,
            renewal: None,
            demo: Some(demo),
        }
    }

    /// Returns the visits, in the order of the file.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Says whether all of it worked.
    #[must_use]
    pub fn is_good(&self) -> bool {
        !self.rows.is_empty()
            && self.rows.iter().all(Row::is_good)
            && self.renewal.is_none_or(Renewal::is_silent)
    }

    /// Says what went wrong, and what became of the token.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut text: String = self.rows.iter().map(Row::problem_in_words).collect();
        if let Some(renewal) = self.renewal {
            text.push('\n');
            text.push_str(&renewal.in_words());
        }
        text
    }

    /// Says what happened, and what can be tried with `binary` as long as the demo runs.
    ///
    /// `dashboard` is a link to it, and whether a browser opens it already.
    #[must_use]
    pub fn next_steps(&self, binary: &Path, dashboard: Option<(&Secret<String>, bool)>) -> String {
        let Some(demo) = self.demo else {
            return String::new();
        };
        let binary = quoted(binary);
        let (plugin, home) = (quoted(&demo.plugin()), quoted(&demo.home()));
        let is_signed_in = self.rows.iter().all(Row::is_good);
        let did = if is_signed_in {
            "signed"
        } else {
            "asks you to sign"
        };
        let dashboard = match dashboard {
            Some((_, true)) => {
                "Your browser opens the dashboard; `local` waits there for your approval.\n"
                    .to_owned()
            }
            Some((link, false)) => format!(
                "The dashboard (the link works once); `local` waits there for your approval:\n\n  {}\n",
                link.expose()
            ),
            None => "The dashboard could not be started.\n".to_owned(),
        };
        format!(
            "
One plugin file without secrets declares these servers. Keyway resolved the variables of this run,
{did} in to `docs` with OAuth, signed each request to `signed` with the plugin's helper
and started `local` isolated. Every server checked its credential; the plugin saw no token.

{dashboard}
Try this in another terminal; this one shows what the servers see:

  export KEYWAY_HOME={home}
  cd {plugin} && cat .mcp.json
  {binary} check
  {binary} tools docs
  {binary} call docs add a=1 b=2
  {binary} logout docs
  {binary} open

Ctrl-C stops the demo and removes its folder
"
        )
    }

    /// Returns the object for scripts.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            json!({
                "name": row.server,
                "transport": row.transport.as_str(),
                "method": row.method.as_str(),
                "state": row.state.state.as_str(),
                "reason": row.state.reason.map(|reason| reason.as_str()),
                "tools": row.tools,
                "call_ms": row.latency.map(|latency| latency.as_secs_f64() * 1000.0),
            })
        });
        let diagnostics = self.rows.iter().filter_map(|row| {
            let problem = row.problem.as_ref()?;
            Some(json!({
                "code": problem.code.as_str(),
                "severity": "error",
                "server": row.server,
                "source": null,
                "message": problem.message,
                "hint": problem.hint,
            }))
        });
        let renewal = self.renewal.map(|renewal| {
            json!({
                "works": renewal.works,
                "refreshes": renewal.refreshes,
                "sign_ins": renewal.sign_ins,
                "token_life_s": renewal.token_life.as_secs(),
            })
        });
        json!({
            "schema_version": 1,
            "diagnostics": diagnostics.collect::<Vec<_>>(),
            "servers": rows.collect::<Vec<_>>(),
            "renewal": renewal,
            "plugin": self.demo.map(Demo::plugin),
            "keyway_home": self.demo.map(Demo::home),
            "ok": self.is_good(),
        })
    }
}

impl Row {
    /// Returns how long the call of a tool took; a dash if none was called.
    #[must_use]
    pub fn latency_in_words(&self) -> String {
        self.latency.map_or_else(
            || "-".to_owned(),
            |time| format!("{:.1} ms", time.as_secs_f64() * 1000.0),
        )
    }

    /// Says what became of a server that the table did not wait for.
    #[must_use]
    pub fn in_words(&self) -> String {
        if self.is_good() {
            let (server, tools, took) = (&self.server, self.tools, self.latency_in_words());
            return format!("\n`{server}` is connected: {tools} tools, called in {took}\n");
        }
        self.problem_in_words()
    }

    fn problem_in_words(&self) -> String {
        let mut text = String::new();
        match &self.problem {
            Some(problem) => {
                let _infallible = write!(text, "\n{}: {}\n", self.server, problem.message);
                if let Some(hint) = &problem.hint {
                    let _infallible = writeln!(text, "hint: {hint}");
                }
            }
            None if self.state.state == State::NeedsAuth => {
                let _infallible = writeln!(
                    text,
                    "\n{}: waits for you to press Allow on the page above",
                    self.server
                );
            }
            None => {}
        }
        text
    }
}

impl Renewal {
    fn in_words(self) -> String {
        let (life, refreshes) = (self.token_life.as_secs(), self.refreshes);
        if self.is_silent() {
            return format!(
                "The access token of `docs` expired (the demo's clock was moved {life} s ahead) and \
                 was renewed without a question (refreshes: {refreshes}, sign-ins: 1)\n"
            );
        }
        let sign_ins = self.sign_ins;
        format!(
            "The access token of `docs` was NOT renewed in silence (refreshes: {refreshes}, \
             sign-ins: {sign_ins})\n"
        )
    }
}

/// Writes a path so that a shell reads it as one word.
fn quoted(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use keyway_config::declared::Transport;
    use keyway_config::method::Method;
    use keyway_mcp::states::{Reason, ServerState};

    use super::*;

    fn row(state: ServerState, latency: Option<Duration>) -> Row {
        Row {
            server: "docs".to_owned(),
            transport: Transport::Http,
            method: Method::OAuth,
            state,
            tools: 2,
            latency,
            problem: None,
        }
    }

    #[test]
    fn all_worked_only_if_every_call_did_and_the_token_was_renewed_in_silence() {
        let called = Some(Duration::from_millis(1));
        let good = row(ServerState::CONNECTED, called);
        let silent = Renewal {
            works: true,
            refreshes: 1,
            sign_ins: 1,
            token_life: Duration::from_secs(4),
        };
        let is_good = |rows: &[&Row], renewal| {
            let rows = rows.iter().map(|row| (*row).clone()).collect();
            Outcome::of_check(rows, renewal).is_good()
        };
        assert!(is_good(&[&good, &good], silent));
        let waiting = ServerState::new(State::NeedsAuth, Reason::Authorizing);
        for bad in [row(waiting, called), row(ServerState::CONNECTED, None)] {
            assert!(!is_good(&[&good, &bad], silent));
        }
        assert!(!is_good(&[], silent));
        for loud in [
            Renewal::default(),
            Renewal {
                works: false,
                ..silent
            },
            Renewal {
                refreshes: 0,
                ..silent
            },
            Renewal {
                sign_ins: 2,
                ..silent
            },
        ] {
            assert!(!is_good(&[&good], loud), "{loud:?}");
        }
    }
}
