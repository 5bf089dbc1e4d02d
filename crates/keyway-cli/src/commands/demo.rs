//! `keyway demo`: every way of authenticating at work, on this machine alone.

mod gateway;
mod part;
mod person;
mod progress;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use clap::Args;
use keyway::connect::{Isolation, harden_self};
use keyway::sign_in::Presenter;
use keyway::vault::Folders;
use keyway_code::Exit;
use keyway_demo::{DemoClock, Event, Open, Outcome, Row, Settings, UserAgent, Visits};
use keyway_secret::{Clock as _, SystemClock};
use tokio::time::sleep;

use self::gateway::Gateway;
use self::person::Person;
use self::progress::Progress;
use super::tools::Format;
use crate::arguments::connect;
use crate::browser::Browser;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::waiting::Waiting;
use keyway_terminal::Table;

pub(crate) use self::part::play;
use crate::timeouts::{DEMO_JOURNAL_INTERVAL, DEMO_TOKEN_LIFETIME};

/// Try Keyway on demo servers of every kind, on this machine only
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway demo
  keyway demo --check")]
pub(crate) struct Demo {
    /// Run every step without a person: sign in, call a tool of each server, renew a token; exit 0
    /// only if all of it worked
    #[arg(long)]
    check: bool,
    /// Command that opens the sign-in page [default: `BROWSER`, else the desktop's browser]
    #[arg(long, value_name = "COMMAND", conflicts_with = "check")]
    browser: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Runs the command. Whatever it makes is gone when it ends.
pub(crate) fn run(arguments: &Demo, context: &CommandContext) -> Result<Exit, CliError> {
    let binary = std::env::current_exe().map_err(|source| CliError::Client { source })?;
    harden_self().map_err(|source| keyway::Error::Harden { source })?;
    let person = (!arguments.check).then(|| Arc::new(Person::new(arguments.browser())));
    let presenter: Arc<dyn Presenter> = match &person {
        Some(person) => Arc::clone(person) as _,
        None => Arc::new(UserAgent::default()),
    };
    let clock = Arc::new(DemoClock::default());
    let demo = keyway_demo::Demo::prepare(Settings {
        binary,
        environment: ProcessEnvironment::all(),
        isolation: isolation(),
        presenter,
        token_life: DEMO_TOKEN_LIFETIME,
        events: context.events.clone(),
        now,
        clock: Arc::clone(&clock),
    })?;
    // The runtime ends, with all that it runs, before the folder goes.
    let shown = super::block_on_to_its_end(async {
        let open = demo.open()?;
        let shown = async {
            match &person {
                None => check(arguments, context, (&open, &clock)).await,
                Some(person) => show(arguments, context, (&demo, &open), person).await,
            }
        };
        // Not biased: a signal in the moment of the end may lose. Dropping `shown` closes its
        // connections and ends its children, before the servers that they talk to are closed.
        tokio::select! {
            shown = shown => shown,
            _ = keyway_terminal::ended() => match person {
                None => Err(keyway::Error::Cancelled.into()),
                Some(_) => Ok(Exit::Done),
            },
        }
    });
    demo.close()?;
    shown
}

impl Demo {
    fn browser(&self) -> Option<Browser> {
        let named = self.browser.clone().or_else(ProcessEnvironment::browser);
        Browser::find(named.as_deref())
    }
}

/// Returns what children are kept from. A folder that is not there has nothing to hide, and hiding
/// it would make it.
fn isolation() -> Isolation {
    let mut isolation = connect::isolation();
    if let Some(own) = ProcessEnvironment::folders() {
        isolation.hidden.extend([own.data, own.config, own.runtime]);
    }
    isolation.hidden.retain(|folder| folder.exists());
    isolation
}

/// Visits all servers, moves the clock until a token has expired, and visits its server again.
async fn check(
    arguments: &Demo,
    context: &CommandContext,
    (open, clock): (&Open, &DemoClock),
) -> Result<Exit, CliError> {
    let what = "visiting the demo servers, then letting a token expire".to_owned();
    let waiting = Waiting::start(context, what, None);
    let rows = collect(&mut Visits::start(open), (context, open), None).await;
    let renewal = open.renew(&rows, clock, DEMO_TOKEN_LIFETIME).await;
    drop(waiting);
    let outcome = Outcome::of_check(rows, renewal);
    let exit = if outcome.is_good() {
        Exit::Done
    } else {
        Exit::Failed
    };
    context.print(&render(&outcome, arguments.format, context), exit)?;
    Ok(exit)
}

/// Visits all servers, prints what came of it and what to try, and serves on.
async fn show(
    arguments: &Demo,
    context: &CommandContext,
    (demo, open): (&keyway_demo::Demo, &Open),
    person: &Person,
) -> Result<Exit, CliError> {
    let mut visits = Visits::start(open);
    let rows = collect(&mut visits, (context, open), Some(person)).await;
    let outcome = Outcome::of_tour(rows, demo);
    context.print(&render(&outcome, arguments.format, context), Exit::Done)?;
    // One is left for the person to approve, so that there is something to see of that.
    open.tour.approve(|server| server != LEFT)?;
    let gateway = Gateway::start(demo);
    let link = match &gateway {
        Some(gateway) => gateway.link().await,
        None => None,
    };
    let browser = arguments.browser();
    let folder = Folders::below(demo.home()).runtime;
    let is_open = link
        .as_ref()
        .zip(browser)
        .is_some_and(|(link, browser)| browser.open_privately(&folder, link));
    if context.verbosity != Verbosity::Quiet {
        let link = link.as_ref().map(|link| (link, is_open));
        let binary = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("keyway"));
        context.print_aside(&outcome.next_steps(&binary, link));
    }
    let known = open.journal.after(0).len();
    let late = async {
        while let Some(row) = visits.next().await {
            context.print_aside(&row.in_words());
        }
    };
    let ((), never) = tokio::join!(late, watch(context, open, known));
    match never {}
}

