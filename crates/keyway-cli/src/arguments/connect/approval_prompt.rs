//! Asks the person at the terminal whether an entry may be used.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use keyway::approval::{Ledger, Question};
use keyway::connect::BoxFuture;
use keyway::{ApprovalPrompt, Error};
use keyway_secret::printable;
use tokio::task::spawn_blocking;

use crate::context::CommandContext;
use crate::error::CliError;

/// The person at the terminal, if there is one.
#[derive(Debug)]
pub(super) struct Prompt {
    context: CommandContext,
}

impl Prompt {
    pub(super) fn new(context: &CommandContext) -> Self {
        Self {
            context: context.clone(),
        }
    }
}

impl ApprovalPrompt for Prompt {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, bool> {
        let (context, text) = (self.context.clone(), describe(question));
        Box::pin(async move {
            if !io::stdin().is_terminal() {
                return false;
            }
            // Reading from a terminal blocks, and other servers go on meanwhile.
            let asked = spawn_blocking(move || ask(&context, &text));
            asked.await.unwrap_or(false)
        })
    }
}

fn ask(context: &CommandContext, text: &str) -> bool {
    context.print_aside(text);
    context.print_aside("Allow this? [y/N] ");
    let _lost = io::stderr().flush();
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Records that a person approved an entry, if that can be said of it.
pub(crate) fn store_approval(ledger: &Ledger<'_>, question: &Question) -> Result<(), CliError> {
    if ledger.approve(question)? {
        return Ok(());
    }
    let server = question.server.clone();
    Err(Error::TooLarge { server }.into())
}

/// Says what an entry would do, whole and without what could hide a part of it.
pub(crate) fn describe(question: &Question) -> String {
    let id = printable(&format!("{}:{}", question.plugin, question.server));
    let mut text = format!(
        "`{id}` in {}\n",
        printable(&question.source.to_string_lossy())
    );
    if let Some(command) = &question.runs {
        text.push_str(&format!("  runs   {}\n", printable(command)));
    }
    if let Some(code) = &question.inline_code {
        let code = printable(code);
        text.push_str(&format!(
            "         !! what follows `{code}` is a program itself: read it to its end\n"
        ));
    }
    for sent in &question.sends {
        let (name, to) = (printable(&sent.variable), printable(&sent.to));
        text.push_str(&format!(
            "  sends  ${{{name}}} {} to {to}\n",
            printable(&sent.how())
        ));
    }
    for weak in &question.weakens {
        text.push_str(&format!("  weakens the sign-in: {}\n", printable(weak)));
    }
    text
}
