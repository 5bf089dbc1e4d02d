//! Asks the person at the terminal whether an entry may be used.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use keyway::ApprovalPrompt;
use keyway::approval::Question;
use keyway::connect::BoxFuture;
use tokio::task::spawn_blocking;

use crate::context::CommandContext;

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
        let (context, text) = (self.context.clone(), question.to_string());
        Box::pin(async move {
            if !io::stdin().is_terminal() {
                return false;
            }
            // Reading from a terminal blocks, and other servers go on meanwhile.
            let asked = spawn_blocking(move || ask(&context, &text, "Allow this?"));
            asked.await.unwrap_or(false)
        })
    }
}

/// Shows a text and asks whether what it says is allowed.
pub(crate) fn ask(context: &CommandContext, text: &str, words: &str) -> bool {
    context.print_aside(text);
    context.print_aside(&format!("{words} [y/N] "));
    let _lost = io::stderr().flush();
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