/// Prints what the servers see, from the line after `known` on.
async fn watch(context: &CommandContext, open: &Open, mut known: usize) -> Infallible {
    loop {
        sleep(DEMO_JOURNAL_INTERVAL).await;
        for seen in open.journal.after(known) {
            known += 1;
            let is_news = seen.event != Event::Accepted;
            if is_news && context.verbosity != Verbosity::Quiet {
                let text = format!("{}: {}\n", seen.server, seen.event.in_words());
                context.print_aside(&text);
            }
        }
    }
}

/// Collects the rows in the order of the file. Where a sign-in is all that is left, it is waited for
/// as long as the person may take; its row then says so.
async fn collect(
    visits: &mut Visits,
    (context, open): (&CommandContext, &Open),
    person: Option<&Person>,
) -> Vec<Row> {
    let count = open.tour.servers().len();
    let mut progress = Progress::new(context, count);
    let mut rows: Vec<Row> = Vec::new();
    while rows.len() < count {
        let next = match person {
            // The visit goes on if the person takes longer; its row comes later.
            Some(person) if rows.len() + 1 == count => tokio::select! {
                row = visits.next() => row,
                () = person.patience() => None,
            },
            _ => visits.next().await,
        };
        let Some(row) = next else { break };
        progress.step(&row);
        rows.push(row);
    }
    drop(progress);
    open.in_order(&rows)
}

fn render(outcome: &Outcome<'_>, format: Format, context: &CommandContext) -> String {
    if format == Format::Json {
        return format!("{}\n", outcome.to_json());
    }
    let mut table = Table::new(["SERVER", "TRANSPORT", "METHOD", "STATE", "TOOLS", "CALL"]);
    for row in outcome.rows() {
        table.push([
            row.server.clone(),
            row.transport.as_str().to_owned(),
            row.method.as_str().to_owned(),
            row.state.to_string().replacen('/', ": ", 1),
            row.tools.to_string(),
            row.latency_in_words(),
        ]);
    }
    let mut text = context.render(&table);
    text.push_str(&outcome.in_words());
    text
}

fn now() -> SystemTime {
    SystemClock.wall()
}

/// The server that is not approved beforehand.
const LEFT: &str = "local";
