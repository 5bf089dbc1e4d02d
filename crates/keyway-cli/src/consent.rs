//! Asking a person to sign in: on a terminal, in a browser, or both.

mod countdown;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyway::connect::BoxFuture;
use keyway::sign_in::{ConsentQuestion, DeviceQuestion, ForeignPage, InteractionError, Presenter};
use keyway_secret::{Secret, printable};

use self::countdown::Countdown;
use crate::browser::Browser;
use keyway_terminal::{AskError, Hidden, Interrupts};

/// Asks on the terminal's error stream, which a client's protocol never uses.
#[derive(Debug)]
pub(crate) struct Terminal {
    browser: Option<Browser>,
    /// Whether a person reads what is printed and can type.
    is_attended: bool,
    /// Whether the block is printed although standard input is not a terminal.
    is_announced: bool,
    /// What the redirect looks like, for a person who pasted something else.
    redirect: Mutex<Option<String>>,
    /// Whether the address may be typed in by hand: where no browser was opened.
    /// Relaxed: set by `show` before the same task calls `typed`, and it guards no other data.
    takes_typing: AtomicBool,
    /// Held to replace it, never while it draws; like those below, never under another lock.
    countdown: Mutex<Option<Countdown>>,
    /// What is pasted holds a code.
    hidden: Mutex<Option<Hidden>>,
    /// Ctrl-C since typing is hidden: a signal that ended the process would leave the terminal so.
    interrupts: Mutex<Option<Interrupts>>,
}

/// To which reader a sign-in is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A person who asked for a sign-in by name: the URL is printed in any case.
    Insisting,
    /// A command that waits for the sign-in: it says so on standard error, which a log may keep.
    Waiting,
    /// A client behind a bridge, which stays silent.
    Silent,
}

impl Terminal {
    /// Looks at the terminal.
    pub(crate) fn new(browser: Option<Browser>, audience: Audience) -> Option<Self> {
        let is_attended = io::stdin().is_terminal() || audience == Audience::Insisting;
        (is_attended || browser.is_some()).then(|| Self {
            browser,
            is_attended,
            is_announced: is_attended || audience == Audience::Waiting,
            redirect: Mutex::new(None),
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
        if self.is_announced {
            ASKING.store(true, Ordering::Relaxed);
            clear();
            say(&described(question));
            say(if is_open { OPENED } else { NOT_OPENED });
            // On a line of its own, so that a terminal can be asked to open it.
            say(&format!("{}\n", question.url));
            if !is_open {
                let mut pairs = question.url.query_pairs();
                let redirect = pairs.find(|(name, _)| name == "redirect_uri");
                *lock(&self.redirect) = redirect.map(|(_, address)| address.into_owned());
                // Hidden before the invitation: what is pasted at once is not shown either.
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
        let url = &question.page;
        text.push_str(&page(url.host_str(), url.port(), &question.issuer));
        text.push_str(&scopes(&question.scopes, &[]));
        let (page, code) = (question.page.as_str(), printable(&question.code));
        text.push_str(&format!(
            "Open {page} on any device and enter:\n\n    {code}\n\n"
        ));
        if let Some(complete) = &question.complete {
            text.push_str(&format!(
                "or open this URL, which contains the code:\n{complete}\n"
            ));
        }
        ASKING.store(true, Ordering::Relaxed);
        clear();
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
                        match keyway_terminal::pasted().await {
                            Ok(Some(line)) => return line,
                            Ok(None) | Err(AskError::Terminal(_)) => break,
                            Err(error) => {
                                clear();
                                say(&format!("{error}\n"));
                            }
                        }
                    }
                }
                std::future::pending().await
            };
            let begun = lock(&self.interrupts).take();
            let mut interrupts = begun.unwrap_or_else(Interrupts::listen);
            // Not biased: a line and a Ctrl-C at once may end either way. Dropping `typing` leaves a
            // thread that reads the terminal until its next line; it is not used any more.
            tokio::select! {
                line = typing => Ok(line),
                () = interrupts.next() => Err(InteractionError::Cancelled),
            }
        })
    }

    fn mistyped(&self, why: &str) {
        let redirect = lock(&self.redirect).clone();
        let redirect = redirect.unwrap_or_else(|| "http://127.0.0.1:PORT/callback".to_owned());
        clear();
        say(&format!(
            "Not accepted: {why}. Paste the whole URL from the address bar, such as\n  {}?code=…&state=…\n",
            printable(&redirect)
        ));
    }

    fn settled(&self) {
        self.start(None);
        ASKING.store(false, Ordering::Relaxed);
        *lock(&self.hidden) = None;
    }

    fn confirm_page(&self, page: ForeignPage) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            if !io::stdin().is_terminal() {
                return false;
            }
            ASKING.store(true, Ordering::Relaxed);
            // Reading from a terminal blocks, and other servers continue meanwhile.
            let asked = tokio::task::spawn_blocking(move || {
                clear();
                say(&foreign(&page));
                let mut line = String::new();
                let read = io::stdin().lock().read_line(&mut line);
                read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
            });
            let is_agreed = asked.await.unwrap_or(false);
            ASKING.store(false, Ordering::Relaxed);
            is_agreed
        })
    }

    fn waiting(&self) {
        if self.is_announced {
            clear();
            say(WAITING);
        }
    }
}

