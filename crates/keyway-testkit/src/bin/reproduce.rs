//! Plays threats E1 to E16 against the programs that are named, and prints what came of each.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its table is what it is started for"
)]

use std::path::Path;
use std::process::ExitCode;

use keyway_testkit::Keyway;
use keyway_testkit::reproduction::{Verdict, plays};

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let only = words.first().and_then(|it| it.strip_prefix("--only="));
    let only = only.map(str::to_owned);
    if only.is_some() {
        words.remove(0);
    }
    if words.is_empty() {
        eprintln!("usage: reproduce [--only=THREAT] [LABEL=]PROGRAM...");
        return ExitCode::from(2);
    }
    // A play that cannot go on says why in its row.
    std::panic::set_hook(Box::new(|_| {}));
    let programs: Vec<(String, &str)> = words.iter().map(|word| labelled(word)).collect();
    let heads: Vec<&str> = programs.iter().map(|(label, _)| label.as_str()).collect();
    println!("| threat | what is played | {} |", heads.join(" | "));
    println!("|---|---|{}", "---|".repeat(programs.len()));
    let mut is_whole = true;
    for play in plays() {
        if only.as_ref().is_some_and(|only| only != play.threat) {
            continue;
        }
        let cells = programs
            .iter()
            .map(|(_, program)| match play.against(program) {
                Verdict::Broke(what) => format!("**{what}**"),
                Verdict::Held(what) => what,
                other => {
                    is_whole = false;
                    format!("not played: {}", one_line(&format!("{other:?}")))
                }
            });
        let cells: Vec<String> = cells.collect();
        println!(
            "| {} | {} | {} |",
            play.threat,
            play.played,
            cells.join(" | ")
        );
    }
    if is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Takes a label off a program; one without a label is shown with the version that it prints.
fn labelled(word: &str) -> (String, &str) {
    if let Some((label, program)) = word.split_once('=') {
        return (label.to_owned(), program);
    }
    let printed = Keyway::new(word, Path::new("/")).args(["--version"]).run();
    (printed.stdout.trim().to_owned(), word)
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
