//! `keyway trust`: what was approved, and approving or taking it back.

use std::io::{self, IsTerminal as _};

use clap::{Args, Subcommand};
use keyway::approval::{Agreement, Answer, Approval, ApprovalStore, Question};
use keyway::events::Kind;
use keyway::{Error, Host};
use keyway_code::{Code, Exit};
use keyway_config::names::server_id;
use keyway_gateway::team;
use keyway_secret::printable;
use serde_json::json;

use super::block_on;
use super::tools::Format;
use crate::arguments::connect::{ConnectArgs, SignInPolicy, ask_about, open_database, with_ledger};
use crate::arguments::hidden;
use crate::arguments::server::{self, ServerArgs, named};
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::vault::existing_vault;
use keyway_terminal::Table;

/// Manage which entries may run programs and receive variables
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway trust grant search
  keyway trust list")]
pub(crate) struct Trust {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List approvals
    #[command(after_help = "\
Examples:
  keyway trust list")]
    #[command(
        mut_arg("config", hidden),
        mut_arg("trust", hidden),
        mut_arg("env_file", hidden),
        mut_arg("account", hidden),
        mut_arg("browser", hidden)
    )]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: Format,
        #[command(flatten)]
        reach: ConnectArgs,
    },
    /// Approve entries as they are now
    #[command(after_help = "\
Examples:
  keyway trust grant search
  keyway trust grant search notes
  keyway trust grant --all
  keyway trust grant search --digest 5f0c…")]
    #[command(
        mut_arg("trust", hidden),
        mut_arg("env_file", hidden),
        mut_arg("account", hidden),
        mut_arg("browser", hidden)
    )]
    Grant {
        #[command(flatten)]
        servers: ServerArgs,
        /// Approve every server of the plugin that needs it
        #[arg(long)]
        all: bool,
        /// Digest of an entry as a refusal or `status` printed it; approves without
        /// asking, one for each entry
        #[arg(long = "digest", value_name = "DIGEST")]
        digests: Vec<String>,
        /// Confine the programs of the entries, as the answer `confined` does
        #[arg(long)]
        confined: bool,
        /// Let the programs of the entries run for the people of the gateway, confined, one process
        /// for each person
        #[arg(long)]
        for_people: bool,
        /// Also pass this variable to the entry's helper or process
        #[arg(long = "env", value_name = "NAME")]
        variables: Vec<String>,
        #[command(flatten)]
        reach: ConnectArgs,
    },
    /// Revoke approvals
    #[command(after_help = "\
Examples:
  keyway trust revoke search")]
    #[command(
        mut_arg("trust", hidden),
        mut_arg("env_file", hidden),
        mut_arg("account", hidden),
        mut_arg("browser", hidden)
    )]
    Revoke {
        #[command(flatten)]
        servers: ServerArgs,
        #[command(flatten)]
        reach: ConnectArgs,
    },
    /// Revoke all approvals
    #[command(after_help = "\
Examples:
  keyway trust reset")]
    #[command(
        mut_arg("config", hidden),
        mut_arg("trust", hidden),
        mut_arg("env_file", hidden),
        mut_arg("account", hidden),
        mut_arg("browser", hidden)
    )]
    Reset {
        #[command(flatten)]
        reach: ConnectArgs,
    },
}

