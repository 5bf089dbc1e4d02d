//! Asks the person at the terminal whether an entry may be used.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use keyway::ApprovalPrompt;
use keyway::approval::{Answer, Question};
use keyway::connect::BoxFuture;
use rustix::termios::{self, QueueSelector};
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
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let context = self.context.clone();
        let question = [question.clone()];
        Box::pin(async move {
            if !io::stdin().is_terminal() {
                return Answer::No;
            }
            // Reading from a terminal blocks, and other servers continue meanwhile.
            let asked = spawn_blocking(move || ask_about(&context, &question, "Allow this?"));
            asked.await.unwrap_or(Answer::No)
        })
    }
}

/// Shows questions on one page, and gets one answer to all of them.
pub(crate) fn ask_about(context: &CommandContext, questions: &[Question], words: &str) -> Answer {
    context.print_aside(&Question::page(questions));
    discard_typed();
    let can_confine = questions.iter().any(|it| it.confined().is_some());
    context.print_aside(&if can_confine {
        format!("{CONFINED}\n{words} [y/confined/N] ")
    } else {
        format!("{words} [y/N] ")
    });
    typed()
}

/// Shows a text and asks whether what it says is allowed.
pub(crate) fn ask(context: &CommandContext, text: &str, words: &str) -> bool {
    context.print_aside(text);
    discard_typed();
    context.print_aside(&format!("{words} [y/N] "));
    typed() == Answer::Yes
}

/// What was typed before a question was shown is no answer to it: the person meant something else,
/// or a program that ran before left it there.
fn discard_typed() {
    // Where there is no terminal, nothing was typed.
    let _none = termios::tcflush(io::stdin(), QueueSelector::IFlush);
}

fn typed() -> Answer {
    let _lost = io::stderr().flush();
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(_) => Answer::from_text(&line),
        Err(_) => Answer::No,
    }
}

const CONFINED: &str = "`confined` allows it with programs that see system folders, the plugin and \
                        its data, and nothing else of yours unless config.toml grants it";