fn described(question: &ConsentQuestion) -> String {
    let mut text = head(&question.server, &question.issuer);
    let url = &question.url;
    text.push_str(&page(url.host_str(), url.port(), &question.issuer));
    text.push_str(&format!("  as      {}\n", printable(&question.client)));
    text.push_str(&scopes(&question.scopes, &question.new_scopes));
    text
}

fn head(server: &str, issuer: &str) -> String {
    let (server, issuer) = (printable(server), printable(issuer));
    format!("Sign in for `{server}`\n  at      {issuer}\n")
}

/// Names the host of the page where that is not the issuer's.
fn page(host: Option<&str>, port: Option<u16>, issuer: &str) -> String {
    let host = host.unwrap_or_default();
    let host = match port {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    if host == issuer {
        return String::new();
    }
    format!("  page    {}\n", printable(&host))
}

/// Says what is odd about a page of another host.
fn foreign(page: &ForeignPage) -> String {
    let [server, host, issuer, redeemer] =
        [&page.server, &page.page, &page.issuer, &page.redeemer].map(|text| printable(text));
    format!(
        "Sign in for `{server}`\n  at      {issuer}\n  page    {host}\n\
         !! You would agree at {host}, and {redeemer} would get the code for it.\n\
         That is right only if both belong to the same service. Go there? [y/N] "
    )
}

/// Lists the scopes as the server names them; a step-up marks the new ones.
fn scopes(all: &[String], new: &[String]) -> String {
    if all.is_empty() {
        return "  scopes  the server's default\n".to_owned();
    }
    let is_step_up = new.len() < all.len();
    let mut text = String::new();
    for (index, scope) in all.iter().enumerate() {
        let label = if index == 0 { "scopes" } else { "" };
        let shown = printable(scope);
        text.push_str(&format!("  {label:<7} {shown}"));
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

/// Wipes the line that a countdown or a spinner has drawn, where there can be one.
fn clear() {
    if io::stderr().is_terminal() {
        say("\r\u{1b}[K");
    }
}

/// Says whether a question stands on the terminal, so that no other line is drawn over it.
pub(crate) fn is_asking() -> bool {
    ASKING.load(Ordering::Relaxed)
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

/// One terminal, one question at a time.
/// Relaxed: it only decides whether a spinner is drawn; one frame too many is wiped by the next line.
static ASKING: AtomicBool = AtomicBool::new(false);
const WAITING: &str =
    "Another process is already signing in to this server; waiting for its answer.\n";
const OPENED: &str = "Opening this page in your browser; agree there:\n";
const NOT_OPENED: &str = "Open this page in a browser and agree there:\n";
const PASTE: &str = "If the browser is on another machine, paste the final URL from its address bar (input is hidden) and press Enter.\n";

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

    /// Threat E9: the host that the person is about to see, whatever the issuer calls itself.
    #[test]
    fn e09_the_notice_names_the_host_of_the_page() {
        let shown = |host, port, issuer: &str| head("s", issuer) + &page(Some(host), port, issuer);
        let own = shown("as.example", None, "as.example");
        assert_eq!(own, "Sign in for `s`\n  at      as.example\n");
        for (host, port, named) in [
            ("evil.example", None, "  page    evil.example\n"),
            ("as.example", Some(8443), "  page    as.example:8443\n"),
        ] {
            let other = shown(host, port, "as.example");
            assert!(other.ends_with(named), "{other}");
        }
        let with_port = shown("as.example", Some(8443), "as.example:8443");
        assert!(!with_port.contains("page"), "{with_port}");
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
