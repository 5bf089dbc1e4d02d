//! What the demo prints: the table, what happened, what to try next.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use keyway_demo::{Demo, Row};
use keyway_mcp::states::State;
use keyway_secret::{Secret, shell_word};
use serde_json::{Value, json};

use crate::commands::tools::Format;
use crate::context::CommandContext;
use crate::report::table::Table;

/// What a tour brought.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) rows: Vec<Row>,
    /// What became of a token that expired; absent if the demo did not wait for that.
    pub(super) renewal: Option<Renewal>,
    /// The demo that keeps running; absent where it ends.
    pub(super) demo: Option<&'a Demo>,
}

/// What became of an access token that expired.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Renewal {
    /// Whether a tool could be called afterwards.
    pub(super) works: bool,
    /// How often a refresh token was redeemed meanwhile.
    pub(super) refreshes: usize,
    /// How often a person was asked since the start.
    pub(super) sign_ins: usize,
    /// How long the token lived.
    pub(super) token_life: Duration,
}

impl Renewal {
    /// Says whether the token was renewed, and no person was asked again.
    const fn is_silent(self) -> bool {
        self.works && self.refreshes > 0 && self.sign_ins == 1
    }
}

impl Report<'_> {
    /// Says whether all of it worked.
    pub(super) fn is_good(&self) -> bool {
        !self.rows.is_empty()
            && self.rows.iter().all(Row::is_good)
            && self.renewal.is_none_or(Renewal::is_silent)
    }

    /// Renders the report.
    pub(super) fn render(&self, format: Format, context: &CommandContext) -> String {
        match format {
            Format::Json => format!("{}\n", self.json()),
            Format::Human => self.human(context),
        }
    }

    /// Says what happened, and what can be tried as long as the demo runs.
    ///
    /// `dashboard` is a link to it, and whether a browser opens it already.
    pub(super) fn next_steps(&self, dashboard: Option<(&Secret<String>, bool)>) -> String {
        let Some(demo) = self.demo else {
            return String::new();
        };
        let binary = std::env::current_exe();
        let binary = binary.map_or_else(|_| "keyway".to_owned(), |path| quoted(&path));
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

    fn human(&self, context: &CommandContext) -> String {
        let mut table = Table::new(["SERVER", "TRANSPORT", "METHOD", "STATE", "TOOLS", "CALL"]);
        for row in &self.rows {
            table.push([
                row.server.clone(),
                row.transport.as_str().to_owned(),
                row.method.as_str().to_owned(),
                row.standing.to_string().replacen('/', ": ", 1),
                row.tools.to_string(),
                row.latency.map_or_else(|| "-".to_owned(), milliseconds),
            ]);
        }
        let mut text = table.render(context.width(), context.head_style());
        for row in &self.rows {
            text.push_str(&trouble(row));
        }
        if let Some(renewal) = self.renewal {
            text.push('\n');
            text.push_str(&told(renewal));
        }
        text
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            json!({
                "name": row.server,
                "transport": row.transport.as_str(),
                "method": row.method.as_str(),
                "state": row.standing.state.as_str(),
                "reason": row.standing.reason.map(|reason| reason.as_str()),
                "tools": row.tools,
                "call_ms": row.latency.map(|latency| latency.as_secs_f64() * 1000.0),
            })
        });
        let diagnostics = self.rows.iter().filter_map(|row| {
            let trouble = row.trouble.as_ref()?;
            Some(json!({
                "code": trouble.code,
                "severity": "error",
                "server": row.server,
                "source": null,
                "message": trouble.message,
                "hint": trouble.hint,
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

/// Says what became of a server that the table did not wait for.
pub(super) fn later(row: &Row) -> String {
    if row.is_good() {
        let took = row.latency.map(milliseconds).unwrap_or_default();
        let (server, tools) = (&row.server, row.tools);
        return format!("\n`{server}` is connected: {tools} tools, called in {took}\n");
    }
    trouble(row)
}

fn told(renewal: Renewal) -> String {
    let life = renewal.token_life.as_secs();
    let refreshes = renewal.refreshes;
    if renewal.is_silent() {
        return format!(
            "The access token of `docs` expired (the demo's clock was moved {life} s ahead) and was \
             renewed without a question (refreshes: {refreshes}, sign-ins: 1)\n"
        );
    }
    format!(
        "The access token of `docs` was NOT renewed in silence (refreshes: {refreshes}, \
         sign-ins: {})\n",
        renewal.sign_ins
    )
}

fn trouble(row: &Row) -> String {
    let mut text = String::new();
    match &row.trouble {
        Some(trouble) => {
            let _infallible = write!(text, "\n{}: {}\n", row.server, trouble.message);
            if let Some(hint) = &trouble.hint {
                let _infallible = writeln!(text, "hint: {hint}");
            }
        }
        None if row.standing.state == State::NeedsAuth => {
            let _infallible = writeln!(
                text,
                "\n{}: waits for you to press Allow on the page above",
                row.server
            );
        }
        None => {}
    }
    text
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
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

    fn row(standing: ServerState, latency: Option<Duration>) -> Row {
        Row {
            server: "docs".to_owned(),
            transport: Transport::Http,
            method: Method::OAuth,
            standing,
            tools: 2,
            latency,
            trouble: None,
        }
    }

    fn report(rows: Vec<Row>, renewal: Renewal) -> Report<'static> {
        Report {
            rows,
            renewal: Some(renewal),
            demo: None,
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
        assert!(report(vec![good.clone(), good.clone()], silent).is_good());
        let waiting = ServerState::new(State::NeedsAuth, Reason::Authorizing);
        for bad in [row(waiting, called), row(ServerState::CONNECTED, None)] {
            assert!(!report(vec![good.clone(), bad], silent).is_good());
        }
        assert!(!report(Vec::new(), silent).is_good());
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
            assert!(!report(vec![good.clone()], loud).is_good(), "{loud:?}");
        }
    }
}
