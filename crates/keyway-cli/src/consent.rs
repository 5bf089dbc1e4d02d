//! Asking a person to sign in: on a terminal, in a browser, or both.

mod countdown;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyway::connect::BoxFuture;
use keyway::sign_in::{
    ConsentQuestion, DeviceQuestion, InteractionError, Presenter, scope_in_words,
};
use keyway_secret::{Secret, printable};

use self::countdown::Countdown;
use crate::browser::Browser;
use crate::hidden_input::{self, AskError, Hidden};
use crate::signals::Interrupts;

/// Asks on the terminal's error stream, which a client's protocol never uses.
#[derive(Debug)]
pub(crate) struct Terminal {
    browser: Option<Browser>,
    /// Whether somebody reads what is printed and can type.
    is_attended: bool,
    /// Whether the address may be typed in by hand: where no browser was opened.
    takes_typing: AtomicBool,
    countdown: Mutex<Option<Countdown>>,
    /// What is pasted holds a code.
    hidden: Mutex<Option<Hidden>>,
    /// Ctrl-C since typing is hidden: a signal that ended the process would leave the terminal so.
    interrupts: Mutex<Option<Interrupts>>,
}

impl Terminal {
    /// Looks at the terminal. `insists` is set where the person asked for a sign-in by name: then
    /// the address is printed, whoever may read it.
    pub(crate) fn new(browser: Option<Browser>, insists: bool) -> Option<Self> {
        let is_attended = io::stdin().is_terminal() || insists;
        (is_attended || browser.is_some()).then(|| Self {
            browser,
            is_attended,
            takes_typing: AtomicBool::new(false),
            countdown: Mutex::new(None),
            hidden: Mutex::new(None),
            interrupts: Mutex::new(None),
        })
    }

    fn start(&self, countdown: Option<Countdown>) {
        *lock(&self.countdown) = countdown;
    }

    /// Hides what is typed until it is settled.
    fn hide_typing(&self) {
        let mut hidden = lock(&self.hidden);
        if hidden.is_none() {
            *hidden = Hidden::input();
        }
    }
}

impl Presenter for Terminal {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let is_open = self
            .browser
            .as_ref()
            .is_some_and(|browser| browser.open(question.url.as_str()));
        if !is_open && !self.is_attended {
            return Err(InteractionError::Unavailable);
        }
        if self.is_attended {
            say(&described(question));
            say(if is_open { OPENED } else { NOT_OPENED });
            // On a line of its own, so that a terminal can be asked to open it.
            say(&format!("{}\n", question.url));
            if !is_open {
                // Hidden before anybody is invited: who pastes at once shows nothing either.
                *lock(&self.interrupts) = Some(Interrupts::listen());
                self.hide_typing();
                say(PASTE);
            }
            self.takes_typing.store(!is_open, Ordering::Relaxed);
            self.start(Countdown::start(question.patience));
        }
        Ok(())
    }

    fn show_code(&self, question: &DeviceQuestion) -> Result<(), InteractionError> {
        if !self.is_attended {
            return Err(InteractionError::Unavailable);
        }
        let mut text = head(&question.server, &question.issuer);
        text.push_str(&scopes(&question.scopes, &[]));
        let (page, code) = (question.page.as_str(), printable(&question.code));
        text.push_str(&format!(
            "Open {page} on any device and type in:\n\n    {code}\n\n"
        ));
        if let Some(complete) = &question.complete {
            text.push_str(&format!(
                "or open this, which has the code in it:\n{complete}\n"
            ));
        }
        say(&text);
        self.takes_typing.store(false, Ordering::Relaxed);
        self.start(Countdown::start(question.patience));
        Ok(())
    }

    fn typed(&self) -> BoxFuture<'_, Result<Secret<String>, InteractionError>> {
        Box::pin(async move {
            let typing = async {
                if self.takes_typing.load(Ordering::Relaxed) {
                    loop {
                        match hidden_input::pasted().await {
                            Ok(Some(line)) => return line,
                            Ok(None) | Err(AskError::Terminal(_)) => break,
                            Err(error) => say(&format!("{error}\n")),
                        }
                    }
                }
                std::future::pending().await
            };
            let begun = lock(&self.interrupts).take();
            let mut interrupts = begun.unwrap_or_else(Interrupts::listen);
            tokio::select! {
                line = typing => Ok(line),
                () = interrupts.next() => Err(InteractionError::Cancelled),
            }
        })
    }

    fn mistyped(&self, why: &str) {
        say(&format!(
            "That is not the address that the page led to: {why}\n"
        ));
    }

    fn settled(&self) {
        self.start(None);
        *lock(&self.hidden) = None;
    }

    fn waiting(&self) {
        if self.is_attended {
            say(WAITING);
        }
    }
}

fn described(question: &ConsentQuestion) -> String {
    let mut text = head(&question.server, &question.issuer);
    text.push_str(&format!("  as      {}\n", printable(&question.client)));
    text.push_str(&scopes(&question.scopes, &question.new_scopes));
    text
}

fn head(server: &str, issuer: &str) -> String {
    let (server, issuer) = (printable(server), printable(issuer));
    format!("Sign in for `{server}`\n  at      {issuer}\n")
}

/// Lists what is asked for, in words where they are known; what is new on a step-up says so.
fn scopes(all: &[String], new: &[String]) -> String {
    if all.is_empty() {
        return "  scopes  what the server gives by default\n".to_owned();
    }
    let is_step_up = new.len() < all.len();
    let mut text = String::new();
    for (index, scope) in all.iter().enumerate() {
        let label = if index == 0 { "scopes" } else { "" };
        let shown = printable(scope);
        text.push_str(&format!("  {label:<7} {shown}"));
        if let Some(words) = scope_in_words(scope) {
            text.push_str(&format!("  ({words})"));
        }
        if is_step_up && new.contains(scope) {
            text.push_str("  NEW");
        }
        text.push('\n');
    }
    text
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says something on the error stream at once, whatever else is buffered.
pub(crate) fn say(text: &str) {
    let mut stream = io::stderr().lock();
    drop(
        stream
            .write_all(text.as_bytes())
            .and_then(|()| stream.flush()),
    );
}

const WAITING: &str =
    "Another process is signing in to this server; what you answer there counts here as well.\n";
const OPENED: &str = "Your browser opens this page; agree there:\n";
const NOT_OPENED: &str = "Open this page in a browser and agree there:\n";
const PASTE: &str = "If the browser is on another machine, paste the address that it ends up at (it is not shown) and press Enter.\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn list(scopes: &[&str]) -> Vec<String> {
        scopes.iter().map(|&scope| scope.to_owned()).collect()
    }

    #[test]
    fn b11_nothing_in_a_scope_moves_the_cursor() {
        let shown = scopes(&list(&["\u{1b}]0;pwn\u{7}read", "\u{202e}etirw"]), &[]);
        assert!(
            !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{shown:?}"
        );
    }

    #[test]
    fn b10_a_step_up_says_what_is_new() {
        let shown = scopes(&list(&["read", "admin"]), &list(&["admin"]));
        let admin = shown.lines().find(|line| line.contains("admin")).unwrap();
        let read = shown.lines().find(|line| line.contains("read")).unwrap();
        assert!(admin.ends_with("NEW"), "{admin}");
        assert!(!read.ends_with("NEW"), "{read}");
    }

    #[test]
    fn a_first_sign_in_marks_nothing_as_new() {
        let all = list(&["read", "write"]);
        assert!(!scopes(&all, &all).contains("NEW"));
    }
}