impl Trust {
    /// Says whether one JSON object is printed.
    pub(crate) const fn format(&self) -> Format {
        match self.action {
            Action::List { format, .. } => format,
            _ => Format::Human,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Trust, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::List { format, reach } => list(context, reach, *format),
        Action::Grant {
            servers,
            all,
            digests,
            confined,
            for_people,
            variables,
            reach,
        } => {
            let grant = Grant {
                context,
                reach,
                digests,
                // Programs of one person are kept from what belongs to another.
                confined: *confined || *for_people,
                for_people: *for_people,
                variables,
            };
            grant.run(servers, *all)
        }
        Action::Revoke { servers, reach } => revoke(context, reach, servers),
        Action::Reset { reach } => reset(context, reach),
    }
}

fn list(context: &CommandContext, reach: &ConnectArgs, format: Format) -> Result<Exit, CliError> {
    let profile = reach.profile(context)?;
    // Looking makes no vault.
    let is_kept = existing_vault()?.is_some() || context.settings()?.vault.address.is_some();
    let approvals = match is_kept {
        true => with_ledger(context, &profile, |ledger| Ok(ledger.list()?))?,
        false => Vec::new(),
    };
    let text = match format {
        Format::Json => {
            let object = |it: &Approval| {
                let id = server_id(&it.plugin, &it.server);
                let Approval {
                    source,
                    grants,
                    confined,
                    ..
                } = it;
                json!({ "id": id, "source": source, "variables": grants, "confined": confined })
            };
            let approvals: Vec<_> = approvals.iter().map(object).collect();
            let all = json!({ "schema_version": 1, "diagnostics": [], "approvals": approvals });
            format!("{all}\n")
        }
        Format::Human if approvals.is_empty() => "no approvals\n".to_owned(),
        Format::Human => {
            let mut table = Table::new(["SERVER", "PLUGIN", "CONFINED", "EXTRA VARIABLES"]);
            for approval in approvals {
                let id = server_id(&approval.plugin, &approval.server);
                let (id, source) = (printable(&id), printable(&approval.source));
                let confined = if approval.confined { "yes" } else { "no" };
                table.push([id, source, confined.to_owned(), approval.grants.join(", ")]);
            }
            context.render(&table)
        }
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

/// What `trust grant` was told.
struct Grant<'a> {
    context: &'a CommandContext,
    reach: &'a ConnectArgs,
    digests: &'a [String],
    confined: bool,
    for_people: bool,
    variables: &'a [String],
}

impl Grant<'_> {
    fn run(&self, servers: &ServerArgs, all: bool) -> Result<Exit, CliError> {
        let database = open_database(self.context, None)?;
        let database = database.as_ref();
        let host = self
            .reach
            .host_with(self.context, SignInPolicy::NEVER, database)?;
        // What a gateway for people serves is filled in without this shell's variables.
        let (host, _) = team::of_settings(host, database, ProcessEnvironment::home())?;
        let (plugin, given) = servers.load(&host, self.reach)?;
        let names = match (all, given.is_empty()) {
            (true, true) => server::all(&plugin)?,
            (true, false) => {
                let what = "give servers or `--all`, not both";
                return Err(CliError::Usage { what });
            }
            (false, _) => named(&plugin, &given)?,
        };
        let store = host.approval_store().ok_or(Error::NoHome)?;
        // All are looked at before any is approved: a wrong name approves nothing.
        let (mut questions, mut unconfined) = (Vec::new(), Vec::new());
        for name in &names {
            let variables = self.variables.iter().map(String::as_str);
            match plugin.question(name)?.map(|it| it.granting(variables)) {
                Some(question) if self.is_approved(&question, store)? => {
                    self.context.print_aside(&format!(
                        "`{}` is already approved, and nothing has changed\n",
                        printable(name)
                    ));
                }
                Some(question) => {
                    unconfined.push(question.digest.to_string());
                    // Shown as it will run, not as it would without the flag.
                    let confined = question.confined().filter(|_| self.confined);
                    let question = confined.unwrap_or(question).compared_with(store);
                    let question = block_on(async { Ok(host.with_protection(question).await) })?;
                    questions.push(question);
                }
                None => self.context.print_aside(&format!(
                    "`{}` needs no approval: it runs no program and gets no variable\n",
                    printable(name)
                )),
            }
        }
        if questions.is_empty() {
            return Ok(Exit::Done);
        }
        let answer = self.answer(&questions, &unconfined)?;
        let agreed: Vec<_> = questions
            .iter()
            .filter_map(|it| it.dangerous_answer(answer))
            .collect();
        if agreed.is_empty() {
            self.context.print_aside("nothing was approved\n");
            return Ok(Exit::NotTrusted);
        }
        for agreement in agreed {
            let agreement = match self.for_people {
                true => agreement.for_people(),
                false => agreement,
            };
            self.store(&host, &agreement)?;
        }
        self.context.print_aside("approved\n");
        Ok(Exit::Done)
    }

    /// Says whether there is nothing left to ask: the entry is approved as it is, and nothing more
    /// is to be allowed. A person may still want it confined.
    fn is_approved(
        &self,
        question: &Question,
        store: &dyn ApprovalStore,
    ) -> Result<bool, CliError> {
        if self.confined || io::stdin().is_terminal() {
            return Ok(false);
        }
        let approval = store.find(&question.source, &question.server);
        let approval = approval.map_err(Error::from)?;
        Ok(approval.is_some_and(|it| it.covers(&question.digest)))
    }

    /// Gets an answer to all questions at once: the digests that were given, or a person's.
    ///
    /// A refusal prints the digest of the entry without `--confined`, in `unconfined`: it counts as
    /// well, since the same programs may do less then.
    fn answer(&self, questions: &[Question], unconfined: &[String]) -> Result<Answer, CliError> {
        let is_given = |digest: &String| self.digests.contains(digest);
        let fits = |(question, unconfined): (&Question, &String)| {
            is_given(&question.digest.to_string()) || is_given(unconfined)
        };
        if !self.digests.is_empty() {
            self.context.print_aside(&Question::page(questions));
            if questions.iter().zip(unconfined).all(fits) {
                return Ok(Answer::Yes);
            }
            let what = "`--digest` does not match the entry as it is now; nothing was approved";
            return Err(CliError::Usage { what });
        }
        if !io::stdin().is_terminal() {
            self.context.print_aside(&Question::page(questions));
            let what = "standard input is not a terminal; read the above, then repeat the command \
                        with `--digest DIGEST` for each entry";
            return Err(CliError::Usage { what });
        }
        let words = match questions.len() {
            1 => "Allow this?".to_owned(),
            count => format!("Allow all {count} of them?"),
        };
        Ok(ask_about(self.context, questions, &words))
    }

    fn store(&self, host: &Host, agreement: &Agreement) -> Result<(), CliError> {
        host.store_approval(agreement)?;
        let question = agreement.question();
        let events = self.context.events.for_plugin(&question.plugin);
        events.emit(Kind::TrustDecided, Some(&question.server), None);
        Ok(())
    }
}

fn revoke(
    context: &CommandContext,
    reach: &ConnectArgs,
    servers: &ServerArgs,
) -> Result<Exit, CliError> {
    let host = reach.host(context, SignInPolicy::NEVER)?;
    let (plugin, given) = servers.load(&host, reach)?;
    let names = named(&plugin, &given)?;
    let profile = reach.profile(context)?;
    for name in &names {
        let existed = with_ledger(context, &profile, |ledger| {
            Ok(ledger.revoke(plugin.root(), name)?)
        })?;
        if existed {
            let code = Some(Code::PendingTrust);
            let events = context.events.for_plugin(&plugin.name());
            events.emit(Kind::TrustDecided, Some(name), code);
        }
        let name = printable(name);
        context.print_aside(&if existed {
            format!("`{name}` is no longer approved\n")
        } else {
            format!("`{name}` was not approved\n")
        });
    }
    Ok(Exit::Done)
}

fn reset(context: &CommandContext, reach: &ConnectArgs) -> Result<Exit, CliError> {
    let count = with_ledger(context, &reach.profile(context)?, |ledger| {
        Ok(ledger.revoke_all()?)
    })?;
    context.print_aside(&format!("revoked {count} approvals\n"));
    Ok(Exit::Done)
}
