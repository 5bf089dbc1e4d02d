//! `keyway demo`: every way of authenticating at work, on this machine alone.

mod gateway;
mod part;
mod person;
mod progress;
mod report;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use keyway::connect::{Isolation, harden_self};
use keyway::sign_in::Presenter;
use keyway::vault::Folders;
use keyway_code::Exit;
use keyway_demo::{DemoClock, Event, Open, Row, Settings, UserAgent};
use keyway_mcp::states::{Reason, ServerState, State};
use keyway_secret::{Clock as _, SystemClock};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::gateway::Gateway;
use self::person::Person;
use self::progress::Progress;
use self::report::{Renewal, Report};
use super::tools::Format;
use crate::arguments::connect;
use crate::browser::Browser;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::signals;
use crate::waiting::Waiting;

pub(crate) use self::part::play;

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
        token_life: TOKEN_LIFE,
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
        tokio::select! {
            shown = shown => shown,
            () = interrupted() => match person {
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
    let rows = Visits::start(open).collect(context, open, None).await;
    let refreshes = || open.journal.count(DOCS, Event::Refreshed);
    let before = refreshes();
    let is_signed_in = rows.iter().any(|row| row.server == DOCS && row.is_good());
    let renewal = if is_signed_in {
        clock.advance(TOKEN_LIFE);
        let again = open.tour.visit(DOCS).await;
        Renewal {
            works: again.is_some_and(|row| row.is_good()),
            refreshes: refreshes().saturating_sub(before),
            sign_ins: open.journal.count(DOCS, Event::Consented),
            token_life: TOKEN_LIFE,
        }
    } else {
        Renewal::default()
    };
    drop(waiting);
    let report = Report {
        rows,
        renewal: Some(renewal),
        demo: None,
    };
    let exit = if report.is_good() {
        Exit::Done
    } else {
        Exit::Failed
    };
    context.print(&report.render(arguments.format, context), exit)?;
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
    let rows = visits.collect(context, open, Some(person)).await;
    let report = Report {
        rows,
        renewal: None,
        demo: Some(demo),
    };
    context.print(&report.render(arguments.format, context), Exit::Done)?;
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
        context.print_aside(&report.next_steps(link));
    }
    let known = open.journal.after(0).len();
    let late = async {
        while let Some(row) = visits.receiver.recv().await {
            context.print_aside(&report::later(&row));
        }
    };
    let ((), never) = tokio::join!(late, watch(context, open, known));
    match never {}
}

/// Prints what the servers see, from the line after `known` on.
async fn watch(context: &CommandContext, open: &Open, mut known: usize) -> Infallible {
    loop {
        sleep(GLANCE).await;
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

/// Visits to all servers, one after the other; dropping this gives up the one under way.
struct Visits {
    receiver: mpsc::Receiver<Row>,
    /// Held for the task in it.
    _tasks: JoinSet<()>,
}

impl Visits {
    /// Begins. The server that a person signs in to comes last, so that nothing waits for it; and
    /// one by one, so that the time of a call is its own.
    fn start(open: &Open) -> Self {
        let mut names = open.tour.servers();
        names.sort_by_key(|name| name == DOCS);
        let (sender, receiver) = mpsc::channel(names.len().max(1));
        let tour = Arc::clone(&open.tour);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            for name in names {
                if let Some(row) = tour.visit(&name).await {
                    drop(sender.send(row).await);
                }
            }
        });
        Self {
            receiver,
            _tasks: tasks,
        }
    }

    /// Collects the rows in the order of the file. Where a sign-in is all that is left, it is
    /// waited for as long as the person may take; its row then says so.
    async fn collect(
        &mut self,
        context: &CommandContext,
        open: &Open,
        person: Option<&Person>,
    ) -> Vec<Row> {
        let names = open.tour.servers();
        let mut progress = Progress::new(context, names.len());
        let mut rows: Vec<Row> = Vec::new();
        while rows.len() < names.len() {
            let next = match person {
                Some(person) if rows.len() + 1 == names.len() => tokio::select! {
                    row = self.receiver.recv() => row,
                    () = person.patience() => None,
                },
                _ => self.receiver.recv().await,
            };
            let Some(row) = next else { break };
            progress.step(&row);
            rows.push(row);
        }
        drop(progress);
        let in_order = names.iter().filter_map(|name| {
            let found = rows.iter().find(|row| row.server == *name).cloned();
            found.or_else(|| {
                let mut row = open.tour.unvisited(name)?;
                row.standing = ServerState::new(State::NeedsAuth, Reason::Authorizing);
                Some(row)
            })
        });
        in_order.collect()
    }
}

/// Waits for a signal that ends the demo.
async fn interrupted() {
    tokio::select! {
        () = signals::interrupted() => {}
        () = signals::terminated() => {}
        () = signals::hung_up() => {}
    }
}

fn now() -> SystemTime {
    SystemClock.wall()
}

/// The server that is signed in to.
const DOCS: &str = "docs";

/// The server that is not approved beforehand.
const LEFT: &str = "local";

/// How long an access token lives: short enough to see it renewed.
const TOKEN_LIFE: Duration = Duration::from_secs(60);
/// How often the journal of the servers is looked at.
const GLANCE: Duration = Duration::from_millis(250);
