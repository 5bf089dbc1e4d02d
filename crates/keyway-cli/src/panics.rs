//! What happens when Keyway itself breaks: the process ends at once, and says where, never which
//! values it held.
//!
//! A task that panicked would leave its callers waiting, so no thread outlives another. A formatted
//! message may quote a value and is not shown; a literal one cannot quote any.

use keyway_code::Code;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write as _};
use std::panic::{self, PanicHookInfo};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the process with the first panic from now on, in whatever thread or task it is; `first` is
/// done before.
#[expect(
    clippy::exit,
    reason = "without this a panic in a task ends only the task, and others wait for it"
)]
pub(crate) fn end_at_once(first: fn()) {
    panic::set_hook(Box::new(move |info| {
        first();
        let fault = Fault::of(info);
        let text = fault.words(&Backtrace::capture());
        drop(io::stderr().lock().write_all(text.as_bytes()));
        if OWES_OBJECT.load(Ordering::Relaxed) {
            drop(io::stdout().lock().write_all(fault.object().as_bytes()));
        }
        process::exit(FAILED);
    }));
}

/// Lets a panic also print the one object that a script waits for.
pub(crate) fn owe_object() {
    OWES_OBJECT.store(true, Ordering::Relaxed);
}

/// Relaxed: set by the main thread before it starts any other, and it guards no other data.
static OWES_OBJECT: AtomicBool = AtomicBool::new(false);

struct Fault {
    message: String,
}

impl Fault {
    fn of(info: &PanicHookInfo<'_>) -> Self {
        let place = match info.location() {
            Some(at) => format!("{}:{}:{}", at.file(), at.line(), at.column()),
            None => "an unknown place".to_owned(),
        };
        let said = info.payload().downcast_ref::<&'static str>();
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let message = format!("internal error in Keyway, at {place}{said}");
        Self { message }
    }

    fn words(&self, trace: &Backtrace) -> String {
        let mut text = format!("error: {}\n\nhint: {HINT}\n", self.message);
        if trace.status() == BacktraceStatus::Captured {
            text.push_str(&format!("\n{trace}\n"));
        }
        text
    }

    /// The diagnostic object of the contract.
    fn object(&self) -> String {
        let found = serde_json::json!({
            "code": Code::Internal.as_str(),
            "severity": "error",
            "server": null,
            "source": null,
            "message": self.message,
            "hint": HINT,
        });
        let object = serde_json::json!({ "schema_version": 1, "diagnostics": [found] });
        format!("{object}\n")
    }
}

const HINT: &str = "please report it, with what this writes: keyway doctor --bundle report.tar";

/// The exit code of a command that failed.
const FAILED: i32 = 1;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use keyway_testkit::Canary;

    use super::*;

    /// Panics, and returns what would be said and what the panic itself says.
    fn said(breaks: impl FnOnce() + panic::UnwindSafe) -> (String, Box<dyn std::any::Any + Send>) {
        let said = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&said);
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let fault = Fault::of(info);
            let words = fault.words(&Backtrace::force_capture());
            *told.lock().unwrap() = format!("{words}{}", fault.object());
        }));
        let caught = panic::catch_unwind(breaks);
        panic::set_hook(before);
        let said = said.lock().unwrap().clone();
        (said, caught.unwrap_err())
    }

    /// One test, because a process has one hook.
    #[test]
    fn a_panic_tells_its_place_and_its_words_but_not_what_it_quotes() {
        let canary = Canary::hidden("vQ9x7Lk2Wp4Zt8Rb3Nc6Ym1Hd5");
        let value = canary.value().to_owned();
        let (text, payload) = said(move || panic!("cannot slice `{value}`"));
        let quoted = payload.downcast_ref::<String>().unwrap();
        assert_eq!(canary.leak(quoted), Some("plain"), "it was quoted");
        assert_eq!(canary.leak(&text), None, "{text}");
        assert!(text.contains("panics.rs:"), "{text}");
        assert!(!text.contains("cannot slice"), "{text}");
        let (text, _) = said(|| panic!("no receiver is left"));
        assert!(text.contains(": no receiver is left\n"), "{text}");
        assert!(text.contains(r#""code":"internal""#), "{text}");
    }
}
