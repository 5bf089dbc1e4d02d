//! What is said when Keyway itself breaks: where, and never what it held in its hands.
//!
//! The message of a panic may quote a value, so it is not shown.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write as _};
use std::panic::{self, PanicHookInfo};

/// Shows panics without their message from now on.
pub(crate) fn keep_quiet() {
    panic::set_hook(Box::new(|info| {
        let text = words(info, &Backtrace::capture());
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }));
}

fn words(info: &PanicHookInfo<'_>, trace: &Backtrace) -> String {
    let place = match info.location() {
        Some(at) => format!("{}:{}:{}", at.file(), at.line(), at.column()),
        None => "an unknown place".to_owned(),
    };
    let mut text = format!(
        "error: Keyway met a fault of its own, at {place}\n\nhint: please report it, with what `keyway doctor --bundle FILE` writes\n"
    );
    if trace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("\n{trace}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use keyway_testkit::Canary;

    use super::*;

    #[test]
    fn a_panic_tells_its_place_and_not_what_it_quotes() {
        let canary = Canary::hidden("vQ9x7Lk2Wp4Zt8Rb3Nc6Ym1Hd5");
        let said = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&said);
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            *told.lock().unwrap() = words(info, &Backtrace::force_capture());
        }));
        let value = canary.value().to_owned();
        let caught = panic::catch_unwind(move || panic!("cannot slice `{value}`"));
        panic::set_hook(before);
        let payload = caught.unwrap_err();
        let quoted = payload.downcast_ref::<String>().unwrap();
        assert_eq!(canary.leak(quoted), Some("plain"), "it was quoted");
        let said = said.lock().unwrap().clone();
        assert_eq!(canary.leak(&said), None, "{said}");
        assert!(said.contains("panics.rs:"), "{said}");
    }
}
